"""The marks of a file, written to the platform and read again."""

from loading.commit import Loaded
from loading.writes.lessons import Known, plan_marks
from loading.writes.marking import Marking
from loading.writes.reread import cause_of_writing, reread_sessions
from loading.writes.table_file import FileContent, table_in
from loading.writes.unfinished import opened
from pipelines.writes.bench import Bench, Done

FORGETS = (
    "The platform forgets the marks that a request leaves out: they were sent again. Set "
    "writes.whole_lessons to true in campus.yaml, so that every request has all marks of its lesson."
)


async def write_marks(bench: Bench, file: FileContent) -> Done:
    """Write the marks of a file. Raises TableError."""
    runtime, desk = bench.runtime, bench.desk
    known = Known(runtime.lake, bench.school_id, runtime.attendance)
    planned = plan_marks(table_in(file), known, str(file.path))
    told = bench.settings.options.writes.whole_lessons
    with opened(bench.settings.home) as unfinished:
        marking = Marking(desk.client, desk.write, known, unfinished, told)
        outcomes = [*planned.refused, *await marking.carry_out(planned.lessons, dry=bench.dry)]

    async def reread() -> list[Loaded]:
        cause = cause_of_writing(desk.errand.run_id)
        return await reread_sessions(runtime, desk.client, cause, bench.school_id, marking.sent)

    return Done(
        outcomes,
        problem=marking.stopped,
        reread=None if marking.stopped else reread,
        notes=[FORGETS] if marking.whole and not told else [],
        warnings=[
            f"{one}: the platform forgot this mark, and takes it from nobody again" for one in marking.lost
        ],
    )
