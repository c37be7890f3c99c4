"""Units that are read side by side: what an error or a cancellation leaves."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from campus.capabilities import Capabilities
from campus.fetch.reader import Reader, Readings
from campus.http.errors import Forbidden, PlatformUnavailable
from campus.plan.units import Unit
from campus.registry import RESOURCES, ResourceSpec
from campus.sources.gathered import Gathered
from campus.sources.units import read_units
from tests.kits.waiting import settle

UNITS = [Unit("/x", ids=(number,)) for number in range(4)]


@dataclass
class Sink:
    """Notes what it takes."""

    rows: list[Gathered] = field(default_factory=list)
    failed: list[int | str] = field(default_factory=list)

    @property
    def spec(self) -> ResourceSpec:
        return RESOURCES["scores"]

    def add(self, rows: Gathered) -> None:
        self.rows.append(rows)

    def fail(self, ids: Sequence[int | str], reason: str) -> None:
        self.failed += ids

    def progress(self, done: int, total: int) -> None:
        pass

    def flush(self) -> None:
        pass


@dataclass
class Answers:
    """Readings that wait, but for those of one unit, which fails."""

    error: Exception
    started: int = 0
    cancelled: int = 0

    def rows_of(self, unit: Unit) -> Readings[Gathered]:
        yield SlowReading(self, self.error if unit.ids == (0,) else None)
        return Gathered()


@dataclass
class SlowReading:
    answers: Answers
    error: Exception | None

    async def read(self, reader: Reader) -> Any:
        self.answers.started += 1
        if self.error is not None:
            await settle()
            raise self.error
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.answers.cancelled += 1
            raise


def reader(concurrency: int = 4) -> Reader:
    config = SimpleNamespace(concurrency=concurrency)
    return Reader(cast(Any, SimpleNamespace(config=config, capabilities=Capabilities())), 101)


@pytest.mark.parametrize("error", [PlatformUnavailable("down"), MemoryError("full")])
def test_an_error_of_no_unit_cancels_the_requests_in_flight(error: Exception) -> None:
    answers = Answers(error)
    with pytest.raises(type(error)):
        asyncio.run(read_units(reader(), UNITS, answers.rows_of, Sink()))
    assert (answers.started, answers.cancelled) == (4, 3)


def test_an_error_of_a_unit_leaves_the_requests_in_flight() -> None:
    answers, sink = Answers(Forbidden("no")), Sink()

    async def go() -> None:
        reading = asyncio.create_task(read_units(reader(), UNITS, answers.rows_of, sink))
        await settle()
        await settle()
        assert (sink.failed, answers.cancelled) == ([0], 0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading

    asyncio.run(go())
    assert answers.cancelled == 3


def test_no_more_units_than_the_client_allows_are_read_at_a_time() -> None:
    answers = Answers(PlatformUnavailable("down"))
    with pytest.raises(PlatformUnavailable):
        asyncio.run(read_units(reader(concurrency=2), UNITS, answers.rows_of, Sink()))
    assert answers.started == 2
