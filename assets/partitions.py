"""Partitions, as the platform has them: semesters of schools, teaching weeks, segments of datasets, and
results of reports. loading/partition_keys.py writes and reads their keys."""

from collections.abc import Callable, Iterable
from typing import TypeVar

import dagster as dg

from loading import partition_keys
from loading.partition_keys import PATTERNS, UnknownPartition

SCHOOL_SEMESTERS = dg.DynamicPartitionsDefinition(name=partition_keys.SCHOOL_SEMESTERS)
V1_SEMESTERS = dg.DynamicPartitionsDefinition(name=partition_keys.V1_SEMESTERS)
ATTENDANCE_WEEKS = dg.DynamicPartitionsDefinition(name=partition_keys.ATTENDANCE_WEEKS)
DATASET_SEGMENTS = dg.DynamicPartitionsDefinition(name=partition_keys.DATASET_SEGMENTS)
REPORT_RESULTS = dg.DynamicPartitionsDefinition(name=partition_keys.REPORT_RESULTS)
#: How the keys of each are written.
PARTITIONS = {
    definition: PATTERNS[definition.name or ""]
    for definition in (SCHOOL_SEMESTERS, V1_SEMESTERS, ATTENDANCE_WEEKS, DATASET_SEGMENTS, REPORT_RESULTS)
}

Asked = TypeVar("Asked")


def asked_for(keys: Iterable[str], read: Callable[[Iterable[str]], Asked]) -> Asked:
    """What the partition keys of a run ask for, as `read` reads them.

    Raises dagster.Failure for a key that discovery has not written."""
    try:
        return read(keys)
    except UnknownPartition as error:
        raise dg.Failure(str(error), allow_retries=False) from None
