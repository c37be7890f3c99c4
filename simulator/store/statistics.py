"""The statistics of attendance sessions."""

from collections import Counter
from collections.abc import Iterable, Mapping

from simulator.readings import Readings
from simulator.school.rows import Row, Values, class_of_session, school_of, semester_of
from simulator.store.store import Store


def shown_records(store: Store, session_id: int) -> list[Row]:
    """The undeleted records of a session, of existing students. The reading `left_attendance` decides about
    students who have left."""
    people = store.people(school_of(semester_of(class_of_session(session_id))))
    rows = store.rows("attendance_records", session_id)
    shown = [row for row in rows if row.deleted_at is None and row.values.get("student_id") in people]
    if store.readings.left_attendance == "shown":
        return shown
    return [row for row in shown if people[row.values["student_id"]].deleted_at is None]


def statistics(readings: Readings, rows: Iterable[Row]) -> Values:
    """The statistics of these records."""
    return summed(readings, Counter(str(row.values.get("status")) for row in rows))


def summed(readings: Readings, statuses: Mapping[str, int]) -> Values:
    """The counts, and the attendance rate in per cent. The reading `absent_from_duty` decides what counts."""
    normal = statuses.get("normal", 0)
    late = statuses.get("lated", 0) + statuses.get("early_left", 0)
    absent = statuses.get("absent", 0)
    if readings.absent_from_duty == "absent":
        absent += statuses.get("absent_from_duty", 0)
    counted = normal + late + absent
    rate = round(100 * (normal + late) / counted, int(readings.rate_decimals)) if counted else 0
    return {
        "attendance_rate": int(rate) if rate == int(rate) else rate,
        "normal": normal,
        "late": late,
        "absent": absent,
    }
