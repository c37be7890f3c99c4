"""Reads a week of attendance session by session: the records, and the platform's statistics of each session.

A schedule has only the present and regular sessions. A few students, requested by the other route as a
cross-check, show which other sessions there were, and whether both routes agree.
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
from campus.sources.concurrent_units import UnitResult, read_units
from campus.sources.gathered import Collector, Gathered


@dataclass
class CrossCheck:
    """The records of some students by the student route."""

    students: set[int] = field(default_factory=set)
    records: dict[Session, list[AttendanceRecord]] = field(default_factory=lambda: defaultdict(list))

    def of_classes(self, class_ids: Collection[int]) -> "CrossCheck":
        """Limit the records to some classes."""
        own = {session: records for session, records in self.records.items() if session.class_id in class_ids}
        return CrossCheck(self.students, defaultdict(list, own))


async def read_cross_check(
    client: Client, semester: Semester, students: Iterable[int], progress: Collector
) -> CrossCheck:
    """Request the records of some students.

    Args:
        progress: As `ask_students` has it."""
    cross_check = CrossCheck()

    def take(student_id: int, gathered: Gathered) -> None:
        progress.account.drift.update(gathered.drift)
        cross_check.students.add(student_id)
        for record in gathered.rows:
            session = session_of(record)
            if session is not None:
                cross_check.records[session].append(record)

    await ask_students(client, semester, students, progress, take)
    return cross_check


async def read_by_sessions(
    client: Client,
    semester: Semester,
    number: int,
    week: Week,
    cross_check: CrossCheck,
    since: date = date.min,
) -> None:
    """Read the sessions of a week from a day on, class by class. A class that fails keeps its last rows.

    A scheduled session without records has a row, also on the present day: not marked is not absent."""
    scheduled = semester.scheduled(number)
    shown = {session for session in cross_check.records if semester.calendar.week_of(session.day) == number}
    possible = semester.possible([number]) | {session for session in shown if session.day <= semester.today}
    requested = {session for session in possible if session.day >= since}
    by_class: dict[int, list[Session]] = defaultdict(list)
    for session in sorted(requested):
        by_class[session.class_id].append(session)
    agreement = Agreement()
    sampled: list[AttendanceRecord] = []

    async def read_class(unit: Unit) -> UnitResult:
        own = by_class[int(unit.ids[0])]
        details = {
            session: await ask_session(client, semester, session, week.records.account.tally)
            for session in own
        }
        unmarked = {session: detail for session, detail in details.items() if is_unmarked(detail)}
        take({session: detail for session, detail in details.items() if session not in unmarked})
        # Requested if the class is read again.
        by_class[int(unit.ids[0])] = list(unmarked)
        return UnitResult(partial(take, unmarked), bool(unmarked))

    def take(details: Mapping[Session, SessionDetail | None]) -> None:
        for session, detail in details.items():
            gathered = records_in(semester, session, detail)
            week.records.add(gathered)
            sampled.extend(record for record in gathered.rows if record.student_id in cross_check.students)
            marked = bool(gathered.rows or gathered.bad)
            if not marked and session not in scheduled:
                continue
            statistics = detail.statistics if detail else None
            row = row_of(semester, session, statistics, scheduled=session in scheduled)
            if row.rows and not gathered.bad:
                agreement.compare(row.rows[0], Counter(record.status for record in gathered.rows))
            week.sessions.add(row)

    units = [Unit(SESSIONS.path, ids=(class_id,)) for class_id in by_class]
    await read_units(client, units, read_class, [week.sessions, week.records])
    failed = week.records.account.failed
    theirs = [
        record
        for session in requested
        if session.class_id not in failed
        for record in cross_check.records.get(session, ())
    ]
    week.session_checks += agreement.checks
    if sampled or theirs:
        week.record_checks.append(both_routes(sampled, theirs))
