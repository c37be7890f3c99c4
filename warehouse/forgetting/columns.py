"""The columns that name a person. tests/warehouse/forgetting/test_list.py fails if one is missing here.

A row is *about* a person if a subject column has the person's id: it loses its personal columns and keeps the
rest, so that totals stay. A row *mentions* a person in any other column: only that value is removed.
"""

from __future__ import annotations

from warehouse.identifiers import folded

#: Columns with the id of the person whom a row is about.
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
    "interventions": ("student_id",),
}
#: Other ids of the person whom a row is about: replaced if they are the forgotten id, else set to null.
OWN_IDS: dict[str, tuple[str, ...]] = {
    "students": ("pupil_id",),
    "v1_class_students": ("id",),
    "cards": ("id",),
}
#: Columns with the id of another person.
MENTIONS: dict[str, tuple[str, ...]] = {
    "scores": ("evaluator_id",),
    "admin_classes": ("teacher_ids",),
    "devices": ("created_by", "updated_by"),
    "v1_users": ("student_id",),
    "v1_admin_classes": ("director",),
}
#: The column with a student's or teacher's number.
NUMBER = "usin"

#: Names in datasets, reports and JSON for the person whom a row is about, then for persons whom it mentions.
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
#: Datasets whose column `id` is a person's id.
PEOPLE_NAMES = frozenset(("students", "teachers", "users", "reflections", "guardians"))
#: An object with an id and one of these fields is a person.
PERSON_FIELDS = frozenset(("usin", "phone", "email", "rid", "pinyin", "avatar_url", "idcard"))

#: Columns of free text: a name in them is not the name of a course or class.
FREE_TEXT = frozenset(
    ("description", "content", "title", "change_logs", "download_url", "url", "evaluation", "review")
)
V3, V1 = "v3", "v1"


def generation_of(table: str) -> str:
    """The interface (v3 or v1) that gave the person ids in a table."""
    v1_prefixes = ("v1_", "attendance_", "transcript", "cards", "devices")
    return V1 if table.startswith(v1_prefixes) else V3


def is_defined(table: str) -> bool:
    """Whether a table is a dataset or a report, whose columns the platform defines."""
    return table.startswith(("datasets.", "reports."))
