"""The push miss rate: the share of changed rows that no push announced.

Measured after each load of a slice, over all changes since the last load: those that this load found, and
those that pushes brought in between. Shows a subscription that lacks a resource, and a receiver that was
down.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

from campus.registry import ResourceSpec
from loading.connection.runtime import Runtime
from loading.pushes.inbox import Event, Inbox, Misses, inbox_path, open_inbox
from loading.pushes.names import PUSHABLE, PushSettings, resources_named
from loading.pushes.reader import row_id
from loading.slices.commit import Loaded
from loading.tables import TABLES
from warehouse.lake.tables import PLATFORM_ZONE, SYNCED_AT
from warehouse.load.slice_reading import Cause
from warehouse.rounding import percent

#: Seconds by which a push may precede a load that did not show its change yet.
MARGIN = 3600.0


def measure_misses(runtime: Runtime, cause: Cause, loaded: Iterable[Loaded]) -> None:
    """Record of each loaded slice how many rows changed, and how many of them no push announced."""
    pushable = [
        result for result in loaded if result.status in ("ok", "warning") and result.spec.name in PUSHABLE
    ]
    if not pushable or not inbox_path(runtime.home).exists():
        return
    with open_inbox(runtime.home) as inbox:
        for result in pushable:
            _measure(runtime, cause, inbox, result)


def miss_rows(home: Path) -> list[dict[str, Any]]:
    """The rows of `quality.push_misses`: the misses of each day. Empty where no push was ever received."""
    if not inbox_path(home).exists():
        return []
    days: dict[tuple[int, str, date], list[tuple[int, int]]] = defaultdict(list)
    with open_inbox(home) as inbox:
        for school_id, resource, until, changed, missed in inbox.misses_by_load():
            day = datetime.fromtimestamp(until, PLATFORM_ZONE).date()
            days[school_id, resource, day].append((changed, missed))
    return [_day(*day, counts) for day, counts in days.items()]


def _day(school_id: int, resource: str, day: date, counts: Sequence[tuple[int, int]]) -> dict[str, Any]:
    changed, missed = (sum(numbers) for numbers in zip(*counts, strict=True))
    return {
        "resource": resource,
        "_school_id": school_id,
        "day": day,
        "changed": changed,
        "missed": missed,
        "miss_rate": float(percent(missed, changed)),
    }


def _measure(runtime: Runtime, cause: Cause, inbox: Inbox, result: Loaded) -> None:
    spec, slice = result.spec, result.slice
    until = _unix(cause.started_at)
    since = inbox.measured_until(slice.school_id, spec.name, str(slice))
    changed = announced = 0
    # Without an earlier measurement no row counts as changed.
    if since is not None:
        rows = runtime.lake.read(TABLES[spec.name], slice, [*spec.primary_key, SYNCED_AT], alive=False)
        news = [row for row in rows.to_pylist() if _unix(row[SYNCED_AT]) > since]
        events = inbox.received_since(slice.school_id, since - MARGIN) if news else []
        changed, announced = len(news), _announced(spec, news, events, runtime.pushes)
    inbox.measured(
        Misses(slice.school_id, spec.name, str(slice), until, time.time(), changed, changed - announced)
    )


def _announced(
    spec: ResourceSpec, rows: Sequence[Mapping[str, Any]], events: Sequence[Event], settings: PushSettings
) -> int:
    """How many of the rows any event names. An event without keys names all rows."""
    by_columns: dict[tuple[str, ...], set[tuple[Any, ...]]] = defaultdict(set)
    for event in events:
        if spec.name not in (resources_named(event.resource, settings.resources) or ()):
            continue
        if not event.keys:
            return len(rows)
        for key in event.keys:
            if isinstance(key, dict) and "id" not in key:
                columns = tuple(sorted(name for name in key if name in spec.primary_key))
                by_columns[columns].add(tuple(key[name] for name in columns))
            else:
                by_columns[("id",)].add((row_id(key),))
    named = {columns: keys for columns, keys in by_columns.items() if columns}
    return sum(
        any(tuple(row.get(name) for name in columns) in keys for columns, keys in named.items())
        for row in rows
    )


def _unix(moment: datetime) -> float:
    """Seconds of Unix time of the platform's wall clock."""
    return moment.replace(tzinfo=PLATFORM_ZONE).timestamp()
