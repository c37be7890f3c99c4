"""The names of schools and semesters, for places that have only their keys."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from campus.registry import SCHOOLS, SEMESTERS, V1_SEMESTERS, ResourceSpec
from loading.tables import TABLES, read_rows, slice_of
from warehouse.lake.delta import Lake
from warehouse.lake.tables import Slice

#: A partition key of a semester or of a teaching week.
SEMESTER_KEY = re.compile(r"(\d+):(\d+)(?::w\d+)?")


@dataclass(frozen=True)
class Names:
    """Names by id. Semesters by school and id, which v1 and v3 have separately."""

    schools: Mapping[int, str]
    semesters: Mapping[tuple[int, int], str]
    v1_semesters: Mapping[tuple[int, int], str]

    def of_partition(self, key: str, *, is_v1: bool) -> dict[str, str]:
        """The known names of a partition's school and semester."""
        match = SEMESTER_KEY.fullmatch(key)
        school_id = int(key.partition(":")[0])
        pair = (school_id, int(match[2])) if match else None
        first, other = self.v1_semesters, self.semesters
        if not is_v1:
            first, other = other, first
        semester = (first.get(pair) or other.get(pair, "")) if pair else ""
        names = {"school": self.schools.get(school_id, ""), "semester": semester}
        return {kind: name for kind, name in names.items() if name}


def names_of(lake: Lake) -> Names:
    """All names in the lake."""
    return Names(school_names(lake), _semesters(lake, SEMESTERS), _semesters(lake, V1_SEMESTERS))


def school_names(lake: Lake, school_ids: Iterable[int] | None = None) -> dict[int, str]:
    """The names of schools, by id. Schools without a name are left out. `school_ids` None: all schools."""
    if not lake.holds(TABLES[SCHOOLS.name]):
        return {}
    slices: list[Slice | None] = (
        [None] if school_ids is None else [slice_of(SCHOOLS, school_id) for school_id in school_ids]
    )
    rows = [row for slice in slices for row in read_rows(lake, SCHOOLS, slice, ["id", "name"])]
    return {row["id"]: row["name"] for row in rows if row["name"]}


def _semesters(lake: Lake, spec: ResourceSpec) -> dict[tuple[int, int], str]:
    rows = read_rows(lake, spec, None, ["_school_id", "id", "name"])
    return {(row["_school_id"], row["id"]): row["name"] for row in rows if row["name"]}
