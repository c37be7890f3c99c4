"""Reads written rows again by their keys, so that the warehouse shows the rows before the next night."""

from collections.abc import Collection
from datetime import date

from campus.attendance.calendar import Session
from campus.attendance.plan import plan_classes
from campus.http.client import Client
from campus.plan.units import SliceQuery
from campus.registry import RESOURCES
from loading.attendance.loader import plan_jobs
from loading.attendance.semester import read_semester
from loading.attendance.weeks import timeline_of
from loading.connection.runtime import Runtime
from loading.slices.commit import Loaded
from loading.slices.load_slice import SliceJob
from loading.slices.loader import Loader, load_one_by_one, side_by_side
from loading.tables import TABLES, slice_of
from warehouse.lake.tables import Slice
from warehouse.load.logs.load_log import now, slice_statuses
from warehouse.load.slice_reading import Cause, RequestedRows


def cause_of_writing(run_id: str = "") -> Cause:
    """The cause of a reread. `run_id`: Dagster's; empty for a command."""
    began = now()
    return Cause(f"write-{began:%Y%m%d-%H%M%S-%f}", run_id, began)


async def reread_sessions(
    runtime: Runtime, client: Client, cause: Cause, school_id: int, sessions: Collection[Session]
) -> list[Loaded]:
    """Read the classes of these sessions again, in the weeks of the sessions. Sessions outside all semesters
    have no slice and are left out."""
    timeline = timeline_of(runtime.lake, school_id, runtime.attendance)
    statuses = slice_statuses(runtime.lake, school_id)
    loader, loaded = Loader(runtime, client, cause, {}), list[Loaded]()
    for semester_id, calendar in timeline.calendars.items():
        inside = [session for session in sessions if calendar.first <= session.day <= calendar.last]
        if inside:
            plan = plan_classes(read_semester(runtime.lake, timeline, statuses, semester_id), inside)
            loaded += await load_one_by_one(loader, side_by_side([plan_jobs(loader, plan)]))
    return loaded


def sessions_of_swipes(
    runtime: Runtime,
    school_id: int,
    classes: Collection[tuple[int, date]],
    rooms: Collection[tuple[int, date]],
) -> set[Session]:
    """The lessons that swipes may have marked: on a day, all lessons of a class, or of all classes in a
    room."""
    timeline = timeline_of(runtime.lake, school_id, runtime.attendance)
    statuses = slice_statuses(runtime.lake, school_id)
    rows = runtime.lake.read(
        TABLES["v1_classes"], Slice.of(_school_id=school_id), ["id", "locations", "_semester_id"]
    ).to_pylist()
    in_room = {
        (place["id"], row["_semester_id"], row["id"]) for row in rows for place in row["locations"] or ()
    }
    marked = set()
    for semester_id, calendar in timeline.calendars.items():
        pairs = {(class_id, day) for class_id, day in classes if calendar.first <= day <= calendar.last} | {
            (class_id, day)
            for room, day in rooms
            for place, semester, class_id in in_room
            if place == room and int(semester) == semester_id and calendar.first <= day <= calendar.last
        }
        if pairs:
            semester = read_semester(runtime.lake, timeline, statuses, semester_id)
            weeks = {calendar.week_of(day) for _, day in pairs}
            marked |= {
                session for session in semester.possible(weeks) if (session.class_id, session.day) in pairs
            }
    return marked


async def reread_bindings(
    runtime: Runtime, client: Client, cause: Cause, school_id: int, resource: str, ids: Collection[str]
) -> list[Loaded]:
    """Read some cards or devices of a school again. `resource`: cards or devices."""
    spec, sorted_ids = RESOURCES[resource], tuple(sorted(ids))
    query = SliceQuery(school_id, cards=sorted_ids, devices=sorted_ids)
    loader = Loader(runtime, client, cause, {})
    requested = {spec: RequestedRows(spec.unit_column or "", sorted_ids)}
    context = loader.context(spec, slice_of(spec, school_id))
    return await SliceJob((context,), query, requested=requested).load(loader)
