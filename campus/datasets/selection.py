"""Selects datasets, fields, relations and filters as campus.yaml says, and checks them against the metadata.

A mistake is found before any record is requested."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from campus.datasets.filters import OPERATORS, FilterValue, filter_text
from campus.decoding.definition import UPDATED_AT, Definition
from campus.decoding.inferred_contract import key_fields
from campus.http.errors import CampusError
from campus.selections import InvalidSelection, collecting, nearest


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
