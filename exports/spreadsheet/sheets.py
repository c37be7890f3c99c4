"""Workbooks as data: sheets with their queries, texts and charts.

Labels, units and meanings of columns come from quality.dictionary. A sheet adds what the dictionary lacks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Language = Literal["en", "zh"]
#: The languages of bilingual pages, the first of which they open in by default.
LANGUAGES: tuple[Language, ...] = ("zh", "en")

#: The formats of files for people.
Format = Literal["xlsx", "csv", "parquet"]

#: How a column is written. `percent` takes values of 0 to 100. `link` makes an address clickable.
Kind = Literal["text", "integer", "decimal", "percent", "date", "datetime", "time", "boolean", "link"]

ChartKind = Literal["column", "bar", "line", "area", "pie", "scatter"]


@dataclass(frozen=True)
class Words:
    """A text in both languages."""

    en: str
    zh: str

    def in_language(self, language: Language) -> str:
        """The text in one language."""
        return self.zh if language == "zh" else self.en

    def __add__(self, text: Words) -> Words:
        return Words(self.en + text.en, self.zh + text.zh)

    def format(self, *values: object, **named: object) -> Words:
        """The text with its fields filled in, by the rules of str.format. A value that is a text in both
        languages is filled in by language."""
        texts = (
            self.in_language(language).format(
                *(_in_language(value, language) for value in values),
                **{name: _in_language(value, language) for name, value in named.items()},
            )
            for language in sorted(LANGUAGES)
        )
        return Words(*texts)


def _in_language(value: object, language: Language) -> object:
    return value.in_language(language) if isinstance(value, Words) else value


@dataclass(frozen=True)
class Column:
    """How a column of a query is shown. None: as the dictionary or the type says."""

    label: Words | None = None
    kind: Kind | None = None
    unit: str | None = None
    #: Headings above the label, the outermost first. Neighbours with the same heading share a merged cell.
    groups: tuple[Words, ...] = ()
    #: In characters; a Chinese character counts two. None: fits the content.
    width: float | None = None
    #: Decimals shown, at most two.
    places: int | None = None
    #: A change, shown with its sign: + is up.
    signed: bool = False
    #: Labels of codes. Other codes are shown as they are.
    words: Mapping[str, Words] = field(default_factory=dict)
    #: On paper, a value that all rows share moves into the head of the sheet, unless the column stays.
    stays: bool = False


@dataclass(frozen=True)
class ColorScale:
    """Colours (#RRGGBB) by value over all cells of adjacent columns."""

    columns: tuple[str, ...]
    low: str
    high: str
    #: None: two colours.
    middle: str | None = None
    #: The bounds of the scale, as values of the query: a percentage is 0 to 100. None: the cells' bounds.
    least: float | None = None
    greatest: float | None = None


@dataclass(frozen=True)
class Highlight:
    """A fill for the cells of `columns` that equal `equal` or are below `below`. Both are values of the
    query: a code, or a percentage from 0 to 100."""

    columns: tuple[str, ...]
    fill: str
    equal: str | None = None
    below: float | None = None


@dataclass(frozen=True)
class Chart:
    """A native chart of a sheet's cells: a series for each column of `values`, over the column
    `categories`."""

    kind: ChartKind
    title: Words
    categories: str
    values: tuple[str, ...]
    #: The name of the sheet whose cells are drawn. None: the chart's own sheet.
    of: Words | None = None
    #: The number of first rows to draw. None: all.
    rows: int | None = None
    stacked: bool = False
    #: The titles of the axes.
    x: Words | None = None
    y: Words | None = None
    #: The ends of the axis of values.
    least: float | None = None
    greatest: float | None = None
    #: Colours (#RRGGBB) of the first series. Further series have the program's colours.
    colors: tuple[str, ...] = ()


@dataclass(frozen=True)
class Change:
    """The change of a figure since another day."""

    since: Words
    text: Words
    #: None: unchanged, or nothing to compare with.
    good: bool | None = None


@dataclass(frozen=True)
class Figure:
    """A figure as it is shown."""

    name: str
    label: Words
    value: Words
    #: What the figure is based on, or why it is missing.
    detail: Words
    changes: tuple[Change, ...]
    #: The plain number, for sums over schools. None: not known.
    number: float | None = None


@dataclass(frozen=True)
class Sheet:
    """One table of a workbook."""

    #: The name of the tab.
    name: Words
    #: What the sheet shows, and how to read it.
    about: Words
    #: SQL on the published file for the rows of one school, by the parameter $school_id.
    query: str
    #: Tables (schema.table) whose dictionary entries describe the query's columns. The first match counts.
    sources: tuple[str, ...] = ()
    #: Additions to the dictionary, by column.
    columns: Mapping[str, Column] = field(default_factory=dict)
    scales: tuple[ColorScale, ...] = ()
    highlights: tuple[Highlight, ...] = ()
    charts: tuple[Chart, ...] = ()
    #: Shown above the table.
    figures: tuple[Figure, ...] = ()
    #: On paper, a page begins where the value of this column changes. The column itself is not shown.
    breaks: str | None = None
    #: For whom the sheet is: stands in the head, and below each page on paper.
    notice: Words | None = None
    #: This column takes the free width of a page: in landscape format, or upright on one page.
    fills: str | None = None
    #: On paper, the sheet is one upright page with a head, whatever the number of its rows.
    on_one_page: bool = False
    #: No row is about one person, so that logs may show the first rows.
    summary: bool = False


@dataclass(frozen=True)
class Definition:
    """A term and its meaning, with the thresholds in force."""

    term: Words
    meaning: Words


@dataclass(frozen=True)
class Workbook:
    """A file for one school."""

    #: The beginning of the file's name.
    name: str
    title: Words
    about: Words
    sheets: tuple[Sheet, ...]
    definitions: tuple[Definition, ...] = ()
    #: What is left out.
    filters: Words | None = None
    #: Each sheet has a head with its title, its explanation and the values that all rows share.
    for_paper: bool = False
