"""Swipes: from a file into the outbox, and from the outbox to the platform. The outbox works offline."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from campus.files.table_file import FileContent, table_in
from campus.http.errors import CampusError, PlatformUnavailable
from loading.slices.commit import Loaded
from pipelines.writes.context import Done, WriteContext
from pipelines.writes.reread import cause_of_writing, reread_sessions, sessions_of_swipes
from warehouse.load.logs.load_log import now
from writeback.attendance import swipes as offline
from writeback.outcomes import RowOutcome
from writeback.roster.plan_file import digest
from writeback.store.outbox import Swipe
from writeback.store.store import Store

STILL_WAITING = "What waits is kept: campus swipes send sends it."


@dataclass(frozen=True)
class SwipeFile:
    """The swipes of a file."""

    #: The name with time and hash; empty: no file.
    name: str
    swipes: tuple[Swipe, ...] = ()
    #: Rows that are refused, or that the platform has already.
    others: tuple[RowOutcome, ...] = ()


def queue_swipes(home: Path, file: FileContent | None, school_id: int, *, dry: bool) -> SwipeFile:
    """Put the swipes of a file into the outbox. `dry`: only reads the file. Raises TableError."""
    if file is None:
        return SwipeFile("")
    # Time and hash, since tomorrow another file may have the same name.
    name = f"{file.path.name} of {now():%Y-%m-%d %H:%M:%S}, {digest(file.content)[:8]}"
    swipes, others = offline.plan_swipes(table_in(file), school_id, str(file.path), name)
    if not dry:
        with Store(home) as store:
            sent = store.outbox.add(swipes)
        others += [
            RowOutcome(swipe.line, swipe.key, "unchanged", "the platform has it already") for swipe in sent
        ]
    return SwipeFile(name, tuple(swipes), tuple(others))


async def send_swipes(context: WriteContext, swipe_file: SwipeFile) -> Done:
    """Send the waiting swipes of a school, including the swipes of the file."""
    if context.dry:
        waiting = [RowOutcome(swipe.line, swipe.key, "waiting", "send") for swipe in swipe_file.swipes]
        return Done([*swipe_file.others, *waiting])
    school_id, runtime, sent = context.school_id, context.runtime, offline.Sent()
    away = False
    with Store(context.settings.home) as store:
        outbox = store.outbox
        try:
            await offline.send_waiting(outbox, school_id, context.session.write, sent)
        except (CampusError, PlatformUnavailable) as error:
            sent.trouble, away = str(error), isinstance(error, PlatformUnavailable)
        except asyncio.CancelledError:
            sent.trouble, away = "Interrupted.", True
        outcomes = offline.outcomes_of(outbox, school_id, sent, swipe_file.name)
        outbox.prune()

    async def reread() -> list[Loaded]:
        sessions = sessions_of_swipes(runtime, school_id, sent.classes, sent.rooms)
        cause = cause_of_writing(context.session.provenance.run_id)
        return await reread_sessions(runtime, context.session.client, cause, school_id, sessions)

    problem = f"{sent.trouble} {STILL_WAITING}" if sent.trouble else ""
    return Done([*swipe_file.others, *outcomes], problem=problem, reread=None if away else reread)


def not_sent(home: Path, school_id: int, swipe_file: SwipeFile, why: str) -> Done:
    """The result for a file of swipes that could not be sent now."""
    with Store(home) as store:
        outcomes = offline.outcomes_of(store.outbox, school_id, offline.Sent(), swipe_file.name)
    return Done([*swipe_file.others, *outcomes], problem=f"{why}. {STILL_WAITING}")
