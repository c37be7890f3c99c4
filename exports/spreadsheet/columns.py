"""The labels and formats of a query's columns, by the published file's dictionary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import Any

import duckdb

from exports.library.words import texts
from exports.spreadsheet.cells import Type, cell, kind_of, type_of
from exports.spreadsheet.sheets import Column, Kind, Language, Sheet, Words

#: Units that follow a label. Labels name what they count, and cells show the sign of percentages.
UNITS = texts("spreadsheet", "units")
#: Types of datasets and reports have this scale or more, whatever the decimals of their values.
LARGE_SCALE = 12
#: Schemas whose columns have the platform's labels, at the beginning of their descriptions.
NAMED_BY_PLATFORM = ("datasets", "reports")
#: Follows the label of a column that the warehouse adds: a dataset may have a School ID, too.
ADDED = texts("spreadsheet")["added"]


class Unlabelled(Exception):
    """A table or column of a file has no label in one of the languages."""


@dataclass(frozen=True)
class SheetColumn:
    """A column of a sheet in one language."""

    name: str
    label: str
    kind: Kind
    #: SQL for the cells.
    cell: str
    #: Decimals. None: as many as the value has.
    places: int | None
    #: Has a unit, unlike an id.
    has_unit: bool
    groups: tuple[str, ...]
    #: In characters. 0: fits the content.
    width: float
    words: Mapping[str, str]
    signed: bool = False
    stays: bool = False
    #: Some text takes several lines.
    wraps: bool = False


@dataclass(frozen=True)
class DictionaryEntry:
    """The dictionary's entry of a column. Without a label in both languages, it has none."""

    label: Words | None
    unit: str | None


def sheet_columns(
    con: duckdb.DuckDBPyConnection, sheet: Sheet, parameters: Mapping[str, Any], language: Language
) -> tuple[SheetColumn, ...]:
    """The columns of a sheet's query in their order.

    Raises Unlabelled for a column without a label in the sheet and in its sources."""
    description = con.execute(f"SELECT * FROM ({sheet.query}) LIMIT 0", parameters).description
    entries = _entries(con, sheet.sources)
    columns = [
        _shown(name, str(type), sheet.columns.get(name, Column()), entries.get(name), language)
        for name, type, *_ in description or ()
        if name != sheet.breaks
    ]
    return _distinct_labels(columns)


def _shown(
    name: str, type_name: str, column: Column, entry: DictionaryEntry | None, language: Language
) -> SheetColumn:
    words = column.label or (entry.label if entry else None)
    if words is None:
        raise Unlabelled(f"column {name} has no label in both languages in its sheet or in the dictionary")
    unit = entry.unit if entry and column.unit is None else column.unit
    type = type_of(type_name)
    kind = column.kind or kind_of(type, unit)
    label = words.in_language(language)
    if unit and kind != "percent" and type.is_number:
        label += UNITS.get(unit, Words("", "")).in_language(language)
    return SheetColumn(
        name=name,
        label=label,
        kind=kind,
        cell=cell(name, type, kind),
        places=_places(type) if column.places is None else column.places,
        has_unit=bool(unit),
        groups=tuple(group.in_language(language) for group in column.groups),
        width=column.width or 0,
        words={code: words.in_language(language) for code, words in column.words.items()},
        signed=column.signed,
        stays=column.stays,
    )


def _places(type: Type) -> int | None:
    """The decimals of a type; None: the type does not show them."""
    return None if type.name in ("FLOAT", "DOUBLE") or type.scale >= LARGE_SCALE else type.scale


def _distinct_labels(columns: list[SheetColumn]) -> tuple[SheetColumn, ...]:
    """Number repeated labels, which fields of the platform may have. Excel ignores case."""
    used, distinct = set[tuple[tuple[str, ...], str]](), []
    for column in columns:
        numbered = (f"{column.label} ({number})" for number in count(2))
        label = next(
            label
            for label in chain([column.label], numbered)
            if (column.groups, label.casefold()) not in used
        )
        used.add((column.groups, label.casefold()))
        distinct.append(replace(column, label=label))
    return tuple(distinct)


def platform_label(description: str) -> str:
    """The platform's label, at the beginning of a description."""
    return description.split(". ")[0].removesuffix(" (personal)")


def table_label(
    schema: str, table: str, description: str | None, label_en: str | None, label_zh: str | None
) -> Words:
    """The label of a table, by its entry in the dictionary. Raises Unlabelled."""
    if schema in NAMED_BY_PLATFORM:
        text = platform_label(description or table)
        return Words(text, text)
    if not label_en or not label_zh:
        raise Unlabelled(f"table {schema}.{table} has no label in both languages in the dictionary")
    return Words(label_en, label_zh)


def _entries(con: duckdb.DuckDBPyConnection, sources: tuple[str, ...]) -> dict[str, DictionaryEntry]:
    """The dictionary's entries by column, from the first source with the column."""
    entries: dict[str, DictionaryEntry] = {}
    for source in sources:
        schema, table = source.split(".", 1)
        rows = con.execute(
            "SELECT column_name, description, label_en, label_zh, unit FROM quality.dictionary "
            "WHERE schema_name = ? AND table_name = ? AND column_name IS NOT NULL",
            [schema, table],
        ).fetchall()
        for name, description, label_en, label_zh, unit in rows:
            label = Words(label_en, label_zh) if label_zh else None
            if schema in NAMED_BY_PLATFORM and name.startswith("_"):
                label = label and label + ADDED
            elif schema in NAMED_BY_PLATFORM:
                text = platform_label(description or label_en)
                label = Words(text, text)
            entries.setdefault(name, DictionaryEntry(label, unit))
    return entries
