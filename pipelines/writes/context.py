"""The context and the result of each write task, for commands and runs alike."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from campus.http.errors import CampusError, PlatformUnavailable
from loading.connection.runtime import Runtime
from loading.slices.commit import Loaded
from pipelines.settings.settings import Settings
from pipelines.writes.session import open_write_session
from warehouse.load.logs.load_log import now
from warehouse.load.logs.writer import batched
from writeback.outcomes import RowOutcome, write_outcomes
from writeback.roster.plan_file import PLANS
from writeback.session import WriteSession
from writeback.store.journal import Provenance


@dataclass(frozen=True)
class WriteContext:
    """The context of a write task."""

    settings: Settings
    runtime: Runtime
    session: WriteSession
    school_id: int
    #: True: only shows what would be written.
    dry: bool


@dataclass(frozen=True)
class Done:
    """The result of a write task."""

    outcomes: Sequence[RowOutcome]
    #: Slices that were read again.
    loaded: Sequence[Loaded] = ()
    #: Why writing stopped; empty: it did not stop.
    problem: str = ""
    #: Reads the written rows again, after the outcomes are on disk.
    reread: Callable[[], Awaitable[Sequence[Loaded]]] | None = None
    #: Further notes for the user.
    notes: Sequence[str] = ()
    #: Problems of the platform or its data.
    warnings: Sequence[str] = ()
    #: By Ctrl-C or a signal.
    interrupted: bool = False
    #: The next step for the user.
    next: str = ""


Work = Callable[[WriteContext], Awaitable[Done]]


async def carry_out(
    settings: Settings,
    runtime: Runtime,
    provenance: Provenance,
    school_id: int,
    work: Work,
    *,
    dry: bool = False,
    results: Path | None = None,
) -> Done:
    """Do the work for a school. `results`: the file for the outcome of each row.

    Raises the errors of `work`."""
    async with open_write_session(settings, runtime, provenance, dry=dry) as session:
        done = await work(WriteContext(settings, runtime, session, school_id, dry))
        has_results = any(row.outcome != "waiting" for row in done.outcomes)
        if results is not None and has_results and not dry:
            # On disk before the next request, since the platform may be away by now.
            write_outcomes(results, done.outcomes)
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            return replace(done, interrupted=True)
        return await read_again(runtime, done)


async def read_again(runtime: Runtime, done: Done) -> Done:
    """Read the written rows again, as far as the platform is available."""
    if done.reread is None:
        return done
    try:
        with batched(runtime.lake):
            return replace(done, loaded=await done.reread())
    except (CampusError, PlatformUnavailable) as error:
        return replace(done, problem=f"what was written could not be read again: {error}")


def unread(loaded: Iterable[Loaded]) -> list[str]:
    """A line for each slice that could not be read again."""
    return [
        f"{load.spec.name} {load.slice} could not be read again: {load.message}"
        for load in loaded
        if load.status == "failed"
    ]


def results_path(settings: Settings, what: str) -> Path:
    """The path of a result file with the outcome of each row."""
    return settings.home / PLANS / f"{what}-{now():%Y%m%d-%H%M%S}.result.csv"
