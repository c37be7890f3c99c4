"""Reads weeks of attendance by students or by sessions. Either route gives the same rows.

By students: the records of a semester come in one response a student, and are sorted into weeks. The API
cannot list students who have left, and only sessions show their records. So the sessions of their classes are
requested too. A sample of sessions shows whether both kinds of responses agree, and whether classes have
unlisted students.

By sessions: the records and statistics of a session come in one response. A schedule has only the present and
regular sessions. A few students show which other sessions there were, and whether both kinds of responses
agree.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import date

from campus.account import BadRow
from campus.attendance.calendar import Session
from campus.attendance.plan import AttendancePlan
from campus.attendance.requests import (
    OF_STUDENT,
    SESSIONS,
    SessionDetail,
    ask_session,
    ask_student,
    is_unmarked,
    records_in,
)
from campus.attendance.semester import Semester
from campus.attendance.week import Statuses, Week, session_of
from campus.contracts.v1_attendance import AttendanceRecord
from campus.fetch.reader import Reader, Readings
from campus.plan.units import Unit
from campus.registry import ResourceSpec
from campus.sources.gathered import Collector, CollectorsSink, Gathered
from campus.sources.row_rules import keep_only
from campus.sources.units import read_units

_CHECKED_AT = re.compile(r'"checked_at"\s*:\s*"(\d{4}-\d\d-\d\d)"')


@dataclass(frozen=True)
class StudentSubset:
    """The students who are read. The rows of other students stay as they are stored."""

    students: frozenset[int]
    #: How many stored records of other students have which status, by session.
    statuses: Mapping[Session, Statuses]
    #: The classes of the stored records of these students.
    classes: frozenset[int]


@dataclass
class CrossCheck:
    """The records that students have sent, to compare them with those of sessions."""

    #: The sessions to compare. None: all.
    sessions: frozenset[Session] | None = None
    #: Students who have answered, and whom the platform knows.
    students: set[int] = field(default_factory=set)
    records: dict[Session, list[AttendanceRecord]] = field(default_factory=lambda: defaultdict(list))

    def includes(self, session: Session) -> bool:
        """Whether a session is compared."""
        return self.sessions is None or session in self.sessions


async def read_by_students(
    reader: Reader,
    plan: AttendancePlan,
    weeks: Mapping[int, Week],
    students: Collector,
    sessions: Collector,
    subset: StudentSubset | None = None,
) -> frozenset[int] | None:
    """Read the records of all students, or of a subset, into the weeks of the plan.

    Args:
        students, sessions: Take no rows. They report progress, and note the students and classes that fail.

    Returns:
        The classes whose sessions get rows: with stored or sent records of the subset. None: all classes."""
    semester, cross_check = plan.semester, CrossCheck(frozenset(plan.compared))
    requested = semester.members.keys() if subset is None else subset.students
    listed = [student for student in semester.students if student in requested]
    await _StudentSink(reader, semester, weeks, cross_check, (students,)).read(listed)
    recorded = {session for week in weeks.values() for session in week.recorded}
    semester = semester.with_attended(recorded)
    possible = semester.possible(weeks) | recorded
    unanswered = requested - cross_check.students - students.account.failed.keys()
    sink = _SessionSink(reader, semester, weeks, cross_check, (sessions,), cross_check.students, subset)
    first = semester.attended(unanswered, possible).union(plan.compared)
    await sink.read(first)
    # Unlisted students are in the further sessions of their class as well.
    await sink.read({session for session in possible if session.class_id in sink.with_unlisted} - first)
    classes = None
    if subset is not None:
        recorded = {session for week in weeks.values() for session in week.recorded}
        classes = subset.classes | {session.class_id for session in recorded}
        for session, statuses in subset.statuses.items():
            weeks[semester.calendar.week_of(session.day)].statuses[session].update(statuses)
    complete = not (students.account.failed or sessions.account.failed)
    for number, week in weeks.items():
        stored = semester.stored.get(number, {})
        # A session without records may have lost its only ones to a failure.
        expected = semester.scheduled(number) | week.recorded | (set() if complete else stored.keys())
        own = {session for session in expected if classes is None or session.class_id in classes}
        week.compare_records(cross_check.records)
        week.add_sessions(semester, own, stored, complete=complete)
    return classes


async def read_cross_check(
    reader: Reader, plan: AttendancePlan, progress: Collector
) -> tuple[AttendancePlan, CrossCheck]:
    """Request the students of a plan by sessions.

    Args:
        progress: Takes no rows. It reports progress, and notes the students who fail.

    Returns:
        The plan with the sessions that the records show, and the records."""
    cross_check = CrossCheck()
    await _StudentSink(reader, plan.semester, {}, cross_check, (progress,)).read(plan.cross_check_students)
    classes = plan.classes
    shown = {session for session in cross_check.records if classes is None or session.class_id in classes}
    semester = plan.semester.with_attended(shown)
    return replace(plan, semester=semester, sessions=plan.sessions | shown), cross_check


async def read_by_sessions(reader: Reader, plan: AttendancePlan, week: Week, cross_check: CrossCheck) -> None:
    """Read the sessions of a week, class by class. A class that fails keeps its last rows.

    A scheduled session without records has a row, also on the present day: not marked is not absent."""
    semester, number = plan.semester, week.number
    possible = semester.possible([number]) | {
        session
        for session in plan.sessions
        if semester.calendar.week_of(session.day) == number and session.day <= semester.today
    }
    sink = _SessionSink(reader, semester, {number: week}, cross_check, (week.sessions, week.records))
    await sink.read(session for session in possible if session.day >= plan.weeks[number])
    week.compare_records(cross_check.records)
    expected = semester.scheduled(number) | week.recorded
    week.add_sessions(semester, expected & week.compared.keys(), {}, complete=True)


@dataclass(frozen=True)
class _Sink(CollectorsSink):
    """Takes the rows of units into weeks."""

    reader: Reader
    semester: Semester
    weeks: Mapping[int, Week]
    cross_check: CrossCheck
    #: Report progress, and note failures.
    collectors: Sequence[Collector]

    @property
    def spec(self) -> ResourceSpec:
        return self.collectors[0].spec

    def flush(self) -> None:
        """The weeks write their rows once the sessions are added."""


@dataclass(frozen=True)
class StudentRecords:
    """The records of a student in a semester."""

    student_id: int
    gathered: Gathered

    @property
    def is_empty(self) -> bool:
        """The platform shows no record."""
        return self.gathered.is_empty


@dataclass(frozen=True)
class _StudentSink(_Sink):
    """Takes the records of students."""

    async def read(self, students: Iterable[int]) -> None:
        """Request the records of students. A student whom the platform does not know has none."""
        units = [Unit(OF_STUDENT, ids=(student,), may_be_absent=True) for student in students]
        await read_units(self.reader, units, self._read_student, self)

    def _read_student(self, unit: Unit) -> Readings[StudentRecords]:
        student_id = int(unit.ids[0])
        return StudentRecords(student_id, (yield from ask_student(self.reader, self.semester, student_id)))

    def add(self, rows: StudentRecords) -> None:
        gathered, account = rows.gathered, self.collectors[0].account
        account.drift.update(gathered.drift)
        # A student whom the platform does not know may have an empty list, too.
        if not rows.is_empty or rows.student_id not in self.semester.unlisted:
            self.cross_check.students.add(rows.student_id)
        for record in gathered.rows:
            session = session_of(record)
            if session is not None and self.cross_check.includes(session):
                self.cross_check.records[session].append(record)
        # Progress counts all that came. Where a student only confirms sessions, there are no weeks.
        account.received += len(gathered.rows) if self.weeks else 0
        for number, records in self._by_week(gathered).items():
            self.weeks[number].take_records(records)

    def _by_week(self, gathered: Gathered) -> Mapping[int, Gathered]:
        """The records by the week that they count as, without the records of further weeks.

        A broken row whose date cannot be read may be of any week."""
        by_week: dict[int, Gathered] = {}

        def of_week(number: int) -> Gathered:
            if number not in by_week:
                by_week[number] = Gathered(total=None, complete=gathered.complete, note=gathered.note)
            return by_week[number]

        for record, extra in zip(gathered.rows, gathered.extras, strict=True):
            if record.checked_at is None:
                gathered.bad.append(BadRow((record.id,), "it has no checked_at", f'{{"id":{record.id}}}'))
            elif (number := self.semester.calendar.week_of(record.checked_at)) in self.weeks:
                records = of_week(number)
                records.rows.append(record)
                records.extras.append(extra)
                records.trashed.append(False)
        for bad in gathered.bad:
            week = self._week_of(bad)
            for number in self.weeks:
                if week in (None, number):
                    of_week(number).bad.append(bad)
        return by_week

    def _week_of(self, bad: BadRow) -> int | None:
        dated = _CHECKED_AT.search(bad.raw)
        try:
            return self.semester.calendar.week_of(date.fromisoformat(dated[1])) if dated else None
        except ValueError:
            return None


@dataclass(frozen=True)
class UnmarkedSessions:
    """The sessions of a class without records."""

    details: Mapping[Session, SessionDetail | None]

    @property
    def is_empty(self) -> bool:
        """There is such a session."""
        return bool(self.details)


@dataclass(frozen=True)
class _SessionSink(_Sink):
    """Takes the statistics and records of sessions."""

    #: Students whose records the weeks have from their own response.
    taken: Set[int] = frozenset()
    #: The records of further students are left out. None: of no student.
    subset: StudentSubset | None = None
    #: Classes with unlisted students, as far as sessions have shown.
    with_unlisted: set[int] = field(default_factory=set)
    #: The sessions to request, by class.
    waiting: dict[int, list[Session]] = field(default_factory=lambda: defaultdict(list))

    async def read(self, sessions: Iterable[Session]) -> None:
        """Request sessions, class by class."""
        self.waiting.clear()
        for session in sorted(sessions):
            self.waiting[session.class_id].append(session)
        units = [Unit(SESSIONS.path, ids=(class_id,)) for class_id in self.waiting]
        await read_units(self.reader, units, self._read_class, self)

    def _read_class(self, unit: Unit) -> Readings[UnmarkedSessions]:
        """Take the sessions of a class that have records, and return those that have none."""
        class_id, details = int(unit.ids[0]), dict[Session, SessionDetail | None]()
        for session in self.waiting[class_id]:
            details[session] = yield from ask_session(self.reader, self.semester, session)
        unmarked = {session: detail for session, detail in details.items() if is_unmarked(detail)}
        for session, detail in details.items():
            if session not in unmarked:
                self._take(session, detail)
        # Requested if the class is read again.
        self.waiting[class_id] = list(unmarked)
        return UnmarkedSessions(unmarked)

    def add(self, rows: UnmarkedSessions) -> None:
        for session, detail in rows.details.items():
            self._take(session, detail)

    def _take(self, session: Session, detail: SessionDetail | None) -> None:
        week = self.weeks[self.semester.calendar.week_of(session.day)]
        gathered = records_in(self.semester, session, detail)
        if detail is not None:
            week.statistics[session] = detail.statistics
        if gathered.bad:
            week.damaged.add(session)
        if self.cross_check.includes(session):
            week.compared[session] = [
                record for record in gathered.rows if record.student_id in self.cross_check.students
            ]
        if self.subset is None:
            students = {record.student_id for record in gathered.rows if record.student_id}
            if students - self.semester.members.keys():
                self.with_unlisted.add(session.class_id)
        requested = [
            index
            for index, record in enumerate(gathered.rows)
            if record.student_id not in self.taken
            and (self.subset is None or record.student_id in self.subset.students)
        ]
        keep_only(gathered, requested)
        if self.collectors[0] is not week.sessions:
            self.collectors[0].account.received += len(gathered.rows)
        week.take_records(gathered)
