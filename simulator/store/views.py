"""Rows of one resource that show those of another in another shape."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from simulator.school.rows import Row, Values

NOTHING: Values = {}
#: Of what a row is made: rows of the same key, and the values that were set on it.
Parts = tuple[Any, ...]


@dataclass
class _Made:
    """The rows of one collection, as of a version of all that they are made of but rows of the same key."""

    beside: int
    version: int = -1
    rows: list[Row] = field(default_factory=list)
    parts: dict[int, Parts] = field(default_factory=dict)
    by_key: dict[int, Row] = field(default_factory=dict)


class Views:
    """Such rows, and the values that are set on them alone. A row is remade when something has changed that
    it is made of: of ten thousand people one."""

    def __init__(self) -> None:
        self._overrides: dict[str, dict[int, Values]] = {}
        self._made: dict[tuple[str, int], _Made] = {}

    def rows(
        self,
        resource: str,
        parent: int,
        *,
        version: int,
        beside: int,
        below: Callable[[], dict[int, Parts]],
        make: Callable[[int, Parts], Row],
    ) -> list[Row]:
        """The rows of one collection as of this version of the store. beside: the version of all that is not
        among the parts. below: the parts of each row, in order."""
        made = self._made.get((resource, parent))
        if made is None or made.beside != beside:
            made = self._made[resource, parent] = _Made(beside)
        if made.version != version:
            parts, before, rows = below(), made.parts, made.by_key
            # Equal without a look inside, where they are the same objects.
            same = rows.keys() & {key for key, now in parts.items() if before.get(key) == now}
            made.by_key = {key: rows[key] if key in same else make(key, now) for key, now in parts.items()}
            made.rows, made.parts, made.version = list(made.by_key.values()), parts, version
        return made.rows

    def override(self, resource: str, key: int, values: Values) -> None:
        """Show these values from now on, whatever the row below says."""
        known = self._overrides.setdefault(resource, {})
        known[key] = {**known.get(key, NOTHING), **values}

    def overrides(self, resource: str) -> Mapping[int, Values]:
        """The values that were set, by key."""
        return self._overrides.get(resource, {})
