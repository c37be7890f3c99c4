"""Reading a semester's attendance student by student: one answer each, sorted into weeks as it comes.

Students who have left and cannot be asked for are in the answers of sessions alone, so the sessions of their
classes are asked for besides. A few sessions more tell whether both routes agree, and whether their classes
have students whom nobody lists.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date

from campus.attendance.calendar import Session
from campus.attendance.checks import Agreement, agrees, both_routes, session_of
from campus.attendance.requests import ask_session, ask_students, is_unmarked, records_in, row_of
from campus.attendance.rows import SESSIONS
from campus.attendance.semester import Semester
from campus.attendance.week import Week
from campus.contracts.v1_attendance import AttendanceRecord
from campus.decoding.page import BadRow
from campus.http.client import Client
from campus.plan.units import Unit
from campus.sources.gathered import Collector, Gathered
from campus.sources.row_rules import keep_only
from campus.sources.side_by_side import UnitResult, read_all

STATISTICS = ("attendance_rate", "normal", "late", "absent")
_CHECKED_AT = re.compile(r'"checked_at"\s*:\s*"(\d{4}-\d\d-\d\d)"')


@dataclass(frozen=True)
class Following:
    """Who follows a reading: for each of its two questions a collector that takes no rows, but is told how
    far it is and what failed."""

    students: Collector
    sessions: Collector

    @property
    def any_failed(self) -> bool:
        return bool(self.students.account.failed or self.sessions.account.failed)


@dataclass(frozen=True)
class Part:
    """A reading of some students alone, beside rows of others that stay as they are held.

    `statuses`: of the held records of others, how many of each session have which status. `classes`: those of
    which records of the students are held."""

    students: frozenset[int]
    statuses: Mapping[Session, Counter[str | None]]
    classes: frozenset[int]


@dataclass
class _Read:
    """What is known of the sessions while their records come: how many of them have which status, the rows of
    those that were asked for, for the sample what either route has, and the classes of unlisted students."""

    statuses: dict[Session, Counter[str | None]] = field(default_factory=lambda: defaultdict(Counter))
    asked: dict[Session, Gathered] = field(default_factory=dict)
    ours: dict[Session, list[AttendanceRecord]] = field(default_factory=dict)
    theirs: dict[Session, list[AttendanceRecord]] = field(default_factory=dict)
    answered: set[int] = field(default_factory=set)
    with_unlisted: set[int] = field(default_factory=set)


async def read_by_students(
    client: Client,
    semester: Semester,
    weeks: Mapping[int, Week],
    following: Following,
    compared: Iterable[Session] = (),
    part: Part | None = None,
) -> frozenset[int] | None:
    """Read the records of all students and sort those of `weeks` into their collectors. `compared`: sessions
    that are asked for by the other route too. `part`: only these students are read.

    Returns the classes whose sessions have rows: those in which records of the part's students were held or
    came; None: all of them."""
    read = _Read(ours={session: [] for session in compared})
    students = semester.members.keys() if part is None else part.students

    def take(student_id: int, found: Gathered) -> None:
        following.students.account.received += len(found.rows)
        following.students.account.drift.update(found.drift)
        # Whom nobody knows any more may be answered with nothing, too.
        if found.rows or found.bad or student_id not in semester.unlisted:
            read.answered.add(student_id)
        for record in found.rows:
            session = session_of(record)
            if session in read.ours:
                read.ours[session].append(record)
        for number, own in _by_week(semester, found, weeks):
            _take(read, weeks[number], own)

    asked = [student for student in semester.students if student in students]
    await ask_students(client, semester, asked, following.students, take)
    failed = following.students.account.failed.keys()
    semester = semester.knowing(read.statuses)
    silent = students - read.answered - failed
    sessions = semester.possible(weeks) | read.statuses.keys()
    first = semester.attended(silent, sessions) | read.ours.keys()
    await _read_sessions(client, semester, weeks, read, first, following.sessions, part)
    # Whom no list has is in the other sessions of his class as well.
    more = {one for one in sessions if one.class_id in read.with_unlisted} - first
    await _read_sessions(client, semester, weeks, read, more, following.sessions, part)
    _compare(semester, weeks, read)
    classes = None
    if part is not None:
        classes = part.classes | {session.class_id for session in read.statuses}
        for session, statuses in part.statuses.items():
            read.statuses[session].update(statuses)
    for number, week in weeks.items():
        _add_sessions(semester, number, week, read, classes, whole=not following.any_failed)
        week.sessions.flush()
        week.records.flush()
    return classes


def _take(read: _Read, week: Week, found: Gathered) -> None:
    week.records.add(found)
    for record in found.rows:
        session = session_of(record)
        if session is not None:
            read.statuses[session][record.status] += 1


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
    read: _Read,
    sessions: set[Session],
    following: Collector,
    part: Part | None,
) -> None:
    """Ask for some sessions: take the records of those who did not answer for themselves, and the statistics,
    and for the sample what the session has of those who did."""
    by_class: dict[int, list[Session]] = defaultdict(list)
    for session in sorted(sessions):
        by_class[session.class_id].append(session)

    async def read_class(unit: Unit) -> UnitResult:
        class_id = int(unit.ids[0])
        unmarked: list[Session] = []
        for session in by_class[class_id]:
            detail = await ask_session(client, semester, session, following.account.tally)
            if is_unmarked(detail):
                unmarked.append(session)
            found = records_in(semester, session, detail)
            if detail is not None:
                read.asked[session] = row_of(
                    semester, session, detail.statistics, scheduled=session in scheduled
                )
            if session in read.ours:
                read.theirs[session] = [one for one in found.rows if one.student_id in read.answered]
            if part is None and any(
                one.student_id not in semester.members for one in found.rows if one.student_id
            ):
                read.with_unlisted.add(session.class_id)
            others = [
                i
                for i, one in enumerate(found.rows)
                if one.student_id not in read.answered and (part is None or one.student_id in part.students)
            ]
            keep_only(found, others)
            following.account.received += len(found.rows)
            _take(read, weeks[semester.calendar.week_of(session.day)], found)
        # What is asked for if the class is read again; there are no rows of it to hand on.
        by_class[class_id] = unmarked
        return UnitResult(lambda: None, bool(unmarked))

    scheduled = {session for number in weeks for session in semester.scheduled(number)}
    units = [Unit(SESSIONS.path, ids=(class_id,)) for class_id in by_class]
    await read_all(client, units, read_class, [following])


def _compare(semester: Semester, weeks: Mapping[int, Week], read: _Read) -> None:
    """Compare the sample with what its students answered, week by week."""
    by_week: dict[int, list[Session]] = defaultdict(list)
    for session in read.theirs:
        by_week[semester.calendar.week_of(session.day)].append(session)
    for number, sessions in by_week.items():
        ours = [record for session in sessions for record in read.ours[session]]
        theirs = [record for session in sessions for record in read.theirs[session]]
        if ours or theirs:
            weeks[number].of_records.append(both_routes(ours, theirs))


def _add_sessions(
    semester: Semester,
    number: int,
    week: Week,
    read: _Read,
    classes: frozenset[int] | None,
    *,
    whole: bool,
) -> None:
    """Add a row for each session of a week, of these classes or of all. Statistics that an earlier reading
    was sent stay while they agree with the records. `whole`: no records are missing, and so perhaps a
    session's only ones."""
    known = semester.known.get(number, {})
    scheduled = semester.scheduled(number)
    shown = {one for one in read.statuses if semester.calendar.week_of(one.day) == number}
    agreement = Agreement()
    for session in sorted(scheduled | shown | (set() if whole else known.keys())):
        if classes is not None and session.class_id not in classes:
            continue
        statuses = read.statuses.get(session, Counter())
        held, own = known.get(session), read.asked.get(session)
        if own is None:
            stays = held is not None and (not whole or agrees(held, statuses))
            statistics = {name: getattr(held, name) for name in STATISTICS} if stays else None
            own = row_of(semester, session, statistics, scheduled=session in scheduled)
        elif own.rows and whole:
            agreement.compare(own.rows[0], statuses)
        week.sessions.add(own)
    week.of_sessions += agreement.checks
