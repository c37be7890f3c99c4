"""What the columns of a query are called and how they are written, by the published file's dictionary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import duckdb

from exports.cells import Type, cell, kind_of, type_of
from exports.sheets import Column, Kind, Language, Sheet, Words

#: What is said of a unit behind a label. Labels say themselves what they count; a percentage has its sign in
#: the cell.
UNITS = {
    "credits": Words(" (credits)", "（学分）"),
    "minutes": Words(" (minutes)", "（分钟）"),
    "percentage points": Words(" (percentage points)", "（百分点）"),
    "points": Words(" (points)", "（分）"),
    "sd": Words(" (standard deviations)", "（标准差）"),
    "weeks": Words(" (weeks)", "（周）"),
}
#: From so many digits behind the point on, a type tells nothing about its values.
ROOMY = 12
#: Parts of names that are not written like words.
SPELLED = {"id": "ID", "ids": "IDs", "gpa": "GPA", "sd": "SD", "url": "URL", "z": "Z"}
#: Schemas whose columns are called in the platform's own words, which come first in their descriptions.
NAMED_BY_PLATFORM = ("datasets", "reports")


@dataclass(frozen=True)
class Shown:
    """A column of a sheet. `cell`: SQL for its cells; `places`: digits behind the point, None: as many as
    there are; `signed`: of a change, with its sign; `counted`: a number of something, unlike an id;
    `width`: in characters, 0: by what is in it; `stays`: also where all rows have one value; `wraps`: some of
    its text takes more than a line."""

    name: str
    label: str
    kind: Kind
    cell: str
    places: int | None
    counted: bool
    groups: tuple[str, ...]
    width: float
    words: Mapping[str, str]
    signed: bool = False
    stays: bool = False
    wraps: bool = False


@dataclass(frozen=True)
class Entry:
    """What the dictionary says of a column."""

    label: Words
    unit: str | None


def shown_columns(
    con: duckdb.DuckDBPyConnection, sheet: Sheet, parameters: Mapping[str, Any], language: Language
) -> tuple[Shown, ...]:
    """The columns of a sheet's query in their order. One that neither the sheet nor a source of it names is
    called after its own name."""
    description = con.execute(f"SELECT * FROM ({sheet.query}) LIMIT 0", parameters).description
    entries = _entries(con, sheet.sources)
    columns = [
        _shown(name, str(type), sheet.columns.get(name, Column()), entries, language)
        for name, type, *_ in description or ()
    ]
    return _told_apart(columns)


def _shown(
    name: str, type_name: str, column: Column, entries: Mapping[str, Entry], language: Language
) -> Shown:
    entry = entries.get(name) or Entry(Words(english(name), name), None)
    unit = entry.unit if column.unit is None else column.unit
    type = type_of(type_name)
    kind = column.kind or kind_of(type, unit)
    label = (column.label or entry.label).in_language(language)
    if unit and kind != "percent" and type.is_number:
        label += UNITS.get(unit, Words("", "")).in_language(language)
    return Shown(
        name=name,
        label=label,
        kind=kind,
        cell=cell(name, type, kind),
        places=_places(type) if column.places is None else column.places,
        counted=bool(unit),
        groups=tuple(group.in_language(language) for group in column.groups),
        width=column.width or 0,
        words={code: words.in_language(language) for code, words in column.words.items()},
        signed=column.signed,
        stays=column.stays,
    )


def _places(type: Type) -> int | None:
    """Digits behind the point. Datasets and reports have room for more than any value has."""
    return None if type.name in ("FLOAT", "DOUBLE") or type.scale >= ROOMY else type.scale


def _told_apart(columns: list[Shown]) -> tuple[Shown, ...]:
    """Labels that come more than once get the column's name behind them."""
    times = Counter((column.groups, column.label) for column in columns)
    return tuple(
        column
        if times[column.groups, column.label] == 1
        else replace(column, label=f"{column.label} [{column.name}]")
        for column in columns
    )


def english(name: str) -> str:
    """A label made of a column's name: student_id is Student ID, student_name is Student."""
    words = [SPELLED.get(word, word) for word in name.split("_") if word]
    if len(words) > 1 and words[-1] in ("name", "names"):
        words[-2:] = [words[-2] + "s" * (words[-1] == "names")]
    label = " ".join(words) or name
    return label[0].upper() + label[1:]


def platform_label(description: str) -> str:
    """The platform's label, which begins the description of what is its own."""
    return description.split(". ")[0].removesuffix(" (personal)")


def _entries(con: duckdb.DuckDBPyConnection, sources: tuple[str, ...]) -> dict[str, Entry]:
    """By column, of the first source that has it."""
    entries: dict[str, Entry] = {}
    for source in sources:
        schema, table = source.split(".", 1)
        rows = con.execute(
            "SELECT column_name, description, label_zh, unit FROM quality.dictionary "
            "WHERE schema_name = ? AND table_name = ? AND column_name IS NOT NULL",
            [schema, table],
        ).fetchall()
        for name, description, label_zh, unit in rows:
            label = Words(english(name), label_zh or name)
            if schema in NAMED_BY_PLATFORM and description and not name.startswith("_"):
                own = platform_label(description)
                label = Words(own, own)
            entries.setdefault(name, Entry(label, unit))
    return entries
