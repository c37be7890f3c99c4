"""What a session of attendance adds up to."""

from collections import Counter
from collections.abc import Iterable, Mapping

from simulator.readings import Readings
from simulator.school.rows import Row, Values, class_of_session, school_of, semester_of
from simulator.store.store import Store


def shown_records(store: Store, session_id: int) -> list[Row]:
    """The records of a session that are not deleted, of students who are still known.

    Whether those of students who have left are among them is a reading."""
    people = store.people(school_of(semester_of(class_of_session(session_id))))
    rows = store.rows("attendance_records", session_id)
    shown = [row for row in rows if row.deleted_at is None and row.values.get("student_id") in people]
    if store.readings.left_attendance == "shown":
        return shown
    return [row for row in shown if people[row.values["student_id"]].deleted_at is None]


def statistics(readings: Readings, rows: Iterable[Row]) -> Values:
    """What the statuses of these records add up to."""
    return summed(readings, Counter(str(row.values.get("status")) for row in rows))


def summed(readings: Readings, statuses: Mapping[str, int]) -> Values:
    """Counts, and present of counted in percent; whether absence from duty is counted is a reading."""
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
