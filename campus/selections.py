"""What an operator asks for in campus.yaml, held against what the platform offers: each mistake in words."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches

Scalar = str | int | float | bool


class Unfit(Exception):
    """A wish that the platform's metadata cannot fulfil, in words."""


@contextmanager
def noting(problems: list[str], key: str) -> Iterator[None]:
    """Add what is unfit inside the block to the problems, under the key that it is written under."""
    try:
        yield
    except Unfit as error:
        problems.append(f"{key}: {error}")


def nearest(name: str, names: Iterable[str]) -> str:
    """The end of a sentence about a name that is not there: which one may have been meant."""
    near = get_close_matches(name, list(names), n=1, cutoff=0.5)
    return f"; did you mean {near[0]}?" if near else ""
