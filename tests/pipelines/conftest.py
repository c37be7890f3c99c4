"""Worlds that the tests of a module share, since each costs seconds."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from world import World, world


@pytest.fixture(scope="module")
def make_world(new_home: Callable[[], Path]) -> Iterator[Callable[..., World]]:
    """Makes worlds that last as long as the module's tests."""
    with ExitStack() as worlds:

        def make(**options: Any) -> World:
            return worlds.enter_context(world(new_home(), **options))

        yield make
