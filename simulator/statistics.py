"""What a session of attendance adds up to."""

from collections.abc import Iterable

from simulator.rows import Row, Values, class_of_session, school_of, semester_of
from simulator.settings import Readings
from simulator.store import Store


def shown_records(store: Store, session_id: int) -> list[Row]:
    """The records of a session that are not deleted, and whose student is still known, left or not."""
    people = store.people(school_of(semester_of(class_of_session(session_id))))
    rows = store.rows("attendance_records", session_id)
    return [row for row in rows if row.deleted_at is None and row.values.get("student_id") in people]


def statistics(readings: Readings, rows: Iterable[Row]) -> Values:
    """Counts, and present of counted in percent; whether absence from duty is counted is a reading."""
    statuses = [row.values.get("status") for row in rows]
    normal = statuses.count("normal")
    late = statuses.count("lated") + statuses.count("early_left")
    absent = statuses.count("absent")
    if readings.absent_from_duty == "absent":
        absent += statuses.count("absent_from_duty")
    counted = normal + late + absent
    rate = round(100 * (normal + late) / counted, int(readings.rate_decimals)) if counted else 0
    return {
        "attendance_rate": int(rate) if rate == int(rate) else rate,
        "normal": normal,
        "late": late,
        "absent": absent,
    }
