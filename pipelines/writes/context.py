"""The context and the result of every piece of writing, for commands and runs alike."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from campus.http.errors import CampusError, PlatformUnavailable
from loading.commit import Loaded
from loading.runtime import Runtime
from pipelines.settings import Settings
from pipelines.writes.session import open_write_session
from warehouse.load.load_log import now
from warehouse.load.log_writer import batched
from writeback.outcomes import RowOutcome, write_outcomes
from writeback.roster.plan_file import PLANS
from writeback.session import WriteSession
from writeback.store.journal import Provenance


@dataclass(frozen=True)
class WriteContext:
    """The context of a piece of writing."""

    settings: Settings
    runtime: Runtime
    session: WriteSession
    school_id: int
    #: True: shows what would be written.
    dry: bool


@dataclass(frozen=True)
class Done:
    """The result of a piece of writing."""

    outcomes: Sequence[RowOutcome]
    #: Slices that were read again.
    loaded: Sequence[Loaded] = ()
    #: Why writing stopped; empty: it did not.
    problem: str = ""
    #: Reads again what was written, once the outcomes are on disk.
    reread: Callable[[], Awaitable[Sequence[Loaded]]] | None = None
    #: What else is to be known.
    notes: Sequence[str] = ()
    #: What is wrong with the platform or its data.
    warnings: Sequence[str] = ()
    #: By Ctrl-C or the like.
    interrupted: bool = False
    #: What to do next.
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
    """Do the work for a school. results: where what became of each row is written.

    Raises what `work` raises."""
    async with open_write_session(settings, runtime, provenance, dry=dry) as session:
        done = await work(WriteContext(settings, runtime, session, school_id, dry))
        has_results = any(row.outcome != "waiting" for row in done.outcomes)
        if results is not None and has_results and not dry:
            # On disk before anything more is asked of a platform that may be away by now.
            write_outcomes(results, done.outcomes)
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            return replace(done, interrupted=True)
        return await read_again(runtime, done)


async def read_again(runtime: Runtime, done: Done) -> Done:
    """Read again what was written, as far as the platform lets us."""
    if done.reread is None:
        return done
    try:
        with batched(runtime.lake):
            return replace(done, loaded=await done.reread())
    except (CampusError, PlatformUnavailable) as error:
        return replace(done, problem=f"what was written could not be read again: {error}")


def unread(loaded: Iterable[Loaded]) -> list[str]:
    """The slices that could not be read again, in words."""
    return [
        f"{load.spec.name} {load.slice} could not be read again: {load.message}"
        for load in loaded
        if load.status == "failed"
    ]


def results_path(settings: Settings, what: str) -> Path:
    """The path of a result file, which has the outcome of each row."""
    return settings.home / PLANS / f"{what}-{now():%Y%m%d-%H%M%S}.result.csv"
