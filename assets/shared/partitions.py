"""The partitions: semesters of schools, teaching weeks, segments of datasets, and results of reports.
loading/partition_keys.py writes and reads their keys."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

import dagster as dg

from assets.shared import markdown
from loading import partition_keys
from loading.names import Names
from loading.partition_keys import PATTERNS, UnknownPartition, school_of
from warehouse.lake.delta import Lake
from warehouse.load.logs.load_log import schools_loaded

SCHOOL_SEMESTERS = dg.DynamicPartitionsDefinition(name=partition_keys.SCHOOL_SEMESTERS)
V1_SEMESTERS = dg.DynamicPartitionsDefinition(name=partition_keys.V1_SEMESTERS)
ATTENDANCE_WEEKS = dg.DynamicPartitionsDefinition(name=partition_keys.ATTENDANCE_WEEKS)
DATASET_SEGMENTS = dg.DynamicPartitionsDefinition(name=partition_keys.DATASET_SEGMENTS)
REPORT_RESULTS = dg.DynamicPartitionsDefinition(name=partition_keys.REPORT_RESULTS)
#: The schools of the published file, by id. Sensors write the keys after a publication.
PUBLISHED_SCHOOLS = dg.DynamicPartitionsDefinition(name="published_schools")
#: Explains the keys to people: Dagster shows keys alone.
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
#: The patterns of their keys.
PARTITIONS = {
    definition: PATTERNS[definition.name or ""]
    for definition in (SCHOOL_SEMESTERS, V1_SEMESTERS, ATTENDANCE_WEEKS, DATASET_SEGMENTS, REPORT_RESULTS)
}

#: The most rows of the table of partitions.
MAX_ROWS = 500
#: The schools that a message names at most.
MAX_SCHOOLS = 20

Parsed = TypeVar("Parsed")


def with_key_format(description: str, partitions: dg.PartitionsDefinition) -> str:
    """The description of an asset with the format of its partition keys."""
    assert isinstance(partitions, dg.DynamicPartitionsDefinition)
    return f"{description.rstrip('.')}.\n\nPartitions: {HOW_TO_READ[partitions]} {NAMES}"


def read_partition_keys(lake: Lake, keys: Iterable[str], read: Callable[[Iterable[str]], Parsed]) -> Parsed:
    """The partition keys of a run, parsed by `read`.

    Raises dagster.Failure for a key that discovery has not written."""
    keys = list(keys)
    schools = schools_loaded(lake)
    unknown = [key for key in keys if school_of(key) not in schools]
    try:
        parsed = read(keys)
    except UnknownPartition as error:
        raise dg.Failure(str(error), allow_retries=False) from None
    if unknown:
        existing = ", ".join(map(str, sorted(schools)[:MAX_SCHOOLS])) or "none yet"
        raise dg.Failure(
            f"the partition {unknown[0]!r} is of a school that the discovery has not found; it has found "
            f"{existing}. Nothing was requested. Choose another partition; the job discovery deletes it.",
            allow_retries=False,
        )
    return parsed


def remove_unknown_partitions(instance: dg.DagsterInstance) -> list[str]:
    """Delete partition keys that no discovery writes: people can add keys in the UI. Returns messages
    for the operator."""
    unknown = [
        (partitions.name or "", key)
        for partitions, pattern in PARTITIONS.items()
        for key in instance.get_dynamic_partitions(partitions.name or "")
        if not pattern.fullmatch(key)
    ]
    for name, key in unknown:
        instance.delete_dynamic_partition(name, key)
    keys = ", ".join(key for _, key in unknown)
    return [f"partitions that the platform does not have are deleted: {keys}"] if unknown else []


def partitions_table(keys: Iterable[str], v1_keys: Iterable[str], names: Names) -> dg.MarkdownMetadataValue:
    """A table of the keys and names of semesters.

    Args:
        keys: Of v3's semesters.
        v1_keys: Of v1's semesters."""
    rows = [_row(key, "v3", names.of_partition(key, is_v1=False)) for key in keys]
    rows += [_row(key, "v1, attendance", names.of_partition(key, is_v1=True)) for key in v1_keys]
    rest = [f"and {len(rows) - MAX_ROWS} more"] if len(rows) > MAX_ROWS else []
    columns = ["partition", "school", "semester", "interface"]
    return markdown.value(markdown.table(columns, rows[:MAX_ROWS]), *rest)


def _row(key: str, interface: str, named: Mapping[str, str]) -> tuple[str, str, str, str]:
    return key, named.get("school", ""), named.get("semester", ""), interface
