"""A school by hand whose morning is awkward: two current semesters, a day without any roll, a Saturday on
which lessons are made up, marks that are corrected after midnight, and students who changed their class."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any

SENIOR, JUNIOR, OVER = 21, 20, 10
FIRST_DAYS = {OVER: date(2025, 9, 1), JUNIOR: date(2026, 3, 2), SENIOR: date(2026, 3, 2)}
LAST_DAYS = {OVER: date(2026, 1, 18), JUNIOR: date(2026, 7, 5), SENIOR: date(2026, 7, 5)}
#: Course classes by semester; those of v1 have other ids.
SEMESTERS = {11: JUNIOR, 12: JUNIOR, 13: JUNIOR, 14: SENIOR, 15: OVER}
V1_IDS = {11: 11, 12: 12, 13: 113, 14: 14, 15: 15}
#: Students by administrative class; student 10 is in none.
CLASSES = {501: (1, 2, 3), 502: (4, 5), 503: (6, 7, 8, 9)}
GONE = 12
#: The class teacher of class 501.
TEACHER = 50
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

#: The raw rows by table.
TABLES: Mapping[str, Sequence[Mapping[str, Any]]] = {
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
    "teachers": [{"id": TEACHER, "name": "陈老师", "role": "teacher", "usin": "T50"}],
    "reflections": [{"id": TEACHER, "role": "teacher", "usin": "T50"}],
    "admin_classes": [
        {
            "id": key,
            "name": f"{key - 500}班",
            "graduates_in_id": 28,
            "students": str([{"id": student} for student in students]),
            "teachers": f"[{{'id': {TEACHER}, 'name': 陈老师, 'usin': T50}}]" if key == 501 else None,
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
    "v1_users": [
        *({"role": 8, **guardian} for guardian in GUARDIANS),
        *({"id": student, "role": 1, "usin": f"{student:04}"} for student in STUDENTS),
    ],
    "attendance_records": RECORDS,
    "interventions": LOG,
}
