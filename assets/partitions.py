"""Partitions of the base data: the semesters of schools, as the platform has them."""

from collections import defaultdict
from collections.abc import Iterable

import dagster as dg

SCHOOL_SEMESTERS = dg.DynamicPartitionsDefinition(name="school_semesters")


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
