"""Checks what an operator selects in campus.yaml against the platform's metadata."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches

Scalar = str | int | float | bool


class InvalidSelection(Exception):
    """A part of a selection that does not fit the platform's metadata. The text is for the operator."""


@contextmanager
def collecting(problems: list[str], key: str) -> Iterator[None]:
    """Add the InvalidSelection that the block raises to `problems`, after its key in campus.yaml."""
    try:
        yield
    except InvalidSelection as error:
        problems.append(f"{key}: {error}")


def nearest(name: str, names: Iterable[str], prefix: str = "") -> str:
    """A suggestion for a misspelt name, to end a sentence with; empty where no name is similar. `prefix`: of
    all names, which is no similarity."""
    bare_names = [existing.removeprefix(prefix) for existing in names]
    near = get_close_matches(name.removeprefix(prefix), bare_names, n=1)
    return f"; did you mean {prefix}{near[0]}?" if near else ""
