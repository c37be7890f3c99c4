"""Reads the units of a slice side by side.

A unit that fails is recorded, and its rows of the last good load stay. So one broken class stops no other
class. Empty units wait until all units are read. If another request contradicts an empty response meanwhile,
the empty units are read again.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from campus.capabilities import Confirmation
from campus.fetch.collection import InFlight
from campus.fetch.reader import Reader, Readings, drive_readings
from campus.http.errors import CampusError, NotFound, Transient
from campus.plan.units import Unit, changed_only, class_batch
from campus.registry import ResourceSpec

# So many failures in a row mean that the platform is down, not that one class is broken.
GIVE_UP_AFTER = 20


class UnitRows(Protocol):
    """The rows of a unit."""

    @property
    def is_empty(self) -> bool:
        """The unit, or a part of the unit, has no living row."""


R = TypeVar("R", bound=UnitRows)
R_contra = TypeVar("R_contra", bound=UnitRows, contravariant=True)


class Sink(Protocol[R_contra]):
    """Takes the rows of units, one unit at a time."""

    @property
    def spec(self) -> ResourceSpec:
        """The resource that the units are requested of."""

    def add(self, rows: R_contra) -> None:
        """Take the rows of a unit."""

    def fail(self, ids: Sequence[int | str], reason: str) -> None:
        """Note that the unit of these ids failed."""

    def progress(self, done: int, total: int) -> None:
        """Note how many units are read."""

    def flush(self) -> None:
        """All units are read."""


async def read_units(
    reader: Reader, units: Iterable[Unit], rows_of: Callable[[Unit], Readings[R]], sink: Sink[R]
) -> None:
    """Read units side by side, as many at a time as the client allows.

    A unit of several ids that fails is halved until the broken id stands alone. A unit without ids is the
    whole slice: its error is raised. Cancels the requests in flight before it raises."""
    waiting, in_flight = deque(units), InFlight[tuple[R, int], Unit]()
    total, done, failed_in_a_row = len(waiting), 0, 0
    empty: list[tuple[Unit, R]] = []
    confirmation = reader.capabilities.confirmation
    try:
        while waiting or in_flight:
            while waiting and len(in_flight) < reader.client.config.concurrency:
                unit = waiting.popleft()
                readings = _with_contradictions(rows_of(unit), confirmation)
                in_flight.add(asyncio.create_task(drive_readings(reader, readings)), unit)
            task = await in_flight.ended.get()
            unit = in_flight.pop(task)
            try:
                rows, contradicted = task.result()
                failed_in_a_row = 0
                if rows.is_empty and not contradicted:
                    empty.append((unit, rows))
                else:
                    sink.add(rows)
            except CampusError as error:
                is_absent = isinstance(error, NotFound) and unit.may_be_absent
                if not unit.ids and not is_absent:
                    raise
                # A platform may refuse a batch for one of its ids or for its length: it is not down.
                counts = len(unit.ids) == 1 or isinstance(error, Transient)
                failed_in_a_row = 0 if is_absent else failed_in_a_row + counts
                if len(unit.ids) > 1 and not is_absent and failed_in_a_row < GIVE_UP_AFTER:
                    total += 2
                    waiting.extend(_halves(unit, sink.spec))
                elif not is_absent:
                    sink.fail(unit.ids, str(error))
                    while failed_in_a_row >= GIVE_UP_AFTER and waiting:
                        sink.fail(waiting.popleft().ids, str(error))
                        done += 1
            done += 1
            sink.progress(done, total)
    finally:
        await in_flight.cancel()
    if empty and confirmation.contradicted:
        await read_units(reader, [unit for unit, _ in empty], rows_of, sink)
    else:
        for _, rows in empty:
            sink.add(rows)
    sink.flush()


def _with_contradictions(readings: Readings[R], confirmation: Confirmation) -> Readings[tuple[R, int]]:
    """The rows of a unit, and how many empty responses had been contradicted when its last response came."""
    rows = yield from readings
    return rows, confirmation.contradicted


def _halves(unit: Unit, spec: ResourceSpec) -> tuple[Unit, Unit]:
    middle = len(unit.ids) // 2
    first, second = class_batch(spec, unit.ids[:middle]), class_batch(spec, unit.ids[middle:])
    return changed_only(spec, first, unit.since), changed_only(spec, second, unit.since)


@dataclass(frozen=True)
class UnitReadings(Generic[R]):
    """Units that a source reads side by side, each by a source of its own."""

    units: Sequence[Unit]
    rows_of: Callable[[Unit], Readings[R]]
    sink: Sink[R]

    async def read(self, reader: Reader) -> Any:
        """Read the units. Raises CampusError."""
        await read_units(reader, self.units, self.rows_of, self.sink)
