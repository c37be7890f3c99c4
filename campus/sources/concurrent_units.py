"""Reads the units of a slice concurrently.

A unit that fails is recorded, and its rows of the last good load stay. So one broken class stops no other
class. Empty units wait until all units are read. If another request contradicts an empty response meanwhile,
the empty units are read again.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from campus.fetch.collection import run_together
from campus.http.client import Client
from campus.http.errors import CampusError, NotFound, Transient
from campus.plan.units import Unit, changed_only, class_batch
from campus.registry import ResourceSpec
from campus.sources.gathered import Collector

# So many failures in a row mean that the platform is down, not that one class is broken.
GIVE_UP_AFTER = 20


@dataclass(frozen=True)
class UnitResult:
    """The answers of one unit."""

    #: Adds the rows to the collectors.
    add: Callable[[], None]
    #: Whether the unit, or a part of the unit, is empty.
    is_empty: bool = False


async def read_units(
    client: Client,
    units: Iterable[Unit],
    read_unit: Callable[[Unit], Awaitable[UnitResult]],
    collectors: list[Collector],
) -> None:
    """Read units concurrently, as many at a time as the client allows, and flush the collectors.

    A unit of several ids that fails is halved until the broken id stands alone. A unit without ids is the
    whole slice: its error is raised."""
    waiting = deque(units)
    total, done, failed_in_a_row = len(waiting), 0, 0
    empty: list[tuple[Unit, UnitResult]] = []

    def give_up(unit: Unit, error: CampusError) -> None:
        for collector in collectors:
            collector.fail(unit.ids, str(error))

    def note_failure(unit: Unit, error: CampusError) -> None:
        nonlocal total, done, failed_in_a_row
        if isinstance(error, NotFound) and unit.may_be_absent:
            failed_in_a_row = 0
            return
        # A platform may refuse a batch for one of its ids or for its length, so the platform is not down.
        failed_in_a_row += len(unit.ids) == 1 or isinstance(error, Transient)
        if len(unit.ids) > 1 and failed_in_a_row < GIVE_UP_AFTER:
            total += 2
            waiting.extend(_halves(unit, collectors[0].spec))
            return
        give_up(unit, error)
        while failed_in_a_row >= GIVE_UP_AFTER and waiting:
            give_up(waiting.popleft(), error)
            done += 1

    async def work() -> None:
        nonlocal done, failed_in_a_row
        while waiting:
            unit = waiting.popleft()
            try:
                result = await read_unit(unit)
                failed_in_a_row = 0
                if result.is_empty and not client.capabilities.confirmation.contradicted:
                    empty.append((unit, result))
                else:
                    result.add()
            except CampusError as error:
                if not unit.ids and not (isinstance(error, NotFound) and unit.may_be_absent):
                    raise
                note_failure(unit, error)
            done += 1
            for collector in collectors:
                collector.progress(done, total)

    await run_together(work() for _ in range(min(client.config.concurrency, total)))
    if empty and client.capabilities.confirmation.contradicted:
        await read_units(client, [unit for unit, _ in empty], read_unit, collectors)
    else:
        for _, result in empty:
            result.add()
    for collector in collectors:
        collector.flush()


def _halves(unit: Unit, spec: ResourceSpec) -> tuple[Unit, Unit]:
    middle = len(unit.ids) // 2
    first, second = class_batch(spec, unit.ids[:middle]), class_batch(spec, unit.ids[middle:])
    return changed_only(spec, first, unit.since), changed_only(spec, second, unit.since)
