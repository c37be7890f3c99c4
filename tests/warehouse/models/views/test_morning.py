"""The morning list and figures of classes beside the same by plain Python from the platform's own answers.

The school is made by hand of what is awkward: two current semesters, a day without any roll, a Saturday on
which lessons are made up, marks that are corrected after midnight, and students who changed their class.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from datetime import date
from statistics import median
from typing import Any

import pytest

from tests.kits.models.builds import Build, Builder

SENIOR, JUNIOR, OVER = 21, 20, 10
FIRST_DAYS = {OVER: date(2025, 9, 1), JUNIOR: date(2026, 3, 2), SENIOR: date(2026, 3, 2)}
LAST_DAYS = {OVER: date(2026, 1, 18), JUNIOR: date(2026, 7, 5), SENIOR: date(2026, 7, 5)}
#: Course classes by semester; those of v1 have other ids.
SEMESTERS = {11: JUNIOR, 12: JUNIOR, 13: JUNIOR, 14: SENIOR, 15: OVER}
V1_IDS = {11: 11, 12: 12, 13: 113, 14: 14, 15: 15}
#: Students by administrative class; student 10 is in none.
CLASSES = {501: (1, 2, 3), 502: (4, 5), 503: (6, 7, 8, 9)}
GONE = 12
STUDENTS = range(1, 13)
#: Was in course class 12 until that day, and then in 13.
MOVED, MOVED_ON = 5, date(2026, 3, 11)
#: The lessons of a course class, and its students.
LESSONS = {11: (1, 2), 12: (3,), 13: (4,), 14: (5,)}
MEMBERS = {11: (1, 2, 3, 4, 5, 6, 7), 12: (1, 2, 3, 4), 13: (5, 6, 7, 10, GONE), 14: (7, 8, 9)}
#: The days with rolls. On Monday 9 March nobody took one; Saturday the 14th makes up for it.
DAYS = [date(2026, 3, day) for day in (2, 3, 4, 5, 6, 10, 11, 12, 13, 14)]
MADE_UP = date(2026, 3, 14)
#: A day on which the small semester alone had lessons: too few for a school day.
SINCE = date(2026, 3, 16)
#: Days before the last school day on which a student misses all lessons, without leave.
MISSED = {3: DAYS[:5], 4: DAYS[4:6], 8: DAYS[2:4]}
#: What is not "normal" on the last school day: by course class, lesson and student.
MARKS = {
    (11, 1, 1): ("absent", "病假"),
    (11, 2, 1): ("absent", "事假"),
    (12, 3, 1): ("absent", " 病假 "),
    (11, 1, 2): ("lated", ""),
    (11, 1, 3): ("absent", ""),
    (11, 2, 3): ("absent", "病假"),
    (11, 1, 4): ("absent_from_duty", ""),
    (11, 2, 4): ("early_left", ""),
    (12, 3, 4): ("lated", ""),
    # Absent from all lessons of one semester, and present in the other.
    (11, 1, 7): ("absent", ""),
    (11, 2, 7): ("absent", ""),
    (13, 4, 7): ("absent", ""),
    (13, 4, 10): ("absent", ""),
    (13, 4, GONE): ("absent", ""),
    # Counts neither as present nor as absent.
    (14, 5, 9): ("on_errand", ""),
    (14, 5, 8): ("absent", ""),
}
#: Marks of the last school day that were marked again: the later one counts, also where it is after midnight.
CORRECTED = {
    (11, 2, 5): (("absent", "", "14", "23:50"), ("normal", "", "15", "00:05")),
    (13, 4, 6): (("normal", "", "14", "10:00"), ("absent", "", "14", "10:01")),
}
LOG = [
    {"student_id": 1, "date": "2026-03-13", "kind": "talk", "done_by": "陈老师", "result": "好"},
    {"student_id": 3, "date": "2026-03-14", "kind": "talk", "done_by": "陈老师", "result": "在家"},
    {"student_id": 3, "date": "2026-03-14", "kind": "call_home", "done_by": "李老师"},
    {"student_id": 4, "date": "2025-10-10", "kind": "plan", "done_by": "李老师"},
    {"student_id": 7, "date": "2026-03-16", "kind": "other"},
]
GUARDIANS = [
    {"id": 901, "student_id": 1, "name": "王父", "phone": "13800000001"},
    {"id": 902, "student_id": 1, "name": "王母", "phone": " "},
    {"id": 903, "student_id": 3, "name": "张母", "phone": "13800000003"},
    {"id": 904, "student_id": 3, "name": "张父", "phone": "13800000004"},
]


def _records() -> Iterator[dict[str, Any]]:
    """The records as the platform answers them."""
    for day in (*DAYS, SINCE):
        for course_class, lessons in LESSONS.items():
            if day == SINCE and course_class != 14:
                continue
            for lesson in lessons:
                members = set(MEMBERS[course_class])
                if day < MOVED_ON:
                    members = members | {MOVED} if course_class == 12 else members - {MOVED}
                for student in sorted(members):
                    key = course_class, lesson, student
                    marks: tuple[tuple[str, str, str, str], ...] = (("normal", "", f"{day:%d}", "08:00"),)
                    if day in MISSED.get(student, ()):
                        marks = (("absent", "", f"{day:%d}", "08:00"),)
                    elif day == MADE_UP and key in CORRECTED:
                        marks = CORRECTED[key]
                    elif day >= MADE_UP:
                        marks = ((*MARKS.get(key, ("normal", "")), f"{day:%d}", "08:00"),)
                    for status, label, marked_on, at in marks:
                        yield _record(course_class, student, day, lesson, status, label, marked_on, at)
    # Of a semester that is over, whatever the day says.
    yield _record(15, 2, MADE_UP, 6, "absent", "", "14", "08:00")


def _record(
    course_class: int, student: int, day: date, lesson: int, status: str, label: str, marked_on: str, at: str
) -> dict[str, Any]:
    return {
        "class_id": V1_IDS[course_class],
        "student_id": student,
        "checked_at": str(day),
        "lesson": lesson,
        "status": status,
        "absence_label": label,
        "created_date": f"2026-03-{marked_on}",
        "created_time": at,
    }


RECORDS = [{"id": key, **record} for key, record in enumerate(_records(), 1)]


@pytest.fixture(scope="module")
def school(build: Builder) -> Build:
    built = build(
        "morning",
        {
            "schools": [{"id": 1, "name": "一中"}],
            "terms": [{"id": 28, "type": "system.graduates_in", "name": "2028", "label": "2028届"}],
            "semesters": [{"id": key, "name": str(key), "is_current": key != OVER} for key in FIRST_DAYS],
            "v1_semesters": [
                {"id": key, "name": str(key), "start_at": str(FIRST_DAYS[key]), "end_in": str(LAST_DAYS[key])}
                for key in FIRST_DAYS
            ],
            "students": [
                {"id": student, "name": f"学生{student}", "role": "student", "usin": f"{student:04}"}
                | {"graduates_in_id": 28}
                | ({"_deleted_at": "2026-03-14 18:00:00"} if student == GONE else {})
                for student in STUDENTS
            ],
            "admin_classes": [
                {
                    "id": key,
                    "name": f"{key - 500}班",
                    "graduates_in_id": 28,
                    "students": str([{"id": student} for student in students]),
                }
                for key, students in CLASSES.items()
            ],
            "classes": [
                {"id": key, "semester_id": semester, "csin": f"C-{key}", "name": f"课{key}"}
                for key, semester in SEMESTERS.items()
            ],
            "v1_classes": [
                {"id": V1_IDS[key], "semester_id": semester, "csin": f"C-{key}", "name": f"课{key}"}
                for key, semester in SEMESTERS.items()
            ],
            "class_members": [
                {"class_id": 12, "type": "student", "reflection_id": MOVED, "deleted_at": str(MOVED_ON)},
                *(
                    {"class_id": key, "type": "student", "reflection_id": student}
                    for key, students in MEMBERS.items()
                    for student in students
                ),
            ],
            "v1_users": [{"role": 8, **guardian} for guardian in GUARDIANS],
            "attendance_records": RECORDS,
            "interventions": LOG,
        },
    )
    assert built.problems == {}
    return built


def _last_marks() -> Mapping[tuple[int, date, int, int], tuple[str, str]]:
    """The status and the label that count, by student, day, course class and lesson: those marked last."""
    ordered = sorted(RECORDS, key=lambda record: (record["created_date"], record["created_time"]))
    of_v1 = {v1_id: key for key, v1_id in V1_IDS.items()}
    return {
        (record["student_id"], date.fromisoformat(record["checked_at"]), key, record["lesson"]): (
            record["status"],
            record["absence_label"].strip(),
        )
        for record in ordered
        if SEMESTERS[key := of_v1[record["class_id"]]] != OVER
        and record["student_id"] != GONE
        and record["status"] != "on_errand"
    }


def _last_day() -> date:
    """The last day with the records of at least half of the usual number of students."""
    students = defaultdict[date, set[int]](set)
    for record in RECORDS:
        if record["class_id"] != V1_IDS[15] and record["status"] != "on_errand":
            students[date.fromisoformat(record["checked_at"])].add(record["student_id"])
    usual = median(map(len, students.values()))
    return max(day for day, present in students.items() if 2 * len(present) >= usual)


def _reason(missed: list[tuple[int, str]]) -> str:
    labels = {label for _, label in missed}
    if not missed:
        return "late"
    return "unexcused" if labels == {""} else "both" if "" in labels else "leave"


def _phones(student: int) -> str | None:
    phones = sorted(
        f"{guardian['name']} {guardian['phone']}"
        for guardian in GUARDIANS
        if guardian["student_id"] == student and str(guardian["phone"]).strip()
    )
    return ", ".join(phones) or None


def _talk(student: int) -> tuple[date | None, str | None, str | None]:
    """The latest row of the log: of a day with several the first kind by name."""
    rows = sorted((row for row in LOG if row["student_id"] == student), key=lambda row: str(row["kind"]))
    if not rows:
        return None, None, None
    latest: Mapping[str, Any] = max(rows, key=lambda row: str(row["date"]))
    return date.fromisoformat(latest["date"]), latest["kind"], latest.get("done_by")


def _class_of(student: int) -> int | None:
    return next((key for key, students in CLASSES.items() if student in students), None)


def test_the_morning_list_is_what_the_platform_answered(school: Build) -> None:
    last_day = _last_day()
    assert last_day == MADE_UP
    days = defaultdict[tuple[date, int], list[tuple[int, str, str]]](list)
    for (student, day, _, lesson), mark in _last_marks().items():
        if day >= last_day:
            days[day, student].append((lesson, *mark))
    expected = {}
    for (day, student), marks in days.items():
        missed = [(lesson, label) for lesson, status, label in marks if status.startswith("absent")]
        late = sum(status == "lated" for _, status, _ in marks)
        if missed or late:
            talk = _talk(student)
            expected[day, student] = (
                _class_of(student),
                day == last_day and len(missed) == len(marks),
                ", ".join(str(lesson) for lesson in sorted({lesson for lesson, _ in missed})) or None,
                late,
                _reason(missed),
                ", ".join(sorted({label for _, label in missed} - {""})) or None,
                _phones(student),
                *talk,
                talk[0] is not None and talk[0] >= day,
            )
    rows = school.rows(
        "select date, student_id, admin_class_id, is_away, lessons, late, reason, leave_label, phones,"
        " last_intervention_on, last_intervention, last_intervention_by, is_spoken_to from views.absence"
    )
    assert len(rows) == len(expected)
    assert {row[:2]: row[2:] for row in rows} == expected
    assert {row[6] for row in rows} == {"late", "leave", "unexcused", "both"}


def test_reasons_of_classes_are_what_the_platform_answered(school: Build) -> None:
    reasons, recorded = Counter[tuple[int, str]](), Counter[int]()
    for (student, *_), (status, label) in _last_marks().items():
        admin_class = _class_of(student)
        if admin_class is None:
            continue
        recorded[admin_class] += 1
        if status.startswith("absent"):
            reasons[admin_class, label or "unexcused"] += 1
    rows = school.rows("select admin_class_id, reason, lessons, recorded, percent from views.absence_reason")
    assert {row[:2]: row[2:4] for row in rows} == {
        (admin_class, reason): (lessons, recorded[admin_class])
        for (admin_class, reason), lessons in reasons.items()
    }
    assert all(abs(float(percent) - 100 * lessons / of) <= 0.05 for _, _, lessons, of, percent in rows)


def test_students_with_a_level_are_counted_by_their_class(school: Build) -> None:
    """Of the current semesters: whom the list of a class names, with the level of marts.early_warning."""
    levels = school.rows(
        "select semester_id, student_id, level from marts.early_warning"
        f" where semester_id <> {OVER} and student_id <> {GONE}"
    )
    counts = Counter((semester, _class_of(student), level) for semester, student, level in levels)
    assert {level for _, _, level in counts} >= {"at_risk", "warning", "none"}
    rows = school.rows(
        "select semester_id, admin_class_id, at_risk, warning, watch, well, unknown"
        f" from views.early_warning_class where semester_id <> {OVER}"
    )
    listed = {
        (semester, admin_class, level): count
        for semester, admin_class, *values in rows
        for level, count in zip(("at_risk", "warning", "watch", "none", "unknown"), values, strict=True)
        if count
    }
    assert listed == counts
    for semester, admin_class, *values in school.rows(
        "select semester_id, admin_class_id, at_risk, warning, students from views.class_semester"
    ):
        of_class = {level: count for key, level, count in _of(counts, semester) if key == admin_class}
        assert values == [of_class.get("at_risk", 0), of_class.get("warning", 0), sum(of_class.values())]


def _of(
    counts: Mapping[tuple[int, int | None, str], int], semester: int
) -> Iterator[tuple[int | None, str, int]]:
    return ((key, level, count) for (of, key, level), count in counts.items() if of == semester)
