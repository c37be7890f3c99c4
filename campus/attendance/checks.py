"""Checks whether statistics agree with records, and the two routes with each other."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from campus.attendance.calendar import Session
from campus.contracts.v1_attendance import AttendanceRecord, AttendanceSession

# Sessions that disagree are named one by one up to this number.
NAMED = 10

T = TypeVar("T")


@dataclass(frozen=True)
class Check:
    """A number that the platform states (`expected`), and the number that was read (`actual`)."""

    name: str
    expected: int
    actual: int


@dataclass
class Agreement:
    """Compares the statistics of sessions with their records."""

    sessions: int = 0
    stated: int = 0
    counted: int = 0
    disagreeing: list[Check] = field(default_factory=list)

    def compare(self, row: AttendanceSession, statuses: Counter[str | None]) -> None:
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


def agrees(row: AttendanceSession, statuses: Mapping[str | None, int]) -> bool:
    """Whether a session's statistics are those of its records. Late includes left early. Absent may include
    absence from duty or not: the interface does not say."""
    late = statuses.get("lated", 0) + statuses.get("early_left", 0)
    absent = statuses.get("absent", 0)
    return (
        row.normal in (None, statuses.get("normal", 0))
        and row.late in (None, late)
        and row.absent in (None, absent, absent + statuses.get("absent_from_duty", 0))
    )


def both_routes(first_route: Iterable[AttendanceRecord], second_route: Iterable[AttendanceRecord]) -> Check:
    """Counts the records that both routes show alike."""
    first, second = ({record.id: record for record in records} for records in (first_route, second_route))
    equal = sum(1 for key, record in first.items() if second.get(key) == record)
    return Check("sampled records that both routes show alike", len(first.keys() | second.keys()), equal)


def session_of(record: AttendanceRecord) -> Session | None:
    """The session of a record. None: the platform does not say."""
    if record.class_id is None or record.checked_at is None or record.lesson is None:
        return None
    return Session(record.class_id, record.checked_at, record.lesson)


def sample(population: Sequence[T], size: int) -> list[T]:
    """Some elements of a sequence, evenly spaced."""
    if size >= len(population):
        return list(population)
    return [population[index * len(population) // size] for index in range(size)]
