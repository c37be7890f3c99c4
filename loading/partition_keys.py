"""Partition keys, such as `101:20`: how they are written and read. Ids, since names change; never `|`, at
which Dagster's UI splits a key."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from warehouse.lake.tables import SEPARATOR, Slice

SCHOOL_SEMESTERS, V1_SEMESTERS = "school_semesters", "v1_semesters"
ATTENDANCE_WEEKS, DATASET_SEGMENTS, REPORT_RESULTS = "attendance_weeks", "dataset_segments", "report_results"
#: How the keys of each kind of partition are written, and their parts. v1's semesters have v1's own ids.
PATTERNS = {
    SCHOOL_SEMESTERS: re.compile(r"(\d+):(\d+)"),
    V1_SEMESTERS: re.compile(r"(\d+):(\d+)"),
    ATTENDANCE_WEEKS: re.compile(r"(\d+):(\d+):w(\d+)"),
    DATASET_SEGMENTS: re.compile(r"(\d+):([^:]+):(\d+)"),
    REPORT_RESULTS: re.compile(r"(\d+):([^:]+):(\d+)(?::(.+))?"),
}


class UnknownPartition(ValueError):
    """A partition key that discovery has not written."""


# What stands for the school of a key that has none.
NO_SCHOOL = 0


def school_of(key: str) -> int:
    """The school of a partition key of any kind, NO_SCHOOL where somebody has added a partition that the
    platform does not have."""
    found = re.match(r"\d+", key)
    return int(found[0]) if found else NO_SCHOOL


def parts_of(key: str, kind: str) -> tuple[str, ...]:
    """The parts of a partition key; "" for one that it lacks.

    kind: a key of PATTERNS. Raises UnknownPartition."""
    found = PATTERNS[kind].fullmatch(key)
    if found:
        return found.groups("")
    raise UnknownPartition(
        f"the platform has no partition {key!r}. Run the job discovery (or `campus sync`), which takes it "
        f"out of the list, and choose from the list again."
    )


def unseparated(part: str) -> str:
    """A part of a key that is not its last; `urllib.parse.unquote` gives it back."""
    return part.replace(SEPARATOR, "%3A")


def keys_by_school(keys: Iterable[str]) -> dict[int, list[str]]:
    """Partition keys of any kind by their school, in their order."""
    found: dict[int, list[str]] = defaultdict(list)
    for key in keys:
        found[school_of(key)].append(key)
    return dict(found)


def partition_key(school_id: int, semester_id: int) -> str:
    """`101:20`: school and semester. Ids, since names change."""
    return f"{school_id}:{semester_id}"


def semesters_by_school(keys: Iterable[str]) -> dict[int, list[int]]:
    """The semesters of each school among partition keys, in their order."""
    semesters: dict[int, list[int]] = defaultdict(list)
    for key in keys:
        school_id, semester_id = parts_of(key, SCHOOL_SEMESTERS)
        semesters[int(school_id)].append(int(semester_id))
    return dict(semesters)


def week_key(school_id: int, semester_id: int, week: int) -> str:
    """`101:20:w05`: school, semester, teaching week."""
    return f"{school_id}:{semester_id}:w{week:02d}"


def weeks_by_school(keys: Iterable[str]) -> dict[int, dict[int, list[int]]]:
    """The weeks of each semester of each school among partition keys, in their order."""
    weeks: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for key in keys:
        school_id, semester_id, week = parts_of(key, ATTENDANCE_WEEKS)
        weeks[int(school_id)][int(semester_id)].append(int(week))
    return {school_id: dict(semesters) for school_id, semesters in weeks.items()}


def partitions_of(slice: Slice, semesters: Sequence[int]) -> list[str]:
    """The partitions that a slice is. `semesters`: those that a slice of a whole school counts for."""
    school_id, semester_id = slice.school_id, slice.semester_id
    if semester_id is None:
        return [partition_key(school_id, each) for each in semesters]
    if slice.week is None:
        return [partition_key(school_id, semester_id)]
    return [week_key(school_id, semester_id, slice.week)]


def segment_key(school_id: int, table: str, segment: int) -> str:
    """`101:course_scores:0003`: school, table of the dataset, segment of its ids."""
    return f"{school_id}:{table}:{segment:04d}"


def segments_by_school(keys: Iterable[str]) -> dict[int, dict[str, list[int]]]:
    """The segments of each table of each school among partition keys, in their order."""
    segments: dict[int, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for key in keys:
        school_id, table, segment = parts_of(key, DATASET_SEGMENTS)
        segments[int(school_id)][table].append(int(segment))
    return {school_id: dict(tables) for school_id, tables in segments.items()}
