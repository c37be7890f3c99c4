"""Reading a week of attendance session by session: records, and the platform's statistics of each session.

A schedule tells only what holds now and as a rule. A few students, who are asked for by the other route, show
which sessions there were besides, and whether both routes agree.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import partial

from campus.attendance.calendar import Session
from campus.attendance.checks import Agreement, both_routes, session_of
from campus.attendance.requests import ask_session, ask_students, is_unmarked, records_in, row_of
from campus.attendance.rows import SESSIONS, SessionDetail
from campus.attendance.semester import Semester
from campus.attendance.week import Week
from campus.contracts.v1_attendance import AttendanceRecord
from campus.http.client import Client
from campus.plan.units import Unit
from campus.sources.gathered import Collector, Gathered
from campus.sources.side_by_side import UnitResult, read_all


@dataclass
class Witnessed:
    """What some students attended, by the student route."""

    students: set[int] = field(default_factory=set)
    records: dict[Session, list[AttendanceRecord]] = field(default_factory=lambda: defaultdict(list))

    def of_classes(self, class_ids: Collection[int]) -> "Witnessed":
        """The same of some classes alone."""
        own = {session: found for session, found in self.records.items() if session.class_id in class_ids}
        return Witnessed(self.students, defaultdict(list, own))


async def ask_witnesses(
    client: Client, semester: Semester, students: Iterable[int], following: Collector
) -> Witnessed:
    """Request the records of some students.

    Args:
        following: As `ask_students` has it."""
    witnessed = Witnessed()

    def take(student_id: int, found: Gathered) -> None:
        following.account.drift.update(found.drift)
        witnessed.students.add(student_id)
        for record in found.rows:
            session = session_of(record)
            if session is not None:
                witnessed.records[session].append(record)

    await ask_students(client, semester, students, following, take)
    return witnessed


async def read_by_sessions(
    client: Client, semester: Semester, number: int, week: Week, witnessed: Witnessed, since: date = date.min
) -> None:
    """Read the sessions of a week from a day on, class by class: a class whose reading fails keeps its last
    good rows.

    A scheduled session that nobody has marked has a row, also one of today: not marked is not absent."""
    scheduled = semester.scheduled(number)
    shown = {one for one in witnessed.records if semester.calendar.week_of(one.day) == number}
    possible = semester.possible([number]) | {one for one in shown if one.day <= semester.today}
    asked = {session for session in possible if session.day >= since}
    by_class: dict[int, list[Session]] = defaultdict(list)
    for session in sorted(asked):
        by_class[session.class_id].append(session)
    agreement = Agreement()
    sampled: list[AttendanceRecord] = []

    async def read_class(unit: Unit) -> UnitResult:
        own = by_class[int(unit.ids[0])]
        details = {one: await ask_session(client, semester, one, week.records.account.tally) for one in own}
        unmarked = {one: detail for one, detail in details.items() if is_unmarked(detail)}
        take({one: detail for one, detail in details.items() if one not in unmarked})
        # What is asked for if the class is read again.
        by_class[int(unit.ids[0])] = list(unmarked)
        return UnitResult(partial(take, unmarked), bool(unmarked))

    def take(details: Mapping[Session, SessionDetail | None]) -> None:
        for session, detail in details.items():
            found = records_in(semester, session, detail)
            week.records.add(found)
            sampled.extend(one for one in found.rows if one.student_id in witnessed.students)
            marked = bool(found.rows or found.bad)
            if not marked and session not in scheduled:
                continue
            statistics = detail.statistics if detail else None
            row = row_of(semester, session, statistics, scheduled=session in scheduled)
            if row.rows and not found.bad:
                agreement.compare(row.rows[0], Counter(record.status for record in found.rows))
            week.sessions.add(row)

    units = [Unit(SESSIONS.path, ids=(class_id,)) for class_id in by_class]
    await read_all(client, units, read_class, [week.sessions, week.records])
    failed = week.records.account.failed
    theirs = [
        record
        for session in asked
        if session.class_id not in failed
        for record in witnessed.records.get(session, ())
    ]
    week.of_sessions += agreement.checks
    if sampled or theirs:
        week.of_records.append(both_routes(sampled, theirs))
