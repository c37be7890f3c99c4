"""Attendance: sessions and records, whose partitions are the teaching weeks of semesters.

A night or a sync reads what is due: weeks that were never loaded, and of the others the sessions of the
trailing window. Of students who joined or left a class it reads the semester again. Weeks that a person asks
for, and all weeks of a full load, are read whole.
"""

from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime

import dagster as dg
import uvloop

from assets.drift_checks import no_drift, no_drift_spec, sources_of, tell_drift
from assets.partitions import ATTENDANCE_WEEKS, asked_for
from assets.resource_assets import (
    StepContext,
    asking_runtime,
    asset_key,
    load_or_check,
    loaded_whole,
    raise_failed,
    raw_asset,
    record,
    whole_spec,
)
from campus.attendance.calendar import Calendar
from campus.attendance.plan import AttendancePlan, is_whole_cheaper, plan_members, plan_weeks
from campus.attendance.semester import Semester
from campus.http.client import Client
from campus.http.errors import PlatformUnavailable
from campus.http.events import Event
from campus.registry import ATTENDANCE, RESOURCES, ResourceSpec
from loading.attendance.loader import SemesterLoader
from loading.attendance.membership_changes import MembershipChanges, membership_changes
from loading.attendance.semester import read_semester
from loading.attendance.weeks import due_weeks, timeline_of
from loading.commit import Loaded, fail_slice
from loading.outage import connected
from loading.partition_keys import weeks_by_school
from loading.runtime import Cause, Runtime, cause_of
from loading.slice_context import SliceContext
from loading.tables import TABLES, slice_of
from warehouse.load.load_log import committed, slice_status, slice_statuses
from warehouse.load.log_writer import batched

# What the questions are made from.
PARENTS = (RESOURCES["v1_classes"], RESOURCES["v1_class_students"])


def _asset_spec(spec: ResourceSpec) -> dg.AssetSpec:
    # Weeks and semesters are different partitions, and which belong together only the keys tell.
    mapping = dg.AllPartitionMapping()
    deps = [dg.AssetDep(asset_key(parent.name), partition_mapping=mapping) for parent in PARENTS]
    return raw_asset(spec, "attendance", deps, ATTENDANCE_WEEKS, freshness=None)


@dg.multi_asset(
    name="load_attendance",
    specs=[_asset_spec(spec) for spec in ATTENDANCE],
    check_specs=[check(asset_key(spec.name)) for spec in ATTENDANCE for check in (whole_spec, no_drift_spec)],
    can_subset=True,
    backfill_policy=dg.BackfillPolicy.single_run(),
    required_resource_keys={"campus"},
    pool="platform",
)
def attendance(context: dg.AssetExecutionContext) -> Iterator[dg.AssetCheckResult]:
    """Load the weeks of the run."""
    yield from load_or_check(context, load_attendance)


def load_attendance(
    context: StepContext, keys: Sequence[str], assets: Collection[dg.AssetKey]
) -> Iterator[dg.AssetCheckResult]:
    """Load teaching weeks; both tables, since one answer holds the rows of both."""
    runtime = asking_runtime(context)
    cause = cause_of(context.run.run_id, context.run.tags)
    with batched(runtime.lake):
        loaded, halts = uvloop.run(_load_all(context, runtime, cause, keys))
    began = tell_drift(runtime, cause, sources_of(loaded))
    for spec in ATTENDANCE:
        asset = asset_key(spec.name)
        if asset in assets:
            yield loaded_whole(asset, (one for one in loaded if one.spec is spec))
            yield no_drift(asset, [one for one in began if one.resource == spec.name])
    raise_failed(context, loaded, halts=halts)


async def _load_all(
    context: StepContext, runtime: Runtime, cause: Cause, keys: Sequence[str]
) -> tuple[list[Loaded], list[PlatformUnavailable]]:
    loaded: list[Loaded] = []
    halts: list[PlatformUnavailable] = []
    asked = asked_for(runtime.lake, keys, weeks_by_school)
    done = committed(runtime.lake, cause.sync_id, asked)
    async with connected(runtime, [spec.scopes for spec in ATTENDANCE]) as client:
        for school_id, semesters in asked.items():
            school = _School(runtime, client, cause, school_id, done)
            try:
                for semester_id, weeks in semesters.items():
                    async for one, more in school.load(semester_id, weeks):
                        record(context, one, more=more)
                        loaded.append(one)
            except PlatformUnavailable as halt:
                halts.append(halt)
            if client.health.down:
                break
    return loaded, halts


class _School:
    """The weeks of one school that a run asks for. `done`: what its cause has committed."""

    def __init__(
        self,
        runtime: Runtime,
        client: Client,
        cause: Cause,
        school_id: int,
        done: Mapping[tuple[str, str], datetime],
    ) -> None:
        self._runtime, self._client, self._cause = runtime, client, cause
        self._school_id, self._done = school_id, done
        # Read once: no load of attendance changes what these say of other weeks and tables.
        self._statuses = slice_statuses(runtime.lake, school_id)
        self._timeline = timeline_of(runtime.lake, school_id, runtime.attendance)
        self._due = due_weeks(runtime.lake, self._timeline, self._statuses, runtime.attendance)

    async def load(
        self, semester_id: int, weeks: Sequence[int]
    ) -> AsyncIterator[tuple[Loaded, Mapping[str, str | int]]]:
        """Load weeks of a semester. A week that has not begun has nothing to ask for, unless it is due."""
        calendar = self._timeline.calendars.get(semester_id)
        begun = calendar.weeks_until(self._timeline.today) if calendar else ()
        asked = [
            week
            for week in weeks
            if (semester_id, week) in self._due or (week in begun and not self._cause.only_due)
        ]
        skipped = [week for week in asked if self._is_done(semester_id, week)]
        for week in skipped:
            for spec in ATTENDANCE:
                slice = slice_of(spec, self._school_id, semester_id, week)
                yield Loaded(spec, slice, "skipped", "already loaded by this sync"), {}
        asked = [week for week in asked if week not in skipped]
        if calendar is None:
            return
        changes = self._changes(semester_id, weeks)
        if not asked and not changes.weeks:
            return
        if not self._knows_classes(semester_id):
            for week in asked:
                for one in self._not_asked(semester_id, week):
                    yield one, {}
            return
        async for loaded in self._load(calendar, asked, changes):
            yield loaded

    async def _load(
        self, calendar: Calendar, asked: Sequence[int], changes: MembershipChanges
    ) -> AsyncIterator[tuple[Loaded, Mapping[str, str | int]]]:
        """Load the weeks that are due, and then what changes of members have made doubtful in others; or all
        of these weeks whole."""
        semester = self._read(calendar)
        due = plan_weeks(
            semester,
            {week: self._since(calendar.semester_id, week) for week in asked},
            window_only=self._is_trailing(calendar, asked),
        )
        if changes.weeks:
            every = plan_weeks(semester, dict.fromkeys(sorted({*asked, *changes.weeks})))
            following = _plan_changes(semester, changes, changes.weeks).requests
            # Students who are awaited may be missing in a whole reading too.
            if changes.follows and is_whole_cheaper(due.requests, following, every.requests):
                due, changes = every, MembershipChanges()
        failed: set[int | None] = set()
        loader = SemesterLoader(self._runtime, self._client, self._cause, due)
        async for one in loader.load():
            if one.status == "failed":
                failed.add(one.slice.week)
            yield one, loader.described(one)
        # A week whose late marks could not be read is not settled by what is read of a few students.
        weeks = [week for week in changes.weeks if week not in failed]
        if weeks:
            # Read anew, since the weeks that were due have just been committed.
            plan = _plan_changes(self._read(calendar), changes, weeks)
            loader = SemesterLoader(self._runtime, self._client, self._cause, plan)
            async for one in loader.load():
                yield one, loader.described(one)

    def _read(self, calendar: Calendar) -> Semester:
        return read_semester(self._runtime.lake, self._timeline, self._statuses, calendar.semester_id)

    def _changes(self, semester_id: int, weeks: Collection[int]) -> MembershipChanges:
        """The changes of members that a night follows in these weeks. Weeks that a person chooses are read
        whole."""
        if not self._cause.only_due:
            return MembershipChanges()
        lake, timeline = self._runtime.lake, self._timeline
        found = membership_changes(lake, timeline, self._statuses, semester_id, self._due)
        if found.damage and self._runtime.listener:
            message = (
                f"attendance of school {self._school_id}, semester {semester_id}: {found.damage}. Students "
                f"who may be new in a class are read again; nothing else is lost. Check the disk or store of "
                f"the lake"
            )
            self._runtime.listener(Event("note", message))
        return replace(found, weeks=tuple(week for week in found.weeks if week in weeks))

    def _since(self, semester_id: int, week: int) -> date | None:
        return self._due[semester_id, week] if self._cause.only_due else None

    def _is_trailing(self, calendar: Calendar, weeks: Sequence[int]) -> bool:
        """Whether a night finds these weeks held, or so young that they lie in its window."""
        begins = self._timeline.today - self._runtime.attendance.window
        return self._cause.only_due and all(
            self._since(calendar.semester_id, week) or calendar.beginning_of(week) >= begins for week in weeks
        )

    def _is_done(self, semester_id: int, week: int) -> bool:
        """Whether this run's cause has committed the week, after what it is asked with."""
        own = [
            self._done.get((spec.name, str(slice_of(spec, self._school_id, semester_id, week))))
            for spec in ATTENDANCE
        ]
        parents = [
            self._done.get((spec.name, str(slice_of(spec, self._school_id, semester_id)))) for spec in PARENTS
        ]
        return all(when and all(parent is None or parent <= when for parent in parents) for when in own)

    def _knows_classes(self, semester_id: int) -> bool:
        """Whether the classes of a semester were ever loaded, be they none."""
        classes = PARENTS[0]
        slice = slice_of(classes, self._school_id, semester_id)
        if self._runtime.lake.read(TABLES[classes.name], slice, ["id"]).num_rows:
            return True
        return slice_status(self._statuses, classes.name, slice).complete_at is not None

    def _not_asked(self, semester_id: int, week: int) -> list[Loaded]:
        message = "not asked for, since the classes of the semester could not be loaded"
        return [
            fail_slice(
                SliceContext.of(
                    self._runtime, self._cause, spec, slice_of(spec, self._school_id, semester_id, week)
                ),
                message,
            )
            for spec in ATTENDANCE
        ]


def _plan_changes(semester: Semester, changes: MembershipChanges, weeks: Collection[int]) -> AttendancePlan:
    return plan_members(semester, weeks, changes.classes, changes.students, follows=changes.follows)
