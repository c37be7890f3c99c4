"""Partitions, as the platform has them: semesters of schools, teaching weeks, segments of datasets, and
results of reports (whose keys are those of assets.report_tables.Result)."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import dagster as dg

from warehouse.tables import Slice

SCHOOL_SEMESTERS = dg.DynamicPartitionsDefinition(name="school_semesters")
ATTENDANCE_WEEKS = dg.DynamicPartitionsDefinition(name="attendance_weeks")
DATASET_SEGMENTS = dg.DynamicPartitionsDefinition(name="dataset_segments")
REPORT_RESULTS = dg.DynamicPartitionsDefinition(name="report_results")


def keys_by_school(keys: Iterable[str]) -> dict[int, list[str]]:
    """Partition keys of any kind by their school, in their order."""
    found: dict[int, list[str]] = defaultdict(list)
    for key in keys:
        found[int(key.split("|")[0])].append(key)
    return dict(found)


def partition_key(school_id: int, semester_id: int) -> str:
    """`101|20`: school and semester. Ids, since names change."""
    return f"{school_id}|{semester_id}"


def semesters_by_school(keys: Iterable[str]) -> dict[int, list[int]]:
    """The semesters of each school among partition keys, in their order."""
    semesters: dict[int, list[int]] = defaultdict(list)
    for key in keys:
        school_id, semester_id = key.split("|")
        semesters[int(school_id)].append(int(semester_id))
    return dict(semesters)


def week_key(school_id: int, semester_id: int, week: int) -> str:
    """`101|20|w05`: school, semester, teaching week."""
    return f"{school_id}|{semester_id}|w{week:02d}"


def weeks_by_school(keys: Iterable[str]) -> dict[int, dict[int, list[int]]]:
    """The weeks of each semester of each school among partition keys, in their order."""
    weeks: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for key in keys:
        school_id, semester_id, week = key.split("|")
        weeks[int(school_id)][int(semester_id)].append(int(week.removeprefix("w")))
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
    """`101|course_scores|0003`: school, table of the dataset, segment of its ids."""
    return f"{school_id}|{table}|{segment:04d}"


def segments_by_school(keys: Iterable[str]) -> dict[int, dict[str, list[int]]]:
    """The segments of each table of each school among partition keys, in their order."""
    segments: dict[int, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for key in keys:
        school_id, table, segment = key.split("|")
        segments[int(school_id)][table].append(int(segment))
    return {school_id: dict(tables) for school_id, tables in segments.items()}
