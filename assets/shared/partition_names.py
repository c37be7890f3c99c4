"""The names of partitions. Their keys are ids, and Dagster shows only keys."""

from collections.abc import Iterator, Mapping, Sequence

import dagster as dg

from assets.shared import markdown
from loading.names import Names
from loading.partition_keys import partition_key

#: The most rows of the table.
MAX_ROWS = 500


def partitions_table(
    semesters: Mapping[int, Sequence[int]], v1_semesters: Mapping[int, Sequence[int]], names: Names
) -> dg.MarkdownMetadataValue:
    """A table of the keys and names of semesters. `semesters`, `v1_semesters`: semester ids by school."""
    rows = list(_rows(semesters, names, is_v1=False)) + list(_rows(v1_semesters, names, is_v1=True))
    rest = [f"and {len(rows) - MAX_ROWS} more"] if len(rows) > MAX_ROWS else []
    columns = ["partition", "school", "semester", "interface"]
    return markdown.value(markdown.table(columns, rows[:MAX_ROWS]), *rest)


def _rows(
    semesters: Mapping[int, Sequence[int]], names: Names, *, is_v1: bool
) -> Iterator[tuple[str, str, str, str]]:
    for school_id, ids in semesters.items():
        for semester_id in ids:
            key = partition_key(school_id, semester_id)
            named = names.of_partition(key, is_v1=is_v1)
            interface = "v1, attendance" if is_v1 else "v3"
            yield key, named.get("school", ""), named.get("semester", ""), interface
