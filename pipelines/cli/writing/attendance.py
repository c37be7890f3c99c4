"""`campus attendance write`, `campus swipes send` and `campus swipes now`."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from campus.http.errors import CampusError, Halt
from loading.commit import Loaded
from loading.writes import swipes as offline
from loading.writes.lessons import Known, plan_marks
from loading.writes.live import swipe
from loading.writes.marking import Marking
from loading.writes.outbox import opened
from loading.writes.outcomes import RowOutcome
from loading.writes.reread import cause_of_writing, reread_sessions, sessions_of_swipes
from loading.writes.roster.plan import digest
from loading.writes.table_file import TableError, TableFile, read_table
from loading.writes.unfinished import opened as unfinished_lessons
from pipelines.cli.display import USAGE, complain, console
from pipelines.cli.writing.bench import Bench, Done, results_path, run_writing, tell, the_school
from pipelines.settings import Settings, claim_home, needs_writes
from pipelines.writers import Busy
from warehouse.load.load_log import now

FORGETS = (
    "The platform forgets the marks that a request leaves out: they were sent again. Set "
    "writes.whole_lessons to true in campus.yaml, so that every request has all marks of its lesson."
)
KEPT = "What waits is kept: campus swipes send sends it."


def run_attendance(settings: Settings, file: Path, school: int | None, *, dry: bool, build: bool) -> int:
    """Write the marks of a file. The exit status."""

    async def work(bench: Bench) -> Done:
        runtime, desk = bench.runtime, bench.desk
        known = Known(runtime.lake, bench.school_id, runtime.attendance)
        planned = plan_marks(read_table(file), known, str(file))
        told = settings.options.writes.whole_lessons
        with unfinished_lessons(bench.settings.home) as unfinished:
            marking = Marking(desk.client, desk.write, known, unfinished, told)
            outcomes = [*planned.refused, *await marking.carry_out(planned.lessons, dry=dry)]
        if marking.whole and not told:
            console.print(FORGETS, soft_wrap=True)
        for one in marking.lost:
            complain(f"{one}: the platform forgot this mark, and takes it from nobody again")

        async def reread() -> list[Loaded]:
            return await reread_sessions(
                runtime, desk.client, cause_of_writing(), bench.school_id, marking.sent
            )

        return Done(outcomes, problem=marking.stopped, reread=None if marking.stopped else reread)

    return run_writing(
        settings,
        "campus attendance write",
        str(file),
        school,
        work,
        dry=dry,
        build=build,
        results=results_path(settings, "attendance"),
    )


def run_swipes(settings: Settings, file: Path | None, school: int | None, *, dry: bool, build: bool) -> int:
    """Put the swipes of a file into the outbox, and send what waits there. The exit status.

    They are in the outbox before anything else is needed: the platform, or the end of another command."""
    if not dry:
        needs_writes(settings)
    claim_home(settings)
    school_id = the_school(settings, school)
    handover = "" if file is None else handover_of(file)
    try:
        table = TableFile(offline.FIELDS, ()) if file is None else read_table(file)
        swipes, others = offline.plan_swipes(table, school_id, str(file), handover)
    except TableError as error:
        complain(error)
        return USAGE
    if not dry:
        with opened(settings.home) as outbox:
            sent = outbox.add(swipes)
        others += [RowOutcome(one.line, one.key, "unchanged", "the platform has it already") for one in sent]

    async def work(bench: Bench) -> Done:
        if dry:
            waiting = [RowOutcome(one.line, one.key, "waiting", "send") for one in swipes]
            return Done([*others, *waiting])
        return await _send_waiting(bench, others, handover)

    try:
        return run_writing(
            settings,
            "campus swipes send",
            handover or "the outbox",
            school,
            work,
            dry=dry,
            build=build,
            results=results_path(settings, "swipes"),
        )
    except Busy as busy:
        with opened(settings.home) as outbox:
            others += offline.outcomes_of(outbox, school_id, offline.Sent(), handover)
        return tell(Done(others, problem=f"{busy}. {KEPT}"), dry=False, results=None)


async def _send_waiting(bench: Bench, others: Sequence[RowOutcome], handover: str) -> Done:
    school_id, runtime, found = bench.school_id, bench.runtime, offline.Sent()
    away = False
    with opened(bench.settings.home) as outbox:
        try:
            await offline.send_waiting(outbox, school_id, bench.desk.write, found)
        except (CampusError, Halt) as error:
            found.trouble, away = str(error), isinstance(error, Halt)
        outcomes = offline.outcomes_of(outbox, school_id, found, handover)
        outbox.prune()

    async def reread() -> list[Loaded]:
        sessions = sessions_of_swipes(runtime, school_id, found.classes, found.rooms)
        return await reread_sessions(runtime, bench.desk.client, cause_of_writing(), school_id, sessions)

    problem = f"{found.trouble} {KEPT}" if found.trouble else ""
    return Done([*others, *outcomes], problem=problem, reread=None if away else reread)


def handover_of(file: Path) -> str:
    """What a file is known by that is handed over now: another one may have its name tomorrow."""
    with suppress(OSError):
        return f"{file.name} of {now():%Y-%m-%d %H:%M:%S}, {digest(file.read_bytes())[:8]}"
    return file.name


def run_live_swipe(
    settings: Settings, school: int | None, classroom: int, student: int | None, card: str
) -> int:
    """Swipe now, and show what the platform says. The exit status: 1 where it does not count."""
    ends: list[int] = []

    async def work(bench: Bench) -> Done:
        swiped = await swipe(
            bench.desk.client, bench.desk.write, bench.school_id, classroom, student=student, card=card
        )
        console.print(f"{swiped.status}: {swiped.message}".rstrip(": "), markup=False, soft_wrap=True)
        ends.append(int(swiped.status not in {*offline.RECORDED, "found"}))
        return Done(())

    status = run_writing(
        settings, "campus swipes now", "a live swipe", school, work, dry=False, build=False, quiet=True
    )
    return max([status, *ends])
