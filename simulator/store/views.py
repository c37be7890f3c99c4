"""Rows of one resource that show those of another in another shape."""

from collections.abc import Callable

from simulator.school.rows import Row, Values


class Views:
    """Such rows, remade when anything has changed, and the values that tests set on them alone."""

    def __init__(self) -> None:
        self._overrides: dict[tuple[str, int], Values] = {}
        self._version = -1
        self._made: dict[tuple[str, int], list[Row]] = {}

    def rows(self, version: int, resource: str, parent: int, make: Callable[[], list[Row]]) -> list[Row]:
        """The rows of one collection as of this version of the store."""
        if self._version != version:
            self._made.clear()
            self._version = version
        found = self._made.get((resource, parent))
        if found is None:
            found = self._made[resource, parent] = make()
        return found

    def override(self, resource: str, key: int, values: Values) -> None:
        """Show these values from now on, whatever the row below says."""
        self._overrides[resource, key] = {**self.overrides(resource, key), **values}

    def overrides(self, resource: str, key: int) -> Values:
        """The values that tests have set."""
        return self._overrides.get((resource, key), {})
