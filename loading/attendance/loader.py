"""Attendance of one semester into the lake, week by week, by the route that costs fewer requests."""

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import date

import pyarrow as pa
import pyarrow.compute as pc

from campus.attendance.by_sessions import Witnessed, ask_witnesses, read_by_sessions
from campus.attendance.by_students import Following, Part, read_by_students
from campus.attendance.calendar import Session
from campus.attendance.checks import Check, sample
from campus.attendance.routes import Choice, choose
from campus.attendance.rows import RECORDS, SESSIONS
from campus.attendance.semester import Semester
from campus.attendance.week import Week
from campus.http.client import Client
from campus.http.errors import CampusError
from campus.http.events import Event
from campus.registry import ResourceSpec
from campus.sources.gathered import BATCH_ROWS, Account, Collector
from loading.attendance.membership_changes import MembershipChanges
from loading.commit import STORAGE_ERRORS, Loaded, commit_slice, fail_slice, reading_of
from loading.failure_messages import failures
from loading.partition_keys import partition_key
from loading.runtime import Cause, Runtime
from loading.slice_context import SliceContext
from loading.stage import Stage, open_stage
from loading.tables import TABLES, slice_of, values
from loading.threads import in_thread
from warehouse.lake.parquet import GROUP_BYTES
from warehouse.lake.tables import Slice
from warehouse.load.slice_reading import Measure, RequestedRows, RequestedSince, RetainedRows

# By students: so many sessions are asked for by the other route too.
SAMPLED_SESSIONS = 10
DAY_OF = {SESSIONS: "date", RECORDS: "checked_at"}


@dataclass(frozen=True)
class Plan:
    """What is asked for: the route, and for it the students who show sessions beyond the schedules, or the
    sessions that are asked for besides."""

    choice: Choice
    witnesses: Sequence[int]
    compared: Sequence[Session]


@dataclass(frozen=True)
class _Open:
    """A week that is being read."""

    number: int
    week: Week
    stages: Mapping[ResourceSpec, Stage]

    def account(self, spec: ResourceSpec) -> Account:
        return (self.week.sessions if spec is SESSIONS else self.week.records).account

    def checks(self, spec: ResourceSpec) -> list[Check]:
        return self.week.of_sessions if spec is SESSIONS else self.week.of_records


class SemesterLoader:
    """Loads weeks of one semester.

    `since`: the weeks, each with the day from which on it is read (None: all of it). `trailing`: they are
    held, and read again for late marks only."""

    def __init__(
        self,
        runtime: Runtime,
        client: Client,
        cause: Cause,
        semester: Semester,
        since: Mapping[int, date | None],
        *,
        trailing: bool,
    ) -> None:
        self._runtime, self._client, self._cause, self._semester = runtime, client, cause, semester
        self._since = {number: self._whole_unless_later(number, day) for number, day in since.items()}
        self._follows = False
        self.plan = self._planned(trailing)

    async def load(self) -> AsyncIterator[Loaded]:
        """Read the weeks and commit each of them; a failure is an outcome."""
        if not self._since:
            return
        self._tell()
        reading = self._by_students if self.plan.choice.route == "students" else self._by_sessions
        async for one in reading():
            yield one
        self._tell_refusals()

    def following(self, changes: MembershipChanges) -> Choice:
        """How to read again what changes of members have made doubtful, in the loader's weeks."""
        semester, students = self._semester, changes.students
        sessions = {one for number in self._since for one in semester.asked(number)}
        own = {one for one in sessions if one.class_id in changes.classes}
        by_classes = len(own) + len(semester.of_classes(changes.classes).witnesses(own))
        unasked = students - semester.askable
        by_students = len(students - unasked) + len(semester.attended(unasked, sessions))
        why = f"as {len(students):,} students joined or left {len(changes.classes):,} classes"
        if by_classes < by_students:
            return Choice("sessions", by_classes, f"{by_classes:,} requests by sessions, {why}")
        return Choice("students", by_students, f"{by_students:,} requests by students, {why}")

    async def follow(self, changes: MembershipChanges) -> AsyncIterator[Loaded]:
        """Read that again; other rows stay."""
        self._follows = changes.follows
        self.plan = Plan(self.following(changes), (), ())
        self._tell()
        if self.plan.choice.route == "students":
            reading = self._by_students(self._part(changes.students))
        else:
            reading = self._follow_classes(changes.classes)
        async for one in reading:
            yield one

    async def _follow_classes(self, class_ids: frozenset[int]) -> AsyncIterator[Loaded]:
        """Read classes by their sessions, with a few students who show whether there were others."""
        semester = self._semester.of_classes(class_ids)
        witnesses = semester.witnesses({one for number in self._since for one in semester.asked(number)})
        following = self._follower("students beside the classes")
        witnessed = await ask_witnesses(self._client, self._semester, witnesses, following)
        witnessed = witnessed.of_classes(class_ids)
        asked = RequestedRows("class_id", tuple(sorted(class_ids)), suffices=True)
        reading = self._by_classes(semester.knowing(witnessed.records), witnessed, asked, following.account)
        async for one in reading:
            yield one

    def _part(self, students: frozenset[int]) -> Part:
        """What is held beside some students."""
        columns = ["student_id", "class_id", "checked_at", "lesson", "status"]
        semester = Slice.of(
            _school_id=self._semester.school_id, _semester_id=self._semester.calendar.semester_id
        )
        held = self._runtime.lake.read(TABLES[RECORDS.name], semester, columns)
        is_theirs = pc.is_in(held["student_id"], value_set=pa.array(sorted(students), pa.int64()))
        others = held.filter(pc.invert(is_theirs)).group_by(columns[1:]).aggregate([([], "count_all")])
        statuses: dict[Session, Counter[str | None]] = defaultdict(Counter)
        for row in others.to_pylist():
            session = Session(row["class_id"], row["checked_at"], row["lesson"])
            if None not in session and self._semester.calendar.week_of(session.day) in self._since:
                statuses[session][row["status"]] = row["count_all"]
        classes = pc.unique(held.filter(is_theirs)["class_id"]).to_pylist()
        return Part(students, statuses, frozenset(one for one in classes if one is not None))

    async def load_classes(self, sessions: Collection[Session]) -> AsyncIterator[Loaded]:
        """Read the classes of some sessions again in the loader's weeks, and these sessions whether or not a
        schedule has them; the rows of other classes stay."""
        classes = tuple(sorted({one.class_id for one in sessions}))
        witnessed = Witnessed(records={one: [] for one in sessions})
        async for one in self._by_classes(
            self._semester.of_classes(classes), witnessed, RequestedRows("class_id", classes)
        ):
            yield one

    @property
    def requests(self) -> int:
        """How many requests the weeks are planned to take."""
        return self.plan.choice.requests if self._since else 0

    def described(self, one: Loaded) -> dict[str, str | int]:
        """What is worth knowing of a loaded week beside its counts. Its requests are those of its own
        sessions; what was asked for all weeks together is in the first of them."""
        since = self._since[one.slice.week or 0]
        return {
            "route": self.plan.choice.words,
            "read from": str(since) if since > date.min else "the beginning of the week",
            "cursor": str(self._semester.today),
            "requests planned for the run's weeks of the semester": self.plan.choice.requests,
        }

    def _whole_unless_later(self, number: int, day: date | None) -> date:
        return date.min if day is None or day <= self._semester.calendar.beginning_of(number) else day

    def _planned(self, trailing: bool) -> Plan:
        semester = self._semester
        asked = {one for number, day in self._since.items() for one in semester.asked(number, day)}
        witnesses = semester.witnesses(asked)
        left = semester.members.keys() - semester.askable
        uncovered = semester.attended(left, {one for number in self._since for one in semester.asked(number)})
        # What is asked for anyway can be compared for nothing.
        compared = sample(
            sorted(uncovered if len(uncovered) >= SAMPLED_SESSIONS else asked), SAMPLED_SESSIONS
        )
        by_students = len(semester.students) + len(uncovered.union(compared))
        by_sessions = len(asked) + len(witnesses)
        choice = choose(by_students, by_sessions, window_only=trailing, lacks_members=semester.lacks_members)
        return Plan(choice, witnesses, compared)

    def _tell(self) -> None:
        weeks = in_spans(self._since)
        message = f"attendance {self._where}, weeks {weeks}: {self.plan.choice.words}"
        if self._runtime.listener:
            self._runtime.listener(Event("plan", message))

    def _tell_refusals(self) -> None:
        refused = len(self._semester.refusals.unrecorded)
        if refused and self._runtime.listener:
            message = (
                f"attendance {self._where}: the platform refused {refused} sessions and showed others; they "
                f"count as sessions that nobody recorded"
            )
            self._runtime.listener(Event("note", message))

    async def _by_sessions(self) -> AsyncIterator[Loaded]:
        following = self._follower("students beside the sessions")
        witnessed = await ask_witnesses(self._client, self._semester, self.plan.witnesses, following)
        semester = self._semester.knowing(witnessed.records)
        async for one in self._each_week(semester, witnessed, following.account, self._since):
            yield one

    async def _by_classes(
        self, semester: Semester, witnessed: Witnessed, asked: RequestedRows, beside: Account | None = None
    ) -> AsyncIterator[Loaded]:
        """Read the classes of a narrowed semester session by session; the rows of other classes stay.
        `beside`: of what was asked for besides."""
        weeks = dict.fromkeys(self._since, date.min)
        async for one in self._each_week(semester, witnessed, beside or Account(), weeks, asked):
            yield one

    async def _each_week(
        self,
        semester: Semester,
        witnessed: Witnessed,
        beside: Account,
        weeks: Mapping[int, date],
        asked: RequestedRows | None = None,
    ) -> AsyncIterator[Loaded]:
        """Read weeks session by session, each from a day on. `asked`: for the rows of some classes alone."""
        unheard = failures("student", beside.failed)
        part = dict.fromkeys(DAY_OF, asked) if asked else None
        for number, since in weeks.items():
            with self._open(number) as one:
                # The first week answers for what was asked for all of them.
                one.week.records.account.tally, one.week.records.account.drift = beside.tally, beside.drift
                beside = Account()
                try:
                    await read_by_sessions(self._client, semester, number, one.week, witnessed, since)
                except (CampusError, *STORAGE_ERRORS) as error:
                    loaded = self._failed(number, str(error))
                else:
                    failed = one.week.records.account.failed
                    kept = (RetainedRows("class_id", tuple(failed)),) if failed else ()
                    # A session that no schedule has may be missing in any week.
                    words = failures("class", failed) + unheard
                    since_then = since if since > date.min else None
                    loaded = await in_thread(self._commit, one, kept, words, since_then, part)
            for each in loaded:
                yield each

    async def _by_students(self, part: Part | None = None) -> AsyncIterator[Loaded]:
        following = Following(self._follower("by students"), self._follower("sessions besides"))
        students, sessions = following.students.account, following.sessions.account
        sessions.tally = students.tally
        with ExitStack() as stack:
            opened = {number: stack.enter_context(self._open(number)) for number in self._since}
            weeks = {number: one.week for number, one in opened.items()}
            try:
                classes = await read_by_students(
                    self._client, self._semester, weeks, following, self.plan.compared, part
                )
            except (CampusError, *STORAGE_ERRORS) as error:
                for number in opened:
                    for each in self._failed(number, str(error)):
                        yield each
                return
            # The first week answers for what was asked for all of them.
            first = next(iter(weeks.values())).records.account
            first.tally = students.tally
            first.drift.update(students.drift)
            failed = {"student_id": students.failed, "class_id": sessions.failed}
            kept = tuple(RetainedRows(column, tuple(ids)) for column, ids in failed.items() if ids)
            words = failures("student", students.failed) + failures("class", sessions.failed)
            asked = None
            if part is not None:
                asked = {
                    RECORDS: RequestedRows("student_id", tuple(sorted(part.students)), suffices=True),
                    SESSIONS: RequestedRows("class_id", tuple(sorted(classes or ())), suffices=True),
                }
            for one in opened.values():
                for each in await in_thread(self._commit, one, kept, words, None, asked):
                    yield each

    @contextmanager
    def _open(self, number: int) -> Iterator[_Open]:
        # All open weeks together hold no more in memory than one slice does elsewhere.
        rows, group_bytes = BATCH_ROWS // len(self._since), GROUP_BYTES // len(self._since)
        with ExitStack() as stack:
            stages = {
                spec: stack.enter_context(open_stage(self._context(spec, number), group_bytes=group_bytes))
                for spec in DAY_OF
            }
            sessions, records = (
                Collector(spec, str(stage.context.slice), stage.write, self._runtime.listener, rows)
                for spec, stage in stages.items()
            )
            yield _Open(number, Week(sessions, records), stages)

    def _follower(self, what: str) -> Collector:
        return Collector(RECORDS, f"{self._where} {what}", listener=self._runtime.listener)

    @property
    def _where(self) -> str:
        return partition_key(self._semester.school_id, self._semester.calendar.semester_id)

    def _context(self, spec: ResourceSpec, number: int) -> SliceContext:
        slice = slice_of(spec, self._semester.school_id, self._semester.calendar.semester_id, number)
        return SliceContext.of(self._runtime, self._cause, spec, slice)

    def _commit(
        self,
        one: _Open,
        kept: tuple[RetainedRows, ...],
        words: tuple[str, ...],
        since: date | None,
        asked: Mapping[ResourceSpec, RequestedRows] | None = None,
    ) -> list[Loaded]:
        loaded = []
        for spec, stage in one.stages.items():
            context, account = stage.context, one.account(spec)
            reading = replace(
                reading_of(context, stage.writer, account),
                retained=tuple(each for each in kept if each.column in context.table.row_schema.names),
                requested_since=RequestedSince(DAY_OF[spec], since) if since else None,
                requested=(asked or {}).get(spec),
                follows=self._follows,
                platform_day=self._semester.today,
                failures=words,
                measures=tuple(Measure(c.name, c.expected, c.actual) for c in one.checks(spec)),
            )
            guard = replace(self._runtime.guard, leaving=self._leaving(context))
            loaded.append(commit_slice(context, reading, guard, account.began))
        return loaded

    def _leaving(self, context: SliceContext) -> int:
        """How many rows of a week count as another one, since the dates of the semester have moved."""
        column, week_of = DAY_OF[context.spec], self._semester.calendar.week_of
        days = values(self._runtime.lake.read(context.table, context.slice, [column]), column)
        return sum(day is not None and week_of(day) != context.slice.week for day in days)

    def _failed(self, number: int, message: str) -> list[Loaded]:
        return [fail_slice(self._context(spec, number), message) for spec in DAY_OF]


def in_spans(weeks: Iterable[int]) -> str:
    """Weeks in words, e.g. `1-5, 7`."""
    spans: list[tuple[int, int]] = []
    for week in sorted(weeks):
        if spans and week == spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], week)
        else:
            spans.append((week, week))
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)
