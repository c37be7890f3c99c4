"""The plan of a school: lines of jobs side by side, halts, and what a load leaves in flight."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest

from campus.http.errors import PlatformUnavailable
from campus.plan.units import SliceQuery
from campus.registry import RESOURCES
from loading import load_school
from loading.load_school import Line, Plan, load_schools, side_by_side
from loading.slices.commit import Loaded
from loading.slices.load_slice import SliceJob
from tests.kits.waiting import settle
from warehouse.lake.tables import Slice
from warehouse.load.slice_reading import Cause

HALT = PlatformUnavailable("the school cannot be read", school_id=101)


def job(name: str) -> SliceJob:
    return SliceJob((), SliceQuery(101), message=name)


def line(name: str, jobs: int = 2) -> Line:
    for number in range(jobs):
        yield job(f"{name}{number}")


def started(plan: Any, ended: Any = None) -> list[str]:
    try:
        return [job.message for job in (next(plan) if ended is None else plan.send(ended))]
    except StopIteration as end:
        return [f"halted: {end.value}"]


def test_lines_run_side_by_side_and_the_next_begins_at_an_end() -> None:
    plan = side_by_side([line("a", 1), line("b"), line("c")], 2)
    a, b = next(plan)
    assert (a.message, b.message) == ("a0", "b0")
    [c] = plan.send((a, []))
    assert c.message == "c0"
    [b] = plan.send((b, []))
    assert b.message == "b1"
    assert plan.send((b, [])) == []
    [c] = plan.send((c, []))
    assert started(plan, (c, [])) == ["halted: False"]


def test_a_halted_line_ends_alone_and_no_other_begins() -> None:
    plan = side_by_side([line("a"), line("b"), line("c")], 2)
    a, b = next(plan)
    assert plan.send((a, None)) == []
    [b] = plan.send((b, []))
    assert b.message == "b1"
    assert started(plan, (b, [])) == ["halted: True"]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Loads the jobs of a plan: `outcome` gives what each brings, or raises."""

    def run(plan: Plan, outcome: Any) -> Any:
        class FakeLoader:
            def __init__(self, runtime: Any, client: Any, cause: Any, committed: Any) -> None:
                self.client = client

            async def load_slice(self, job: SliceJob) -> list[Loaded]:
                result: list[Loaded] = await outcome(job)
                return result

        @asynccontextmanager
        async def connected(runtime: Any, scopes: Any) -> AsyncIterator[Any]:
            yield SimpleNamespace(health=SimpleNamespace(down=None))

        monkeypatch.setattr(load_school, "Loader", FakeLoader)
        monkeypatch.setattr(load_school, "connected", connected)
        monkeypatch.setattr(load_school, "committed", lambda *_: {})
        monkeypatch.setattr(load_school, "plan_school", lambda *_: plan)
        cause = Cause("night", "run", cast(Any, None))
        runtime = cast(Any, SimpleNamespace(lake=None))
        return asyncio.run(load_schools(runtime, cause, {101: [20, 21]}, [], lambda *_: None))

    return run


def plan_of(*lines: Line) -> Plan:
    yield from side_by_side(lines, 2)


def test_a_halt_leaves_what_the_other_semester_loads(load: Any) -> None:
    async def outcome(job: SliceJob) -> list[Loaded]:
        if job.message == "a0":
            raise HALT
        await settle()
        return [Loaded(RESOURCES["terms"], Slice.of(_school_id=101), "ok", job.message)]

    run = load(plan_of(line("a"), line("b"), line("c")), outcome)
    assert [loaded.message for loaded in run.loaded] == ["b0", "b1"]
    assert run.halts == [HALT]


def test_a_defect_cancels_the_slices_in_flight(load: Any) -> None:
    cancelled: list[str] = []

    async def outcome(job: SliceJob) -> list[Loaded]:
        if job.message == "a0":
            await settle()
            raise RuntimeError("a defect")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(job.message)
            raise
        return []

    with pytest.raises(RuntimeError, match="a defect"):
        load(plan_of(line("a"), line("b")), outcome)
    assert cancelled == ["b0"]
