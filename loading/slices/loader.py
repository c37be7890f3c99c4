"""Loads the jobs of a plan, some side by side, and commits what they read, one commit at a time.

A plan is a generator that sends no requests: it yields the jobs that start now, and receives each job with
its outcomes. All kinds of loads share the connection, the lock of commits, the stages, halts, and failures as
outcomes."""

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, ParamSpec, Protocol, TypeVar

from campus.account import Tally
from campus.fetch.collection import InFlight
from campus.files.table_file import TableError
from campus.http.client import Client
from campus.http.errors import CampusError, Forbidden, NotFound, PlatformUnavailable
from campus.http.events import Event
from campus.plan.modes import unit_in_words
from campus.registry import ResourceSpec
from campus.sources.gathered import BATCH_ROWS, Collector
from loading.connection.connected import connected
from loading.connection.runtime import Runtime
from loading.slices.commit import (
    STORAGE_ERRORS,
    Loaded,
    Report,
    RunResults,
    commit_slice,
    fail_slice,
    failures,
    retained_rows,
)
from loading.slices.stage import SliceContext, Stage, open_stage
from warehouse.lake.parquet import GROUP_BYTES
from warehouse.lake.tables import Slice
from warehouse.load.logs.load_log import (
    SliceStatus,
    SliceStatuses,
    committed,
    slice_status,
    slice_statuses,
)
from warehouse.load.slice_reading import Cause, RequestedRows

P = ParamSpec("P")
T = TypeVar("T")
#: The parsed keys of partitions.
K = TypeVar("K")
#: The rows that are requested of each slice. A resource without an entry: all rows of its slice.
Requested = Mapping[ResourceSpec, RequestedRows]
ALREADY_LOADED = "already loaded by this sync"


class Job(Protocol):
    """Slices that are loaded together, and how they are read."""

    async def load(self, loader: "Loader") -> list[Loaded]:
        """Load the slices. A failure is an outcome, so that other slices go on.

        Raises PlatformUnavailable: the platform cannot be asked further."""


#: A job with its outcomes, or why the platform could not be asked further.
Ended = tuple[Job, list[Loaded] | PlatformUnavailable]
#: Jobs one after the other: yields a job, and receives its outcomes. A halt is raised where its job was
#: yielded.
Line = Generator[Job, list[Loaded], Any]
#: Jobs side by side: yields the jobs that start now, and receives one that has ended.
Plan = Generator[Sequence[Job], Ended, Any]


@dataclass(frozen=True)
class StagedSlice:
    """A slice that is being read: its stage, and what collects its rows."""

    stage: Stage
    collector: Collector


class Loader:
    """What the jobs of one run share: the connection, the lock of commits, the results, and the state of the
    slices when the run first looked at their school.

    Args:
        committed: When the run's cause has committed slices before, by table and slice.
        resources: The resources that were chosen to be loaded."""

    def __init__(
        self,
        runtime: Runtime,
        client: Client,
        cause: Cause,
        committed: Mapping[tuple[str, str], datetime],
        resources: Sequence[ResourceSpec] = (),
    ) -> None:
        self.runtime, self.client, self.cause, self.resources = runtime, client, cause, resources
        self.run = RunResults()
        self._committed = committed
        # One commit at a time bounds the memory; the other slices go on reading meanwhile.
        self._commits = asyncio.Lock()
        self._statuses: dict[int, SliceStatuses] = {}

    async def commit(
        self, slices: Sequence[StagedSlice], requested: Requested | None = None, *, follows: bool = False
    ) -> list[Loaded]:
        """Commit slices that were read together, one after the other.

        Args:
            requested: The rows that were requested of each slice.
            follows: The slices include all rows that changes of other tables had made doubtful."""
        return await self.in_turn(_commit_rows, slices, requested or {}, follows=follows)

    async def in_turn(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Commit by `work` in a thread, while no other slice commits."""
        async with self._commits:
            return await in_thread(work, *args, **kwargs)

    def report_progress(
        self, resource: str, unit: str, school_id: int, loaded: Sequence[Loaded], total: int
    ) -> None:
        """Report how many slices of a dataset or report are loaded. `unit`: what they are, in words."""
        self.runtime.notify(
            Event(
                "progress",
                f"{resource}: {len(loaded)} of {total} {unit}",
                resource=resource,
                slice=str(school_id),
                done=len(loaded),
                total=total,
                rows=sum(result.outcome.received for result in loaded if result.outcome),
            )
        )

    def context(self, spec: ResourceSpec, slice: Slice) -> SliceContext:
        """A slice in this run."""
        return SliceContext.of(self.runtime, self.cause, spec, slice)

    def is_committed(self, context: SliceContext) -> bool:
        """Whether the run's cause has committed the slice, after the rows that its requests name."""
        loaded_at = self.committed_at(context.spec.name, context.slice)
        parent_at = self.committed_at(context.spec.child_of or "", context.slice)
        return loaded_at is not None and (parent_at is None or parent_at <= loaded_at)

    def committed_at(self, table_name: str, slice: Slice) -> datetime | None:
        """When the run's cause has committed the slice before. None: it has not."""
        return self._committed.get((table_name, str(slice)))

    def statuses(self, school_id: int) -> SliceStatuses:
        """The statuses of a school's slices when this run first read them."""
        if school_id not in self._statuses:
            self._statuses[school_id] = slice_statuses(self.runtime.lake, school_id)
        return self._statuses[school_id]

    def slice_status(self, table_name: str, slice: Slice) -> SliceStatus:
        """The status of a slice when this run first read the slices of its school."""
        return slice_status(self.statuses(slice.school_id), table_name, slice)


async def load_planned(
    runtime: Runtime,
    cause: Cause,
    plan_load: Callable[[Loader, K], Plan],
    partitions: K,
    report: Report,
    *,
    schools: Collection[int],
    resources: Sequence[ResourceSpec] = (),
    scopes: Iterable[tuple[str, ...]] | None,
) -> RunResults:
    """Load partitions as they are planned. The jobs in flight go on after a halt, as far as they come.

    Args:
        report: Takes each slice as soon as it is committed.
        schools: The schools of the partitions.
        resources: The resources that were chosen to be loaded.
        scopes: The scopes of all requests. None: nothing is requested."""
    async with AsyncExitStack() as stack:
        if scopes is None:
            client = Client(runtime.client)
        else:
            client = await stack.enter_async_context(connected(runtime, scopes))
        loader = Loader(runtime, client, cause, committed(runtime.lake, cause.sync_id, schools), resources)
        plan, run = plan_load(loader, partitions), loader.run
        in_flight = InFlight[list[Loaded], Job]()
        jobs = next(plan, ())
        try:
            while jobs or in_flight:
                for job in jobs:
                    in_flight.add(asyncio.create_task(job.load(loader)), job)
                task = await in_flight.ended.get()
                job = in_flight.pop(task)
                try:
                    ended: Ended = job, task.result()
                except PlatformUnavailable as halt:
                    run.halts.append(halt)
                    ended = job, halt
                else:
                    for loaded in task.result():
                        run.loaded.append(loaded)
                        report(loaded)
                jobs = _next_jobs(plan, ended)
        finally:
            await in_flight.cancel()
    return run


async def load_one_by_one(loader: Loader, plan: Plan) -> list[Loaded]:
    """Load the jobs of a plan one after the other.

    Raises PlatformUnavailable where the platform cannot be asked further."""
    jobs, loaded = next(plan, ()), list[Loaded]()
    while jobs:
        [job] = jobs
        outcomes = await job.load(loader)
        loaded += outcomes
        jobs = _next_jobs(plan, (job, outcomes))
    return loaded


def _next_jobs(plan: Plan, ended: Ended) -> Sequence[Job]:
    try:
        return plan.send(ended)
    except StopIteration:
        return ()


def side_by_side(lines: Iterable[Line], most: int = 1) -> Generator[Sequence[Job], Ended, bool]:
    """The jobs of several lines, with one job of each of `most` lines at a time.

    After a halt that ends its line, no further line begins. Returns whether that happened."""
    waiting, running = deque(lines), dict[Job, Line]()
    is_halted = False
    jobs: list[Job] = []
    while True:
        while waiting and len(running) < most and not is_halted:
            line = waiting.popleft()
            if (job := next(line, None)) is not None:
                running[job] = line
                jobs.append(job)
        if not running:
            return is_halted
        ended, outcome = yield jobs
        line, jobs = running.pop(ended), []
        try:
            job = line.throw(outcome) if isinstance(outcome, PlatformUnavailable) else line.send(outcome)
        except StopIteration:
            continue
        except PlatformUnavailable:
            is_halted = True
            continue
        running[job] = line
        jobs = [job]


@contextmanager
def staged(
    contexts: Sequence[SliceContext], tally: Tally | None = None, *, shares: int = 1
) -> Iterator[list[StagedSlice]]:
    """Open the stages of slices that are read together, until the block ends.

    Args:
        tally: Of earlier requests for them.
        shares: So many such blocks share the memory of one."""
    with ExitStack() as stack:
        slices = []
        for context in contexts:
            stage = stack.enter_context(open_stage(context, group_bytes=GROUP_BYTES // shares))
            spec, label, listener = stage.context.spec, str(stage.context.slice), context.runtime.listener
            collector = Collector(spec, label, stage.write, listener, BATCH_ROWS // shares)
            slices.append(StagedSlice(stage, collector))
        if tally is not None:
            slices[0].collector.account.tally = tally
        yield slices


@contextmanager
def failures_as_outcomes(
    contexts: Sequence[SliceContext], loaded: list[Loaded], *, logs_halt: bool = True
) -> Iterator[None]:
    """Log an error of the block as the failure of the slices that have no outcome in `loaded` yet, and add
    their outcomes.

    Args:
        logs_halt: A halt is logged as their failure, too.

    Raises PlatformUnavailable: the platform cannot be asked further."""
    try:
        yield
    except PlatformUnavailable as halt:
        for context in _without_outcome(contexts, loaded) if logs_halt else ():
            fail_slice(context, str(halt))
        raise
    except (CampusError, TableError, *STORAGE_ERRORS) as error:
        is_refused = isinstance(error, (Forbidden, NotFound))
        for context in _without_outcome(contexts, loaded):
            loaded.append(replace(fail_slice(context, str(error)), refused=is_refused))


def _without_outcome(contexts: Sequence[SliceContext], loaded: Sequence[Loaded]) -> list[SliceContext]:
    ended = {(result.spec.name, result.slice) for result in loaded}
    return [context for context in contexts if (context.spec.name, context.slice) not in ended]


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `work` in a thread. A task that is cancelled meanwhile ends once `work` has: it uses the stage,
    which the task closes."""
    # No task, as `asyncio.to_thread` would need: the end of a run cancels all tasks.
    running = asyncio.get_running_loop().run_in_executor(None, partial(work, *args, **kwargs))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        while not running.done():
            # Another cancellation waits, too.
            with suppress(asyncio.CancelledError):
                await asyncio.wait([running])
        raise


def _commit_rows(slices: Sequence[StagedSlice], requested: Requested, *, follows: bool) -> list[Loaded]:
    loaded = []
    for slice_ in slices:
        context, account = slice_.stage.context, slice_.collector.account
        reading = replace(
            slice_.stage.reading(account),
            retained=retained_rows(context, account.failed),
            requested=requested.get(slice_.collector.spec),
            follows=follows,
            failures=failures(unit_in_words(context.spec), account.failed),
        )
        loaded.append(commit_slice(context, reading))
    return loaded
