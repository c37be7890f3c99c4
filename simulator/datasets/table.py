"""The rows of a dataset in a school: the generated columns, and changes by tests."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from simulator.datasets.definitions import Column, Columns
from simulator.messages import Problem
from simulator.school.rows import Values

NOTHING: Column[None] = (None,)  # the column of a field that was added later

Test = tuple[str, Callable[[Any], bool]]  # a field, and the test of its value


class Change(NamedTuple):
    """A changed row: the set values, and the position of the row with all other values."""

    key: int
    position: int | None
    given: Values


Handle = int | Change  # a row: its position, or its change


class Table:
    """Rows in the order of their keys: the integer primary key, or else a hidden number."""

    def __init__(self, keys: Column[int], columns: Columns) -> None:
        self.keys = keys
        self.columns = columns
        self._changes: dict[int, Change] = {}
        self._gone: set[int] = set()
        self._last = keys[len(keys) - 1] if len(keys) else 1_000
        self._first = keys[0] if len(keys) else 1_001

    def select(self, low: int | None, high: int | None, tests: Sequence[Test]) -> Sequence[Handle]:
        """The rows with keys from low to high, both included, that pass all tests, in order."""
        start = 0 if low is None else bisect_left(self.keys, low)
        stop = len(self.keys) if high is None else bisect_right(self.keys, high)
        positions: Sequence[int] = range(start, max(start, stop))
        changed = [
            key
            for key in sorted(self._gone.union(self._changes))
            if (low is None or key >= low) and (high is None or key <= high)
        ]
        for name, passes in tests:
            column = self.columns.get(name, NOTHING)
            period = len(column) or 1
            passed = [passes(column[p]) for p in range(len(column))]
            positions = [position for position in positions if passed[position % period]]
        return self._overlaid(positions, changed, tests) if changed else positions

    def find(self, key: int) -> Handle:
        """The row with this key, or 404."""
        rows = self.select(key, key, ())
        if not rows:
            raise Problem(404, f"no row with key {key}")
        return rows[0]

    def key(self, row: Handle) -> int:
        """The key of a row."""
        return self.keys[row] if isinstance(row, int) else row.key

    def value(self, row: Handle, name: str) -> Any:
        """A value of a row; null if the row lacks the field."""
        if not isinstance(row, int):
            if name in row.given:
                return row.given[name]
            if row.position is None:
                return None
            row = row.position
        column = self.columns.get(name, NOTHING)
        return column[row % len(column)]

    def values(self, row: Handle) -> Values:
        """All values of a row, including values of tests outside the columns."""
        given = {} if isinstance(row, int) else row.given
        return {name: self.value(row, name) for name in self.columns} | given

    def insert(self, values: Callable[[int], Values], *, first: bool) -> Handle:
        """Add a copy of the neighbouring row, with the values for the new key. No key repeats."""
        if first and self._first == 0:
            raise Problem(422, "there is no id left in front of the first row")
        if first:
            self._first -= 1
        else:
            self._last += 1
        key = self._first if first else self._last
        position = len(self.keys) - 1 if len(self.keys) else None
        self._changes[key] = Change(key, position, values(key))
        return self._changes[key]

    def update(self, key: int, values: Values) -> Handle:
        """Set values of a row."""
        row = self.find(key)
        position, given = (row, {}) if isinstance(row, int) else (row.position, row.given)
        self._changes[key] = Change(key, position, given | values)
        return self._changes[key]

    def destroy(self, key: int) -> Handle:
        """Delete a row without a trace."""
        row = self.find(key)
        self._changes.pop(key, None)
        self._gone.add(key)
        return row

    def _overlaid(self, positions: Sequence[int], changed: list[int], tests: Sequence[Test]) -> list[Handle]:
        """The selected rows, with changed rows in their places."""
        rows: list[Handle] = []
        done = 0
        for key in changed:
            place = bisect_left(self.keys, key)
            upto = bisect_left(positions, place)
            rows += positions[done:upto]
            was_made = place < len(self.keys) and self.keys[place] == key
            done = upto + (was_made and upto < len(positions) and positions[upto] == place)
            change = self._changes.get(key)
            if change and all(passes(self.value(change, name)) for name, passes in tests):
                rows.append(change)
        rows += positions[done:]
        return rows
