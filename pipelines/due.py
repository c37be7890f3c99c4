"""Which partitions a load is asked for, and in which runs."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from loading.names import school_names
from loading.partition_keys import school_of
from warehouse.lake.delta import Lake

RANGE_START = "dagster/asset_partition_range_start"
RANGE_END = "dagster/asset_partition_range_end"
#: Where a run says of which school its partitions are: the first that it has.
PARTITION_TAGS = (RANGE_START, "dagster/partition")


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


def school_tags(lake: Lake, first: int, last: int | None = None) -> dict[str, str]:
    """The run tag that says in words which school a run loads, or from which to which."""
    ends = dict.fromkeys([first, last or first])
    names = school_names(lake, ends)
    return {SCHOOL_TAG: " to ".join(f"{each} {names.get(each, '')}".strip() for each in ends)}


def school_in(tags: Mapping[str, str]) -> int:
    """The school of a run's partitions, the first one where they are of several; NO_SCHOOL: it has none."""
    return school_of(next((tags[tag] for tag in PARTITION_TAGS if tag in tags), ""))


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
