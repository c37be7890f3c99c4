"""Drains the inbox: reads and commits the rows that due events of a school name, and then marks them done."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from campus.http.client import Client
from campus.http.errors import CampusError, PlatformUnavailable
from campus.registry import BASE_DATA, ResourceSpec
from loading.connection.runtime import Runtime
from loading.pushes.forgotten_keys import keys_without
from loading.pushes.inbox import Event, Inbox
from loading.pushes.names import resources_named
from loading.pushes.reader import (
    PEOPLE,
    Read,
    current_semester,
    read_targets,
    read_whole_slice,
    resolver,
    row_id,
    stored_ids,
)
from loading.slices.commit import STORAGE_ERRORS
from loading.slices.loader import Loader
from warehouse.forgetting.forgotten import matcher_of
from warehouse.lake.tables import PLATFORM_ZONE
from warehouse.load.logs.load_log import now
from warehouse.load.logs.writer import batched
from warehouse.load.slice_reading import Cause

#: Events of a school that are read together. Each failed attempt divides the size by ten, so that a broken
#: event ends up alone, and an outage of an hour is not made up for event by event.
BATCH = 500
#: More ids than this cost more requests than the whole slice.
MOST_IDS = 2_000
#: Attempts at a created row that the platform does not show. After them the row counts as deleted again.
NOT_SHOWN_YET = 3

UNKNOWN = "no resource of ours is known by this name: say in `pushes.resources` of campus.yaml what to read"


@dataclass
class BatchResult:
    """The result of reading the rows that a batch of events names."""

    #: Why events failed, by `seq`.
    problems: dict[int, str] = field(default_factory=dict)
    #: Seconds that events have to wait, by `seq`.
    pauses: dict[int, float] = field(default_factory=dict)
    changed_rows: int = 0


@dataclass(frozen=True)
class Drain:
    """The context in which the events of one school are drained."""

    runtime: Runtime
    client: Client
    inbox: Inbox
    school_id: int
    run_id: str
    #: Takes a line for each reading.
    report: Callable[[str], None]
    #: When to stop, by the monotonic clock.
    ends: float


async def drain_due(drain: Drain) -> int:
    """Read the rows that due events of the school name, until `ends`. Returns how many rows changed."""
    events = drain.inbox.due(drain.school_id, BATCH)
    if current_semester(drain.runtime.lake, drain.school_id) is None:
        drain.inbox.failed(events, f"school {drain.school_id} has not been loaded yet: run campus sync")
        return 0
    try:
        return await _drain_batches(drain, events)
    finally:
        _without_forgotten(drain, events)


async def _drain_batches(drain: Drain, events: Sequence[Event]) -> int:
    changed_rows = 0
    for batch in _batches(events):
        if time.monotonic() < drain.ends:
            try:
                changed_rows += await _drain_batch(drain, batch)
            except (CampusError, PlatformUnavailable, *STORAGE_ERRORS) as error:
                drain.inbox.failed(batch, str(error))
            except Exception as error:
                # A defect of the project: the run fails, and the events are not the first of the next run.
                drain.inbox.failed(batch, type(error).__name__)
                raise
    return changed_rows


def _without_forgotten(drain: Drain, events: Sequence[Event]) -> None:
    """Replace the ids of the forgotten in drained events by their substitutes."""
    matcher = matcher_of(drain.runtime.lake, drain.school_id)
    if matcher is not None:
        resources = drain.runtime.pushes.resources
        drain.inbox.change_keys(events, lambda name, keys: keys_without(matcher, name, keys, resources))


def _batches(events: Sequence[Event]) -> Iterator[list[Event]]:
    """Batches of events to read together. Events that have not failed come first."""
    by_attempts: dict[int, list[Event]] = defaultdict(list)
    for event in events:
        by_attempts[event.attempts].append(event)
    for attempts, alike in sorted(by_attempts.items()):
        size = max(1, BATCH // 10**attempts)
        yield from (alike[start : start + size] for start in range(0, len(alike), size))


async def _drain_batch(drain: Drain, events: Sequence[Event]) -> int:
    """Read the rows that some events name, resource by resource in the recommended order, and record the
    results. Returns how many rows changed."""
    by_resource: dict[str, list[Event]] = defaultdict(list)
    unknown = []
    for event in events:
        names = resources_named(event.resource, drain.runtime.pushes.resources)
        if names is None:
            unknown.append(event)
        for name in names or ():
            by_resource[name].append(event)
    drain.inbox.unknown(unknown, UNKNOWN)
    started_at = now()
    cause = Cause(f"push-{started_at:%Y%m%d-%H%M%S}-{events[0].seq}", drain.run_id, started_at)
    loader = Loader(drain.runtime, drain.client, cause, {})
    result = BatchResult()
    with batched(drain.runtime.lake):
        for spec in BASE_DATA:
            if by_resource[spec.name]:
                await _read_resource(drain, loader, spec, by_resource[spec.name], result)
    for event in events:
        if event in unknown:
            continue
        if problem := result.problems.get(event.seq):
            drain.inbox.failed([event], problem)
        elif pause := result.pauses.get(event.seq):
            drain.inbox.postpone([event], pause)
        else:
            drain.inbox.done([event])
    return result.changed_rows


async def _read_resource(
    drain: Drain, loader: Loader, spec: ResourceSpec, events: Sequence[Event], result: BatchResult
) -> None:
    """Read the rows of one resource that events name, or the whole slice for events that name no rows."""
    lake, school_id = drain.runtime.lake, drain.school_id
    resolve = resolver(lake, spec, school_id)
    targets: dict[int | None, set[int]] = defaultdict(set)
    vague: list[Event] = []
    for event in events:
        resolved = [resolve(key) for key in event.keys]
        if not resolved or None in resolved:
            vague.append(event)
        for target in resolved:
            if target is not None:
                targets[target[0]].add(target[1])
    read = Read()
    if sum(map(len, targets.values())) > MOST_IDS:
        vague = list(events)
    elif targets:
        first = datetime.fromtimestamp(min(event.sent_at for event in events), PLATFORM_ZONE)
        ids = {semester: frozenset(some) for semester, some in targets.items()}
        read = await read_targets(loader, spec, school_id, ids, first.replace(tzinfo=None))
        result.changed_rows += read.changed_rows
        _report(drain, read, "rows")
        result.problems |= {event.seq: read.problem for event in events if read.problem}
        vague += [event for event in events if event not in vague and _lacks(event, read)]
    if vague and not read.problem:
        await _read_slice(drain, loader, spec, vague, result)
    if "id" in spec.primary_key:
        _expect_created(drain, spec, events, result)


async def _read_slice(
    drain: Drain, loader: Loader, spec: ResourceSpec, events: Sequence[Event], result: BatchResult
) -> None:
    """Read the whole slice, unless it was read after the events came. Where the last reading is recent, the
    events wait."""
    last, began = drain.inbox.slice_read_at(drain.school_id, spec.name), time.time()
    events = [event for event in events if event.received_at >= last]
    if not events:
        return
    is_small = spec.sliced_by == "school" and spec.name != PEOPLE
    pause = 0 if is_small else last + drain.runtime.pushes.slice_pause - began
    if pause > 0:
        result.pauses |= {event.seq: pause for event in events}
        return
    read = await read_whole_slice(loader, spec, drain.school_id)
    result.changed_rows += read.changed_rows
    _report(drain, read, "the slice")
    if read.problem:
        result.problems |= {event.seq: read.problem for event in events}
    else:
        drain.inbox.slice_read(drain.school_id, spec.name, began)


def _expect_created(drain: Drain, spec: ResourceSpec, events: Sequence[Event], result: BatchResult) -> None:
    """Retry events about created rows that the platform does not show yet. Not for persons: the event does
    not say in which of the lists they are."""
    alone = {
        event.seq
        for event in events
        if resources_named(event.resource, drain.runtime.pushes.resources) == (spec.name,)
    }
    new = [
        event
        for event in events
        if event.op == "created" and event.attempts < NOT_SHOWN_YET and event.seq in alone
    ]
    if not new:
        return
    stored = stored_ids(drain.runtime.lake, spec, drain.school_id, alive=False)
    for event in new:
        ids = {row_id(key) for key in event.keys} - {None}
        if not ids <= stored and event.seq not in result.pauses:
            result.problems.setdefault(event.seq, "a row that was created is not shown by the platform yet")


def _lacks(event: Event, read: Read) -> bool:
    """Whether a row is missing that the platform should have shown. A row that was updated according to the
    push only, and not according to the platform, is unchanged."""
    return event.op != "updated" and any(row_id(key) in read.missing for key in event.keys)


def _report(drain: Drain, read: Read, what: str) -> None:
    for loaded in read.loaded:
        counts = loaded.outcome.counts if loaded.outcome else None
        changes = "" if counts is None else f", {counts.modified} of {counts.loaded} rows changed"
        place = f"{loaded.spec.name} {loaded.slice}, {what} requested by pushes"
        drain.report(f"{place}: {loaded.status}{changes} {loaded.message}")
