"""Loads the teaching weeks of schools: due weeks, and weeks that changes of members made doubtful.

The rows of both tables come in the same responses. They are read as planned, staged, and committed week by
week.
"""

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from campus.account import Account
from campus.attendance.calendar import Calendar, Session
from campus.attendance.plan import AttendancePlan, is_whole_cheaper, plan_members, plan_weeks
from campus.attendance.requests import RECORDS, SESSIONS
from campus.attendance.routes import (
    CrossCheck,
    StudentSubset,
    read_by_sessions,
    read_by_students,
    read_cross_check,
)
from campus.attendance.semester import Semester
from campus.attendance.week import Week
from campus.fetch.reader import Reader
from campus.http.errors import CampusError, PlatformUnavailable
from campus.http.events import Event, EventKind
from campus.registry import ATTENDANCE, RESOURCES, ResourceSpec
from campus.sources.gathered import Collector
from loading.attendance.membership_changes import MembershipChanges, membership_changes
from loading.attendance.semester import read_semester
from loading.attendance.weeks import timeline_of, weeks_of_night
from loading.connection.connected import connected
from loading.connection.runtime import Runtime
from loading.partition_keys import partition_key, partitions_of
from loading.slices.commit import (
    STORAGE_ERRORS,
    Loaded,
    Report,
    RunResults,
    commit_slice,
    fail_slice,
    failures,
    reading_of,
)
from loading.slices.load_slice import ALREADY_LOADED, Loader, Requested, StagedSlice, staged
from loading.slices.stage import SliceContext
from loading.tables import TABLES, slice_of, values
from loading.threads import in_thread
from warehouse.lake.tables import Slice
from warehouse.load.logs.load_log import committed, slice_status, slice_statuses
from warehouse.load.slice_reading import Cause, Measure, RequestedRows, RequestedSince, RetainedRows

DAY_OF = {SESSIONS: "date", RECORDS: "checked_at"}
#: A loaded week with its metadata.
LoadedWeek = tuple[Loaded, Mapping[str, str | int]]
#: A week that is being read, and the slices of its sessions and records.
StagedWeek = tuple[Week, Sequence[StagedSlice]]


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


class SemesterLoader:
    """Loads the weeks of a plan."""

    def __init__(self, loader: Loader, plan: AttendancePlan) -> None:
        self._loader, self._plan = loader, plan
        self._semester, self._calendar = plan.semester, plan.semester.calendar
        self._label = partition_key(self._semester.school_id, self._calendar.semester_id)

    async def load(self) -> AsyncIterator[LoadedWeek]:
        """Load the weeks: by students all at a time, by sessions one after the other. A failure is an
        outcome."""
        plan = self._plan
        if not plan.weeks:
            return
        self._report("plan", f", weeks {in_spans(plan.weeks)}: {plan.choice.words}")
        students, cross_check, groups = self._progress("by students"), None, [[*plan.weeks]]
        if plan.choice.route == "sessions":
            students, groups = self._progress("students beside the sessions"), [[week] for week in plan.weeks]
            self._plan, cross_check = await read_cross_check(self._reader(students), plan, students)
        for numbers in groups:
            outcomes: list[Loaded] = []
            with self._open(numbers, students.account) as opened:
                weeks = [week for week, _ in opened]
                try:
                    if cross_check is None:
                        scope = await self._read_by_students(weeks, students)
                    else:
                        scope = await self._read_by_sessions(weeks[0], students, cross_check)
                except (CampusError, *STORAGE_ERRORS) as error:
                    slices_read = chain.from_iterable(slices for _, slices in opened)
                    outcomes += [fail_slice(slice_.stage.context, str(error)) for slice_ in slices_read]
                else:
                    for week, slices in opened:
                        outcomes += await in_thread(self._commit, week, slices, scope)
            for loaded in outcomes:
                yield self._described(loaded)
        if refused := len(self._semester.refusals.unrecorded):
            self._report(
                "note",
                f": the platform refused {refused} sessions and showed others; they count as sessions that "
                f"nobody recorded",
            )

    def _described(self, loaded: Loaded) -> LoadedWeek:
        """A loaded week with its metadata beside its counts. Its requests are those of its own sessions. The
        first week has the requests that were made for all weeks together."""
        since = self._plan.weeks[loaded.slice.week or 0]
        return loaded, {
            "route": self._plan.choice.words,
            "read from": str(since) if since > date.min else "the beginning of the week",
            "cursor": str(self._semester.today),
            "requests planned for the run's weeks of the semester": self._plan.choice.requests,
        }

    async def _read_by_students(self, weeks: Sequence[Week], students: Collector) -> WeekScope:
        plan, sessions = self._plan, self._progress("sessions besides")
        subset = None if plan.students is None else self._subset(plan.students)
        by_number = {week.number: week for week in weeks}
        reader = self._reader(students)
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

    async def _read_by_sessions(self, week: Week, students: Collector, cross_check: CrossCheck) -> WeekScope:
        plan = self._plan
        await read_by_sessions(self._reader(week.records), plan, week, cross_check)
        failed, requested = week.records.account.failed, dict[ResourceSpec, RequestedRows]()
        if plan.classes is not None:
            rows = RequestedRows("class_id", tuple(sorted(plan.classes)), plan.suffices)
            requested = dict.fromkeys(DAY_OF, rows)
        return WeekScope(
            # A session that no schedule has may be missing in any week.
            failures("class", failed) + failures("student", students.account.failed),
            _retained(class_id=failed),
            requested,
            plan.weeks[week.number],
        )

    def _subset(self, students: frozenset[int]) -> StudentSubset:
        """The stored records of all other students, as counts by session and status."""
        columns = ["student_id", "class_id", "checked_at", "lesson", "status"]
        semester = Slice.of(_school_id=self._semester.school_id, _semester_id=self._calendar.semester_id)
        stored = self._loader.runtime.lake.read(TABLES[RECORDS.name], semester, columns)
        is_theirs = pc.is_in(stored["student_id"], value_set=pa.array(sorted(students), pa.int64()))
        others = stored.filter(pc.invert(is_theirs)).group_by(columns[1:]).aggregate([([], "count_all")])
        statuses: dict[Session, Counter[str | None]] = defaultdict(Counter)
        for row in others.to_pylist():
            session = Session(row["class_id"], row["checked_at"], row["lesson"])
            if None not in session and self._calendar.week_of(session.day) in self._plan.weeks:
                statuses[session][row["status"]] = row["count_all"]
        classes = frozenset(values(stored.filter(is_theirs), "class_id"))
        return StudentSubset(students, statuses, classes.difference([None]))

    @contextmanager
    def _open(self, numbers: Sequence[int], together: Account) -> Iterator[Sequence[StagedWeek]]:
        """Open the stages of weeks that are read together.

        Args:
            together: Of the requests for all weeks of the plan. The first week answers for them."""
        with ExitStack() as stack:
            weeks = []
            for number in numbers:
                label = self._semester.school_id, self._calendar.semester_id, number
                contexts = [self._loader.context(spec, slice_of(spec, *label)) for spec in DAY_OF]
                slices = stack.enter_context(staged(contexts, shares=len(numbers)))
                sessions, records = (slice_.collector for slice_ in slices)
                if number == next(iter(self._plan.weeks)):
                    records.account.tally, records.account.drift = together.tally, together.drift
                weeks.append((Week(number, sessions, records), slices))
            yield weeks

    def _commit(self, week: Week, slices: Sequence[StagedSlice], scope: WeekScope) -> list[Loaded]:
        results = []
        for slice_, checks in zip(slices, (week.session_checks, week.record_checks), strict=True):
            context, account = slice_.stage.context, slice_.collector.account
            columns, since = context.table.row_schema.names, scope.since
            reading = replace(
                reading_of(context, slice_.stage.writer, account),
                retained=tuple(rows for rows in scope.retained if rows.column in columns),
                requested_since=RequestedSince(DAY_OF[context.spec], since) if since > date.min else None,
                requested=scope.requested.get(context.spec),
                follows=self._plan.follows,
                platform_day=self._semester.today,
                failures=scope.failures,
                measures=tuple(Measure(check.name, check.expected, check.actual) for check in checks),
            )
            guard = replace(self._loader.runtime.guard, leaving=self._leaving(context))
            results.append(commit_slice(context, reading, guard))
        return results

    def _leaving(self, context: SliceContext) -> int:
        """How many rows of a week count as another week, since the dates of the semester have moved."""
        column, week_of = DAY_OF[context.spec], self._calendar.week_of
        days = values(self._loader.runtime.lake.read(context.table, context.slice, [column]), column)
        return sum(day is not None and week_of(day) != context.slice.week for day in days)

    def _progress(self, what: str) -> Collector:
        return Collector(RECORDS, f"{self._label} {what}", listener=self._loader.runtime.listener)

    def _reader(self, collector: Collector) -> Reader:
        """A reader whose requests the collector's account counts."""
        return Reader(self._loader.client, self._semester.school_id, RECORDS.scopes, collector.account.tally)

    def _report(self, kind: EventKind, message: str) -> None:
        if self._loader.runtime.listener:
            self._loader.runtime.listener(Event(kind, f"attendance {self._label}{message}"))


def _retained(**failed: Mapping[int | str, str]) -> tuple[RetainedRows, ...]:
    """The rows that stay, by column: those of students or classes that could not be read."""
    return tuple(RetainedRows(column, tuple(ids)) for column, ids in failed.items() if ids)


def in_spans(weeks: Iterable[int]) -> str:
    """Weeks in words, e.g. `1-5, 7`."""
    spans: list[tuple[int, int]] = []
    for week in sorted(weeks):
        if spans and week == spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], week)
        else:
            spans.append((week, week))
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


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
        loader = Loader(runtime, client, cause, done)
        for school_id, semesters in weeks_of.items():
            school = SchoolLoader(loader, school_id)
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
    """Loads the weeks of one school."""

    def __init__(self, loader: Loader, school_id: int) -> None:
        runtime = loader.runtime
        self._loader, self._school_id = loader, school_id
        # Read once: no load of attendance changes the statuses of other weeks and tables.
        self._statuses = slice_statuses(runtime.lake, school_id)
        self._timeline = timeline_of(runtime.lake, school_id, runtime.attendance)
        days = runtime.incremental.whole_days
        self._due = weeks_of_night(runtime.lake, self._timeline, self._statuses, runtime.attendance, days)

    async def load(self, semester_id: int, weeks: Sequence[int]) -> AsyncIterator[LoadedWeek]:
        """Load weeks of a semester. A week that has not begun is loaded only if it is due."""
        calendar = self._timeline.calendars.get(semester_id)
        begun = calendar.weeks_until(self._timeline.today) if calendar else ()
        requested = [
            week
            for week in weeks
            if (semester_id, week) in self._due or (week in begun and not self._loader.cause.only_due)
        ]
        skipped = [week for week in requested if self._is_committed(semester_id, week)]
        for context in self._contexts(semester_id, skipped):
            yield Loaded(context.spec, context.slice, "skipped", ALREADY_LOADED), {}
        requested = [week for week in requested if week not in skipped]
        if calendar is None:
            return
        changes = self._changes(semester_id, weeks)
        if not requested and not changes.weeks:
            return
        if not self._has_loaded_classes(semester_id):
            for context in self._contexts(semester_id, requested):
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
        async for loaded, metadata in SemesterLoader(self._loader, due).load():
            if loaded.status == "failed":
                failed.add(loaded.slice.week)
            yield loaded, metadata
        # Rows of a few students do not settle a week whose late marks could not be read.
        weeks = [week for week in changes.weeks if week not in failed]
        if weeks:
            # The due weeks have just been committed, so the semester is read again.
            plan = _plan_changes(self._read(calendar), changes, weeks)
            async for result in SemesterLoader(self._loader, plan).load():
                yield result

    def _contexts(self, semester_id: int, weeks: Iterable[int]) -> Iterator[SliceContext]:
        for week in weeks:
            for spec in ATTENDANCE:
                yield self._loader.context(spec, slice_of(spec, self._school_id, semester_id, week))

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
        if changes.damage and self._loader.runtime.listener:
            message = (
                f"attendance of school {self._school_id}, semester {semester_id}: {changes.damage}. Students "
                f"who may be new in a class are read again; nothing else is lost. Check the disk or store of "
                f"the lake"
            )
            self._loader.runtime.listener(Event("note", message))
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
        loader, semester = self._loader, (self._school_id, semester_id)
        parents = [loader.context(spec, slice_of(spec, *semester)) for spec in PARENTS]
        parents_at = max(loader.committed_at(parent) or datetime.min for parent in parents)
        times = [loader.committed_at(context) for context in self._contexts(semester_id, [week])]
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
