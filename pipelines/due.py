"""Which partitions a load is asked for, and in which runs."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass

from campus.registry import SCHOOLS
from loading.partition_keys import school_of
from loading.tables import TABLES, slice_of
from warehouse.lake.delta import Lake

RANGE_START = "dagster/asset_partition_range_start"
RANGE_END = "dagster/asset_partition_range_end"


# On a run: the school that it loads, by id and name.
SCHOOL_TAG = "campus/school"


@dataclass(frozen=True)
class PartitionRange:
    """A stretch of partition keys that stand side by side in Dagster's list, all of one school."""

    school_id: int
    start: str
    end: str

    @property
    def tags(self) -> dict[str, str]:
        """The run tags that make a run load this stretch."""
        return {RANGE_START: self.start, RANGE_END: self.end}


def school_tags(lake: Lake, school_id: int) -> dict[str, str]:
    """The run tag that says in words which school a run loads."""
    rows = lake.read(TABLES[SCHOOLS.name], slice_of(SCHOOLS, school_id), ["name"]).to_pylist()
    name = next((row["name"] for row in rows if row["name"]), "")
    return {SCHOOL_TAG: f"{school_id} {name}".strip()}


def of_schools(keys: Sequence[str], school_ids: Sequence[int] | None) -> list[str]:
    """The keys of these schools; None or none: of all."""
    return [key for key in keys if not school_ids or school_of(key) in school_ids]


def due_keys(keys: Sequence[str], current: Set[str], loaded: Set[str], *, every_semester: bool) -> list[str]:
    """The partitions that a night loads: each school's current semester and whatever was never loaded, and
    on the night for it every semester, since older ones change seldom."""
    return [key for key in keys if every_semester or key in current or key not in loaded]


def school_ranges(keys: Sequence[str], wanted: Iterable[str]) -> Iterator[PartitionRange]:
    """The wanted keys as ranges, one run each: a school's keys in one run as far as they stand together.

    `keys`: all partition keys in Dagster's order, in which a school's later ones may stand apart."""
    position = {key: index for index, key in enumerate(keys)}
    schools: dict[int, list[str]] = defaultdict(list)
    for key in sorted(wanted, key=position.__getitem__):
        schools[school_of(key)].append(key)
    for school_id, school_keys in schools.items():
        stretch: list[str] = []
        for key in school_keys:
            if stretch and position[key] != position[stretch[-1]] + 1:
                yield PartitionRange(school_id, stretch[0], stretch[-1])
                stretch = []
            stretch.append(key)
        yield PartitionRange(school_id, stretch[0], stretch[-1])
