"""What schools and semesters are called, where people know them by their keys alone."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from campus.registry import SCHOOLS, SEMESTERS
from campus.registry.v1 import V1_SEMESTERS
from loading.tables import TABLES, slice_of
from warehouse.lake.delta import Lake
from warehouse.lake.tables import Slice

#: Keys of partitions that are a semester, or a teaching week of one.
OF_SEMESTER = re.compile(r"(\d+):(\d+)(?::w\d+)?")


@dataclass(frozen=True)
class Names:
    """`semesters`: by school and id; v1 has ids of its own."""

    schools: Mapping[int, str]
    semesters: Mapping[tuple[int, int], str]
    v1_semesters: Mapping[tuple[int, int], str]

    def of_partition(self, key: str, *, is_v1: bool) -> dict[str, str]:
        """What the school of a partition, and its semester if it has one, are called, as far as is known."""
        found = OF_SEMESTER.fullmatch(key)
        school_id = int(key.partition(":")[0])
        pair = (school_id, int(found[2])) if found else None
        first, other = self.v1_semesters, self.semesters
        if not is_v1:
            first, other = other, first
        semester = (first.get(pair) or other.get(pair, "")) if pair else ""
        told = {"school": self.schools.get(school_id, ""), "semester": semester}
        return {what: name for what, name in told.items() if name}


def names_of(lake: Lake) -> Names:
    """All names that the lake holds."""
    return Names(school_names(lake), _semesters(lake, SEMESTERS.name), _semesters(lake, V1_SEMESTERS.name))


def school_names(lake: Lake, school_ids: Iterable[int] | None = None) -> dict[int, str]:
    """What the schools are called that have a name. `school_ids`: these alone; None: all."""
    table = TABLES[SCHOOLS.name]
    if not lake.holds(table):
        return {}
    slices: list[Slice | None] = (
        [None] if school_ids is None else [slice_of(SCHOOLS, each) for each in school_ids]
    )
    rows = [row for slice in slices for row in lake.read(table, slice, ["id", "name"]).to_pylist()]
    return {row["id"]: row["name"] for row in rows if row["name"]}


def _semesters(lake: Lake, name: str) -> dict[tuple[int, int], str]:
    rows = lake.read(TABLES[name], columns=["_school_id", "id", "name"]).to_pylist()
    return {(row["_school_id"], row["id"]): row["name"] for row in rows if row["name"]}
