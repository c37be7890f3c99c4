"""Writes the marks of a file to the platform, and reads them again."""

from campus.files.table_file import FileContent, TableError, table_in
from loading.attendance.semester import read_semester
from loading.attendance.weeks import timeline_of
from loading.connection.runtime import Runtime
from loading.slices.commit import Loaded
from loading.tables import TABLES
from pipelines.writes.context import Done, WriteContext
from pipelines.writes.reread import cause_of_writing, reread_sessions
from warehouse.lake.tables import Slice
from warehouse.load.logs.load_log import slice_statuses
from writeback.attendance.marking import Marking
from writeback.attendance.marks import ClassIndex, plan_marks
from writeback.store.store import Store

MARKS_LOST = (
    "The platform forgets the marks that a request leaves out: they were sent again. Set "
    "writes.whole_lessons to true in campus.yaml, so that every request has all marks of its lesson."
)


async def write_marks(context: WriteContext, file: FileContent) -> Done:
    """Write the marks of a file. Raises TableError."""
    runtime, session = context.runtime, context.session
    index = class_index(runtime, context.school_id)
    planned = plan_marks(table_in(file), index, str(file.path))
    whole_lessons = context.settings.options.writes.whole_lessons
    with Store(context.settings.home) as store:
        marking = Marking(session.client, session.write, index, store.lessons, whole_lessons)
        outcomes = [*planned.refused, *await marking.carry_out(planned.lessons, dry=context.dry)]

    async def reread() -> list[Loaded]:
        cause = cause_of_writing(session.provenance.run_id)
        return await reread_sessions(runtime, session.client, cause, context.school_id, marking.sent)

    return Done(
        outcomes,
        problem=marking.stopped,
        reread=None if marking.stopped else reread,
        notes=[MARKS_LOST] if marking.whole and not whole_lessons else [],
        warnings=[
            f"{mark}: the platform forgot this mark, and does not take it again" for mark in marking.lost
        ],
    )


def class_index(runtime: Runtime, school_id: int) -> ClassIndex:
    """The classes of a school in the lake. Raises TableError if the school was never loaded."""
    timeline = timeline_of(runtime.lake, school_id, runtime.attendance)
    statuses = slice_statuses(runtime.lake, school_id)
    semesters = {
        semester_id: read_semester(runtime.lake, timeline, statuses, semester_id)
        for semester_id in timeline.calendars
    }
    columns = ["id", "csin", "_semester_id"]
    classes = runtime.lake.read(TABLES["v1_classes"], Slice.of(_school_id=school_id), columns).to_pylist()
    if not classes:
        raise TableError(
            f"the classes of school {school_id} are not known yet: run campus sync --school {school_id}"
        )
    return ClassIndex(school_id, timeline.today, semesters, classes)
