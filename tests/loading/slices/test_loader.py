"""Plans: lines of jobs side by side, halts, and what a load leaves in flight."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import pytest

from campus.files.table_file import TableError
from campus.http.config import ClientConfig
from campus.http.errors import Forbidden, PlatformUnavailable
from campus.registry import RESOURCES, ResourceSpec
from loading.slices import loader
from loading.slices.commit import Loaded
from loading.slices.loader import Line, Loader, Plan, load_planned, side_by_side
from tests.kits.waiting import settle
from warehouse.lake.tables import Slice
from warehouse.load.slice_reading import Cause

HALT = PlatformUnavailable("the school cannot be read", school_id=101)


@dataclass(frozen=True, eq=False)
class NamedJob:
    """A job whose outcome `outcome` decides."""

    message: str
    outcome: Callable[[str], Awaitable[list[Loaded]]]

    async def load(self, _loader: Loader) -> list[Loaded]:
        return await self.outcome(self.message)


async def nothing(name: str) -> list[Loaded]:
    return []


def line(name: str, jobs: int = 2, outcome: Any = nothing) -> Line:
    for number in range(jobs):
        yield NamedJob(f"{name}{number}", outcome)


def started(plan: Any, ended: Any = None) -> list[str]:
    try:
        return [job.message for job in (next(plan) if ended is None else plan.send(ended))]
    except StopIteration as end:
        return [f"halted: {end.value}"]


def test_lines_run_side_by_side_and_the_next_begins_at_an_end() -> None:
    plan: Any = side_by_side([line("a", 1), line("b"), line("c")], 2)
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
    plan: Any = side_by_side([line("a"), line("b"), line("c")], 2)
    a, b = next(plan)
    assert plan.send((a, HALT)) == []
    [b] = plan.send((b, []))
    assert b.message == "b1"
    assert started(plan, (b, [])) == ["halted: True"]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Loads the jobs of a plan."""

    def run(plan: Plan) -> Any:
        @asynccontextmanager
        async def connected(runtime: Any, scopes: Any) -> AsyncIterator[Any]:
            yield SimpleNamespace(health=SimpleNamespace(down=None))

        monkeypatch.setattr(loader, "connected", connected)
        monkeypatch.setattr(loader, "committed", lambda *_: {})
        cause = Cause("night", "run", cast(Any, None))
        runtime = cast(Any, SimpleNamespace(lake=None, client=ClientConfig("http://nowhere.invalid", "", "")))
        return asyncio.run(
            load_planned(
                runtime, cause, lambda *_: plan, (), reported.append, schools=[101], scopes=[("school",)]
            )
        )

    reported: list[Loaded] = []
    return run


def plan_of(*lines: Line) -> Plan:
    yield from side_by_side(lines, 2)


def test_a_halt_leaves_what_the_other_semester_loads(load: Any) -> None:
    async def outcome(name: str) -> list[Loaded]:
        if name == "a0":
            raise HALT
        await settle()
        return [Loaded(RESOURCES["terms"], Slice.of(_school_id=101), "ok", name)]

    run = load(plan_of(*(line(name, outcome=outcome) for name in "abc")))
    assert [loaded.message for loaded in run.loaded] == ["b0", "b1"]
    assert run.halts == [HALT]


def test_a_defect_cancels_the_slices_in_flight(load: Any) -> None:
    cancelled: list[str] = []

    async def outcome(name: str) -> list[Loaded]:
        if name == "a0":
            await settle()
            raise RuntimeError("a defect")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(name)
            raise
        return []

    with pytest.raises(RuntimeError, match="a defect"):
        load(plan_of(*(line(name, outcome=outcome) for name in "ab")))
    assert cancelled == ["b0"]


def test_a_line_may_go_on_after_a_halt() -> None:
    def line_of_schools() -> Line:
        for name in ("a", "b"):
            with suppress(PlatformUnavailable):
                yield NamedJob(name, nothing)

    plan: Any = side_by_side([line_of_schools()])
    [a] = next(plan)
    [b] = plan.send((a, HALT))
    assert b.message == "b"
    assert started(plan, (b, [])) == ["halted: False"]


def test_one_slice_commits_at_a_time() -> None:
    running, most = 0, 0

    def commit() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        time.sleep(0.01)
        running -= 1

    async def commit_all() -> None:
        cause = Cause("night", "run", cast(Any, None))
        run = Loader(cast(Any, None), cast(Any, None), cause, {})
        await asyncio.gather(*(run.in_turn(commit) for _ in range(4)))

    asyncio.run(commit_all())
    assert (running, most) == (0, 1)


def slice_in_run(spec: ResourceSpec, slice_: Slice) -> Any:
    """As much of a slice in its run as a failure needs."""
    return SimpleNamespace(spec=spec, slice=slice_)


@pytest.mark.parametrize(("logs_halt", "messages"), [(True, [str(HALT)]), (False, [])])
def test_halt_is_logged_as_a_failure_where_a_kind_says_so(
    monkeypatch: pytest.MonkeyPatch, logs_halt: bool, messages: list[str]
) -> None:
    logged: list[str] = []
    monkeypatch.setattr(loader, "fail_slice", lambda _, message: logged.append(message))
    loaded: list[Loaded] = []
    context = slice_in_run(RESOURCES["terms"], Slice.of(_school_id=101))
    with (
        pytest.raises(PlatformUnavailable),
        loader.failures_as_outcomes([context], loaded, logs_halt=logs_halt),
    ):
        raise HALT
    assert (logged, loaded) == (messages, [])


@pytest.mark.parametrize("error", [Forbidden("not yours"), TableError("no table"), OSError("disk")])
def test_failure_of_a_block_is_the_outcome_of_each_slice(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """A slice that was committed before the error stays what it is."""
    spec, slices = RESOURCES["terms"], [Slice.of(_school_id=school) for school in (101, 102, 103)]
    monkeypatch.setattr(
        loader, "fail_slice", lambda context, message: Loaded(spec, context.slice, "failed", message)
    )
    committed = Loaded(spec, slices[0], "ok")
    loaded = [committed]
    with loader.failures_as_outcomes([slice_in_run(spec, slice_) for slice_ in slices], loaded):
        raise error
    refused = isinstance(error, Forbidden)
    assert loaded == [
        committed,
        *(Loaded(spec, slice_, "failed", str(error), refused=refused) for slice_ in slices[1:]),
    ]
