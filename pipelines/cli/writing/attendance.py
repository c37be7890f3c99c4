"""The work of `campus attendance write`, `campus swipes send` and `campus swipes now`."""

from functools import partial
from pathlib import Path

from campus.files.table_file import TableError, named_file
from loading.slices.commit import Loaded
from pipelines.cli.terminal.display import USAGE, complain, fail, print_line
from pipelines.cli.writing.command import report, run_writing, school_to_write
from pipelines.runs.writer_locks import Busy
from pipelines.settings.settings import Settings, claim_home, needs_writes
from pipelines.writes.context import Done, WriteContext, read_again, results_path, unread
from pipelines.writes.marks import write_marks
from pipelines.writes.reread import cause_of_writing, reread_sessions
from pipelines.writes.swipes import not_sent, queue_swipes, send_swipes
from writeback.attendance.live_swipe import Swiped, lesson_of, swipe
from writeback.kinds import ATTENDANCE
from writeback.outcomes import RowOutcome

IN_LAKE = "The lesson is in the lake; campus build, or the night, publishes it in campus.duckdb."
NOT_READ = "The next campus sync, or the night, loads the lesson."


def run_attendance(settings: Settings, file: Path, school: int | None, *, dry: bool, build: bool) -> int:
    """Write the marks of a file. Returns the exit status."""

    async def work(context: WriteContext) -> Done:
        return await write_marks(context, named_file(file))

    return run_writing(
        settings,
        "campus attendance write",
        str(file),
        school,
        work,
        dry=dry,
        build=build,
        results=results_path(settings, "attendance"),
        again=(ATTENDANCE, f"campus attendance write {file.absolute()}"),
    )


def run_swipes(settings: Settings, file: Path | None, school: int | None, *, dry: bool, build: bool) -> int:
    """Put the swipes of a file into the outbox, and send the outbox. Returns the exit status.

    The outbox comes first: it needs neither the platform nor the end of another command."""
    if not dry:
        needs_writes(settings)
    claim_home(settings)
    school_id = school_to_write(settings, school)
    try:
        swipe_file = queue_swipes(settings.home, named_file(file) if file else None, school_id, dry=dry)
    except TableError as error:
        return fail(error, USAGE)
    try:
        return run_writing(
            settings,
            "campus swipes send",
            swipe_file.name or "the outbox",
            school,
            partial(send_swipes, swipe_file=swipe_file),
            dry=dry,
            build=build,
            results=results_path(settings, "swipes"),
        )
    except Busy as busy:
        return report(not_sent(settings.home, school_id, swipe_file, str(busy)), dry=False, results=None)


async def _read_lesson(context: WriteContext, swiped: Swiped) -> Done:
    """Read again the lesson that a live swipe marked, and print when the warehouse shows it."""
    runtime, client, school_id = context.runtime, context.session.client, context.school_id

    async def reread() -> list[Loaded]:
        lesson = await lesson_of(client, school_id, swiped)
        lessons = [] if lesson is None else [lesson]
        return await reread_sessions(runtime, client, cause_of_writing(), school_id, lessons)

    done = await read_again(runtime, Done((), reread=reread))
    problems = [*unread(done.loaded), *([done.problem] if done.problem else [])]
    for problem in problems:
        complain(problem)
    is_read = done.loaded and not problems
    print_line(IN_LAKE if is_read else NOT_READ)
    return Done(())


def run_live_swipe(
    settings: Settings,
    school: int | None,
    classroom: int,
    student: int | None,
    card: str,
    *,
    dry: bool = False,
) -> int:
    """Swipe now, and print the platform's answer. Returns the exit status: 1 if the swipe does not count."""
    exit_statuses: list[int] = []

    async def work(context: WriteContext) -> Done:
        if dry:
            who = f"student {student}" if student is not None else f"card {card}"
            return Done([RowOutcome(0, f"classroom {classroom}, {who}", "waiting", "swipe now")])
        swiped = await swipe(
            context.session.client,
            context.session.write,
            context.school_id,
            classroom,
            student=student,
            card=card,
        )
        # Before the lesson is read again: the student waits for the answer.
        print_line(f"{swiped.status}: {swiped.message}".rstrip(": "))
        exit_statuses.append(int(not swiped.counts))
        return await _read_lesson(context, swiped) if swiped.counts else Done(())

    status = run_writing(
        settings, "campus swipes now", "a live swipe", school, work, dry=dry, build=False, quiet=not dry
    )
    return max([status, *exit_statuses])
