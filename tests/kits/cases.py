"""Cases of a test that are many of one kind."""

from collections.abc import Sequence
from typing import Any

import pytest


def the_rest_slow(number: int, cases: Sequence[Any]) -> list[Any]:
    """The cases as parameters, of which the first `number` are for `make test` and the others are slow."""
    rest = [case if isinstance(case, tuple) else (case,) for case in cases[number:]]
    return [*cases[:number], *(pytest.param(*case, marks=pytest.mark.slow) for case in rest)]
