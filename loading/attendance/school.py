"""Loads the teaching weeks of a school: due weeks, and weeks that changes of members made doubtful."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime

from campus.attendance.calendar import Calendar
from campus.attendance.plan import AttendancePlan, is_whole_cheaper, plan_members, plan_weeks
from campus.attendance.semester import Semester
from campus.http.client import Client
from campus.http.errors import PlatformUnavailable
from campus.http.events import Event
from campus.registry import ATTENDANCE, RESOURCES
from loading.attendance.loader import LoadedWeek, SemesterLoader
from loading.attendance.membership_changes import MembershipChanges, membership_changes
from loading.attendance.semester import read_semester
from loading.attendance.weeks import timeline_of, weeks_of_night
from loading.connection.outage import connected
from loading.connection.runtime import Runtime
from loading.partition_keys import partitions_of
from loading.run_results import Report, RunResults
from loading.slices.commit import Loaded, fail_slice
from loading.slices.slice_context import SliceContext
from loading.tables import TABLES, slice_of
from warehouse.load.logs.load_log import committed, slice_status, slice_statuses
from warehouse.load.slice_reading import Cause

#: The resources whose rows the requests name.
PARENTS = (RESOURCES["v1_classes"], RESOURCES["v1_class_students"])
NO_CLASSES = "not asked for, since the classes of the semester could not be loaded"


async def load_weeks(
    runtime: Runtime,
    cause: Cause,
    weeks_of: Mapping[int, Mapping[int, Sequence[int]]],
    names: Collection[str],
    report: Report,
) -> RunResults:
    """Load teaching weeks into both tables, whose rows come in the same answers, as `Kind` loads.

    Args:
        weeks_of: The weeks of each semester, by school."""
    run = RunResults()
    done = committed(runtime.lake, cause.sync_id, weeks_of)
    async with connected(runtime, [spec.scopes for spec in ATTENDANCE]) as client:
        for school_id, semesters in weeks_of.items():
            school = SchoolLoader(runtime, client, cause, school_id, done)
            try:
                for semester_id, weeks in semesters.items():
                    async for loaded, metadata in school.load(semester_id, weeks):
                        report(loaded, partitions_of(loaded.slice, ()), metadata)
                        run.loaded.append(loaded)
            except PlatformUnavailable as halt:
                run.halts.append(halt)
            if client.health.down:
                break
    return run


class SchoolLoader:
    """Loads the weeks of one school.

    Args:
        committed: When the run's cause has committed slices before, by table and slice."""

    def __init__(
        self,
        runtime: Runtime,
        client: Client,
        cause: Cause,
        school_id: int,
        committed: Mapping[tuple[str, str], datetime],
    ) -> None:
        self._runtime, self._client, self._cause = runtime, client, cause
        self._school_id, self._committed = school_id, committed
        # Read once: no load of attendance changes the statuses of other weeks and tables.
        self._statuses = slice_statuses(runtime.lake, school_id)
        self._timeline = timeline_of(runtime.lake, school_id, runtime.attendance)
        self._due = weeks_of_night(
            runtime.lake,
            self._timeline,
            self._statuses,
            runtime.attendance,
            runtime.incremental.whole_days,
        )

    async def load(self, semester_id: int, weeks: Sequence[int]) -> AsyncIterator[LoadedWeek]:
        """Load weeks of a semester. A week that has not begun is loaded only if it is due."""
        calendar = self._timeline.calendars.get(semester_id)
        begun = calendar.weeks_until(self._timeline.today) if calendar else ()
        requested = [
            week
            for week in weeks
            if (semester_id, week) in self._due or (week in begun and not self._cause.only_due)
        ]
        skipped = [week for week in requested if self._is_committed(semester_id, week)]
        for week in skipped:
            for spec in ATTENDANCE:
                slice = slice_of(spec, self._school_id, semester_id, week)
                yield Loaded(spec, slice, "skipped", "already loaded by this sync"), {}
        requested = [week for week in requested if week not in skipped]
        if calendar is None:
            return
        changes = self._changes(semester_id, weeks)
        if not requested and not changes.weeks:
            return
        if not self._has_loaded_classes(semester_id):
            for week in requested:
                for spec in ATTENDANCE:
                    slice = slice_of(spec, self._school_id, semester_id, week)
                    context = SliceContext.of(self._runtime, self._cause, spec, slice)
                    yield fail_slice(context, NO_CLASSES), {}
            return
        async for loaded in self._load(calendar, requested, changes):
            yield loaded

    async def _load(
        self, calendar: Calendar, requested: Sequence[int], changes: MembershipChanges
    ) -> AsyncIterator[LoadedWeek]:
        """Load the requested weeks, and then the students and classes of membership changes in other weeks;
        or all of these weeks whole."""
        semester = self._read(calendar)
        due = plan_weeks(
            semester,
            {week: self._since(calendar.semester_id, week) for week in requested},
            window_only=self._is_trailing(calendar, requested),
        )
        if changes.weeks:
            every = plan_weeks(semester, dict.fromkeys(sorted({*requested, *changes.weeks})))
            following = _plan_changes(semester, changes, changes.weeks).requests
            # Students who are awaited may be missing in a whole reading too.
            if changes.follows and is_whole_cheaper(due.requests, following, every.requests):
                due, changes = every, MembershipChanges()
        failed: set[int | None] = set()
        async for loaded, metadata in self._load_plan(due):
            if loaded.status == "failed":
                failed.add(loaded.slice.week)
            yield loaded, metadata
        # Rows of a few students do not settle a week whose late marks could not be read.
        weeks = [week for week in changes.weeks if week not in failed]
        if weeks:
            # The due weeks have just been committed, so the semester is read again.
            async for result in self._load_plan(_plan_changes(self._read(calendar), changes, weeks)):
                yield result

    def _load_plan(self, plan: AttendancePlan) -> AsyncIterator[LoadedWeek]:
        return SemesterLoader(self._runtime, self._client, self._cause, plan).load()

    def _read(self, calendar: Calendar) -> Semester:
        return read_semester(self._runtime.lake, self._timeline, self._statuses, calendar.semester_id)

    def _changes(self, semester_id: int, weeks: Collection[int]) -> MembershipChanges:
        """The membership changes that a night follows in these weeks. A person's choice of weeks is read
        whole, without changes."""
        if not self._cause.only_due:
            return MembershipChanges()
        changes = membership_changes(
            self._runtime.lake, self._timeline, self._statuses, semester_id, self._due
        )
        if changes.damage and self._runtime.listener:
            message = (
                f"attendance of school {self._school_id}, semester {semester_id}: {changes.damage}. Students "
                f"who may be new in a class are read again; nothing else is lost. Check the disk or store of "
                f"the lake"
            )
            self._runtime.listener(Event("note", message))
        return replace(changes, weeks=tuple(week for week in changes.weeks if week in weeks))

    def _since(self, semester_id: int, week: int) -> date | None:
        return self._due[semester_id, week] if self._cause.only_due else None

    def _is_trailing(self, calendar: Calendar, weeks: Sequence[int]) -> bool:
        """Whether a night has loaded all these weeks before, or they begin within its window."""
        begins = self._timeline.today - self._runtime.attendance.window
        return self._cause.only_due and all(
            self._since(calendar.semester_id, week) or calendar.beginning_of(week) >= begins for week in weeks
        )

    def _is_committed(self, semester_id: int, week: int) -> bool:
        """Whether this run's cause has committed the week, after the rows that its requests name."""
        own = [
            self._committed.get((spec.name, str(slice_of(spec, self._school_id, semester_id, week))))
            for spec in ATTENDANCE
        ]
        parents = [
            self._committed.get((spec.name, str(slice_of(spec, self._school_id, semester_id))))
            for spec in PARENTS
        ]
        return all(when and all(parent is None or parent <= when for parent in parents) for when in own)

    def _has_loaded_classes(self, semester_id: int) -> bool:
        """Whether the classes of a semester were ever loaded. An empty list counts."""
        classes = PARENTS[0]
        slice = slice_of(classes, self._school_id, semester_id)
        if self._runtime.lake.read(TABLES[classes.name], slice, ["id"]).num_rows:
            return True
        return slice_status(self._statuses, classes.name, slice).complete_at is not None


def _plan_changes(semester: Semester, changes: MembershipChanges, weeks: Collection[int]) -> AttendancePlan:
    return plan_members(semester, weeks, changes.classes, changes.students, follows=changes.follows)
