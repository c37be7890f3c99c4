"""Selects datasets, fields, relations and filters as campus.yaml says, checks them against the metadata, and
writes filters as parameters.

A mistake is found before any record is requested."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal, InvalidOperation
from fnmatch import fnmatchcase

from campus.decoding.definition import UPDATED_AT, Definition, FieldDefinition
from campus.decoding.inferred_contract import key_fields
from campus.http.errors import CampusError
from campus.selections import InvalidSelection, Scalar, collecting, nearest

# The operators that the specification shows. Its list is not complete, so a setting adds to it.
OPERATORS = ("in", "egt", "elt", "like", "is_empty")

FilterValue = Scalar | tuple[Scalar, ...]


def filter_text(field: FieldDefinition, operator: str, value: FilterValue) -> str:
    """Write the value of a filter as the text of its parameter.

    Raises InvalidSelection where the value does not fit the field or the operator."""
    match operator:
        case "is_empty":
            if value not in (0, 1):
                raise InvalidSelection("expected true or false")
            return str(int(bool(value)))
        case "like":
            if field.type in FORMATS and not field.guessed:
                raise InvalidSelection(f"{field.name} is of type {field.type}, and `like` is for text")
            if not isinstance(value, str) or not value:
                raise InvalidSelection("expected text")
            return value
        case "egt" | "elt" if isinstance(value, tuple):
            raise InvalidSelection("expected one value, not a list")
    values = value if isinstance(value, tuple) else (value,)
    texts = [_value_text(field, item) for item in values]
    if not texts:
        raise InvalidSelection("expected at least one value")
    if (operator == "in" or isinstance(value, tuple)) and any("," in text for text in texts):
        raise InvalidSelection("a value with a comma in it cannot be listed")
    return ",".join(texts)


def _value_text(field: FieldDefinition, value: object) -> str:
    if field.enum:
        texts = [str(listed) for listed in field.enum]
        if str(value) not in texts:
            near = nearest(str(value), texts) or f"; it lists {', '.join(texts[:20])}"
            raise InvalidSelection(f"the metadata do not list {value!r}{near}")
        return str(value)
    is_open = field.type is None or field.type == "json" or field.guessed
    write, expected = ANY if is_open else FORMATS.get(field.type or "", TEXT)
    text = write(value)
    if text is None:
        raise InvalidSelection(f"{field.name} is of type {field.type}: expected {expected}")
    return text


def _integer_text(value: object) -> str | None:
    return str(value) if type(value) is int else None


def _decimal_text(value: object) -> str | None:
    try:
        number = None if isinstance(value, bool) else Decimal(str(value))
    except InvalidOperation:
        return None
    return format(number, "f") if number is not None and number.is_finite() else None


def _flag_text(value: object) -> str | None:
    return str(int(value)) if isinstance(value, bool) else None


def _time_text(form: str, pattern: str) -> Callable[[object], str | None]:
    def write(value: object) -> str | None:
        if not isinstance(value, str) or not re.fullmatch(pattern, value, re.ASCII):
            return None
        try:
            datetime.strptime(value, form)
        except ValueError:
            return None
        return value

    return write


def _plain_text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _any_text(value: object) -> str | None:
    writers = (_flag_text, _decimal_text, _plain_text)
    return next((text for write in writers if (text := write(value)) is not None), None)


# By the type of a field: a function that writes a value as a parameter (None: it does not fit), and the
# values that fit, in words.
FORMATS: Mapping[str, tuple[Callable[[object], str | None], str]] = {
    "integer": (_integer_text, "a whole number"),
    "decimal": (_decimal_text, "a number"),
    "float": (_decimal_text, "a number"),
    "boolean": (_flag_text, "true or false"),
    "date": (_time_text("%Y-%m-%d", r"\d{4}-\d\d-\d\d"), "a date, YYYY-MM-DD"),
    "timestamp": (
        _time_text("%Y-%m-%d %H:%M:%S", r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"),
        "a moment, YYYY-MM-DD HH:MM:SS",
    ),
}
# Of a field whose values show its type: they come after the filter is sent.
ANY: tuple[Callable[[object], str | None], str] = (_any_text, "a value")
# YAML reads 0012 as ten.
TEXT = (_plain_text, "text, in quotes where it looks like a number")


class SelectionError(CampusError):
    """The selection of a dataset does not fit its metadata."""


@dataclass(frozen=True)
class TableSelection:
    """The selection of one dataset."""

    # Empty: all of them.
    fields: tuple[str, ...] = ()
    expand: tuple[str, ...] = ()
    # By {field}_{operator}.
    filters: Mapping[str, FilterValue] = field(default_factory=dict)


@dataclass(frozen=True)
class Selection:
    """The selection of datasets. Their names may be patterns with *, ? and [abc]."""

    include: tuple[str, ...] = ("*",)
    exclude: tuple[str, ...] = ()
    tables: Mapping[str, TableSelection] = field(default_factory=dict)
    extra_operators: tuple[str, ...] = ()


@dataclass(frozen=True)
class DatasetQuery:
    """The filters, fields and relations of the requests for a dataset's records."""

    # Not percent-encoded.
    params: dict[str, str]
    # None: all of them.
    fields: tuple[str, ...] | None
    # Relations.
    expand: tuple[str, ...]


def selected_names(selection: Selection, names: Iterable[str]) -> list[str]:
    """The names of the datasets that are selected."""
    return [
        name
        for name in names
        if any(_matches(name, pattern) for pattern in selection.include)
        and not any(_matches(name, pattern) for pattern in selection.exclude)
    ]


def unmatched_patterns(selection: Selection, names: Sequence[str]) -> list[str]:
    """A message for each pattern that matches no dataset."""
    patterns_by_key = {
        "include": selection.include,
        "exclude": selection.exclude,
        "tables": tuple(selection.tables),
    }
    return [
        f"campus.yaml, datasets.{key}: no dataset matches {pattern!r}{nearest(pattern, names)}"
        for key, patterns in patterns_by_key.items()
        for pattern in patterns
        if pattern != "*" and not any(_matches(name, pattern) for name in names)
    ]


def plan_query(
    selection: Selection, definition: Definition, definitions: Mapping[str, Definition], school_id: int
) -> DatasetQuery:
    """Plan the query for the records of a dataset. It always selects the fields of the key and updated_at.

    definitions: of all datasets of the school, by name. Raises SelectionError with every mistake."""
    pattern, table = _table_selection(selection, definition.name)
    operators = (*OPERATORS, *selection.extra_operators)
    params: dict[str, str] = {}
    problems: list[str] = []
    for name in table.fields:
        with collecting(problems, "fields"):
            _check_field(definition, name)
    for name in table.expand:
        with collecting(problems, "expand"):
            _check_relation(definition, definitions, name)
    for name, value in table.filters.items():
        with collecting(problems, f"filters.{name}"):
            params[name] = _parameter(definition, operators, name, value)
    if problems:
        place = f"school {school_id}, dataset {definition.name!r}: campus.yaml, datasets.tables.{pattern}"
        raise SelectionError("\n".join(f"{place}.{problem}" for problem in problems))
    selected = _with_needed(definition, table.fields) if table.fields else None
    if selected is not None:
        params["fields"] = ",".join(selected)
    expand = tuple(dict.fromkeys(table.expand))
    if expand:
        params["expand"] = ",".join(expand)
    return DatasetQuery(params, selected, expand)


def embedded_datasets(
    definition: Definition, expand: Sequence[str], definitions: Mapping[str, Definition]
) -> dict[str, Definition]:
    """The dataset that each expanded relation embeds, by the name of the relation."""
    refs = {relation.name: relation.ref_name for relation in definition.relations}
    return {name: definitions[ref] for name in expand if (ref := refs[name])}


def _table_selection(selection: Selection, name: str) -> tuple[str, TableSelection]:
    """The selection of a dataset, and its key in campus.yaml: the dataset's name, else the first pattern."""
    patterns = (pattern for pattern in selection.tables if _matches(name, pattern))
    key = name if name in selection.tables else next(patterns, name)
    return key, selection.tables.get(key, TableSelection())


def _with_needed(definition: Definition, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(f.name for f in definition.fields if f.name in names or f.primary or f.name == UPDATED_AT)


def _matches(name: str, pattern: str) -> bool:
    return name == pattern or fnmatchcase(name, pattern)


def _check_field(definition: Definition, name: str) -> None:
    names = [field.name for field in definition.fields]
    if name not in names:
        raise InvalidSelection(f"there is no field {name!r}{nearest(name, names)}")
    if "," in name:
        raise InvalidSelection(f"{name!r} has a comma in it, and the interface separates fields by commas")


def _check_relation(definition: Definition, definitions: Mapping[str, Definition], name: str) -> None:
    relations = {relation.name: relation.ref_name for relation in definition.relations}
    if name not in relations:
        raise InvalidSelection(f"there is no relation {name!r}{nearest(name, relations)}")
    if any(name == field.name for field in definition.fields):
        raise InvalidSelection(f"{name!r} is the name of a field too, and a row can hold only one of them")
    if relations[name] not in definitions:
        raise InvalidSelection(
            f"{name!r} leads to a dataset {relations[name]!r} that the platform does not list"
        )


def _parameter(definition: Definition, operators: Sequence[str], name: str, value: FilterValue) -> str:
    filters = {
        f"{field.name}_{operator}": (field, operator) for field in definition.fields for operator in operators
    }
    if name not in filters:
        expected = f"expected {{field}}_{{operator}}, with {', '.join(operators)} for operators"
        raise InvalidSelection(expected + nearest(name, filters))
    field, operator = filters[name]
    if (field,) == key_fields(definition) and operator in ("egt", "elt"):
        raise InvalidSelection("the load itself asks for ranges of the key; filter by another field")
    return filter_text(field, operator, value)
