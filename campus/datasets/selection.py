"""Which datasets are read, and what is asked of each: an operator's wishes, checked against the metadata
before any request is made."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from campus.datasets.filters import OPERATORS, FilterValue, filter_text
from campus.decoding.definition import UPDATED_AT, Definition, key_fields
from campus.http.errors import CampusError
from campus.selections import Unfit, nearest, noting


class SelectionError(CampusError):
    """Wishes that the metadata cannot fulfil."""


@dataclass(frozen=True)
class TableSelection:
    """What is asked of one dataset. `fields`: none: all of them. `filters`: by {field}_{operator}."""

    fields: tuple[str, ...] = ()
    expand: tuple[str, ...] = ()
    filters: Mapping[str, FilterValue] = field(default_factory=dict)


@dataclass(frozen=True)
class Selection:
    """The operator's wishes; names of datasets may be patterns with *, ? and [abc]."""

    include: tuple[str, ...] = ("*",)
    exclude: tuple[str, ...] = ()
    tables: Mapping[str, TableSelection] = field(default_factory=dict)
    extra_operators: tuple[str, ...] = ()


@dataclass(frozen=True)
class DatasetQuery:
    """What is asked for: query parameters (not percent-encoded), fields (None: all) and relations."""

    params: dict[str, str]
    fields: tuple[str, ...] | None
    expand: tuple[str, ...]


def chosen(selection: Selection, names: Iterable[str]) -> list[str]:
    """The datasets to read."""
    return [
        name
        for name in names
        if any(_matches(name, pattern) for pattern in selection.include)
        and not any(_matches(name, pattern) for pattern in selection.exclude)
    ]


def unmatched(selection: Selection, names: Sequence[str]) -> list[str]:
    """A line for each pattern that no dataset's name matches."""
    wishes = {"include": selection.include, "exclude": selection.exclude, "tables": tuple(selection.tables)}
    return [
        f"campus.yaml, datasets.{kind}: no dataset matches {pattern!r}{nearest(pattern, names)}"
        for kind, patterns in wishes.items()
        for pattern in patterns
        if pattern != "*" and not any(_matches(name, pattern) for name in names)
    ]


def ask_for(
    selection: Selection, definition: Definition, definitions: Mapping[str, Definition], school_id: int
) -> DatasetQuery:
    """What to ask of a dataset. The fields of its key, and updated_at, are always among those asked for.

    definitions: all of the school, by name. Raises SelectionError with every mistake."""
    place, wishes = _wishes(selection, definition.name)
    operators = (*OPERATORS, *selection.extra_operators)
    params: dict[str, str] = {}
    problems: list[str] = []
    for name in wishes.fields:
        with noting(problems, "fields"):
            _check_field(definition, name)
    for name in wishes.expand:
        with noting(problems, "expand"):
            _check_relation(definition, definitions, name)
    for name, value in wishes.filters.items():
        with noting(problems, f"filters.{name}"):
            params[name] = _parameter(definition, operators, name, value)
    if problems:
        where = f"school {school_id}, dataset {definition.name!r}: campus.yaml, datasets.tables.{place}"
        raise SelectionError("\n".join(f"{where}.{problem}" for problem in problems))
    selected = _with_needed(definition, wishes.fields) if wishes.fields else None
    if selected is not None:
        params["fields"] = ",".join(selected)
    expand = tuple(dict.fromkeys(wishes.expand))
    if expand:
        params["expand"] = ",".join(expand)
    return DatasetQuery(params, selected, expand)


def targets(
    definition: Definition, expand: Sequence[str], definitions: Mapping[str, Definition]
) -> dict[str, Definition]:
    """The dataset that each expanded relation embeds."""
    refs = {relation.name: relation.ref_name for relation in definition.relations}
    return {name: definitions[ref] for name in expand if (ref := refs[name])}


def _wishes(selection: Selection, name: str) -> tuple[str, TableSelection]:
    """What campus.yaml says of a dataset, and under which key: its own name, else the first pattern."""
    if name in selection.tables:
        return name, selection.tables[name]
    found = (pattern for pattern in selection.tables if _matches(name, pattern))
    pattern = next(found, None)
    return (name, TableSelection()) if pattern is None else (pattern, selection.tables[pattern])


def _with_needed(definition: Definition, wanted: Sequence[str]) -> tuple[str, ...]:
    return tuple(f.name for f in definition.fields if f.name in wanted or f.primary or f.name == UPDATED_AT)


def _matches(name: str, pattern: str) -> bool:
    return name == pattern or fnmatchcase(name, pattern)


def _check_field(definition: Definition, name: str) -> None:
    names = [known.name for known in definition.fields]
    if name not in names:
        raise Unfit(f"there is no field {name!r}{nearest(name, names)}")
    if "," in name:
        raise Unfit(f"{name!r} has a comma in it, and the interface separates fields by commas")


def _check_relation(definition: Definition, definitions: Mapping[str, Definition], name: str) -> None:
    relations = {relation.name: relation.ref_name for relation in definition.relations}
    if name not in relations:
        raise Unfit(f"there is no relation {name!r}{nearest(name, relations)}")
    if any(name == known.name for known in definition.fields):
        raise Unfit(f"{name!r} is the name of a field too, and a row can hold but one of them")
    if relations[name] not in definitions:
        raise Unfit(f"{name!r} leads to a dataset {relations[name]!r} that the platform does not list")


def _parameter(definition: Definition, operators: Sequence[str], name: str, value: FilterValue) -> str:
    filters = {f"{known.name}_{one}": (known, one) for known in definition.fields for one in operators}
    if name not in filters:
        known = f"expected {{field}}_{{operator}}, with {', '.join(operators)} for operators"
        raise Unfit(known + nearest(name, filters))
    target, operator = filters[name]
    if (target,) == key_fields(definition) and operator in ("egt", "elt"):
        raise Unfit("the load itself asks for ranges of the key; filter by another field")
    return filter_text(target, operator, value)
