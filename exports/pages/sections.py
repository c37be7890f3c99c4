"""Sections of pages as data: a section is a sheet with links, and its rows are read once for all pages."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import duckdb
from pydantic import Field as Setting
from pydantic import model_validator

from exports.library.sheet_library import PAGE, ColumnData, SheetData, make_page_sheet
from exports.library.view_rows import Data
from exports.library.words import Phrase, content_of
from exports.source import Origin
from exports.spreadsheet.columns import sheet_columns
from exports.spreadsheet.sheets import LANGUAGES, Kind, Language, Words
from warehouse.identifiers import quoted
from warehouse.published.reading import records

Row = Mapping[str, Any]
#: The kinds of pages, each a folder of the site. The index is one page at its root.
PageKind = Literal["index", "cohort", "class", "course", "student"]
#: The keys of the pages that a site has, by kind. Cells link to these only.
Pages = Mapping[PageKind, Collection[str]]

#: More take more memory.
PAGES_READ_AT_ONCE = 500


class PageTexts(Data):
    """The file pages.yml."""

    texts: dict[str, Phrase]
    #: The signs of the calendar by mark, each with its style.
    signs: dict[str, dict[str, str]]


PAGE_TEXTS = PageTexts.model_validate(content_of("pages"))
TEXTS = PAGE_TEXTS.texts


class Line(Data):
    """A line chart of a section's rows: a line for each of `values`, over the column `along`."""

    along: str
    values: tuple[str, ...]


class Section(SheetData):
    """A table of a page, with its chart."""

    #: The column with the key of a row's page.
    page: str
    links: dict[str, tuple[PageKind, str]] = Setting(default_factory=dict)
    line: Line | None = None
    #: Draws the rows as a calendar of lessons instead of a table.
    is_calendar: bool = False
    #: English names of the terms that the section needs, as in `definitions`.
    terms: tuple[str, ...] = ()
    #: Has a field that narrows the rows to those with a text.
    is_searched: bool = False
    #: Lists the pages of a kind: rows of pages that the reader may not see are left out, and the section,
    #: too, where the reader sees no page of the kind.
    lists: PageKind | None = None
    #: Columns that a page leaves out if none of its rows has a value.
    optional: tuple[str, ...] = ()
    #: Of a heading: the section that lists the students of a level, by the column with their number.
    narrows: dict[str, str] = Setting(default_factory=dict)
    #: The column that phones show in a line of its own, below the rest of its row.
    wide: str = ""
    #: The last row is the newest: phones show the rows in the opposite order, and a chart's right end first.
    is_newest_last: bool = False
    #: Of the first sheet of the printed page: what else the page has begins on a new sheet.
    is_on_first_sheet: bool = False
    #: Columns that the section leaves out of those of a section from which it is made.
    omits: tuple[str, ...] = ()
    #: Columns about guardians: left out where `exports.guardians` of campus.yaml does not allow them.
    about_guardians: tuple[str, ...] = ()
    #: Attributes of rows for the script of the page, with the columns of their values.
    attributes: dict[str, str] = Setting(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _omit(cls, data: dict[str, Any]) -> dict[str, Any]:
        """A column in the file is its name, or {name: {...}}."""
        omits = set(data.get("omits", ()))
        columns = [
            item for item in data["columns"] if omits.isdisjoint([item] if isinstance(item, str) else item)
        ]
        return data | {"columns": columns}

    def without_guardians(self) -> Section | None:
        """The section as pages show it that may not name guardians; None: it is about nothing else."""
        columns = tuple(
            item
            for item in self.columns
            if not (isinstance(item, ColumnData) and item.name in self.about_guardians)
        )
        return self.model_copy(update={"columns": columns}) if columns else None

    def rows_for(self, rows: Sequence[Row], pages: Pages) -> Sequence[Row]:
        """The rows that a reader of these pages may see."""
        if self.lists is None:
            return rows
        key = dict(self.links.values())[self.lists]
        return [row for row in rows if row[f"_{key}"] in pages.get(self.lists, ())]

    def is_on_page(self, rows: Sequence[Row], pages: Pages) -> bool:
        """Whether a page has the section. `rows`: those of `rows_for`."""
        if self.lists is not None and not pages.get(self.lists):
            return False
        return bool(rows) or not self.only_with_rows


@dataclass(frozen=True)
class Field:
    """A column of a section as its cells are written."""

    name: str
    label: Words
    heading: Words | None
    kind: Kind
    places: int
    signed: bool
    #: Labels of codes, in the order in which a table is sorted by them.
    words: Mapping[str, Words]
    #: The kind of page that cells link to, and the column with its key.
    link: tuple[PageKind, str] | None
    #: The column with the English text, whose Chinese text is beside it.
    is_pair: bool
    #: Phones show it in a line of its own.
    is_wide: bool


@dataclass(frozen=True)
class Layout:
    """A section with its fields and the rows of all pages, read once for all readers."""

    section: Section
    #: Its name among the sections of the kind of page.
    name: str
    fields: tuple[Field, ...]
    #: Said where a page has no rows.
    nothing: Words
    #: The temporary table with the rows.
    table: str

    def rows(self, con: duckdb.DuckDBPyConnection, keys: Sequence[str]) -> dict[str, list[Row]]:
        """The rows of some pages by page."""
        by_page: dict[str, list[Row]] = {}
        query = f"FROM {quoted(self.table)} WHERE page IN (FROM unnest($pages)) ORDER BY rowid"
        for row in records(con, query, {"pages": list(keys)}):
            by_page.setdefault(row["page"], []).append(row)
        return by_page


def layout_of(
    con: duckdb.DuckDBPyConnection,
    name: str,
    section: Section,
    origin: Origin,
    pages: Sequence[str],
    *,
    kind: str,
    title: str = "",
) -> Layout:
    """Read the labels, kinds and rows of a section from the published file.

    Args:
        name: The section's name; empty: it is the heading.
        pages: The keys of all pages, in their order.
        kind: The kind of page.
        title: The column with the titles of pages, for their heading."""
    keys = {PAGE: section.page} | ({"_title": title} if title else {})
    columns = (*(key for _, key in section.links.values()), *section.attributes.values())
    keys |= {f"_{column}": column for column in columns}
    sheet, query = make_page_sheet(con, section, origin.school.id, keys)
    parameters = origin.parameters(sheet.query)
    zh, en = (sheet_columns(con, sheet, parameters, code) for code in LANGUAGES)
    names = {column.name for column in en}
    fields = tuple(
        Field(
            name=column.name,
            label=Words(column.label, chinese.label),
            heading=Words(column.groups[0], chinese.groups[0]) if column.groups else None,
            kind=column.kind,
            places=2 if column.places is None else min(column.places, 2),
            signed=column.signed,
            words={code: Words(column.words[code], chinese.words[code]) for code in column.words},
            link=section.links.get(column.name),
            is_pair=column_of_language(column.name, "zh") in names,
            is_wide=column.name.removesuffix("_en") == section.wide,
        )
        for column, chinese in zip(en, zh, strict=True)
        if not (column.name.endswith("_zh") and column_of_language(column.name, "en") in names)
    )
    table = f"rows of {kind} {name}"
    begin = f"CREATE OR REPLACE TEMP TABLE {quoted(table)} AS"
    for start in range(0, max(len(pages), 1), PAGES_READ_AT_ONCE):
        some = pages[start : start + PAGES_READ_AT_ONCE] or [""]
        con.execute(f"{begin} {query}", {"school_id": origin.school.id, "first": some[0], "last": some[-1]})
        begin = f"INSERT INTO {quoted(table)}"
    never = origin.not_loaded(sheet.sources)
    nothing = TEXTS["not_known"].format(never) if never else TEXTS["nothing"]
    return Layout(section, name, fields, nothing, table)


def column_of_language(name: str, language: Language) -> str:
    """The column of a pair with the text in a language; empty: no column of a pair."""
    stem, _, end = name.rpartition("_")
    return f"{stem}_{language}" if end in LANGUAGES and end != language else ""
