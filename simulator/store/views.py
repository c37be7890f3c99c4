"""The rows of views, which show the rows of another resource in another shape."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from simulator.school.rows import Row, Values

NOTHING: Values = {}
#: The parts of a row: rows of the same key, and the values that a test set.
Parts = tuple[Any, ...]


@dataclass
class _Made:
    """The cached rows of a collection. `beside`: the version of everything else that rows depend on."""

    beside: int
    version: int = -1
    rows: list[Row] = field(default_factory=list)
    parts: dict[int, Parts] = field(default_factory=dict)
    by_key: dict[int, Row] = field(default_factory=dict)


class Views:
    """The rows of views, and values set on views alone. A row is made again only if its parts have changed:
    after a change of a person, one row of ten thousand."""

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
        """The rows of a collection at this version of the store. `beside`: the version of everything that is
        not among the parts. `below`: the parts of each row, in order."""
        made = self._made.get((resource, parent))
        if made is None or made.beside != beside:
            made = self._made[resource, parent] = _Made(beside)
        if made.version != version:
            parts, before, rows = below(), made.parts, made.by_key
            # Fast, since Python compares identical objects by identity.
            same = rows.keys() & {key for key, now in parts.items() if before.get(key) == now}
            made.by_key = {key: rows[key] if key in same else make(key, now) for key, now in parts.items()}
            made.rows, made.parts, made.version = list(made.by_key.values()), parts, version
        return made.rows

    def override(self, resource: str, key: int, values: Values) -> None:
        """Set values that override the row of the other resource."""
        overrides = self._overrides.setdefault(resource, {})
        overrides[key] = {**overrides.get(key, NOTHING), **values}

    def overrides(self, resource: str) -> Mapping[int, Values]:
        """The set values, by key."""
        return self._overrides.get(resource, {})
