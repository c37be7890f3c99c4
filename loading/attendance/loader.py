"""Loads weeks of attendance as planned: reads the rows, stages them, and commits week by week."""

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import date

import pyarrow as pa
import pyarrow.compute as pc

from campus.account import Account
from campus.attendance.calendar import Session
from campus.attendance.plan import AttendancePlan
from campus.attendance.routes import (
    CrossCheck,
    StudentSubset,
    read_by_sessions,
    read_by_students,
    read_cross_check,
)
from campus.attendance.rows import RECORDS, SESSIONS
from campus.attendance.week import Week
from campus.fetch.reader import Reader
from campus.http.client import Client
from campus.http.errors import CampusError
from campus.http.events import Event, EventKind
from campus.registry import ResourceSpec
from campus.sources.gathered import Collector
from loading.connection.runtime import Runtime
from loading.partition_keys import partition_key
from loading.slices.commit import STORAGE_ERRORS, Loaded, commit_slice, fail_slice, reading_of
from loading.slices.failure_messages import failures
from loading.slices.load_slice import Requested, StagedSlice, staged
from loading.slices.slice_context import SliceContext
from loading.tables import TABLES, slice_of, values
from loading.threads import in_thread
from warehouse.lake.tables import Slice
from warehouse.load.slice_reading import Cause, Measure, RequestedRows, RequestedSince, RetainedRows

DAY_OF = {SESSIONS: "date", RECORDS: "checked_at"}
#: A loaded week with its metadata.
LoadedWeek = tuple[Loaded, Mapping[str, str | int]]


@dataclass(frozen=True)
class StagedWeek:
    """A week that is being read, and the slices of its sessions and records."""

    week: Week
    slices: Sequence[StagedSlice]


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

    def __init__(self, runtime: Runtime, client: Client, cause: Cause, plan: AttendancePlan) -> None:
        self._runtime, self._client, self._cause, self._plan = runtime, client, cause, plan
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
            with self._open(numbers, students.account) as opened:
                weeks = [staged_week.week for staged_week in opened]
                try:
                    if cross_check is None:
                        scope = await self._read_by_students(weeks, students)
                    else:
                        scope = await self._read_by_sessions(weeks[0], students, cross_check)
                except (CampusError, *STORAGE_ERRORS) as error:
                    for slice_ in (slice_ for week in opened for slice_ in week.slices):
                        yield self._described(fail_slice(slice_.stage.context, str(error)))
                else:
                    for staged_week in opened:
                        for loaded in await in_thread(self._commit, staged_week, scope):
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
        stored = self._runtime.lake.read(TABLES[RECORDS.name], semester, columns)
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
    def _open(self, numbers: Sequence[int], together: Account) -> Iterator[list[StagedWeek]]:
        """Open the stages of weeks that are read together.

        Args:
            together: Of the requests for all weeks of the plan. The first week answers for them."""
        with ExitStack() as stack:
            weeks = []
            for number in numbers:
                contexts = [self._context(spec, number) for spec in DAY_OF]
                slices = stack.enter_context(staged(contexts, shares=len(numbers)))
                sessions, records = (slice_.collector for slice_ in slices)
                if number == next(iter(self._plan.weeks)):
                    records.account.tally, records.account.drift = together.tally, together.drift
                weeks.append(StagedWeek(Week(number, sessions, records), slices))
            yield weeks

    def _commit(self, staged_week: StagedWeek, scope: WeekScope) -> list[Loaded]:
        week, results = staged_week.week, []
        checks = (week.session_checks, week.record_checks)
        for slice_, slice_checks in zip(staged_week.slices, checks, strict=True):
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
                measures=tuple(Measure(check.name, check.expected, check.actual) for check in slice_checks),
            )
            guard = replace(self._runtime.guard, leaving=self._leaving(context))
            results.append(commit_slice(context, reading, guard))
        return results

    def _leaving(self, context: SliceContext) -> int:
        """How many rows of a week count as another week, since the dates of the semester have moved."""
        column, week_of = DAY_OF[context.spec], self._calendar.week_of
        days = values(self._runtime.lake.read(context.table, context.slice, [column]), column)
        return sum(day is not None and week_of(day) != context.slice.week for day in days)

    def _context(self, spec: ResourceSpec, number: int) -> SliceContext:
        slice = slice_of(spec, self._semester.school_id, self._calendar.semester_id, number)
        return SliceContext.of(self._runtime, self._cause, spec, slice)

    def _progress(self, what: str) -> Collector:
        return Collector(RECORDS, f"{self._label} {what}", listener=self._runtime.listener)

    def _reader(self, collector: Collector) -> Reader:
        """A reader whose requests the collector's account counts."""
        return Reader(self._client, self._semester.school_id, RECORDS.scopes, collector.account.tally)

    def _report(self, kind: EventKind, message: str) -> None:
        if self._runtime.listener:
            self._runtime.listener(Event(kind, f"attendance {self._label}{message}"))


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
