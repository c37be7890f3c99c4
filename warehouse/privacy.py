"""The classes by which columns are told apart that name people, describe them, or do neither.

Each column of `raw`, `core` and `marts` has one class. A contract states it beside the field
(`campus/contracts`), a model's yml under `meta.privacy`. `quality.dictionary` publishes it. A column without
a class is treated as if it named somebody."""

from __future__ import annotations

from collections.abc import Mapping

#: The classes and what belongs to each.
CLASSES: Mapping[str, str] = {
    "plain": "says nothing of one person beyond the row that it stands in",
    "label": "a name that people gave to a class, a course, an item or another thing",
    "id": "the platform's id of a thing: a school, a semester, a class, an item",
    "person": "the platform's id of a person",
    "record": "the platform's id of a row about one person: a score, a grade, an attendance record",
    "kind": "what a person is: student, staff or guardian",
    "moment": "when somebody did something, to the second",
    "trait": "a trait that few people may share: gender, boarding",
    "people": "how many people the row sums up",
    "uncounted": "a sum or a rate over people, in a table that does not say over how many",
    "name": "a person's name",
    "number": "a person's number: student, staff, external, card or identity number",
    "phone": "a phone number",
    "email": "an email address",
    "address": "a postal address",
    "photo": "the address of a photo",
    "guardian": "about a guardian",
    "text": "free text that may be about a person",
    "mixed": "objects or fields of the school's own, which may hold anything",
}
#: The classes of columns that tell about one person.
PERSONAL = frozenset(("name", "number", "phone", "email", "address", "photo", "guardian", "text", "mixed"))
#: Values of a column of class `kind` that mean a guardian, in either interface.
GUARDIANS = ("guardian", "8")
#: A group of fewer people than this is small.
SMALL_GROUP = 5
