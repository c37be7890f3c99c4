"""Keys of pushes without the forgotten: ids, whole rows, texts."""

from typing import Any

import pytest

from loading.pushes.forgotten_keys import keys_without
from warehouse.forgetting.forgotten import Forgotten, matcher, with_person

SCHOOL, ID, NAME = 101, 4711, "王小明"


@pytest.mark.parametrize(
    ("resource", "key", "expected"),
    [
        ("students", ID, "substitute"),
        ("students", str(ID), "substitute"),
        ("classes", ID, ID),
        ("students", 4712, 4712),
        # A number that is no id of the person is an id of somebody else.
        ("students", "20250310", "20250310"),
        # Whole rows: nothing that they say of the person stays.
        (
            "students",
            {"id": ID, "name": NAME, "birthday": "2010-01-02", "grade": 7},
            {"id": "substitute", "name": None, "birthday": None, "grade": 7},
        ),
        (
            "students",
            {"id": 7, "user": {"id": ID, "name": NAME}},
            {"id": 7, "user": {"id": "substitute", "name": None}},
        ),
        (
            "class_members",
            {"class_id": 5, "student_id": ID},
            {"class_id": 5, "student_id": "substitute"},
        ),
        ("classes", {"id": 5, "teacher_id": 9}, {"id": 5, "teacher_id": 9}),
        ("classes", {"id": ID, "name": "1班"}, {"id": ID, "name": "1班"}),
        # Texts that are marks of the person, alone or among others.
        ("classes", NAME, None),
        ("students", [NAME, ID], [None, "substitute"]),
    ],
)
def test_nothing_of_the_person_stays(resource: str, key: Any, expected: Any) -> None:
    marks = [("v3", str(ID)), ("name", NAME)]
    forgotten, substitute = with_person(Forgotten(), SCHOOL, "student", marks, since="now", choices={})
    person_matcher = matcher(forgotten, SCHOOL)
    assert person_matcher is not None
    assert keys_without(person_matcher, resource, [key], {}) == [_with(expected, substitute)]


def _with(value: Any, substitute: int) -> Any:
    """The value with the substitute id in its places."""
    if isinstance(value, dict):
        return {name: _with(entry, substitute) for name, entry in value.items()}
    if isinstance(value, list):
        return [_with(entry, substitute) for entry in value]
    return substitute if value == "substitute" else value
