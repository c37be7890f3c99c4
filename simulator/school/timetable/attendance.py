"""Generated attendance: each mark is a function of the seed, the session and the student.

Patterns of a real school: Mondays and Fridays are worse. Illness lasts a day, not a lesson. A few students
are absent far more often than the rest, and a few are late. Teachers mark late, and forget some sessions and
some students. A leave slip arrives days after the absence."""

from collections.abc import Iterator
from datetime import date, timedelta
from functools import lru_cache
from typing import NamedTuple

from simulator.school.rows import KEYS, Values
from simulator.school.timetable.plan import Plan
from simulator.school.timetable.weeks import LESSON_TIMES, TeachingDay

PER = 10_000  # chances below are per this many
ABSENT_DAYS, CHRONIC_ABSENT_DAYS, CHRONIC_STUDENTS = 220, 1_500, 400
LATE, OFTEN_LATE, OFTEN_LATE_STUDENTS = 150, 900, 800
WEEKDAY_PERCENT = {1: 145, 5: 165}  # of the chance of an absent day
SKIPPED, LEFT_EARLY, OFF_DUTY = 40, 40, 10
FORGOTTEN_STUDENTS = 50
FORGOTTEN_SESSIONS, CARELESS_FORGOTTEN_SESSIONS, CARELESS_TEACHERS = 150, 3_500, 500
MARKED_LATE, MARKED_DAYS_LATE = 1_200, 9
LEAVES = ("病假", "病假", "事假", "公假", "", "")  # empty: absence without leave
SLIP_DAYS = 4
STATUS_LABELS = {
    "normal": "正常",
    "absent": "缺勤",
    "lated": "迟到",
    "early_left": "早退",
    "absent_from_duty": "缺岗",
}
CONCLUSIONS = {**STATUS_LABELS, "normal": "出勤", "absent": "旷课"}

_MASK = (1 << 64) - 1


class Session(NamedTuple):
    """A meeting of a class. `recorded_on`: when its marks are made; None: never."""

    key: int
    class_id: int
    day: date
    lesson: int
    recorded_on: date | None
    recorded_at: str  # HH:MM
    draw: int

    @property
    def values(self) -> Values:
        """The session as a row."""
        return {
            "id": self.key,
            "class_id": self.class_id,
            "date": self.day.isoformat(),
            "lesson": self.lesson,
        }


def mix(*numbers: int) -> int:
    """A hash of numbers with well-distributed bits."""
    result = 0x9E3779B97F4A7C15
    for number in numbers:
        result = (result ^ number) * 0xBF58476D1CE4E5B9 & _MASK
        result ^= result >> 29
    return result * 0x94D049BB133111EB >> 11 & _MASK


def sessions(seed: int, plan: Plan, days: list[TeachingDay]) -> Iterator[Session]:
    """All sessions of a class in its semester, including future sessions."""
    for number, (day, lesson) in enumerate(plan.meetings(days), 1):
        key = KEYS["attendance_sessions"].key(plan.class_id, number)
        yield session(seed, plan.class_id, key, day.day, lesson)


def session(seed: int, class_id: int, key: int, day: date, lesson: int) -> Session:
    """The generated values of a whole session."""
    draw = mix(seed, class_id, day.toordinal(), lesson)
    careless = mix(seed, class_id) % PER < CARELESS_TEACHERS
    forgotten = CARELESS_FORGOTTEN_SESSIONS if careless else FORGOTTEN_SESSIONS
    days_late = 1 + (draw >> 20) % MARKED_DAYS_LATE if (draw >> 40) % PER < MARKED_LATE else 0
    recorded_on = None if draw % PER < forgotten else day + timedelta(days=days_late)
    minute = (draw >> 10) % 15
    starts = LESSON_TIMES[(lesson - 1) % len(LESSON_TIMES)]
    recorded_at = f"18:{minute:02d}" if days_late else f"{starts[:2]}:{int(starts[3:5]) + minute % 5:02d}"
    return Session(key, class_id, day, lesson, recorded_on, recorded_at, draw)


def common_values(made: Session, today: date) -> Values:
    """The common fields of a session's records."""
    recorded_on = min(made.recorded_on or today, today)  # today where a test had it recorded
    return {
        "class_id": made.class_id,
        "checked_at": made.day.isoformat(),
        "lesson": made.lesson,
        "created_date": recorded_on.isoformat(),
        "created_time": made.recorded_at,
        "created_date_label": _days_ago((today - recorded_on).days),
    }


def record(seed: int, made: Session, common: Values, today: date, student: int, number: int) -> Values | None:
    """A student's record; None if the teacher forgot it. `number`: its place in the session."""
    draw = mix(made.draw, student)
    if draw % PER < FORGOTTEN_STUDENTS:
        return None
    absent_chance, late_chance = habits(seed, student)
    day_draw = mix(seed, student, made.day.toordinal())
    percent = WEEKDAY_PERCENT.get(made.day.isoweekday(), 100)
    leave = ""
    if day_draw % PER < absent_chance * percent // 100:
        status = "absent"
        if today >= made.day + timedelta(days=(day_draw >> 40) % SLIP_DAYS):
            leave = LEAVES[(day_draw >> 20) % len(LEAVES)]
    else:
        status = _status((draw >> 20) % PER, late_chance)
    return {
        "id": KEYS["attendance_records"].key(made.key, number),
        "student_id": student,
        "status": status,
        "status_label": STATUS_LABELS[status],
        "absence_label": leave,
        "conclusion_label": leave or CONCLUSIONS[status],
        **common,
    }


def _status(draw: int, late_chance: int) -> str:
    for status, chance in (
        ("lated", late_chance),
        ("early_left", LEFT_EARLY),
        ("absent", SKIPPED),
        ("absent_from_duty", OFF_DUTY),
    ):
        if draw < chance:
            return status
        draw -= chance
    return "normal"


@lru_cache(maxsize=100_000)
def habits(seed: int, student: int) -> tuple[int, int]:
    """A student's chances to be absent for a day and late for a lesson."""
    draw = mix(seed, student)
    absent = CHRONIC_ABSENT_DAYS if draw % PER < CHRONIC_STUDENTS else ABSENT_DAYS
    late = OFTEN_LATE if (draw >> 20) % PER < OFTEN_LATE_STUDENTS else LATE
    return absent, late


def _days_ago(days: int) -> str | None:
    """Relative day text; for old days an empty string, and later null."""
    if days < 3:
        return ("今天", "昨天", "前天")[days]
    return f"{days}天前" if days < 8 else "" if days < 30 else None
