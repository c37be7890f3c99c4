"""Draining the inbox: what waits of a school is read and committed, and only then noted as done."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from campus.http.client import Client
from campus.http.errors import CampusError, PlatformUnavailable
from campus.registry import BASE_DATA, ResourceSpec
from loading.commit import STORAGE_ERRORS
from loading.forgotten_stores import keys_without
from loading.load_slice import Loader
from loading.pushes.inbox import Event, Inbox
from loading.pushes.names import resources_named
from loading.pushes.reader import Read, read_slice, read_targets
from loading.pushes.targets import PEOPLE, current_semester, held_ids, resolver, row_id
from loading.runtime import Cause, Runtime
from warehouse.forgetting.forgotten import matcher_of
from warehouse.lake.tables import PLATFORM_ZONE
from warehouse.load.load_log import now
from warehouse.load.log_writer import batched

#: Events of a school that are read together; of those that have failed before a tenth so many each time, so
#: that a broken one comes to stand alone, and an hour without a platform is not made up for one by one.
BATCH = 500
#: So many ids cost more requests than the slice that they are in.
MOST_IDS = 2_000
#: Attempts at a row that was created and is not shown; after them it is taken to be gone again.
NOT_SHOWN_YET = 3

UNKNOWN = "no resource of ours is known by this name: say in `pushes.resources` of campus.yaml what to read"


@dataclass
class Fate:
    """What keeps events from being done, by their `seq`: a problem, or seconds to wait. `moved`: rows that
    changed."""

    problems: dict[int, str] = field(default_factory=dict)
    pauses: dict[int, float] = field(default_factory=dict)
    moved: int = 0


@dataclass(frozen=True)
class Drain:
    """What the events of one school are drained with. `tell`: takes a line for each reading; `ends`: when to
    stop, by the monotonic clock."""

    runtime: Runtime
    client: Client
    inbox: Inbox
    school_id: int
    run_id: str
    tell: Callable[[str], None]
    ends: float


async def drain_due(drain: Drain) -> int:
    """Read what the due events of the school name, until `ends`; how many rows changed."""
    events = drain.inbox.due(drain.school_id, BATCH)
    if current_semester(drain.runtime.lake, drain.school_id) is None:
        drain.inbox.failed(events, f"school {drain.school_id} has not been loaded yet: run campus sync")
        return 0
    try:
        return await _drain_batches(drain, events)
    finally:
        _without_forgotten(drain, events)


async def _drain_batches(drain: Drain, events: Sequence[Event]) -> int:
    moved = 0
    for batch in _batches(events):
        if time.monotonic() < drain.ends:
            try:
                moved += await _drain_batch(drain, batch)
            except (CampusError, PlatformUnavailable, *STORAGE_ERRORS) as error:
                drain.inbox.failed(batch, str(error))
            except Exception as error:
                # A defect of ours: the run fails and says so, and the events are not the first of the next.
                drain.inbox.failed(batch, type(error).__name__)
                raise
    return moved


def _without_forgotten(drain: Drain, events: Sequence[Event]) -> None:
    """What was asked for by the ids of the forgotten keeps those that stand for them."""
    matcher = matcher_of(drain.runtime.lake, drain.school_id)
    if matcher is not None:
        resources = drain.runtime.pushes.resources
        drain.inbox.change_keys(events, lambda name, keys: keys_without(matcher, name, keys, resources))


def _batches(events: Sequence[Event]) -> Iterator[list[Event]]:
    """The events to read together, those first that have not failed yet."""
    by_attempts: dict[int, list[Event]] = defaultdict(list)
    for event in events:
        by_attempts[event.attempts].append(event)
    for attempts, alike in sorted(by_attempts.items()):
        size = max(1, BATCH // 10**attempts)
        yield from (alike[start : start + size] for start in range(0, len(alike), size))


async def _drain_batch(drain: Drain, events: Sequence[Event]) -> int:
    """Read what some events name, resource by resource in the recommended order, and note how it went; how
    many rows changed."""
    mine: dict[str, list[Event]] = defaultdict(list)
    unknown = []
    for event in events:
        names = resources_named(event.resource, drain.runtime.pushes.resources)
        if names is None:
            unknown.append(event)
        for name in names or ():
            mine[name].append(event)
    drain.inbox.unknown(unknown, UNKNOWN)
    started_at = now()
    cause = Cause(f"push-{started_at:%Y%m%d-%H%M%S}-{events[0].seq}", drain.run_id, started_at)
    loader = Loader(drain.runtime, drain.client, cause, {})
    fate = Fate()
    with batched(drain.runtime.lake):
        for spec in BASE_DATA:
            if mine[spec.name]:
                await _read_resource(drain, loader, spec, mine[spec.name], fate)
    for event in events:
        if event in unknown:
            continue
        if problem := fate.problems.get(event.seq):
            drain.inbox.failed([event], problem)
        elif pause := fate.pauses.get(event.seq):
            drain.inbox.postpone([event], pause)
        else:
            drain.inbox.done([event])
    return fate.moved


async def _read_resource(
    drain: Drain, loader: Loader, spec: ResourceSpec, events: Sequence[Event], fate: Fate
) -> None:
    """Read the rows of one resource that events name, or its slice where they do not say which."""
    lake, school_id = drain.runtime.lake, drain.school_id
    resolve = resolver(lake, spec, school_id)
    targets: dict[int | None, set[int]] = defaultdict(set)
    vague: list[Event] = []
    for event in events:
        found = [resolve(key) for key in event.keys]
        if not found or None in found:
            vague.append(event)
        for one in found:
            if one is not None:
                targets[one[0]].add(one[1])
    read = Read()
    if sum(map(len, targets.values())) > MOST_IDS:
        vague = list(events)
    elif targets:
        first = datetime.fromtimestamp(min(event.sent_at for event in events), PLATFORM_ZONE)
        ids = {semester: frozenset(some) for semester, some in targets.items()}
        read = await read_targets(loader, spec, school_id, ids, first.replace(tzinfo=None))
        fate.moved += read.moved
        _tell(drain, read, "rows")
        fate.problems |= {event.seq: read.problem for event in events if read.problem}
        vague += [event for event in events if event not in vague and _lacks(event, read)]
    if vague and not read.problem:
        await _read_slice(drain, loader, spec, vague, fate)
    if "id" in spec.primary_key:
        _expect_created(drain, spec, events, fate)


async def _read_slice(
    drain: Drain, loader: Loader, spec: ResourceSpec, events: Sequence[Event], fate: Fate
) -> None:
    """Read the whole slice, unless a reading that began later than the events came has shown them already, or
    the last one is not long ago."""
    last, began = drain.inbox.slice_read_at(drain.school_id, spec.name), time.time()
    events = [event for event in events if event.received_at >= last]
    if not events:
        return
    is_small = spec.sliced_by == "school" and spec.name != PEOPLE
    pause = 0 if is_small else last + drain.runtime.pushes.slice_pause - began
    if pause > 0:
        fate.pauses |= {event.seq: pause for event in events}
        return
    read = await read_slice(loader, spec, drain.school_id)
    fate.moved += read.moved
    _tell(drain, read, "the slice")
    if read.problem:
        fate.problems |= {event.seq: read.problem for event in events}
    else:
        drain.inbox.slice_read(drain.school_id, spec.name, began)


def _expect_created(drain: Drain, spec: ResourceSpec, events: Sequence[Event], fate: Fate) -> None:
    """Have those events tried again that tell of new rows which the platform does not show yet. Of a person
    nobody knows in which of the lists they are."""
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
    held = held_ids(drain.runtime.lake, spec, drain.school_id, alive=False)
    for event in new:
        ids = {row_id(key) for key in event.keys} - {None}
        if not ids <= held and event.seq not in fate.pauses:
            fate.problems.setdefault(event.seq, "a row that was created is not shown by the platform yet")


def _lacks(event: Event, read: Read) -> bool:
    """Whether a row is missing of which that says something. One that was updated, and is not among those
    that were by the platform's own account, is as it was."""
    return event.op != "updated" and any(row_id(key) in read.missing for key in event.keys)


def _tell(drain: Drain, read: Read, what: str) -> None:
    for one in read.loaded:
        counts = one.outcome.counts if one.outcome else None
        moved = "" if counts is None else f", {counts.modified} of {counts.loaded} rows were news"
        drain.tell(
            f"{one.spec.name} {one.slice}, {what} asked for by pushes: {one.status}{moved} {one.message}"
        )
