"""Rows, and the arithmetic that leads from a row's key to the collection it stands in.

Every row lives in a collection: the rows of one resource under one parent (the students of a school, the
scores of an item). A key contains its parent's key, so that scores can be made when somebody asks for them,
without an index of those that nobody asked for. Keys of different schools never meet.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

Values = dict[str, Any]

TIME_FORMAT = "%Y-%m-%d %H:%M:%S"

FIRST_SCHOOL = 101
ASSESSMENT_OFFSET = 50_000  # assessments are numbered beside the classes of a semester, never like them


@dataclass(slots=True, frozen=True)
class Row:
    """One row: its fields as they are sent, and what the platform knows besides."""

    key: int  # the id; stays when a test breaks the sent id. Class members have one although they send none.
    values: Values
    updated_at: str
    deleted_at: str | None = None


class Keys(NamedTuple):
    """Under which parent rows of a resource stand, and how a key leads there: key // span - shift."""

    parent: str
    span: int
    shift: int = 0
    first: int = 1  # of the numbers of rows under one parent
    added: int = 0  # least number of rows that tests insert

    def parent_of(self, key: int) -> int:
        return key // self.span - self.shift

    def key(self, parent: int, number: int) -> int:
        return (parent + self.shift) * self.span + number


#: Of the resources whose keys the making of a school knows; others have theirs in their entry.
KEYS = {
    "schools": Keys("platform", 1_000_000),
    "semesters": Keys("school", 100),
    "terms": Keys("school", 1_000),
    "structures": Keys("school", 10_000),
    "admin_classes": Keys("school", 10_000, first=5_001),
    "reflections": Keys("school", 1_000_000),
    "students": Keys("school", 1_000_000),
    "teachers": Keys("school", 1_000_000),
    "classes": Keys("semester", 100_000),
    "class_members": Keys("class", 1_000),
    "assessments": Keys("class", 1, shift=ASSESSMENT_OFFSET, first=0),
    "assessment_items": Keys("class", 100, shift=ASSESSMENT_OFFSET),
    "scores": Keys("item", 1_000),
    "grades": Keys("class", 1_000, first=501),
    "user_fields": Keys("school", 100),
    "attendance_settings": Keys("school", 10),
    "devices": Keys("school", 10_000),
    "cards": Keys("school", 1_000_000),
    "app_updates": Keys("platform", 1_000_000),
    "attendance_sessions": Keys("class", 1_000, added=501),
    "attendance_records": Keys("session", 1_000, added=501),
}


def school_of(semester_id: int) -> int:
    """The school that a semester belongs to."""
    return KEYS["semesters"].parent_of(semester_id)


def semester_of(class_id: int) -> int:
    """The semester that a course class belongs to."""
    return KEYS["classes"].parent_of(class_id)


def class_of_session(session_id: int) -> int:
    """The course class that a session of attendance belongs to."""
    return KEYS["attendance_sessions"].parent_of(session_id)


def class_of(item_id: int) -> int:
    """The course class that an assessment item belongs to."""
    return KEYS["assessment_items"].parent_of(item_id)


def ids_of(value: object) -> list[int]:
    """The ids of a field, none of them where a test put something else there."""
    return value if isinstance(value, list) and all(type(item) is int for item in value) else []
