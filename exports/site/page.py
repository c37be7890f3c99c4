"""Turns the rows of sections into pages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from itertools import groupby
from math import isfinite
from pathlib import Path
from typing import Any

import duckdb
from markupsafe import Markup, escape

from exports.site.drawing import line_chart
from exports.site.sections import PageKind, Pages, Section
from exports.site.students import STATUSES
from exports.source import Origin
from exports.spreadsheet.columns import sheet_columns
from exports.spreadsheet.sheets import LANGUAGES, Definition, Kind, Language, Sheet, Words
from exports.templates import page_template
from exports.workbooks.terms import LEVELS, WEEKDAYS, untranslated
from warehouse.rounding import half_up

HERE = Path(__file__).parent
Row = Mapping[str, Any]

TEXTS = {
    "board": Words("Board: figures and charts of the school", "全校看板：指标与图表"),
    "as_of": Words("Data as of", "数据截至"),
    "defined": Words("Defined:", "定义："),
    "search": Words("Search", "查找"),
    "skip": Words("Skip to the content", "跳到正文"),
    "where": Words("You are here", "当前位置"),
    "footer": Words("“—” means not known, or nothing recorded.", "“—”表示未知或无记录。"),
}
NOTHING = Words("Nothing recorded.", "暂无记录。")
NOT_KNOWN = Words("Not known, because it was never loaded whole: {}.", "数据暂缺（尚未完整加载）：{}。")
DEFINITIONS = Words("Definitions", "定义")
#: The signs of the calendar, each with its class and its meaning.
SIGNS = {
    "present": ("·", "", Words("Present", "出勤")),
    "absent": ("×", "a", STATUSES["absent"]),
    "leave": ("○", "v", STATUSES["leave"]),
    "late": ("△", "l", STATUSES["late"]),
    "early_left": ("▽", "e", STATUSES["early_left"]),
}
NUMBERS = ("integer", "decimal", "percent")
WEEK = Words("Week", "周次")
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


@dataclass(frozen=True)
class Layout:
    """A section with its fields, read once for all pages."""

    section: Section
    fields: tuple[Field, ...]
    #: Said where a page has no rows.
    nothing: Words
    #: Links to its definitions.
    terms: tuple[Mapping[str, Any], ...]


def layout_of(
    con: duckdb.DuckDBPyConnection, section: Section, origin: Origin, terms: Mapping[str, Definition]
) -> Layout:
    """Read the labels and kinds of a section's columns from the published file. `terms`: the definitions of
    the site by anchor."""
    sheet = shown_sheet(con, section, origin, "en")
    parameters = parameters_of(sheet.query, origin, ())
    zh, en = (sheet_columns(con, sheet, parameters, code) for code in LANGUAGES)
    fields = tuple(
        Field(
            name=own.name,
            label=Words(own.label, other.label),
            heading=Words(own.groups[0], other.groups[0]) if own.groups else None,
            kind=own.kind,
            places=2 if own.places is None else min(own.places, 2),
            signed=own.signed,
            words={code: bilingual(Words(own.words[code], other.words[code])) for code in own.words},
            link=section.links.get(own.name),
            is_pair=own.name.endswith("_en"),
        )
        for own, other in zip(en, zh, strict=True)
    )
    never = origin.not_loaded(sheet.sources)
    nothing = Words(NOT_KNOWN.en.format(never.en), NOT_KNOWN.zh.format(never.zh)) if never else NOTHING
    own_terms = tuple({"words": terms[name].term, "anchor": name} for name in map(anchor, section.terms))
    return Layout(section, fields, nothing, own_terms)


def shown_sheet(
    con: duckdb.DuckDBPyConnection, section: Section, origin: Origin, language: Language
) -> Sheet:
    """The sheet of a section without the columns that are not shown: keys, and of a pair of columns x_en and
    x_zh the text of the other language."""
    sheet = section.sheet
    description = con.execute(
        f"SELECT * FROM ({sheet.query}) LIMIT 0", origin.parameters(sheet.query)
    ).description
    names = [name for name, *_ in description]
    omitted = {"zh": "_en", "en": "_zh"}[language]
    pairs = [name for name in names if name.endswith("_en") and f"{name.removesuffix('_en')}_zh" in names]
    dropped = {name for name in names if name == "page" or name.startswith("_")}
    dropped |= {f"{name.removesuffix('_en')}{omitted}" for name in pairs}
    columns = dict(sheet.columns) | {
        f"{name.removesuffix('_en')}_zh": sheet.columns[name] for name in pairs if name in sheet.columns
    }
    query = f"SELECT * EXCLUDE ({', '.join(sorted(dropped))}) FROM ({sheet.query})"
    return replace(sheet, query=query, columns=columns)


def parameters_of(query: str, origin: Origin, pages: Sequence[str]) -> dict[str, Any]:
    """The parameters that a query uses. DuckDB refuses others."""
    return replace(origin, pages=tuple(pages)).parameters(query)


def section_of(layout: Layout, rows: Sequence[Row], pages: Pages, root: str) -> dict[str, Any]:
    """A section as the template shows it."""
    section = layout.section
    if section.lists is not None:
        key = dict(section.links.values())[section.lists]
        rows = [row for row in rows if row[key] in pages[section.lists]]
    fields = [
        field
        for field in layout.fields
        if field.name not in section.optional or any(row[field.name] is not None for row in rows)
    ]
    return {
        "name": section.sheet.name,
        "about": section.sheet.about,
        "nothing": None if rows else layout.nothing,
        "chart": _chart(layout, rows),
        "calendar": _calendar(rows) if section.is_calendar and rows else None,
        "is_searched": section.is_searched,
        "groups": _headings(fields),
        "labels": [{"words": field.label, "is_number": field.kind in NUMBERS} for field in fields],
        "body": None if section.is_calendar else _body(fields, rows, pages, root),
        "terms": layout.terms,
    }


def _body(fields: Sequence[Field], rows: Sequence[Row], pages: Pages, root: str) -> Markup:
    """The rows of a table. Many cells: put together as text, each part of it escaped."""
    return Markup(
        "\n".join(f"<tr>{''.join(_cell(field, row, pages, root) for field in fields)}</tr>" for row in rows)
    )


def facts_of(layout: Layout, row: Row, pages: Pages, root: str) -> list[dict[str, Any]]:
    """The facts below a page's title. Facts that are not known are left out."""
    return [
        {"label": field.label, "cell": Markup(_content(field, row, pages, root))}
        for field in layout.fields
        if row[field.name] is not None
    ]


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
    if field.name == "level" and value in LEVELS:
        return f'<td class="{value}">{inside}</td>'
    return f'<td class="n">{inside}</td>' if field.kind in NUMBERS else f"<td>{inside}</td>"


def _content(field: Field, row: Row, pages: Pages, root: str) -> str:
    """What a cell shows, as HTML."""
    value = row[field.name]
    if value is None or (isinstance(value, float) and not isfinite(value)):
        return "—"
    if field.is_pair:
        return bilingual(Words(value, row[field.name.removesuffix("_en") + "_zh"] or value))
    inside = field.words.get(value) or _escaped(value) if isinstance(value, str) else _text(field, value)
    if field.link and row[field.link[1]] in pages.get(field.link[0], ()):
        return f'<a href="{root}{field.link[0]}/{row[field.link[1]]}.html">{inside}</a>'
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
    name = layout.section.sheet.name
    return Markup(line_chart(line, rows, legend, f"{name.zh} {name.en}"))


def _calendar(rows: Sequence[Row]) -> Markup:
    """A row a week, a column a weekday, and a sign for each lesson."""
    days = sorted({row["weekday"] for row in rows})
    weeks: dict[int, dict[int, Row]] = {}
    for row in rows:
        week = row["week"] if row["week"] is not None else row["date"].isocalendar().week
        weeks.setdefault(week, {})[row["weekday"]] = row
    head = "".join(f'<th scope="col">{bilingual(WEEKDAYS[day])}</th>' for day in days)
    body = "\n".join(
        f'<tr><th scope="row">{week}</th>{"".join(_day(own.get(day)) for day in days)}</tr>'
        for week, own in weeks.items()
    )
    return Markup(
        f'<p class="hint">{LEGEND}</p><div class="scroll" tabindex="0"><table class="calendar"><thead><tr>'
        f'<th scope="col">{bilingual(WEEK)}</th>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _day(row: Row | None) -> str:
    if row is None:
        return "<td></td>"
    signs = "".join(map(SIGN_OF.__getitem__, row["_marks"]))
    return f"<td><small>{row['date']:%m-%d}</small>{signs}</td>"


def anchor(term: str) -> str:
    """The name of a definition in addresses."""
    return re.sub(r"[^a-z0-9]+", "-", term.lower()).strip("-")


def render(language: Language, school: str, variables: Mapping[str, Any]) -> str:
    """The page of these variables."""
    defaults = {"facts": (), "sections": (), "definitions": (), "root": "", "has_board": False}
    return page_template(HERE).render(
        t=TEXTS, bilingual=bilingual, language=language, school=school, **(defaults | dict(variables))
    )


def crumb(words: Words | str, href: str = "") -> dict[str, Any]:
    """A step of the path to a page."""
    return {"words": untranslated(words) if isinstance(words, str) else words, "href": href}


#: Of the calendar, as HTML.
SIGN_OF = {mark: f'<b class="{name}">{sign}</b>' if name else sign for mark, (sign, name, _) in SIGNS.items()}
LEGEND = " &nbsp; ".join(
    f'<span class="calendar">{SIGN_OF[mark]}</span> {bilingual(words)}' for mark, (*_, words) in SIGNS.items()
)
