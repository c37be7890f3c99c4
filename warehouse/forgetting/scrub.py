"""Removes forgotten persons from rows, both loaded and stored. Pure.

Every row stays, with a random id in place of the person's. So no total changes, and a slice still balances
with the platform's own counts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from warehouse.forgetting.columns import (
    MENTION_NAMES,
    MENTIONS,
    NUMBER,
    OWN_IDS,
    PEOPLE_NAMES,
    PERSON_FIELDS,
    SUBJECT_NAMES,
    SUBJECTS,
    generation_of,
    is_defined,
)
from warehouse.forgetting.forgotten import LONG_ID, Matcher
from warehouse.forgetting.forgotten import NUMBER as NUMBER_MARK
from warehouse.identifiers import folded
from warehouse.lake.tables import EXTRA, Table

#: The text fields of a person inside another row that stay, since totals depend on them.
KEPT_INSIDE = frozenset(("gender",))


@dataclass(frozen=True)
class Rules:
    """How rows of a table are scrubbed."""

    #: The interface of the ids: v3 or v1.
    generation: str
    #: Columns with the id of the person whom the row is about.
    subjects: tuple[str, ...]
    #: Columns with other ids of that person.
    own: tuple[str, ...]
    #: Columns with ids of other persons.
    mentions: tuple[str, ...]
    #: Columns with the number of a student or teacher.
    numbers: tuple[str, ...]
    #: Columns that a row about a forgotten person loses.
    personal: frozenset[str]
    #: Columns that are never null.
    keys: frozenset[str]
    #: Custom fields, which stay if their value is a choice's.
    choices: frozenset[str] = frozenset()
    #: Whether the platform defines the columns, so that any text of a person's row may be personal.
    defined: bool = False


def rules_of(table: Table, schema: pa.Schema) -> Rules:
    """The rules of a table whose rows have `schema`. Columns of v1_users beyond the contract are custom
    fields."""
    names = [name for name in schema.names if not name.startswith("_") or name == EXTRA]
    keys = frozenset(table.primary_key)
    contract = {column.name: column for column in table.columns}
    if is_defined(table.name):
        folded_names = {name: folded(name) for name in names}
        is_of_people = folded(table.name.partition(".")[2]) in PEOPLE_NAMES
        return Rules(
            generation_of(table.name),
            tuple(
                n
                for n in names
                if folded_names[n] in SUBJECT_NAMES or (is_of_people and folded_names[n] == "id")
            ),
            (),
            tuple(n for n in names if folded_names[n] in MENTION_NAMES),
            (),
            frozenset(n for n in names if contract.get(n) is not None and contract[n].personal) | {EXTRA},
            keys,
            defined=True,
        )
    custom = frozenset(set(names) - contract.keys() - {EXTRA}) if table.name == "v1_users" else frozenset()
    personal = {column.name for column in table.columns if column.personal} | custom | {EXTRA}
    mentions = MENTIONS.get(table.name, ())
    return Rules(
        generation_of(table.name),
        SUBJECTS.get(table.name, ()),
        OWN_IDS.get(table.name, ()),
        mentions,
        (NUMBER,) if NUMBER in contract and table.name in SUBJECTS else (),
        frozenset(personal.difference(mentions)),
        keys,
        choices=custom
        | {column.name for column in table.columns if table.name == "v1_users" and column.personal},
    )


def scrubbed(batch: pa.RecordBatch, rules: Rules, matcher: Matcher) -> tuple[pa.RecordBatch, int]:
    """Scrub a batch; returns it with the number of changed rows."""
    subjects = _subjects(batch, rules, matcher)
    columns: list[Any] = []
    touched: set[int] = set()
    for position, field in enumerate(batch.schema):
        column = batch.column(position)
        if field.name.startswith("_") and field.name != EXTRA:
            columns.append(column)
            continue
        replacements = _changes(column, field, subjects, rules, matcher)
        if replacements:
            values = column.to_pylist()
            for row, value in replacements.items():
                values[row] = value
            column = pa.array(values, field.type)
            touched.update(replacements)
        columns.append(column)
    if not touched:
        return batch, 0
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema), len(touched)


def _subjects(batch: pa.RecordBatch, rules: Rules, matcher: Matcher) -> dict[int, int]:
    """The rows about a forgotten person, and the person's substitute."""
    subjects: dict[int, int] = {}
    names = set(batch.schema.names)
    for name in reversed(rules.subjects):
        if name in names:
            find = _finder(matcher, rules.generation)
            subjects |= _matches(batch.column(batch.schema.names.index(name)), find)
    for name in rules.numbers:
        if name in names:
            substitutes = _matches(
                batch.column(batch.schema.names.index(name)),
                lambda text: matcher.find(NUMBER_MARK, str(text).strip()),
            )
            # A row with an id is about that person, who may have inherited a forgotten person's number.
            nobody = _without_ids(batch, rules)
            subjects |= {
                row: substitute
                for row, substitute in substitutes.items()
                if row not in subjects and row in nobody
            }
    if rules.defined:
        for position, field in enumerate(batch.schema):
            if _is_text(field.type) or pa.types.is_integer(field.type):
                for row, substitute in _matches(batch.column(position), _identifier(matcher)).items():
                    # A student's row that names a teacher mentions the teacher.
                    if matcher.kinds[substitute] != "teacher":
                        subjects.setdefault(row, substitute)
    return subjects


def _changes(
    column: pa.Array[Any], field: pa.Field[Any], subjects: dict[int, int], rules: Rules, matcher: Matcher
) -> dict[int, Any]:
    """The new values of a column, by row, if they differ."""
    name, kind = field.name, field.type
    is_key = name in rules.keys
    replacements: dict[int, Any] = {}
    if pa.types.is_integer(kind):
        if name in rules.subjects or name in rules.mentions:
            replacements |= _matches(column, _finder(matcher, rules.generation))
        for row, substitute in subjects.items():
            replacements |= _of_own_id(column, row, substitute, name, rules, matcher)
    elif _is_text(kind):
        replacements |= _new_texts(column, name, rules, matcher, is_key=is_key)
    elif pa.types.is_nested(kind) and not pa.types.is_map(kind):
        replacements |= _new_objects(column, name, rules, matcher)
    drops = name in rules.personal or (rules.defined and (_is_text(kind) or pa.types.is_nested(kind)))
    if drops and name not in rules.subjects and name not in rules.mentions:
        for row, substitute in subjects.items():
            if not column[row].is_valid or _is_choice(column[row].as_py(), name, rules, matcher):
                continue
            if not is_key:
                replacements[row] = None
            elif row in replacements or (_is_text(kind) and not rules.defined):
                replacements[row] = str(substitute) if _is_text(kind) else substitute
    return {row: value for row, value in replacements.items() if column[row].as_py() != value}


def _of_own_id(
    column: pa.Array[Any], row: int, substitute: int, name: str, rules: Rules, matcher: Matcher
) -> dict[int, Any]:
    """The new value of an integer in a row about a person, if the integer is an id of that person."""
    value = column[row].as_py()
    if name in rules.subjects:
        # The row was recognized by a number and has no id. A row that was scrubbed before has a substitute.
        return {} if value in matcher.substitutes else {row: substitute}
    if value is None or name in rules.mentions or not (name in rules.own or rules.defined):
        return {}
    same = matcher.find(rules.generation, str(value)) is not None and (
        not rules.defined or _is_of_id(name, value)
    )
    if rules.defined and not same:
        return {row: None} if name not in rules.keys and matcher.identifies(str(value)) is not None else {}
    return {row: substitute if same else None}


def _is_of_id(name: str, value: int) -> bool:
    """Whether an integer in a person's row may be an id, and not a score that happens to be equal."""
    return folded(name).endswith("id") or len(str(value)) >= LONG_ID


def _new_texts(
    column: pa.Array[Any], name: str, rules: Rules, matcher: Matcher, *, is_key: bool
) -> dict[int, Any]:
    replacements: dict[Any, Any] = {}
    for text in pc.unique(column).to_pylist():
        if text is None:
            continue
        if name in rules.subjects or name in rules.mentions:
            substitute = matcher.find(rules.generation, text.strip())
            new = text if substitute is None else str(substitute)
        elif name == EXTRA:
            new = cleaned_json(text, matcher, rules.generation)
        else:
            new = matcher.cleaned(text)
        if new is None and is_key:
            new = str(matcher.identifies(text))
        if new != text:
            replacements[text] = new
    if not replacements:
        return {}
    return {row: replacements[text] for row, text in enumerate(column.to_pylist()) if text in replacements}


def _new_objects(column: pa.Array[Any], name: str, rules: Rules, matcher: Matcher) -> dict[int, Any]:
    is_of_persons = name in rules.mentions or (rules.defined and folded(name) in MENTION_NAMES)
    replacements = {}
    for row, value in enumerate(column.to_pylist()):
        if value is not None:
            new = without(value, matcher, rules.generation, named=is_of_persons)
            if new != value:
                replacements[row] = new
    return replacements


def without(value: Any, matcher: Matcher, generation: str, *, named: bool = False) -> Any:
    """Scrub a JSON value or a nested Arrow value. `named`: its numbers are ids of persons."""
    if isinstance(value, dict):
        substitute = _person_in(value, matcher, generation)
        if substitute is not None:
            return anonymous(value, substitute, matcher, generation)
        return {
            matcher.cleaned_words(key): without(part, matcher, generation, named=names_person(key))
            for key, part in value.items()
        }
    if isinstance(value, list):
        return [without(part, matcher, generation, named=named) for part in value]
    if isinstance(value, str):
        if named and (substitute := matcher.find(generation, value.strip())) is not None:
            return str(substitute)
        return matcher.cleaned(value)
    if named and isinstance(value, int) and not isinstance(value, bool):
        substitute = matcher.find(generation, str(value))
        return value if substitute is None else substitute
    return value


def cleaned_json(text: str, matcher: Matcher, generation: str) -> str | None:
    """Scrub a text that may be JSON. None: nothing is left. A text without marks is unchanged."""
    try:
        value = json.loads(text)
    except ValueError:
        return matcher.cleaned(text)
    if not isinstance(value, dict | list):
        return matcher.cleaned(text)
    new = without(value, matcher, generation)
    return text if new == value else json.dumps(new, ensure_ascii=False, separators=(",", ":"))


def _person_in(value: dict[str, Any], matcher: Matcher, generation: str) -> int | None:
    """The substitute of the forgotten person that an object describes; None: no forgotten person."""
    reflection = value.get("reflection")
    is_person = any(name in value for name in PERSON_FIELDS)
    ids = [part for key, part in value.items() if folded(key) in SUBJECT_NAMES]
    ids += [value.get("id")] if is_person else []
    ids += [reflection.get("id"), reflection.get("rid")] if isinstance(reflection, dict) else []
    substitute = person_with(ids, matcher, generation)
    if substitute is not None:
        return substitute
    for key in (NUMBER, "phone", "email"):
        part = value.get(key)
        if isinstance(part, str) and not any(isinstance(id, int | str) for id in ids):
            substitute = (
                matcher.find(NUMBER_MARK, part.strip()) if key == NUMBER else matcher.identifies(part)
            )
            if substitute is not None:
                return substitute
    return None


def person_with(ids: Iterable[Any], matcher: Matcher, generation: str) -> int | None:
    """The substitute of the first forgotten person with any of these ids; None: nobody's. Values that can be
    no id are passed over."""
    texts = (str(id).strip() for id in ids if isinstance(id, int | str) and not isinstance(id, bool))
    substitutes = (matcher.find(generation, text) for text in texts)
    return next((substitute for substitute in substitutes if substitute is not None), None)


def anonymous(value: dict[str, Any], substitute: int, matcher: Matcher, generation: str) -> dict[str, Any]:
    """An object that describes a forgotten person, with the substitute id, and without texts and lists."""
    new: dict[str, Any] = {}
    for key, part in value.items():
        if isinstance(part, dict):
            new[key] = anonymous(part, substitute, matcher, generation)
        elif key in ("id", "rid") or folded(key) in SUBJECT_NAMES:
            same = part is not None and matcher.find(generation, str(part).strip()) is not None
            new[key] = (
                (str(substitute) if isinstance(part, str) else substitute) if same or key == "id" else None
            )
        elif isinstance(part, str | list) and key not in KEPT_INSIDE:
            new[key] = None
        else:
            new[key] = part
    return new


def names_person(key: str) -> bool:
    """Whether the values of a field or column of this name are ids of persons."""
    return folded(key) in SUBJECT_NAMES or folded(key) in MENTION_NAMES


def _is_choice(value: Any, name: str, rules: Rules, matcher: Matcher) -> bool:
    """Whether a custom field has a value of a choice, which stays since totals depend on it."""
    return name in rules.choices and value in matcher.choices.get(name, ())


def _without_ids(batch: pa.RecordBatch, rules: Rules) -> set[int]:
    """The rows without an id of the person whom they are about."""
    names = [name for name in rules.subjects if name in batch.schema.names]
    columns = [batch.column(batch.schema.names.index(name)).to_pylist() for name in names]
    return {row for row in range(batch.num_rows) if all(column[row] is None for column in columns)}


def _finder(matcher: Matcher, generation: str) -> Callable[[Any], int | None]:
    return lambda value: matcher.find(generation, str(value).strip())


def _identifier(matcher: Matcher) -> Callable[[Any], int | None]:
    return lambda value: matcher.identifies(value if isinstance(value, str) else str(value))


def _matches(column: pa.Array[Any], find: Callable[[Any], int | None]) -> dict[int, int]:
    """The results of `find` by row. Equal values are looked up once."""
    if pa.types.is_nested(column.type):
        return {}
    substitutes = {
        value: substitute
        for value in pc.unique(column).to_pylist()
        if value is not None and (substitute := find(value)) is not None
    }
    if not substitutes:
        return {}
    return {row: substitutes[value] for row, value in enumerate(column.to_pylist()) if value in substitutes}


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def rewriter(table: Table, matcher: Matcher) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    """A function that scrubs loaded batches of a table."""
    rules = rules_of(table, table.staging_schema)
    return lambda batch: scrubbed(batch, rules, matcher)[0]
