"""Drift: differences from the contract that began or ended since the last sync.

A difference of a slice (quality.differences) lasts until a whole reading of the slice lacks it. A difference
of a resource and school lasts while any slice has it. So it is not new when the slice of a new week shows it,
or when it was not requested for a night. The log (quality.drift) has what began and what ended.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import write_deltalake

from warehouse.lake.delta import Lake, until_committed
from warehouse.lake.log_tables import BEGAN, DIFFERENCES, DRIFT, ENDED
from warehouse.lake.tables import is_of
from warehouse.load.load_log import last_load
from warehouse.load.log_writer import findings

#: Kinds that are events, and so cannot end. Each further one is new.
MOMENTS = frozenset(
    {
        *("field_added", "field_removed", "field_retyped", "field_widened", "key_changed", "enum_grown"),
        *("unknown_type", "type_decided", "key_decided"),
    }
)
#: A message names so many differences of a resource. quality.drift has all.
NAMED = 8
#: A table of the lake and the school that it was read for.
Source = tuple[str, int]


@dataclass(frozen=True)
class Difference:
    """One way in which a school's rows of a resource differ from the contract."""

    resource: str
    school_id: int
    kind: str
    field: str
    value: str | None

    @property
    def words(self) -> str:
        """Without its resource and school, such as `unknown_field mood`."""
        return " ".join(filter(None, [self.kind, self.field, self.value]))


def record_drift(
    lake: Lake, sources: Collection[Source], sync_id: str, seen_at: datetime
) -> list[Difference]:
    """Log the differences that began or ended since the last record, after the loads of a run are recorded.
    Returns those that began.

    After a crash the next record of the same sources has them."""
    if not sources:
        return []
    return until_committed(partial(_record_drift, lake, sources, sync_id, seen_at))


def latest(lake: Lake) -> list[Difference]:
    """The differences that began in the last sync."""
    last = last_load(lake)
    if last is None:
        return []
    mine = (pc.field("sync_id") == last[1]) & (pc.field("change") == BEGAN)
    names = ["resource", "_school_id", "kind", "field", "value"]
    found = lake.scan(DRIFT, lake.open(DRIFT), names, mine).to_pylist()
    return sorted(map(_difference, found), key=_order)


def in_lines(began: Iterable[Difference]) -> list[str]:
    """Messages about new differences, a line per resource and school."""
    found: dict[Source, list[str]] = defaultdict(list)
    for one in began:
        found[one.resource, one.school_id].append(one.words)
    return [
        f"school {school_id}, {resource}: {_some(words)}" for (resource, school_id), words in found.items()
    ]


def in_a_line(began: Collection[Difference]) -> str:
    """A message with the number of new differences, and where to find them."""
    tables, schools = {one.resource for one in began}, {one.school_id for one in began}
    return (
        f"New differences from the contract: {len(began):,}, in {_counted(len(tables), 'table')} of "
        f"{_counted(len(schools), 'school')}. Nothing of it is lost; "
        'campus sql "FROM quality.drift" lists all'
    )


def _record_drift(
    lake: Lake, sources: Collection[Source], sync_id: str, seen_at: datetime
) -> list[Difference]:
    opened = lake.open(DRIFT)
    schools = {school_id for _, school_id in sources}
    noted = findings(lake, DIFFERENCES, schools, {resource for resource, _ in sources})
    logged = lake.scan(DRIFT, opened, DRIFT.lake_schema.names, is_of(schools)).sort_by("seen_at").to_pylist()
    stand = _stretches(row for row in noted if (row["resource"], row["_school_id"]) in sources)
    last = {_difference(row): row for row in logged if (row["resource"], row["_school_id"]) in sources}
    stood = {one: row["seen_at"] for one, row in last.items() if row["change"] == BEGAN}
    began = [one for one, (since, _) in stand.items() if not _is_known(one, since, stood)]
    ended = [one for one in stood if one not in stand and one.kind not in MOMENTS]
    rows = [
        *(_row(one, BEGAN, seen_at, sync_id, stand[one][1]) for one in began),
        *(_row(one, ENDED, seen_at, sync_id, 0) for one in ended),
    ]
    if rows:
        write_deltalake(opened, pa.Table.from_pylist(rows, schema=DRIFT.lake_schema), mode="append")
    return sorted(began, key=_order)


def _order(one: Difference) -> tuple[str, int, str]:
    return one.resource, one.school_id, one.words


def _is_known(one: Difference, since: datetime, stood: Mapping[Difference, datetime]) -> bool:
    return one in stood and (one.kind not in MOMENTS or since <= stood[one])


def _stretches(rows: Iterable[Mapping[str, Any]]) -> dict[Difference, tuple[datetime, int]]:
    """By difference, since when some slice has had it, and how many rows of all slices show it."""
    found: dict[Difference, tuple[datetime, int]] = {}
    for row in rows:
        one = _difference(row)
        since, count = found.get(one, (row["first_seen"], 0))
        # Of what cannot end the latest counts.
        first = (max if one.kind in MOMENTS else min)(since, row["first_seen"])
        found[one] = first, count + (row["rows"] or 0)
    return found


def _difference(row: Mapping[str, Any]) -> Difference:
    return Difference(row["resource"], row["_school_id"], row["kind"], row["field"], row["value"])


def _row(one: Difference, change: str, seen_at: datetime, sync_id: str | None, rows: int) -> dict[str, Any]:
    return {
        "resource": one.resource,
        "_school_id": one.school_id,
        "kind": one.kind,
        "field": one.field,
        "value": one.value,
        "rows": rows,
        "change": change,
        "seen_at": seen_at,
        "sync_id": sync_id,
    }


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _some(words: Sequence[str]) -> str:
    more = len(words) - NAMED
    return "drift: " + ", ".join(words[:NAMED]) + (f" and {more} more in quality.drift" if more > 0 else "")
