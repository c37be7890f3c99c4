"""Partitions, as the platform has them: the semesters of schools, and the segments of their datasets."""

from collections import defaultdict
from collections.abc import Iterable

import dagster as dg

SCHOOL_SEMESTERS = dg.DynamicPartitionsDefinition(name="school_semesters")
DATASET_SEGMENTS = dg.DynamicPartitionsDefinition(name="dataset_segments")


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
