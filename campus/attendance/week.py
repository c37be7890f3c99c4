"""The rows of one week of attendance, and the checks of these rows.

Responses for students and for sessions bring rows of the same week. The statistics of sessions are compared
with the records, and the records of a student's response with those of a session's response.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from campus.attendance.calendar import Session
from campus.attendance.requests import SESSIONS
from campus.attendance.semester import Semester
from campus.contracts.v1_attendance import AttendanceRecord, AttendanceSession
from campus.decoding.page import decode_page
from campus.sources.gathered import Collector, Gathered
from campus.sources.row_rules import gathered_of

# Sessions that disagree are named one by one up to this number.
NAMED = 10

#: How many records have which status.
Statuses = Counter[str | None]
#: The statistics of a session as sent or stored. None: the platform sends none.
Statistics = Mapping[str, Any] | None


@dataclass(frozen=True)
class Check:
    """A number that the platform states (`expected`), and the number that was read (`actual`)."""

    name: str
    expected: int
    actual: int


@dataclass
class Week:
    """The rows and checks of one week."""

    number: int
    sessions: Collector
    records: Collector
    #: By session, the statuses of the records.
    statuses: dict[Session, Statuses] = field(default_factory=lambda: defaultdict(Counter))
    #: Sessions with a record that cannot be read.
    damaged: set[Session] = field(default_factory=set)
    #: By session that the platform has shown, the statistics as sent.
    statistics: dict[Session, Statistics] = field(default_factory=dict)
    #: By compared session, the records that sessions show of students who have answered.
    compared: dict[Session, list[AttendanceRecord]] = field(default_factory=dict)
    #: Statistics against records.
    session_checks: list[Check] = field(default_factory=list)
    #: The records of students against those of sessions.
    record_checks: list[Check] = field(default_factory=list)

    @property
    def recorded(self) -> set[Session]:
        """The sessions with records, readable or not."""
        return {*self.statuses, *self.damaged}

    def take_records(self, gathered: Gathered) -> None:
        """Take records to the lake, and count their statuses."""
        self.records.add(gathered)
        for record in gathered.rows:
            session = session_of(record)
            if session is not None:
                self.statuses[session][record.status] += 1

    def compare_records(self, by_students: Mapping[Session, Iterable[AttendanceRecord]]) -> None:
        """Compare the records of the compared sessions with those that students have sent."""
        of_sessions = {record.id: record for records in self.compared.values() for record in records}
        of_students = {
            record.id: record for session in self.compared for record in by_students.get(session, ())
        }
        if of_sessions or of_students:
            equal = sum(of_sessions.get(key) == record for key, record in of_students.items())
            both = len(of_students.keys() | of_sessions.keys())
            self.record_checks.append(Check("sampled records that both routes show alike", both, equal))

    def add_sessions(
        self,
        semester: Semester,
        sessions: Iterable[Session],
        stored: Mapping[Session, AttendanceSession],
        *,
        complete: bool,
    ) -> None:
        """Add a row for each of these sessions, and write all rows that wait.

        Args:
            stored: Rows of earlier readings. Their statistics stay while they agree with the records.
            complete: No records are missing, so that they can be compared with the statistics."""
        scheduled = semester.scheduled(self.number)
        agreement = Agreement()
        for session in sorted(sessions):
            statuses = self.statuses.get(session, Statuses())
            statistics, before = self.statistics.get(session), stored.get(session)
            was_sent = session in self.statistics
            if not was_sent and before is not None and (not complete or agrees(before, statuses)):
                statistics = {name: getattr(before, name) for name in SESSIONS.filled_later}
            row = _row_of(semester, session, statistics, scheduled=session in scheduled)
            if was_sent and row.rows and complete and session not in self.damaged:
                agreement.compare(row.rows[0], statuses)
            self.sessions.add(row)
        self.session_checks += agreement.checks
        self.sessions.flush()
        self.records.flush()


@dataclass
class Agreement:
    """Compares the statistics of sessions with their records."""

    sessions: int = 0
    stated: int = 0
    counted: int = 0
    disagreeing: list[Check] = field(default_factory=list)

    def compare(self, row: AttendanceSession, statuses: Statuses) -> None:
        """Compare the statistics of one session with how many of its records have which status."""
        if (row.normal, row.late, row.absent) == (None, None, None):
            return
        stated = sum(number or 0 for number in (row.normal, row.late, row.absent))
        agreeing = agrees(row, statuses)
        self.sessions += 1
        self.stated += stated
        self.counted += stated if agreeing else statuses.total()
        if not agreeing:
            name = f"statistics of class {row.class_id} on {row.date}, lesson {row.lesson}: its records"
            self.disagreeing.append(Check(name, stated, statuses.total()))

    @property
    def checks(self) -> list[Check]:
        """Two numbers for all sessions, and some of the sessions that disagree."""
        if not self.sessions:
            return []
        agreeing = self.sessions - len(self.disagreeing)
        whole = Check("sessions whose statistics agree with their records", self.sessions, agreeing)
        counts = Check("students that the statistics of sessions count", self.stated, self.counted)
        return [whole, counts, *self.disagreeing[:NAMED]]


def agrees(row: AttendanceSession, statuses: Statuses) -> bool:
    """Whether a session's statistics are those of its records. Late includes left early. Absent may include
    absence from duty or not: the interface does not say."""
    late = statuses["lated"] + statuses["early_left"]
    return (
        row.normal in (None, statuses["normal"])
        and row.late in (None, late)
        and row.absent in (None, statuses["absent"], statuses["absent"] + statuses["absent_from_duty"])
    )


def session_of(record: AttendanceRecord) -> Session | None:
    """The session of a record. None: the platform does not say."""
    if record.class_id is None or record.checked_at is None or record.lesson is None:
        return None
    return Session(record.class_id, record.checked_at, record.lesson)


def _row_of(semester: Semester, session: Session, statistics: Statistics, *, scheduled: bool) -> Gathered:
    row = {
        **(statistics or {}),
        "class_id": session.class_id,
        "date": session.day,
        "lesson": session.lesson,
        "semester_id": semester.calendar.semester_id,
        "week": semester.calendar.week_of(session.day),
        "scheduled": scheduled,
    }
    return gathered_of(decode_page(msgspec.json.encode([row]), SESSIONS.contract))
