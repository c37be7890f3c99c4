"""Which partitions a load is asked for, and in which runs."""

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from datetime import datetime

from loading.names import school_names
from loading.partition_keys import NO_SCHOOL, partition_key, school_of
from loading.tables import TABLES
from warehouse.lake.delta import Lake

RANGE_START = "dagster/asset_partition_range_start"
RANGE_END = "dagster/asset_partition_range_end"
#: Where a run says of which school its partitions are: the first that it has.
PARTITION_TAGS = (RANGE_START, "dagster/partition")


# On a run: the school that it loads, by id and name.
SCHOOL_TAG = "campus/school"
# On a run of a night: the ids of all schools that it loads. On a discovery: those that a command names.
SCHOOLS_TAG = "campus/schools"
# On the runs of a command that loads some assets only: the selection.
SELECTED_TAG = "campus/selected"


def school_tags(lake: Lake, first: int, last: int | None = None) -> dict[str, str]:
    """The run tag that says in words which school a run loads, or from which to which."""
    ends = dict.fromkeys([first, last or first])
    names = school_names(lake, ends)
    return {SCHOOL_TAG: " to ".join(f"{each} {names.get(each, '')}".strip() for each in ends)}


def night_tags(lake: Lake, schools: Sequence[int]) -> dict[str, str]:
    """The run tags that name the schools of a night's run."""
    return {SCHOOLS_TAG: ",".join(map(str, schools)), **school_tags(lake, schools[0], schools[-1])}


def schools_in(tags: Mapping[str, str]) -> list[int]:
    """The schools that a run loads, as far as its tags say: of a night, or the first one of its
    partitions."""
    if named := tags.get(SCHOOLS_TAG):
        return [int(each) for each in named.split(",")]
    return [one for one in [school_in(tags)] if one != NO_SCHOOL]


def school_in(tags: Mapping[str, str]) -> int:
    """The school of a run's partitions, the first one where they are of several; NO_SCHOOL: it has none."""
    return school_of(next((tags[tag] for tag in PARTITION_TAGS if tag in tags), ""))


def of_schools(keys: Sequence[str], school_ids: Collection[int] | None) -> list[str]:
    """The keys of these schools; None or none: of all."""
    return [key for key in keys if not school_ids or school_of(key) in school_ids]


def due_keys(keys: Sequence[str], current: Set[str], loaded: Set[str]) -> list[str]:
    """The partitions that a night loads, but for the one that loads all, since older semesters change seldom:
    each school's current semester and whatever was never loaded."""
    return [key for key in keys if key in current or key not in loaded]


def current_keys(lake: Lake, table: str) -> set[str]:
    """The partition of each school's current semester; the latest one where none is marked. `table`:
    semesters or v1_semesters; schools of which it shows none have the other's."""
    tables = [each for each in ("semesters", "v1_semesters") if each != table] + [table]
    columns = ["_school_id", "id", "start_at", "is_current"]
    latest: dict[int, int] = {}
    for each in tables:
        rows = lake.read(TABLES[each], columns=columns).to_pylist()
        # The last of a school's semesters in this order stays in the dictionary.
        rows.sort(key=lambda row: (bool(row["is_current"]), row["start_at"] or datetime.min))
        latest |= {row["_school_id"]: row["id"] for row in rows}
    return {partition_key(school_id, semester_id) for school_id, semester_id in latest.items()}


def groups_of(schools: Iterable[int], size: int) -> list[list[int]]:
    """Schools as runs load them: so many in each."""
    ordered = sorted(schools)
    return [ordered[first : first + size] for first in range(0, len(ordered), size)]
