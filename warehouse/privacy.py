"""Privacy classes of columns: which columns name people, describe people, or do neither.

Each column of `raw`, `core` and `marts` has one class. A contract states it beside the field
(`campus/contracts`), a model's yml under `meta.privacy`. `quality.dictionary` publishes it. A column without
a class is treated as if it named a person."""

from __future__ import annotations

from collections.abc import Mapping

from warehouse.variables import read_variables

#: The meaning of each class.
CLASSES: Mapping[str, str] = {
    "plain": "says nothing about a person beyond the row that it is in",
    "label": "the name of a class, a course, an item or another thing",
    "id": "the platform's id of a thing: a school, a semester, a class, an item",
    "person": "the platform's id of a person",
    "record": "the platform's id of a row about one person: a score, a grade, an attendance record",
    "kind": "what a person is: student, staff or guardian",
    "moment": "the second at which a person did something",
    "trait": "a trait that few people may share: gender, boarding",
    "people": "the number of people that the row summarizes",
    "uncounted": "a sum or a rate over people, in a table without their number",
    "name": "a person's name",
    "number": "a person's number: student, staff, external, card or identity number",
    "phone": "a phone number",
    "email": "an email address",
    "address": "a postal address",
    "photo": "the address of a photo",
    "guardian": "about a guardian",
    "text": "free text that may be about a person",
    "mixed": "objects, or fields that the school defines, which may hold anything",
}
#: The classes of columns that name or describe a single person.
PERSONAL = frozenset(("name", "number", "phone", "email", "address", "photo", "guardian", "text", "mixed"))
#: Values of a column of class `kind` that mean a guardian, in the v3 and the v1 interface.
GUARDIANS = ("guardian", "8")
#: A group with fewer people is small.
SMALL_GROUP: int = read_variables()["small_group"]
