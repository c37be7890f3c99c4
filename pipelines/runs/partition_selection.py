"""Selects the partitions of a load, and groups them into runs."""

from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import datetime

from loading.names import school_names
from loading.partition_keys import NO_SCHOOL, partition_key, school_of
from loading.tables import TABLES
from warehouse.lake.delta import Lake

RANGE_START = "dagster/asset_partition_range_start"
RANGE_END = "dagster/asset_partition_range_end"
#: Tags that name a run's partitions; the first tag that a run has counts.
PARTITION_TAGS = (RANGE_START, "dagster/partition")

# Tag of a run: the id and name of the school that it loads.
SCHOOL_TAG = "campus/school"
# Tag of a night's run: the ids of the schools that it loads. Tag of a discovery: the schools of a command.
SCHOOLS_TAG = "campus/schools"
# Tag of the runs of a command that loads some assets only: the selection.
SELECTED_TAG = "campus/selected"


def school_tags(lake: Lake, first: int, last: int | None = None) -> dict[str, str]:
    """The run tag that names the school of a run, or the first and the last school."""
    ends = dict.fromkeys([first, last or first])
    names = school_names(lake, ends)
    return {SCHOOL_TAG: " to ".join(f"{school_id} {names.get(school_id, '')}".strip() for school_id in ends)}


def night_tags(lake: Lake, schools: Sequence[int]) -> dict[str, str]:
    """The run tags that name the schools of a night's run."""
    return {SCHOOLS_TAG: ",".join(map(str, schools)), **school_tags(lake, schools[0], schools[-1])}


def schools_in(tags: Mapping[str, str]) -> list[int]:
    """The schools that a run loads by its tags: those of a night, or the school of its first partition."""
    if ids := tags.get(SCHOOLS_TAG):
        return [int(school_id) for school_id in ids.split(",")]
    return [school_id for school_id in [school_in(tags)] if school_id != NO_SCHOOL]


def school_in(tags: Mapping[str, str]) -> int:
    """The school of a run's first partition; NO_SCHOOL: the run has none."""
    return school_of(next((tags[tag] for tag in PARTITION_TAGS if tag in tags), ""))


def due_keys(keys: Sequence[str], current: Set[str], loaded: Set[str]) -> list[str]:
    """The partitions of a night: each school's current semester, and older semesters that are not `loaded`.
    Older semesters change seldom, so not every night loads them."""
    return [key for key in keys if key in current or key not in loaded]


def current_keys(lake: Lake, table: str) -> set[str]:
    """The partition of each school's current semester; the latest semester where none is marked. `table`:
    semesters or v1_semesters; for a school without rows there, the other table counts."""
    tables = [name for name in ("semesters", "v1_semesters") if name != table] + [table]
    columns = ["_school_id", "id", "start_at", "is_current"]
    latest: dict[int, int] = {}
    for name in tables:
        rows = lake.read(TABLES[name], columns=columns).to_pylist()
        # The dictionary keeps the last of a school's semesters in this order.
        rows.sort(key=lambda row: (bool(row["is_current"]), row["start_at"] or datetime.min))
        latest |= {row["_school_id"]: row["id"] for row in rows}
    return {partition_key(school_id, semester_id) for school_id, semester_id in latest.items()}


def groups_of(schools: Iterable[int], size: int) -> list[list[int]]:
    """Split schools into groups of `size`, one group a run."""
    ordered = sorted(schools)
    return [ordered[start : start + size] for start in range(0, len(ordered), size)]
