"""Drift: differences from the contract that began or ended since the last sync.

A difference of a slice (quality.differences) lasts until a whole reading of the slice lacks it. A difference
of a resource and school lasts while any slice has it. So it is not new when the slice of a new week shows it,
or when it was not requested for a night. The log (quality.drift) has what began and what ended.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import write_deltalake

from warehouse.lake.delta import Lake, until_committed
from warehouse.lake.logs.tables import BEGAN, DIFFERENCES, DRIFT, ENDED
from warehouse.lake.tables import school_filter
from warehouse.load.logs.load_log import last_load, loaded_before
from warehouse.load.logs.writer import findings

#: Kinds that are events, and so cannot end. Each further one is new.
MOMENTS = frozenset(
    {
        *("field_added", "field_removed", "field_retyped", "field_widened", "key_changed", "enum_grown"),
        *("unknown_type", "type_decided", "key_decided"),
    }
)
#: Kinds of what the contract does not name, or not yet.
UNNAMED = frozenset({"unknown_field", "unknown_nested_field", "unknown_value"})
#: The most differences of a resource that a message names. quality.drift has all.
MOST_NAMED = 8
#: The name of a table and the id of the school whose rows were loaded.
SchoolTable = tuple[str, int]


@dataclasses.dataclass(frozen=True)
class Difference:
    """A way in which a school's rows of a resource differ from the contract."""

    resource: str
    school_id: int
    kind: str
    field: str
    value: str | None
    #: Whether the sync in which it began was the first that loaded the table.
    is_of_first_load: bool = dataclasses.field(default=False, compare=False)

    @property
    def is_expected(self) -> bool:
        """Whether it is no news: what the contract does not name stands out at the first load."""
        return self.is_of_first_load and self.kind in UNNAMED

    @property
    def words(self) -> str:
        """The difference without its resource and school, such as `unknown_field mood`."""
        return " ".join(filter(None, [self.kind, self.field, self.value]))


def record_drift(
    lake: Lake, school_tables: Collection[SchoolTable], sync_id: str, seen_at: datetime
) -> list[Difference]:
    """Log the differences that began or ended since the last call. Returns the differences that began.

    Call it after the loads of a run are recorded. After a crash the next call for these tables catches up."""
    if not school_tables:
        return []
    return until_committed(partial(_record_drift, lake, school_tables, sync_id, seen_at))


def latest_drift(lake: Lake) -> list[Difference]:
    """The differences that began in the last sync."""
    last = last_load(lake)
    if last is None:
        return []
    is_new = (pc.field("sync_id") == last[1]) & (pc.field("change") == BEGAN)
    names = ["resource", "_school_id", "kind", "field", "value"]
    rows = lake.scan(DRIFT, lake.open(DRIFT), names, is_new).to_pylist()
    return _with_first_loads(lake, last[1], map(_difference, rows))


def in_lines(new_drift: Iterable[Difference]) -> list[str]:
    """Messages about new differences, a line per resource and school."""
    words_by_table: dict[SchoolTable, list[str]] = defaultdict(list)
    for difference in new_drift:
        words_by_table[difference.resource, difference.school_id].append(difference.words)
    return [
        f"school {school_id}, {resource}: {_some(words)}"
        for (resource, school_id), words in words_by_table.items()
    ]


def in_a_line(new_drift: Collection[Difference]) -> str:
    """A message with the number of new differences, and where to find them."""
    tables, schools = (
        {difference.resource for difference in new_drift},
        {difference.school_id for difference in new_drift},
    )
    return (
        f"New differences from the contract: {len(new_drift):,}, in {_counted(len(tables), 'table')} of "
        f"{_counted(len(schools), 'school')}. No value is lost; "
        'campus sql "FROM quality.drift" lists all'
    )


def _record_drift(
    lake: Lake, school_tables: Collection[SchoolTable], sync_id: str, seen_at: datetime
) -> list[Difference]:
    opened = lake.open(DRIFT)
    schools = {school_id for _, school_id in school_tables}
    noted = findings(lake, DIFFERENCES, schools, {resource for resource, _ in school_tables})
    logged = (
        lake.scan(DRIFT, opened, DRIFT.lake_schema.names, school_filter(schools))
        .sort_by("seen_at")
        .to_pylist()
    )
    present = _present(row for row in noted if (row["resource"], row["_school_id"]) in school_tables)
    last = {_difference(row): row for row in logged if (row["resource"], row["_school_id"]) in school_tables}
    logged_at = {item: row["seen_at"] for item, row in last.items() if row["change"] == BEGAN}
    new_drift = [item for item, (since, _) in present.items() if not _is_logged(item, since, logged_at)]
    ended = [item for item in logged_at if item not in present and item.kind not in MOMENTS]
    rows = [
        *(_row(item, BEGAN, seen_at, sync_id, present[item][1]) for item in new_drift),
        *(_row(item, ENDED, seen_at, sync_id, 0) for item in ended),
    ]
    if rows:
        write_deltalake(opened, pa.Table.from_pylist(rows, schema=DRIFT.lake_schema), mode="append")
    return _with_first_loads(lake, sync_id, new_drift)


def _with_first_loads(lake: Lake, sync_id: str, new_drift: Iterable[Difference]) -> list[Difference]:
    """The differences that began in a sync, in their order, with those of a first load marked."""
    ordered = sorted(new_drift, key=_order)
    earlier = loaded_before(lake, sync_id, {(item.resource, item.school_id) for item in ordered})
    return [
        dataclasses.replace(item, is_of_first_load=(item.resource, item.school_id) not in earlier)
        for item in ordered
    ]


def _order(difference: Difference) -> tuple[str, int, str]:
    return difference.resource, difference.school_id, difference.words


def _is_logged(difference: Difference, since: datetime, logged_at: Mapping[Difference, datetime]) -> bool:
    return difference in logged_at and (difference.kind not in MOMENTS or since <= logged_at[difference])


def _present(rows: Iterable[Mapping[str, Any]]) -> dict[Difference, tuple[datetime, int]]:
    """By difference, the time since when some slice has had it, and the number of its rows in all slices."""
    present: dict[Difference, tuple[datetime, int]] = {}
    for row in rows:
        difference = _difference(row)
        since, count = present.get(difference, (row["first_seen"], 0))
        # An event cannot end, so its latest time counts.
        first = (max if difference.kind in MOMENTS else min)(since, row["first_seen"])
        present[difference] = first, count + (row["rows"] or 0)
    return present


def _difference(row: Mapping[str, Any]) -> Difference:
    return Difference(row["resource"], row["_school_id"], row["kind"], row["field"], row["value"])


def _row(difference: Difference, change: str, seen_at: datetime, sync_id: str, rows: int) -> dict[str, Any]:
    return {
        "resource": difference.resource,
        "_school_id": difference.school_id,
        "kind": difference.kind,
        "field": difference.field,
        "value": difference.value,
        "rows": rows,
        "change": change,
        "seen_at": seen_at,
        "sync_id": sync_id,
    }


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _some(words: Sequence[str]) -> str:
    unnamed = len(words) - MOST_NAMED
    rest = f" and {unnamed} more in quality.drift" if unnamed > 0 else ""
    return "drift: " + ", ".join(words[:MOST_NAMED]) + rest
