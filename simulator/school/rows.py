"""Rows, and the arithmetic from a row's key to its collection.

A collection has the rows of a resource under a parent: the students of a school, the scores of an item. A key
contains its parent's key, so that scores are generated on request, without an index. Keys of different
schools never collide."""

from dataclasses import dataclass
from typing import Any, NamedTuple

Values = dict[str, Any]

TIME_FORMAT = "%Y-%m-%d %H:%M:%S"

FIRST_SCHOOL = 101
ASSESSMENT_OFFSET = 50_000  # keeps numbers of assessments apart from numbers of classes


@dataclass(slots=True, frozen=True)
class Row:
    """A row as the platform stores it: the fields that it sends, and data that it does not send."""

    key: int  # the id. It stays when a test breaks the sent id, and class members have it without sending it.
    values: Values
    updated_at: str
    deleted_at: str | None = None


class Keys(NamedTuple):
    """The keys of a resource's rows. The key of a row's parent is key // span - shift."""

    parent: str  # the kind of parent
    span: int
    shift: int = 0
    first: int = 1  # the first row's number under its parent
    added: int = 0  # the least number under its parent of a row that a test inserts

    def parent_of(self, key: int) -> int:
        return key // self.span - self.shift

    def key(self, parent: int, number: int) -> int:
        return (parent + self.shift) * self.span + number


#: The keys of resources that a school generates. Other resources define their keys themselves.
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
    """The school of a semester."""
    return KEYS["semesters"].parent_of(semester_id)


def semester_of(class_id: int) -> int:
    """The semester of a course class."""
    return KEYS["classes"].parent_of(class_id)


def class_of_session(session_id: int) -> int:
    """The course class of an attendance session."""
    return KEYS["attendance_sessions"].parent_of(session_id)


def class_of(item_id: int) -> int:
    """The course class of an assessment item."""
    return KEYS["assessment_items"].parent_of(item_id)


def ids_of(value: object) -> list[int]:
    """The ids of a list field; empty if a test has put an invalid value there."""
    return value if isinstance(value, list) and all(type(item) is int for item in value) else []
