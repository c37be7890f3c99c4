"""Partitions, as the platform has them: semesters of schools, teaching weeks, segments of datasets, and
results of reports. loading/partition_keys.py writes and reads their keys."""

from collections.abc import Callable, Iterable
from typing import TypeVar

import dagster as dg

from loading import partition_keys
from loading.partition_keys import PATTERNS, UnknownPartition, school_of
from warehouse.lake.delta import Lake
from warehouse.load.load_log import schools_loaded

SCHOOL_SEMESTERS = dg.DynamicPartitionsDefinition(name=partition_keys.SCHOOL_SEMESTERS)
V1_SEMESTERS = dg.DynamicPartitionsDefinition(name=partition_keys.V1_SEMESTERS)
ATTENDANCE_WEEKS = dg.DynamicPartitionsDefinition(name=partition_keys.ATTENDANCE_WEEKS)
DATASET_SEGMENTS = dg.DynamicPartitionsDefinition(name=partition_keys.DATASET_SEGMENTS)
REPORT_RESULTS = dg.DynamicPartitionsDefinition(name=partition_keys.REPORT_RESULTS)
#: How a person reads the keys of each: Dagster shows keys alone.
HOW_TO_READ = {
    SCHOOL_SEMESTERS: "`101:20` is semester 20 of school 101.",
    V1_SEMESTERS: "`101:20` is semester 20 of school 101, by the id that v1 has for it.",
    ATTENDANCE_WEEKS: "`101:20:w05` is week 5 of semester 20, by v1's id, of school 101.",
    DATASET_SEGMENTS: "`101:course_scores:0003` is the fourth segment of ids of the dataset course_scores of "
    "school 101.",
    REPORT_RESULTS: "`101:student_summary:501` is query 501 of the report student_summary of school 101; a "
    "part behind it is one combination of the matrix.",
}
NAMES = "The latest materialization of raw/schools lists the names of schools and semesters."
#: How the keys of each are written.
PARTITIONS = {
    definition: PATTERNS[definition.name or ""]
    for definition in (SCHOOL_SEMESTERS, V1_SEMESTERS, ATTENDANCE_WEEKS, DATASET_SEGMENTS, REPORT_RESULTS)
}

#: A message that lists more schools than this is read by nobody.
MOST_SCHOOLS = 20

Asked = TypeVar("Asked")


def read_as(description: str, partitions: dg.PartitionsDefinition) -> str:
    """The description of an asset, with how to read the keys of its partitions."""
    assert isinstance(partitions, dg.DynamicPartitionsDefinition)
    return f"{description.rstrip('.')}.\n\nPartitions: {HOW_TO_READ[partitions]} {NAMES}"


def asked_for(lake: Lake, keys: Iterable[str], read: Callable[[Iterable[str]], Asked]) -> Asked:
    """What the partition keys of a run ask for, as `read` reads them.

    Raises dagster.Failure for a key that discovery has not written."""
    keys = list(keys)
    schools = schools_loaded(lake)
    unknown = [key for key in keys if school_of(key) not in schools]
    try:
        asked = read(keys)
    except UnknownPartition as error:
        raise dg.Failure(str(error), allow_retries=False) from None
    if unknown:
        there_are = ", ".join(map(str, sorted(schools)[:MOST_SCHOOLS])) or "none yet"
        raise dg.Failure(
            f"the partition {unknown[0]!r} is of a school that the discovery has not found; it has found "
            f"{there_are}. Nothing was asked for. Choose another partition; the job discovery deletes this "
            f"one.",
            allow_retries=False,
        )
    return asked


def remove_unknown(instance: dg.DagsterInstance) -> list[str]:
    """Take out the partition keys that no discovery writes: people can add any in Dagster's UI. Returns what
    that means in words."""
    unknown = [
        (partitions.name or "", key)
        for partitions, pattern in PARTITIONS.items()
        for key in instance.get_dynamic_partitions(partitions.name or "")
        if not pattern.fullmatch(key)
    ]
    for name, key in unknown:
        instance.delete_dynamic_partition(name, key)
    keys = ", ".join(key for _, key in unknown)
    return [f"partitions that the platform does not have are taken out again: {keys}"] if unknown else []
