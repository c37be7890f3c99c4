"""The columns that name a person. tests/forgetting/test_forgotten_list.py fails for an id of a person that is
missing here.

A row is *about* a person where a subject column has the person's id. The row loses its personal columns and
keeps the rest, so that totals stay. A row *mentions* a person in any other column: only that value goes.
"""

from __future__ import annotations

from warehouse.identifiers import folded

#: Columns that say whom a row is about.
SUBJECTS: dict[str, tuple[str, ...]] = {
    "students": ("id",),
    "teachers": ("id",),
    "reflections": ("id",),
    "v1_users": ("id",),
    "class_members": ("reflection_id",),
    "scores": ("owner_id",),
    "grades": ("owner_id",),
    "attendance_records": ("student_id",),
    "v1_class_students": ("student_id", "rid"),
    "cards": ("student_id", "rid"),
    "transcripts": ("student_id",),
    "transcript_semesters": ("student_id",),
    "transcript_courses": ("student_id",),
}
#: Further ids of the person whom a row is about: replaced where they are the same, else null.
OWN_IDS: dict[str, tuple[str, ...]] = {
    "students": ("pupil_id",),
    "v1_class_students": ("id",),
    "cards": ("id",),
}
#: Columns that name a person whom the row is not about.
MENTIONS: dict[str, tuple[str, ...]] = {
    "scores": ("evaluator_id",),
    "admin_classes": ("teacher_ids",),
    "devices": ("created_by", "updated_by"),
    "v1_users": ("student_id",),
    "v1_admin_classes": ("director",),
}
#: The column with a student's or teacher's number.
NUMBER = "usin"

#: How datasets, reports and JSON call the person whom a row is about, and somebody whom it mentions.
SUBJECT_NAMES = frozenset(
    map(
        folded,
        (
            "student_id",
            "studentid",
            "stu_id",
            "owner_id",
            "reflection_id",
            "user_id",
            "userid",
            "uid",
            "rid",
            "member_id",
            "person_id",
            "学生id",
            "用户id",
        ),
    )
)
MENTION_NAMES = frozenset(
    map(
        folded,
        (
            "teacher_id",
            "teacher_ids",
            "student_ids",
            "user_ids",
            "evaluator_id",
            "guardian_id",
            "guardian_ids",
            "director_id",
            "director",
            "monitor_id",
            "created_by",
            "updated_by",
            "creator_id",
            "教师id",
            "班主任id",
        ),
    )
)
#: Datasets whose own id is a person's.
PEOPLE_NAMES = frozenset(("students", "teachers", "users", "reflections", "guardians"))
#: Fields beside an id that make an object a person.
OF_PERSONS = frozenset(("usin", "phone", "email", "rid", "pinyin", "avatar_url", "idcard"))

#: Free text: a name that stands there is no name of a course or class.
FREE_TEXT = frozenset(
    ("description", "content", "title", "change_logs", "download_url", "url", "evaluation", "review")
)
V3, V1 = "v3", "v1"


def generation_of(table: str) -> str:
    """Of which interface the ids of persons in a table are."""
    of_v1 = ("v1_", "attendance_", "transcript", "cards", "devices")
    return V1 if table.startswith(of_v1) else V3


def is_defined(table: str) -> bool:
    """Whether the platform defines a table's columns: a dataset or a report."""
    return table.startswith(("datasets.", "reports."))
