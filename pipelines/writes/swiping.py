"""Swipes: from a file into the outbox, which needs nothing else, and from there to the platform."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from campus.http.errors import CampusError, PlatformUnavailable
from loading.commit import Loaded
from loading.writes import swipes as offline
from loading.writes.outbox import Swipe, opened
from loading.writes.outcomes import RowOutcome
from loading.writes.reread import cause_of_writing, reread_sessions, sessions_of_swipes
from loading.writes.roster.plan_file import digest
from loading.writes.table_file import FileContent, table_in
from pipelines.writes.bench import Bench, Done
from warehouse.load.load_log import now

KEPT = "What waits is kept: campus swipes send sends it."


@dataclass(frozen=True)
class Handover:
    """A file of swipes. `name`: what it is known by; empty: there is no file. `others`: rows that are
    refused, or that the platform has already."""

    name: str
    swipes: tuple[Swipe, ...] = ()
    others: tuple[RowOutcome, ...] = ()


def hand_over(home: Path, file: FileContent | None, school_id: int, *, dry: bool) -> Handover:
    """Put the swipes of a file into the outbox. dry: read it, and keep nothing. Raises TableError."""
    if file is None:
        return Handover("")
    # Another file may have its name tomorrow.
    name = f"{file.path.name} of {now():%Y-%m-%d %H:%M:%S}, {digest(file.content)[:8]}"
    swipes, others = offline.plan_swipes(table_in(file), school_id, str(file.path), name)
    if not dry:
        with opened(home) as outbox:
            sent = outbox.add(swipes)
        others += [RowOutcome(one.line, one.key, "unchanged", "the platform has it already") for one in sent]
    return Handover(name, tuple(swipes), tuple(others))


async def send_swipes(bench: Bench, handover: Handover) -> Done:
    """Send what waits of a school, that of the handover with it."""
    if bench.dry:
        waiting = [RowOutcome(one.line, one.key, "waiting", "send") for one in handover.swipes]
        return Done([*handover.others, *waiting])
    school_id, runtime, found = bench.school_id, bench.runtime, offline.Sent()
    away = False
    with opened(bench.settings.home) as outbox:
        try:
            await offline.send_waiting(outbox, school_id, bench.desk.write, found)
        except (CampusError, PlatformUnavailable) as error:
            found.trouble, away = str(error), isinstance(error, PlatformUnavailable)
        except asyncio.CancelledError:
            found.trouble, away = "Interrupted.", True
        outcomes = offline.outcomes_of(outbox, school_id, found, handover.name)
        outbox.prune()

    async def reread() -> list[Loaded]:
        sessions = sessions_of_swipes(runtime, school_id, found.classes, found.rooms)
        cause = cause_of_writing(bench.desk.errand.run_id)
        return await reread_sessions(runtime, bench.desk.client, cause, school_id, sessions)

    problem = f"{found.trouble} {KEPT}" if found.trouble else ""
    return Done([*handover.others, *outcomes], problem=problem, reread=None if away else reread)


def not_sent(home: Path, school_id: int, handover: Handover, why: str) -> Done:
    """What becomes of a handover that nobody could send now."""
    with opened(home) as outbox:
        outcomes = offline.outcomes_of(outbox, school_id, offline.Sent(), handover.name)
    return Done([*handover.others, *outcomes], problem=f"{why}. {KEPT}")
