"""Plans and loads the teaching weeks of schools: due weeks, and weeks that changes of members made doubtful.

The rows of both tables come in the same responses. They are read as planned, staged, and committed week by
week.
"""

from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from itertools import chain
from typing import Literal

from campus.attendance.calendar import Calendar
from campus.attendance.plan import AttendancePlan, is_whole_cheaper, plan_members, plan_weeks
from campus.attendance.requests import RECORDS, SESSIONS
from campus.attendance.routes import (
    CrossCheck,
    read_by_sessions,
    read_by_students,
    read_cross_check,
)
from campus.attendance.semester import Semester
from campus.attendance.week import Week
from campus.fetch.reader import Reader
from campus.http.events import Event, EventKind
from campus.plan.units import SliceQuery
from campus.registry import ATTENDANCE, RESOURCES, ResourceSpec
from campus.sources.gathered import Collector
from loading.attendance.semester import (
    MembershipChanges,
    membership_changes,
    read_semester,
    student_subset,
)
from loading.attendance.weeks import in_spans, timeline_of, weeks_of_night
from loading.partition_keys import partition_key
from loading.slices.commit import Loaded, commit_slice, failures
from loading.slices.load_slice import SliceJob
from loading.slices.loader import (
    Job,
    Line,
    Loader,
    Plan,
    Requested,
    StagedSlice,
    failures_as_outcomes,
    side_by_side,
    staged,
)
from loading.slices.stage import SliceContext
from loading.tables import TABLES, slice_of, values
from warehouse.load.logs.load_log import slice_status
from warehouse.load.slice_reading import Measure, RequestedRows, RequestedSince, RetainedRows

DAY_OF = {SESSIONS: "date", RECORDS: "checked_at"}
#: The resources whose rows the requests name.
PARENTS = (RESOURCES["v1_classes"], RESOURCES["v1_class_students"])
NO_CLASSES = "not asked for, since the classes of the semester could not be loaded"
#: A week that is being read, and the slices of its sessions and records.
StagedWeek = tuple[Week, Sequence[StagedSlice]]
#: Jobs one after the other, and in the end all their outcomes.
Outcomes = Generator[Job, list[Loaded], list[Loaded]]


@dataclass(frozen=True)
class WeekScope:
    """The rows that a reading of weeks was to bring, and what failed of them."""

    #: Sentences about students and classes that failed.
    failures: tuple[str, ...]
    #: The stored rows of students and classes that failed.
    retained: tuple[RetainedRows, ...]
    requested: Requested = field(default_factory=dict)
    #: The first day that was requested. date.min: all of the week.
    since: date = date.min


@dataclass(eq=False)
class PlannedWeeks:
    """What the jobs of a plan share."""

    plan: AttendancePlan
    #: Takes no rows. It notes the students who fail, and counts the requests for all weeks.
    students: Collector
    #: None: it is not read yet, or the weeks are read by students.
    cross_check: CrossCheck | None = None


@dataclass(frozen=True, eq=False)
class WeeksJob:
    """Weeks that are read together."""

    planned: PlannedWeeks
    #: The slices of the sessions and records, by week.
    weeks: Mapping[int, Sequence[SliceContext]]

    @property
    def semester(self) -> Semester:
        """The semester of the weeks."""
        return self.planned.plan.semester

    async def load(self, loader: Loader) -> list[Loaded]:
        """Load the weeks; a failure is an outcome.

        Raises PlatformUnavailable: the platform cannot be asked further."""
        planned, loaded = self.planned, list[Loaded]()
        if planned.plan.choice.route == "sessions" and planned.cross_check is None:
            reader = _reader(loader, self.semester, planned.students)
            planned.plan, planned.cross_check = await read_cross_check(reader, planned.plan, planned.students)
        contexts = [*chain.from_iterable(self.weeks.values())]
        with failures_as_outcomes(contexts, loaded, logs_halt=False), self._open() as opened:
            if planned.cross_check is None:
                scope = await self._read_by_students(loader, [week for week, _ in opened])
            else:
                scope = await self._read_by_sessions(loader, opened[0][0], planned.cross_check)
            for week, slices in opened:
                loaded += await loader.in_turn(self._commit, week, slices, scope)
        return [self._described(result) for result in loaded]

    def _described(self, loaded: Loaded) -> Loaded:
        """A loaded week with its metadata beside its counts. Its requests are those of its own sessions. The
        first week has the requests that were made for all weeks together."""
        plan = self.planned.plan
        since = plan.weeks[loaded.slice.week or 0]
        metadata: dict[str, str | int] = {
            "route": plan.choice.words,
            "read from": str(since) if since > date.min else "the beginning of the week",
            "cursor": str(self.semester.today),
            "requests planned for the run's weeks of the semester": plan.choice.requests,
        }
        return replace(loaded, metadata=metadata)

    async def _read_by_students(self, loader: Loader, weeks: Sequence[Week]) -> WeekScope:
        plan, students = self.planned.plan, self.planned.students
        sessions = _progress(loader, self.semester, "sessions besides")
        subset = student_subset(loader.runtime.lake, plan)
        by_number = {week.number: week for week in weeks}
        reader = _reader(loader, self.semester, students)
        classes = await read_by_students(reader, plan, by_number, students, sessions, subset)
        of_students, of_classes = students.account.failed, sessions.account.failed
        requested: Requested = {}
        if subset is not None:
            requested = {
                RECORDS: RequestedRows("student_id", tuple(sorted(subset.students)), plan.suffices),
                SESSIONS: RequestedRows("class_id", tuple(sorted(classes or ())), plan.suffices),
            }
        return WeekScope(
            failures("student", of_students) + failures("class", of_classes),
            _retained(student_id=of_students, class_id=of_classes),
            requested,
        )

    async def _read_by_sessions(self, loader: Loader, week: Week, cross_check: CrossCheck) -> WeekScope:
        plan = self.planned.plan
        await read_by_sessions(_reader(loader, self.semester, week.records), plan, week, cross_check)
        failed, requested = week.records.account.failed, dict[ResourceSpec, RequestedRows]()
        if plan.classes is not None:
            rows = RequestedRows("class_id", tuple(sorted(plan.classes)), plan.suffices)
            requested = dict.fromkeys(DAY_OF, rows)
        return WeekScope(
            # A session that no schedule has may be missing in any week.
            failures("class", failed) + failures("student", self.planned.students.account.failed),
            _retained(class_id=failed),
            requested,
            plan.weeks[week.number],
        )

    @contextmanager
    def _open(self) -> Iterator[Sequence[StagedWeek]]:
        """Open the stages of the weeks. The first week of the plan answers for the requests for all weeks."""
        with ExitStack() as stack:
            weeks, together = [], self.planned.students.account
            for number, contexts in self.weeks.items():
                slices = stack.enter_context(staged(contexts, shares=len(self.weeks)))
                sessions, records = (slice_.collector for slice_ in slices)
                if number == next(iter(self.planned.plan.weeks)):
                    records.account.tally, records.account.drift = together.tally, together.drift
                weeks.append((Week(number, sessions, records), slices))
            yield weeks

    def _commit(self, week: Week, slices: Sequence[StagedSlice], scope: WeekScope) -> list[Loaded]:
        results = []
        for slice_, checks in zip(slices, (week.session_checks, week.record_checks), strict=True):
            context, account = slice_.stage.context, slice_.collector.account
            columns, since = context.table.row_schema.names, scope.since
            reading = replace(
                slice_.stage.reading(account),
                retained=tuple(rows for rows in scope.retained if rows.column in columns),
                requested_since=RequestedSince(DAY_OF[context.spec], since) if since > date.min else None,
                requested=scope.requested.get(context.spec),
                follows=self.planned.plan.follows,
                platform_day=self.semester.today,
                failures=scope.failures,
                measures=tuple(Measure(check.name, check.expected, check.actual) for check in checks),
            )
            guard = replace(context.runtime.guard, leaving=self._leaving(context))
            results.append(commit_slice(context, reading, guard))
        return results

    def _leaving(self, context: SliceContext) -> int:
        """How many rows of a week count as another week, since the dates of the semester have moved."""
        column, week_of = DAY_OF[context.spec], self.semester.calendar.week_of
        days = values(context.runtime.lake.read(context.table, context.slice, [column]), column)
        return sum(day is not None and week_of(day) != context.slice.week for day in days)


def plan_jobs(loader: Loader, plan: AttendancePlan) -> Outcomes:
    """The jobs of a plan: by students all weeks at a time, by sessions one after the other."""
    semester, loaded = plan.semester, list[Loaded]()
    if not plan.weeks:
        return loaded
    _report(loader, semester, "plan", f", weeks {in_spans(plan.weeks)}: {plan.choice.words}")
    if plan.choice.route == "sessions":
        students, groups = "students beside the sessions", [[week] for week in plan.weeks]
    else:
        students, groups = "by students", [[*plan.weeks]]
    planned = PlannedWeeks(plan, _progress(loader, semester, students))
    for numbers in groups:
        loaded += yield WeeksJob(
            planned, _contexts(loader, semester.school_id, semester.calendar.semester_id, numbers)
        )
    if refused := len(semester.refusals.unrecorded):
        message = "sessions and showed others; they count as sessions that nobody recorded"
        _report(loader, semester, "note", f": the platform refused {refused} {message}")
    return loaded


def _contexts(
    loader: Loader, school_id: int, semester_id: int, weeks: Iterable[int]
) -> dict[int, list[SliceContext]]:
    """The slices of weeks in the run, of sessions and records."""
    return {
        week: [loader.context(spec, slice_of(spec, school_id, semester_id, week)) for spec in ATTENDANCE]
        for week in weeks
    }


def _label(semester: Semester) -> str:
    return partition_key(semester.school_id, semester.calendar.semester_id)


def _progress(loader: Loader, semester: Semester, subject: str) -> Collector:
    return Collector(RECORDS, f"{_label(semester)} {subject}", listener=loader.runtime.listener)


def _reader(loader: Loader, semester: Semester, collector: Collector) -> Reader:
    """A reader whose requests the collector's account counts."""
    return Reader(loader.client, semester.school_id, RECORDS.scopes, collector.account.tally)


def _report(loader: Loader, semester: Semester, kind: EventKind, message: str) -> None:
    loader.runtime.notify(Event(kind, f"attendance {_label(semester)}{message}"))


def _retained(**failed: Mapping[int | str, str]) -> tuple[RetainedRows, ...]:
    """The rows that stay, by column: those of students or classes that could not be read."""
    return tuple(RetainedRows(column, tuple(ids)) for column, ids in failed.items() if ids)


def plan_attendance(loader: Loader, weeks_of: Mapping[int, Mapping[int, Sequence[int]]]) -> Plan:
    """Plan teaching weeks of both tables, whose rows come in the same answers.

    Args:
        weeks_of: The weeks of each semester, by school."""
    for school_id, semesters in weeks_of.items():
        yield from side_by_side([SchoolWeeks(loader, school_id).plan(semesters)])
        if loader.client.health.down:
            break


class SchoolWeeks:
    """Plans the weeks of one school."""

    def __init__(self, loader: Loader, school_id: int) -> None:
        runtime = loader.runtime
        self._loader, self._school_id = loader, school_id
        # No load of attendance changes the statuses of other weeks and tables.
        self._statuses = loader.statuses(school_id)
        self._timeline = timeline_of(runtime.lake, school_id, runtime.attendance)
        days = runtime.incremental.whole_days
        self._due = weeks_of_night(runtime.lake, self._timeline, self._statuses, runtime.attendance, days)

    def plan(self, semesters: Mapping[int, Sequence[int]]) -> Line:
        """Plan weeks of semesters. A week that has not begun is loaded only if it is due."""
        for semester_id, weeks in semesters.items():
            yield from self._plan_semester(semester_id, weeks)

    def _plan_semester(self, semester_id: int, weeks: Sequence[int]) -> Line:
        calendar = self._timeline.calendars.get(semester_id)
        begun = calendar.weeks_until(self._timeline.today) if calendar else ()
        requested = [
            week
            for week in weeks
            if (semester_id, week) in self._due or (week in begun and not self._loader.cause.only_due)
        ]
        if skipped := [week for week in requested if self._is_committed(semester_id, week)]:
            yield self._without_reading("skip", semester_id, skipped)
        requested = [week for week in requested if week not in skipped]
        if calendar is None:
            return
        changes = self._changes(semester_id, weeks)
        if not requested and not changes.weeks:
            return
        if not self._has_loaded_classes(semester_id):
            yield self._without_reading("fail", semester_id, requested)
            return
        yield from self._plan_readings(calendar, requested, changes)

    def _plan_readings(
        self, calendar: Calendar, requested: Sequence[int], changes: MembershipChanges
    ) -> Line:
        """Plan the requested weeks, and then the students and classes of membership changes in other weeks;
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
        loaded = yield from plan_jobs(self._loader, due)
        failed = {result.slice.week for result in loaded if result.status == "failed"}
        # Rows of a few students do not settle a week whose late marks could not be read.
        weeks = [week for week in changes.weeks if week not in failed]
        if weeks:
            # The due weeks have just been committed, so the semester is read again.
            plan = _plan_changes(self._read(calendar), changes, weeks)
            yield from plan_jobs(self._loader, plan)

    def _without_reading(
        self, action: Literal["skip", "fail"], semester_id: int, weeks: Iterable[int]
    ) -> SliceJob:
        slices = _contexts(self._loader, self._school_id, semester_id, weeks).values()
        query = SliceQuery(self._school_id, semester_id)
        return SliceJob(tuple(chain.from_iterable(slices)), query, action, NO_CLASSES)

    def _read(self, calendar: Calendar) -> Semester:
        return read_semester(self._loader.runtime.lake, self._timeline, self._statuses, calendar.semester_id)

    def _changes(self, semester_id: int, weeks: Collection[int]) -> MembershipChanges:
        """The membership changes that a night follows in these weeks. A person's choice of weeks is read
        whole, without changes."""
        if not self._loader.cause.only_due:
            return MembershipChanges()
        changes = membership_changes(
            self._loader.runtime.lake, self._timeline, self._statuses, semester_id, self._due
        )
        if changes.damage:
            message = (
                f"attendance of school {self._school_id}, semester {semester_id}: {changes.damage}. Students "
                f"who may be new in a class are read again; nothing else is lost. Check the disk or store of "
                f"the lake"
            )
            self._loader.runtime.notify(Event("note", message))
        return replace(changes, weeks=tuple(week for week in changes.weeks if week in weeks))

    def _since(self, semester_id: int, week: int) -> date | None:
        return self._due[semester_id, week] if self._loader.cause.only_due else None

    def _is_trailing(self, calendar: Calendar, weeks: Sequence[int]) -> bool:
        """Whether a night has loaded all these weeks before, or they begin within its window."""
        begins = self._timeline.today - self._loader.runtime.attendance.window
        return self._loader.cause.only_due and all(
            self._since(calendar.semester_id, week) or calendar.beginning_of(week) >= begins for week in weeks
        )

    def _is_committed(self, semester_id: int, week: int) -> bool:
        """Whether this run's cause has committed the week, after the rows that its requests name."""
        committed_at, label = self._loader.committed_at, (self._school_id, semester_id, week)
        parents = [committed_at(spec.name, slice_of(spec, *label)) for spec in PARENTS]
        parents_at = max(time or datetime.min for time in parents)
        times = [committed_at(spec.name, slice_of(spec, *label)) for spec in ATTENDANCE]
        return all(time is not None and time >= parents_at for time in times)

    def _has_loaded_classes(self, semester_id: int) -> bool:
        """Whether the classes of a semester were ever loaded. An empty list counts."""
        classes = PARENTS[0]
        slice = slice_of(classes, self._school_id, semester_id)
        if self._loader.runtime.lake.read(TABLES[classes.name], slice, ["id"]).num_rows:
            return True
        return slice_status(self._statuses, classes.name, slice).complete_at is not None


def _plan_changes(semester: Semester, changes: MembershipChanges, weeks: Collection[int]) -> AttendancePlan:
    return plan_members(semester, weeks, changes.classes, changes.students, follows=changes.follows)
