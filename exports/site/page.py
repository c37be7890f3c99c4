"""Turns the rows of sections into pages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cache, lru_cache
from itertools import groupby
from math import isfinite
from pathlib import Path
from typing import Any
from urllib.parse import quote

import duckdb
from markupsafe import Markup, escape

from exports.library.sheet_library import PAGE, make_page_sheet
from exports.library.words import label_of, labels, texts, untranslated
from exports.site.drawing import line_chart
from exports.site.kinds import Section, kinds, signs
from exports.site.pinyin import pinyin_of
from exports.site.sections import SITE, PageKind, Pages
from exports.source import Origin
from exports.spreadsheet.columns import sheet_columns
from exports.spreadsheet.sheets import LANGUAGES, Definition, Kind, Language, Words
from exports.templates import page_template
from warehouse.identifiers import quoted
from warehouse.published.reading import records
from warehouse.rounding import half_up

HERE = Path(__file__).parent
Row = Mapping[str, Any]

NUMBERS = ("integer", "decimal", "percent")
#: More take more memory.
PAGES_READ_AT_ONCE = 500
#: Texts whose HTML is remembered: pages repeat the same labels, names and reasons.
SAME_TEXTS = 10_000


@dataclass(frozen=True)
class Field:
    """A column of a section as its cells are written."""

    name: str
    label: Words
    heading: Words | None
    kind: Kind
    places: int
    signed: bool
    #: Labels of codes, as HTML.
    words: Mapping[str, str]
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
    #: Links to its definitions.
    terms: tuple[Mapping[str, Any], ...]
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
    kind: PageKind,
    name: str,
    section: Section,
    origin: Origin,
    terms: Mapping[str, Definition],
    pages: Sequence[str],
) -> Layout:
    """Read the labels, kinds and rows of a section from the published file.

    Args:
        name: The section's name; empty: it is the heading, whose rows have the titles of pages, too.
        terms: The definitions of the site by anchor.
        pages: The keys of all pages, in their order."""
    keys = {PAGE: section.page} | {f"_{key}": key for _, key in section.links.values()}
    if not name:
        keys["_title"] = kinds()[kind].title
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
            words={code: bilingual(Words(column.words[code], chinese.words[code])) for code in column.words},
            link=section.links.get(column.name),
            is_pair=_of_language(column.name, "zh") in names,
            is_wide=column.name.removesuffix("_en") == section.wide,
        )
        for column, chinese in zip(en, zh, strict=True)
        if not (column.name.endswith("_zh") and _of_language(column.name, "en") in names)
    )
    table = f"rows of {kind} {name}"
    _read_rows(con, query, origin.school.id, pages, table)
    never = origin.not_loaded(sheet.sources)
    nothing = texts(SITE)["not_known"].format(never) if never else texts(SITE)["nothing"]
    own_terms = tuple({"words": terms[name].term, "anchor": name} for name in map(anchor, section.terms))
    return Layout(section, name, fields, nothing, own_terms, table)


def _read_rows(
    con: duckdb.DuckDBPyConnection, query: str, school_id: int, pages: Sequence[str], table: str
) -> None:
    """Read the rows of all pages into a temporary table."""
    begin = f"CREATE OR REPLACE TEMP TABLE {quoted(table)} AS"
    for start in range(0, max(len(pages), 1), PAGES_READ_AT_ONCE):
        some = pages[start : start + PAGES_READ_AT_ONCE] or [""]
        con.execute(f"{begin} {query}", {"school_id": school_id, "first": some[0], "last": some[-1]})
        begin = f"INSERT INTO {quoted(table)}"


def _of_language(name: str, language: Language) -> str:
    """The column of a pair with the text in a language; empty: no column of a pair."""
    stem, _, end = name.rpartition("_")
    return f"{stem}_{language}" if end in LANGUAGES and end != language else ""


def rows_for(section: Section, rows: Sequence[Row], pages: Pages) -> Sequence[Row]:
    """The rows that a reader of these pages may see."""
    if section.lists is None:
        return rows
    key = dict(section.links.values())[section.lists]
    return [row for row in rows if row[f"_{key}"] in pages.get(section.lists, ())]


def is_on_page(section: Section, rows: Sequence[Row], pages: Pages) -> bool:
    """Whether a page has a section. `rows`: those of `rows_for`."""
    if section.lists is not None and not pages.get(section.lists):
        return False
    return bool(rows) or not section.only_with_rows


def section_of(layout: Layout, rows: Sequence[Row], pages: Pages, root: str) -> dict[str, Any]:
    """A section as the template shows it. `rows`: those of `rows_for`."""
    section = layout.section
    fields = [
        field
        for field in layout.fields
        if field.name not in section.optional or any(row[field.name] is not None for row in rows)
    ]
    return {
        "id": layout.name,
        "name": section.name,
        "about": section.about,
        "nothing": None if rows else layout.nothing,
        "chart": _chart(layout, rows),
        "calendar": _calendar(rows) if section.is_calendar and rows else None,
        "is_searched": section.is_searched,
        "is_on_first_sheet": section.is_on_first_sheet,
        "is_newest_last": section.is_newest_last,
        "has_wide": any(field.is_wide for field in fields),
        "groups": _headings(fields),
        "labels": [{"words": field.label, "class": _class(field)} for field in fields],
        "body": None if section.is_calendar else _body(section, fields, rows, pages, root),
        "terms": layout.terms,
    }


def _body(section: Section, fields: Sequence[Field], rows: Sequence[Row], pages: Pages, root: str) -> Markup:
    """The rows of a table. Many cells: put together as text, each part of it escaped."""
    searched = [field for field in fields if section.is_searched and field.kind == "text" and not field.words]
    return Markup(
        "\n".join(
            f"<tr{_find(searched, row)}>{''.join(_cell(field, row, pages, root) for field in fields)}</tr>"
            for row in rows
        )
    )


def _find(fields: Sequence[Field], row: Row) -> str:
    """The attribute with the pinyin by which a search finds a row; empty: the row has no Chinese names."""
    texts = [pinyin_of(row[field.name]) for field in fields if not field.is_pair and row[field.name]]
    readings = " ".join(text for text in texts if text)
    return f' data-find="{escape(readings)}"' if readings else ""


def facts_of(layout: Layout, row: Row, pages: Pages, root: str) -> list[dict[str, Any]]:
    """The facts below a page's title. Facts that are not known are left out. A number of students links to
    the list below that has them."""
    facts = []
    for field in layout.fields:
        if row[field.name] is not None:
            cell = _content(field, row, pages, root)
            if field.name in layout.section.narrows and row[field.name]:
                level = quote(label_of(field.name, "levels").zh)
                cell = f'<a href="#{layout.section.narrows[field.name]}={level}">{cell}</a>'
            facts.append({"label": field.label, "cell": Markup(cell)})
    return facts


@lru_cache(SAME_TEXTS)
def bilingual(words: Words) -> Markup:
    """A text in both languages as HTML, of which the page shows one."""
    if words.en == words.zh:
        return escape(words.en)
    zh, en = escape(words.zh), escape(words.en)
    return Markup(f'<span class="zh" lang="zh">{zh}</span><span class="en" lang="en">{en}</span>')


def _cell(field: Field, row: Row, pages: Pages, root: str) -> str:
    value = row[field.name]
    inside = _content(field, row, pages, root)
    if field.name == "level" and value in labels("levels"):
        return f'<td class="{value}">{inside}</td>'
    name = _class(field)
    return f'<td class="{name}">{inside}</td>' if name else f"<td>{inside}</td>"


def _class(field: Field) -> str:
    """The class of the field's cells in site.css; empty: none."""
    return "n" if field.kind in NUMBERS else "wide" if field.is_wide else ""


def _content(field: Field, row: Row, pages: Pages, root: str) -> str:
    """What a cell shows, as HTML."""
    value = row[field.name]
    if value is None or (isinstance(value, float) and not isfinite(value)):
        return "—"
    if field.is_pair:
        return bilingual(Words(value, row[_of_language(field.name, "zh")] or value))
    inside = field.words.get(value) or _escaped(value) if isinstance(value, str) else _text(field, value)
    if field.link and (key := row[f"_{field.link[1]}"]) in pages.get(field.link[0], ()):
        return f'<a href="{root}{field.link[0]}/{key}.html">{inside}</a>'
    return inside


@lru_cache(SAME_TEXTS)
def _escaped(text: str) -> str:
    """The text as HTML."""
    return str(escape(text))


def _text(field: Field, value: Any) -> str:
    """The HTML of a value that is no text."""
    if isinstance(value, Decimal | float):
        sign = "+" if field.signed else ""
        number = f"{half_up(value, field.places):{sign}}"
        if field.kind == "percent":
            return f"{number}%"
        return number.rstrip("0").rstrip(".") if "." in number else number
    if isinstance(value, bool):
        return "✓" if value else "✗"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    return _escaped(", ".join(map(str, value))) if isinstance(value, list) else str(value)


def _headings(fields: Sequence[Field]) -> list[dict[str, Any]]:
    """The headings above the labels. Empty where no column has one."""
    groups = [(words, len(list(own))) for words, own in groupby(fields, key=lambda field: field.heading)]
    if all(words is None for words, _ in groups):
        return []
    return [{"words": words or Words("", ""), "width": width} for words, width in groups]


def _chart(layout: Layout, rows: Sequence[Row]) -> Markup:
    line = layout.section.line
    if line is None:
        return Markup()
    labels = {field.name: field.label for field in layout.fields}
    legend = [bilingual(labels[name]) for name in line.values]
    name = layout.section.name
    return Markup(line_chart(line, rows, legend, f"{name.zh} {name.en}"))


def _calendar(rows: Sequence[Row]) -> Markup:
    """A row a week, a column a weekday, and a sign for each lesson."""
    days = sorted({row["weekday"] for row in rows})
    weeks: dict[int, dict[int, Row]] = {}
    for row in rows:
        week = row["week"] if row["week"] is not None else row["date"].isocalendar().week
        weeks.setdefault(week, {})[row["weekday"]] = row
    head = "".join(f'<th scope="col">{bilingual(labels("weekdays")[str(day)])}</th>' for day in days)
    body = "\n".join(
        f'<tr><th scope="row">{week}</th>{"".join(_day(own.get(day)) for day in days)}</tr>'
        for week, own in weeks.items()
    )
    return Markup(
        f'<p class="hint">{_legend()}</p><div class="scroll" tabindex="0">'
        f'<table class="calendar" data-newest="last"><thead><tr>'
        f'<th scope="col">{bilingual(texts(SITE)["week"])}</th>{head}</tr></thead><tbody>{body}</tbody>'
        "</table></div>"
    )


def _day(row: Row | None) -> str:
    if row is None:
        return "<td></td>"
    signs = "".join(map(_signs().__getitem__, row["marks"]))
    return f"<td><small>{row['date']:%m-%d}</small>{signs}</td>"


@cache
def _signs() -> dict[str, str]:
    """The signs of the calendar as HTML."""
    return {
        mark: f'<b class="{of["style"]}">{of["sign"]}</b>' if of["style"] else of["sign"]
        for mark, of in signs().items()
    }


@cache
def _legend() -> str:
    """What the signs of the calendar mean, as HTML."""
    return " &nbsp; ".join(
        f'<span class="calendar">{sign}</span> {bilingual(labels("marks")[mark])}'
        for mark, sign in _signs().items()
    )


def anchor(term: str) -> str:
    """The name of a definition in addresses."""
    return re.sub(r"[^a-z0-9]+", "-", term.lower()).strip("-")


def render(language: Language, school: str, variables: Mapping[str, Any]) -> str:
    """The page of these variables."""
    defaults = {"facts": (), "sections": (), "definitions": (), "root": "", "has_board": False}
    return page_template(HERE).render(
        t=texts(SITE), bilingual=bilingual, language=language, school=school, **(defaults | dict(variables))
    )


def crumb(words: Words | str, href: str = "") -> dict[str, Any]:
    """A step of the path to a page."""
    return {"words": untranslated(words) if isinstance(words, str) else words, "href": href}
