"""What a workbook is made of, as data: its sheets, their queries, and what is said and drawn of them.

Labels, units and meanings of columns are those of quality.dictionary, so that nothing is named twice; a sheet
says only what the dictionary cannot know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Language = Literal["en", "zh"]

#: Of the files that are written for people.
Format = Literal["xlsx", "csv", "parquet"]

#: How a column is written. `percent` takes values of 0 to 100; `link` makes an address one to click.
Kind = Literal["text", "integer", "decimal", "percent", "date", "datetime", "time", "boolean", "link"]

ChartKind = Literal["column", "bar", "line", "area", "pie", "scatter"]


@dataclass(frozen=True)
class Words:
    """The same in both languages."""

    en: str
    zh: str

    def in_language(self, language: Language) -> str:
        return self.zh if language == "zh" else self.en


@dataclass(frozen=True)
class Column:
    """How a column of a query is shown where the dictionary does not say, or says otherwise.

    `label`: None: the dictionary's. `kind`: None: by type and unit. `unit`: None: the dictionary's. `groups`:
    headings above the label, the outermost first; neighbours under the same ones share a merged cell.
    `width`: in characters, a Chinese one counts two; None: by what is in it. `places`: digits shown behind
    the point, at most two; None: by type. `signed`: a change, whose number says its direction: + is up.
    `words`: codes that are shown in words; one that is not among them is shown as it is. `stays`: also where
    all rows have the same value, as a column of a matrix does.
    """

    label: Words | None = None
    kind: Kind | None = None
    unit: str | None = None
    groups: tuple[Words, ...] = ()
    width: float | None = None
    places: int | None = None
    signed: bool = False
    words: Mapping[str, Words] = field(default_factory=dict)
    stays: bool = False


@dataclass(frozen=True)
class ColorScale:
    """Colours (#RRGGBB) by value over all cells of `columns`, which stand side by side.

    `middle`: None: two colours. The bounds are the cells' own least and greatest where not given; a column
    of kind `percent` has them as in its query, 0 to 100."""

    columns: tuple[str, ...]
    low: str
    high: str
    middle: str | None = None
    least: float | None = None
    greatest: float | None = None


@dataclass(frozen=True)
class Highlight:
    """A fill for the cells of `columns` that hold the text `equal`, or a number below `below`
    (both as in the query: a code before it is put in words, for the kind `percent` 0 to 100)."""

    columns: tuple[str, ...]
    fill: str
    equal: str | None = None
    below: float | None = None


@dataclass(frozen=True)
class Chart:
    """A native chart of a sheet's cells: one series for each of `values`, over the column `categories`.

    `of`: the sheet (by its name) whose cells are drawn; None: its own. `rows`: the
    first so many rows; None: all. `stacked`: the series upon each other. Axes are called after
    the words given, and reach from `least` to `greatest` where these are given. `colors` (#RRGGBB): of the
    series, in their order; the program's own for those beyond."""

    kind: ChartKind
    title: Words
    categories: str
    values: tuple[str, ...]
    of: Words | None = None
    rows: int | None = None
    stacked: bool = False
    x: Words | None = None
    y: Words | None = None
    least: float | None = None
    greatest: float | None = None
    colors: tuple[str, ...] = ()


@dataclass(frozen=True)
class Change:
    """How far a figure is from another day's. `good`: None: it has not moved, or there is nothing to compare
    with."""

    since: Words
    text: Words
    good: bool | None = None


@dataclass(frozen=True)
class Figure:
    """A figure as it is shown. `number`: itself, for sums over schools; None: not known."""

    name: str
    label: Words
    value: Words
    told: Words
    changes: tuple[Change, ...]
    number: float | None = None


@dataclass(frozen=True)
class Sheet:
    """One table of a workbook.

    `name`: the tab. `query`: SQL on the published file, which gives the rows of one school by the parameter
    $school_id. `about`: what it shows and how to read it. `sources`: tables (schema.table) whose entries in
    the dictionary name the query's columns; the first that has a column of the name counts. `columns`: what
    is to be said of columns besides, by name. `figures`: what stands above the table. `breaks`: a column; on
    paper a page begins where its value changes. `fills`: a column that takes the room that the others leave
    on an upright page. `summary`: no row is about one person, so that the first ones may be shown in logs.
    """

    name: Words
    about: Words
    query: str
    sources: tuple[str, ...] = ()
    columns: Mapping[str, Column] = field(default_factory=dict)
    scales: tuple[ColorScale, ...] = ()
    highlights: tuple[Highlight, ...] = ()
    charts: tuple[Chart, ...] = ()
    figures: tuple[Figure, ...] = ()
    breaks: str | None = None
    fills: str | None = None
    summary: bool = False


@dataclass(frozen=True)
class Definition:
    """A term and what it means, with the thresholds in force."""

    term: Words
    meaning: Words


@dataclass(frozen=True)
class Workbook:
    """A file for one school. `name` begins the file's name; `filters`: what was left out, if anything.
    `for_paper`: each sheet has a head, which says what it shows, and what all its rows have in common."""

    name: str
    title: Words
    about: Words
    sheets: tuple[Sheet, ...]
    definitions: tuple[Definition, ...] = ()
    filters: Words | None = None
    for_paper: bool = False
