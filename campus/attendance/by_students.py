"""Reading a semester's attendance student by student: one answer each, sorted into weeks as it comes.

Students who have left and cannot be asked for are in the answers of sessions alone, so the sessions of their
classes are asked for besides. A few sessions more tell whether both routes agree.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date

from campus.attendance.asking import OF_STUDENT, ask_session, ask_student, records_in, row_of
from campus.attendance.calendar import Session
from campus.attendance.checks import Check, agrees, both_routes, session_of
from campus.attendance.semester import Semester
from campus.attendance.wire import SESSIONS, SessionDetail
from campus.client import Client
from campus.collect import Collector, Gathered
from campus.contracts_v1_attendance import AttendanceRecord
from campus.decode import BadRow
from campus.questions import Unit
from campus.read import read_all
from campus.settle import keep_only

STATISTICS = ("attendance_rate", "normal", "late", "absent")
_CHECKED_AT = re.compile(r'"checked_at"\s*:\s*"(\d{4}-\d\d-\d\d)"')


@dataclass
class Week:
    """One week on its way: its two collectors, and what is known of its sessions."""

    sessions: Collector
    records: Collector
    checks: list[Check] = field(default_factory=list)
    statuses: dict[Session, Counter[str | None]] = field(default_factory=lambda: defaultdict(Counter))
    details: dict[Session, SessionDetail] = field(default_factory=dict)


@dataclass(frozen=True)
class Following:
    """Who follows a reading: for each of its two questions a collector that takes no rows, but is told how
    far it is and what failed."""

    students: Collector
    sessions: Collector


async def read_by_students(
    client: Client,
    semester: Semester,
    weeks: Mapping[int, Week],
    following: Following,
    compared: Iterable[Session] = (),
) -> set[int]:
    """Read the records of all students and sort those of `weeks` into their collectors; gives the students
    who answered, as the others' last good rows have to stay. `compared`: sessions that are asked for by the
    other route too."""
    sampled: dict[Session, list[AttendanceRecord]] = {session: [] for session in compared}
    answered: set[int] = set()

    async def read_student(unit: Unit) -> None:
        student_id = int(unit.ids[0])
        found = await ask_student(client, semester, student_id, following.students.account.tally)
        answered.add(student_id)
        for record in found.rows:
            session = session_of(record)
            if session in sampled:
                sampled[session].append(record)
        for number, part in _by_week(semester, found, weeks):
            _take(weeks[number], part)

    units = [Unit(OF_STUDENT, ids=(student,), may_be_absent=True) for student in semester.students]
    await read_all(client, units, read_student, [following.students])
    uncovered = {one for number in weeks for one in semester.uncovered(number)}
    await _read_sessions(client, semester, weeks, uncovered, sampled, answered, following.sessions)
    for number, week in weeks.items():
        _add_sessions(semester, number, week, keep_known=bool(following.students.account.failed))
        week.sessions.flush()
        week.records.flush()
    return answered


def _take(week: Week, found: Gathered) -> None:
    week.records.add(found)
    for record in found.rows:
        session = session_of(record)
        if session is not None:
            week.statuses[session][record.status] += 1


def _by_week(
    semester: Semester, found: Gathered, weeks: Mapping[int, Week]
) -> Iterable[tuple[int, Gathered]]:
    """A student's records by the week that they count as; those of other weeks are left out.

    A broken row whose date cannot be read may be of any week."""
    parts: dict[int, Gathered] = {}

    def part(number: int) -> Gathered:
        if number not in parts:
            parts[number] = Gathered(total=None, complete=found.complete, note=found.note)
        return parts[number]

    for record, extra in zip(found.rows, found.extras, strict=True):
        if record.checked_at is None:
            found.bad.append(BadRow((record.id,), "it has no checked_at", f'{{"id":{record.id}}}'))
        elif (number := semester.calendar.week_of(record.checked_at)) in weeks:
            own = part(number)
            own.rows.append(record)
            own.extras.append(extra)
            own.trashed.append(False)
    for bad in found.bad:
        for number in _weeks_of(semester, bad, weeks):
            part(number).bad.append(bad)
    if parts:
        next(iter(parts.values())).drift = found.drift
    return parts.items()


def _weeks_of(semester: Semester, bad: BadRow, weeks: Iterable[int]) -> list[int]:
    told = _CHECKED_AT.search(bad.raw)
    try:
        week = semester.calendar.week_of(date.fromisoformat(told[1])) if told else None
    except ValueError:
        week = None
    return [number for number in weeks if week in (None, number)]


async def _read_sessions(
    client: Client,
    semester: Semester,
    weeks: Mapping[int, Week],
    uncovered: set[Session],
    sampled: Mapping[Session, list[AttendanceRecord]],
    answered: set[int],
    following: Collector,
) -> None:
    """Ask for some sessions: take the records of those who did not answer for themselves, and the statistics,
    and compare the sample with what its students answered."""
    theirs: dict[Session, list[AttendanceRecord]] = {}
    by_class: dict[int, list[Session]] = defaultdict(list)
    for session in sorted({*uncovered, *sampled}):
        by_class[session.class_id].append(session)

    async def read_class(unit: Unit) -> None:
        for session in by_class[int(unit.ids[0])]:
            detail = await ask_session(client, semester, session, following.account.tally)
            found = records_in(semester, session, detail)
            week = weeks[semester.calendar.week_of(session.day)]
            if detail is not None:
                week.details[session] = detail
            if session in sampled:
                theirs[session] = [record for record in found.rows if record.student_id in answered]
            keep_only(found, [i for i, record in enumerate(found.rows) if record.student_id not in answered])
            _take(week, found)

    units = [Unit(SESSIONS.path, ids=(class_id,)) for class_id in by_class]
    await read_all(client, units, read_class, [following])
    by_week: dict[int, list[Session]] = defaultdict(list)
    for session in theirs:
        by_week[semester.calendar.week_of(session.day)].append(session)
    for number, sessions in by_week.items():
        ours = [record for session in sessions for record in sampled[session]]
        others = [record for session in sessions for record in theirs[session]]
        if ours or others:
            weeks[number].checks.append(both_routes(ours, others))


def _add_sessions(semester: Semester, number: int, week: Week, *, keep_known: bool) -> None:
    """Add a row for each session of a week. Statistics that an earlier reading was sent stay while they agree
    with the records. `keep_known`: somebody's records are missing, and so perhaps a session's only ones."""
    known = semester.known.get(number, {})
    scheduled = semester.scheduled(number)
    ended = {session for session in scheduled if session.day < semester.today}
    for session in sorted(ended | week.statuses.keys() | (known.keys() if keep_known else set())):
        statuses = week.statuses.get(session, Counter())
        row = known.get(session)
        detail = week.details.get(session)
        statistics = detail.statistics if detail else None
        if detail is None and row is not None and agrees(row, statuses):
            statistics = {name: getattr(row, name) for name in STATISTICS}
        week.sessions.add(row_of(semester, session, statistics, scheduled=session in scheduled))
