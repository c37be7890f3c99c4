"""Reads a semester's attendance student by student: one response each, sorted into weeks as it comes.

The API cannot list students who have left, and only sessions show their records. So the sessions of their
classes are requested too. A sample of sessions shows whether both routes agree, and whether classes have
unlisted students.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date

from campus.account import BadRow
from campus.attendance.calendar import Session
from campus.attendance.checks import Agreement, agrees, both_routes, session_of
from campus.attendance.requests import ask_session, ask_students, is_unmarked, records_in, row_of
from campus.attendance.rows import SESSIONS
from campus.attendance.semester import Semester
from campus.attendance.week import Week
from campus.contracts.v1_attendance import AttendanceRecord
from campus.http.client import Client
from campus.plan.units import Unit
from campus.sources.concurrent_units import UnitResult, read_units
from campus.sources.gathered import Collector, Gathered
from campus.sources.row_rules import keep_only

_CHECKED_AT = re.compile(r'"checked_at"\s*:\s*"(\d{4}-\d\d-\d\d)"')


@dataclass(frozen=True)
class RouteProgress:
    """Collectors that take no rows: they report the progress of both kinds of requests, and note failures."""

    students: Collector
    sessions: Collector

    @property
    def any_failed(self) -> bool:
        return bool(self.students.account.failed or self.sessions.account.failed)


@dataclass(frozen=True)
class StudentSubset:
    """The students who are read. The rows of other students stay as they are stored."""

    students: frozenset[int]
    #: How many stored records of other students have which status, by session.
    statuses: Mapping[Session, Counter[str | None]]
    #: The classes of the stored records of these students.
    classes: frozenset[int]


@dataclass
class _ReadState:
    """The state of a reading: the rows and counts of the responses so far."""

    #: How many records have which status, by session.
    statuses: dict[Session, Counter[str | None]] = field(default_factory=lambda: defaultdict(Counter))
    #: The rows of sessions that were requested.
    session_rows: dict[Session, Gathered] = field(default_factory=dict)
    #: The records of the sample by students, and by sessions.
    by_student: dict[Session, list[AttendanceRecord]] = field(default_factory=dict)
    by_session: dict[Session, list[AttendanceRecord]] = field(default_factory=dict)
    #: Students who were requested and known.
    answered: set[int] = field(default_factory=set)
    #: Classes with unlisted students.
    with_unlisted: set[int] = field(default_factory=set)


async def read_by_students(
    client: Client,
    semester: Semester,
    weeks: Mapping[int, Week],
    progress: RouteProgress,
    compared: Iterable[Session] = (),
    subset: StudentSubset | None = None,
) -> frozenset[int] | None:
    """Read the records of all students, and sort those of `weeks` into their collectors.

    Args:
        compared: Sessions that are requested by the other route too.
        subset: Only these students are read.

    Returns:
        The classes whose sessions get rows: with stored or sent records of the subset. None: all classes.
    """
    state = _ReadState(by_student={session: [] for session in compared})
    students = semester.members.keys() if subset is None else subset.students

    def take(student_id: int, gathered: Gathered) -> None:
        progress.students.account.received += len(gathered.rows)
        progress.students.account.drift.update(gathered.drift)
        # A student whom the platform does not know may have an empty list, too.
        if gathered.rows or gathered.bad or student_id not in semester.unlisted:
            state.answered.add(student_id)
        for record in gathered.rows:
            session = session_of(record)
            if session in state.by_student:
                state.by_student[session].append(record)
        for number, own in _by_week(semester, gathered, weeks):
            _take(state, weeks[number], own)

    requested = [student for student in semester.students if student in students]
    await ask_students(client, semester, requested, progress.students, take)
    failed = progress.students.account.failed.keys()
    semester = semester.with_attended(state.statuses)
    unanswered = students - state.answered - failed
    sessions = semester.possible(weeks) | state.statuses.keys()
    first = semester.attended(unanswered, sessions) | state.by_student.keys()
    await _read_sessions(client, semester, weeks, state, first, progress.sessions, subset)
    # Unlisted students are in the other sessions of their class as well.
    other_sessions = {session for session in sessions if session.class_id in state.with_unlisted} - first
    await _read_sessions(client, semester, weeks, state, other_sessions, progress.sessions, subset)
    _compare(semester, weeks, state)
    classes = None
    if subset is not None:
        classes = subset.classes | {session.class_id for session in state.statuses}
        for session, statuses in subset.statuses.items():
            state.statuses[session].update(statuses)
    for number, week in weeks.items():
        _add_sessions(semester, number, week, state, classes, whole=not progress.any_failed)
        week.sessions.flush()
        week.records.flush()
    return classes


def _take(state: _ReadState, week: Week, gathered: Gathered) -> None:
    week.records.add(gathered)
    for record in gathered.rows:
        session = session_of(record)
        if session is not None:
            state.statuses[session][record.status] += 1


def _by_week(
    semester: Semester, gathered: Gathered, weeks: Mapping[int, Week]
) -> Iterable[tuple[int, Gathered]]:
    """A student's records by the week that they count as, without the records of other weeks.

    A broken row whose date cannot be read may be of any week."""
    by_week: dict[int, Gathered] = {}

    def of_week(number: int) -> Gathered:
        if number not in by_week:
            by_week[number] = Gathered(total=None, complete=gathered.complete, note=gathered.note)
        return by_week[number]

    for record, extra in zip(gathered.rows, gathered.extras, strict=True):
        if record.checked_at is None:
            gathered.bad.append(BadRow((record.id,), "it has no checked_at", f'{{"id":{record.id}}}'))
        elif (number := semester.calendar.week_of(record.checked_at)) in weeks:
            own = of_week(number)
            own.rows.append(record)
            own.extras.append(extra)
            own.trashed.append(False)
    for bad in gathered.bad:
        for number in _weeks_of(semester, bad, weeks):
            of_week(number).bad.append(bad)
    return by_week.items()


def _weeks_of(semester: Semester, bad: BadRow, weeks: Iterable[int]) -> list[int]:
    dated = _CHECKED_AT.search(bad.raw)
    try:
        week = semester.calendar.week_of(date.fromisoformat(dated[1])) if dated else None
    except ValueError:
        week = None
    return [number for number in weeks if week in (None, number)]


async def _read_sessions(
    client: Client,
    semester: Semester,
    weeks: Mapping[int, Week],
    state: _ReadState,
    sessions: set[Session],
    progress: Collector,
    subset: StudentSubset | None,
) -> None:
    """Request some sessions: take the statistics, the records of unanswered students, and for the sample the
    records of the others."""
    by_class: dict[int, list[Session]] = defaultdict(list)
    for session in sorted(sessions):
        by_class[session.class_id].append(session)

    async def read_class(unit: Unit) -> UnitResult:
        class_id = int(unit.ids[0])
        unmarked: list[Session] = []
        for session in by_class[class_id]:
            detail = await ask_session(client, semester, session, progress.account.tally)
            if is_unmarked(detail):
                unmarked.append(session)
            gathered = records_in(semester, session, detail)
            if detail is not None:
                state.session_rows[session] = row_of(
                    semester, session, detail.statistics, scheduled=session in scheduled
                )
            if session in state.by_student:
                state.by_session[session] = [
                    record for record in gathered.rows if record.student_id in state.answered
                ]
            if subset is None and any(
                record.student_id not in semester.members for record in gathered.rows if record.student_id
            ):
                state.with_unlisted.add(session.class_id)
            others = [
                i
                for i, record in enumerate(gathered.rows)
                if record.student_id not in state.answered
                and (subset is None or record.student_id in subset.students)
            ]
            keep_only(gathered, others)
            progress.account.received += len(gathered.rows)
            _take(state, weeks[semester.calendar.week_of(session.day)], gathered)
        # Requested if the class is read again. Such sessions have no rows.
        by_class[class_id] = unmarked
        return UnitResult(lambda: None, bool(unmarked))

    scheduled = {session for number in weeks for session in semester.scheduled(number)}
    units = [Unit(SESSIONS.path, ids=(class_id,)) for class_id in by_class]
    await read_units(client, units, read_class, [progress])


def _compare(semester: Semester, weeks: Mapping[int, Week], state: _ReadState) -> None:
    """Compare the sample with what its students answered, week by week."""
    by_week: dict[int, list[Session]] = defaultdict(list)
    for session in state.by_session:
        by_week[semester.calendar.week_of(session.day)].append(session)
    for number, sessions in by_week.items():
        by_student = [record for session in sessions for record in state.by_student[session]]
        by_session = [record for session in sessions for record in state.by_session[session]]
        if by_student or by_session:
            weeks[number].record_checks.append(both_routes(by_student, by_session))


def _add_sessions(
    semester: Semester,
    number: int,
    week: Week,
    state: _ReadState,
    classes: frozenset[int] | None,
    *,
    whole: bool,
) -> None:
    """Add a row for each session of a week, of these classes or of all. Statistics that an earlier reading
    was sent stay while they agree with the records. `whole`: no records are missing, and so perhaps a
    session's only ones."""
    stored_rows = semester.stored.get(number, {})
    scheduled = semester.scheduled(number)
    shown = {session for session in state.statuses if semester.calendar.week_of(session.day) == number}
    agreement = Agreement()
    for session in sorted(scheduled | shown | (set() if whole else stored_rows.keys())):
        if classes is not None and session.class_id not in classes:
            continue
        statuses = state.statuses.get(session, Counter())
        stored, own = stored_rows.get(session), state.session_rows.get(session)
        if own is None:
            stays = stored is not None and (not whole or agrees(stored, statuses))
            statistics = {name: getattr(stored, name) for name in SESSIONS.filled_later} if stays else None
            own = row_of(semester, session, statistics, scheduled=session in scheduled)
        elif own.rows and whole:
            agreement.compare(own.rows[0], statuses)
        week.sessions.add(own)
    week.session_checks += agreement.checks
