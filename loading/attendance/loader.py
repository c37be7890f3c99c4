"""Loads weeks of attendance as planned: reads the rows, stages them, and commits week by week."""

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import date

import pyarrow as pa
import pyarrow.compute as pc

from campus.account import Account
from campus.attendance.by_sessions import read_by_sessions, read_cross_check
from campus.attendance.by_students import RouteProgress, StudentSubset, read_by_students
from campus.attendance.calendar import Session
from campus.attendance.plan import AttendancePlan
from campus.attendance.rows import RECORDS, SESSIONS
from campus.attendance.week import Week
from campus.http.client import Client
from campus.http.errors import CampusError
from campus.http.events import Event, EventKind
from campus.registry import ResourceSpec
from campus.sources.gathered import BATCH_ROWS, Collector
from loading.connection.runtime import Runtime
from loading.partition_keys import partition_key
from loading.slices.commit import STORAGE_ERRORS, Loaded, commit_slice, fail_slice, reading_of
from loading.slices.failure_messages import failures
from loading.slices.slice_context import SliceContext
from loading.slices.stage import Stage, open_stage
from loading.tables import TABLES, slice_of, values
from loading.threads import in_thread
from warehouse.lake.parquet import GROUP_BYTES
from warehouse.lake.tables import Slice
from warehouse.load.slice_reading import Cause, Measure, RequestedRows, RequestedSince, RetainedRows

DAY_OF = {SESSIONS: "date", RECORDS: "checked_at"}
#: The rows that are requested of each table. A table without an entry: all of them.
Requested = Mapping[ResourceSpec, RequestedRows]


@dataclass(frozen=True)
class StagedWeek:
    """A week that is being read."""

    week: Week
    stages: Mapping[ResourceSpec, Stage]


class SemesterLoader:
    """Loads the weeks of a plan."""

    def __init__(self, runtime: Runtime, client: Client, cause: Cause, plan: AttendancePlan) -> None:
        self._runtime, self._client, self._cause, self._plan = runtime, client, cause, plan
        self._semester, self._calendar = plan.semester, plan.semester.calendar
        self._label = partition_key(self._semester.school_id, self._calendar.semester_id)

    async def load(self) -> AsyncIterator[Loaded]:
        """Load the weeks. A failure is an outcome."""
        plan = self._plan
        if not plan.weeks:
            return
        self._report("plan", f", weeks {in_spans(plan.weeks)}: {plan.choice.words}")
        async for loaded in self._by_students() if plan.choice.route == "students" else self._by_sessions():
            yield loaded
        if refused := len(self._semester.refusals.unrecorded):
            self._report(
                "note",
                f": the platform refused {refused} sessions and showed others; they count as sessions that "
                f"nobody recorded",
            )

    def described(self, loaded: Loaded) -> dict[str, str | int]:
        """The metadata of a loaded week beside its counts. Its requests are those of its own sessions. The
        first week has the requests that were made for all weeks together."""
        since = self._plan.weeks[loaded.slice.week or 0]
        return {
            "route": self._plan.choice.words,
            "read from": str(since) if since > date.min else "the beginning of the week",
            "cursor": str(self._semester.today),
            "requests planned for the run's weeks of the semester": self._plan.choice.requests,
        }

    async def _by_sessions(self) -> AsyncIterator[Loaded]:
        """Read the weeks one after the other."""
        plan, beside = self._plan, self._progress("students beside the sessions")
        cross_check = await read_cross_check(self._client, self._semester, plan.cross_check_students, beside)
        requested: Requested = {}
        if plan.classes is not None:
            cross_check = cross_check.of_classes(plan.classes)
            rows = RequestedRows("class_id", tuple(sorted(plan.classes)), plan.suffices)
            requested = dict.fromkeys(DAY_OF, rows)
        semester = self._semester.with_attended(cross_check.records)
        for session in plan.sessions:
            cross_check.records.setdefault(session, [])
        for number, since in plan.weeks.items():
            with self._open(number, beside.account) as staged:
                try:
                    await read_by_sessions(self._client, semester, number, staged.week, cross_check, since)
                except (CampusError, *STORAGE_ERRORS) as error:
                    results = self._failed(number, str(error))
                else:
                    failed = staged.week.records.account.failed
                    # A session that no schedule has may be missing in any week.
                    words = failures("class", failed) + failures("student", beside.account.failed)
                    retained = _retained(class_id=failed)
                    results = await in_thread(self._commit, staged, retained, words, requested, since)
            for loaded in results:
                yield loaded

    async def _by_students(self) -> AsyncIterator[Loaded]:
        """Read all weeks at a time, and commit them one after the other."""
        plan = self._plan
        progress = RouteProgress(self._progress("by students"), self._progress("sessions besides"))
        students, sessions = progress.students.account, progress.sessions.account
        sessions.tally = students.tally
        subset = None if plan.students is None else self._subset(plan.students)
        with ExitStack() as stack:
            staged = {number: stack.enter_context(self._open(number, students)) for number in plan.weeks}
            weeks = {number: week.week for number, week in staged.items()}
            try:
                classes = await read_by_students(
                    self._client, self._semester, weeks, progress, plan.compared, subset
                )
            except (CampusError, *STORAGE_ERRORS) as error:
                for number in staged:
                    for loaded in self._failed(number, str(error)):
                        yield loaded
                return
            retained = _retained(student_id=students.failed, class_id=sessions.failed)
            words = failures("student", students.failed) + failures("class", sessions.failed)
            requested: Requested = {}
            if subset is not None:
                requested = {
                    RECORDS: RequestedRows("student_id", tuple(sorted(subset.students)), plan.suffices),
                    SESSIONS: RequestedRows("class_id", tuple(sorted(classes or ())), plan.suffices),
                }
            for week in staged.values():
                for loaded in await in_thread(self._commit, week, retained, words, requested):
                    yield loaded

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
    def _open(self, number: int, together: Account) -> Iterator[StagedWeek]:
        """Open the stages of a week.

        Args:
            together: Of the requests for all weeks. The first week answers for them."""
        # All open weeks together hold no more in memory than one slice does elsewhere.
        rows, group_bytes = BATCH_ROWS // len(self._plan.weeks), GROUP_BYTES // len(self._plan.weeks)
        with ExitStack() as stack:
            stages = {
                spec: stack.enter_context(open_stage(self._context(spec, number), group_bytes=group_bytes))
                for spec in DAY_OF
            }
            sessions, records = (
                Collector(spec, str(stage.context.slice), stage.write, self._runtime.listener, rows)
                for spec, stage in stages.items()
            )
            if number == next(iter(self._plan.weeks)):
                records.account.tally, records.account.drift = together.tally, together.drift
            yield StagedWeek(Week(sessions, records), stages)

    def _commit(
        self,
        staged: StagedWeek,
        retained: tuple[RetainedRows, ...],
        words: tuple[str, ...],
        requested: Requested,
        since: date = date.min,
    ) -> list[Loaded]:
        results, week = [], staged.week
        for collector, checks in ((week.sessions, week.session_checks), (week.records, week.record_checks)):
            spec, account, stage = collector.spec, collector.account, staged.stages[collector.spec]
            context = stage.context
            reading = replace(
                reading_of(context, stage.writer, account),
                retained=tuple(rows for rows in retained if rows.column in context.table.row_schema.names),
                requested_since=RequestedSince(DAY_OF[spec], since) if since > date.min else None,
                requested=requested.get(spec),
                follows=self._plan.follows,
                platform_day=self._semester.today,
                failures=words,
                measures=tuple(Measure(check.name, check.expected, check.actual) for check in checks),
            )
            guard = replace(self._runtime.guard, leaving=self._leaving(context))
            results.append(commit_slice(context, reading, guard))
        return results

    def _leaving(self, context: SliceContext) -> int:
        """How many rows of a week count as another week, since the dates of the semester have moved."""
        column, week_of = DAY_OF[context.spec], self._calendar.week_of
        days = values(self._runtime.lake.read(context.table, context.slice, [column]), column)
        return sum(day is not None and week_of(day) != context.slice.week for day in days)

    def _failed(self, number: int, message: str) -> list[Loaded]:
        return [fail_slice(self._context(spec, number), message) for spec in DAY_OF]

    def _context(self, spec: ResourceSpec, number: int) -> SliceContext:
        slice = slice_of(spec, self._semester.school_id, self._calendar.semester_id, number)
        return SliceContext.of(self._runtime, self._cause, spec, slice)

    def _progress(self, what: str) -> Collector:
        return Collector(RECORDS, f"{self._label} {what}", listener=self._runtime.listener)

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
