"""What partitions are called: their keys are ids, and Dagster shows keys alone."""

from collections.abc import Iterator, Mapping, Sequence

import dagster as dg

from assets import markdown
from loading.names import Names
from loading.partition_keys import partition_key

#: A page of the UI with more rows is read by nobody.
MOST = 500


def partitions_in_words(
    semesters: Mapping[int, Sequence[int]], v1_semesters: Mapping[int, Sequence[int]], names: Names
) -> dg.MarkdownMetadataValue:
    """The keys of schools and semesters with their names. Both arguments: semesters by school, as either
    interface is asked for them."""
    rows = list(_rows(semesters, names, is_v1=False)) + list(_rows(v1_semesters, names, is_v1=True))
    more = [f"and {len(rows) - MOST} more"] if len(rows) > MOST else []
    columns = ["partition", "school", "semester", "interface"]
    return markdown.value(markdown.table(columns, rows[:MOST]), *more)


def _rows(
    semesters: Mapping[int, Sequence[int]], names: Names, *, is_v1: bool
) -> Iterator[tuple[str, str, str, str]]:
    for school_id, ids in semesters.items():
        for semester_id in ids:
            key = partition_key(school_id, semester_id)
            called = names.of_partition(key, is_v1=is_v1)
            interface = "v1, attendance" if is_v1 else "v3"
            yield key, called.get("school", ""), called.get("semester", ""), interface
