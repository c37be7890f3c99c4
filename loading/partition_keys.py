"""Writes and reads partition keys, such as `101:20`. Keys have ids, since names change. They never have `|`,
at which Dagster's UI splits a key."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from warehouse.lake.tables import SEPARATOR, Slice

SCHOOL_SEMESTERS, V1_SEMESTERS = "school_semesters", "v1_semesters"
ATTENDANCE_WEEKS, DATASET_SEGMENTS, REPORT_RESULTS = "attendance_weeks", "dataset_segments", "report_results"
#: A number that a column of the lake can hold.
_ID = "([0-9]{1,18})"
#: The patterns of keys by kind, with their parts. v1's semesters have v1's own ids.
PATTERNS = {
    SCHOOL_SEMESTERS: re.compile(f"{_ID}:{_ID}"),
    V1_SEMESTERS: re.compile(f"{_ID}:{_ID}"),
    ATTENDANCE_WEEKS: re.compile(f"{_ID}:{_ID}:w{_ID}"),
    DATASET_SEGMENTS: re.compile(f"{_ID}:([^:]+):{_ID}"),
    REPORT_RESULTS: re.compile(f"{_ID}:([^:]+):{_ID}(?::(.+))?"),
}
#: The school of a key without a school.
NO_SCHOOL = 0
_SCHOOL = re.compile(f"{_ID}(?![0-9])")


class UnknownPartition(ValueError):
    """A partition key that discovery has not written."""


def school_of(key: str) -> int:
    """The school of a partition key of any kind. NO_SCHOOL for a key that a person has added without one."""
    match = _SCHOOL.match(key)
    return int(match[1]) if match else NO_SCHOOL


def parts_of(key: str, kind: str) -> tuple[str, ...]:
    """The parts of a partition key. A missing part is "".

    Args:
        kind: A key of PATTERNS.

    Raises:
        UnknownPartition: The key does not have this kind."""
    match = PATTERNS[kind].fullmatch(key)
    if match:
        return match.groups("")
    raise UnknownPartition(
        f"the platform has no partition {key!r}. Run the job discovery (or `campus sync`), which deletes it, "
        f"and choose from the list again."
    )


def unseparated(part: str) -> str:
    """Escape a part of a key before the last part. `urllib.parse.unquote` reverses it."""
    return part.replace(SEPARATOR, "%3A")


def keys_by_school(keys: Iterable[str]) -> dict[int, list[str]]:
    """Partition keys of any kind by school, in their order."""
    by_school: dict[int, list[str]] = defaultdict(list)
    for key in keys:
        by_school[school_of(key)].append(key)
    return dict(by_school)


def partition_key(school_id: int, semester_id: int) -> str:
    """`101:20`: school and semester."""
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


def partitions_of(slice: Slice, of_school: Sequence[str]) -> Sequence[str]:
    """The partitions of a slice. `of_school`: the partitions that a slice of a whole school belongs to."""
    school_id, semester_id = slice.school_id, slice.semester_id
    if semester_id is None:
        return of_school
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
