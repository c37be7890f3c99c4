"""The cells of sections as HTML, and what the template draws of rows: calendars and line charts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from itertools import groupby
from math import isfinite
from typing import Any
from urllib.parse import quote

from markupsafe import Markup, escape

from exports.library.words import label_of, labels
from exports.pages.render import SAME_TEXTS, Table, bilingual
from exports.pages.sections import (
    Field,
    Layout,
    Line,
    Pages,
    Row,
    Section,
    column_of_language,
)
from exports.spreadsheet.sheets import Words
from warehouse.rounding import half_up

NUMBERS = ("integer", "decimal", "percent")
CHINESE = re.compile(r"[\u4e00-\u9fff]")
#: Pixels of a line chart, and of its margins for labels.
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 190, 44, 12, 10, 26
#: Labels along the axis at most, so that they do not overlap.
MOST_LABELS = 12


@dataclass(frozen=True)
class Links:
    """The pages that a page may link to."""

    pages: Pages
    #: The path from the page to the root of the site.
    root: str


def table_of(layout: Layout, rows: Sequence[Row], links: Links, most: int = 0) -> Table:
    """The table of a section. `most`: the rows that are shown before a reader asks for all; 0: all."""
    section = layout.section
    fields = [
        field
        for field in layout.fields
        if field.name not in section.optional or any(row[field.name] is not None for row in rows)
    ]
    groups = [(words, len(list(group))) for words, group in groupby(fields, key=lambda field: field.heading)]
    return Table(
        labels=[(field.name, field.label, _style(field)) for field in fields],
        body=_body(section, fields, rows, links),
        headings=[(words or Words("", ""), width) for words, width in groups if any(dict(groups))],
        is_searched=section.is_searched,
        is_newest_last=section.is_newest_last,
        has_wide=any(field.is_wide for field in fields),
        most=most,
    )


def _body(section: Section, fields: Sequence[Field], rows: Sequence[Row], links: Links) -> Markup:
    """The rows of a table. Many cells: put together as text, each value of it escaped."""
    searched = [field for field in fields if section.is_searched and field.kind == "text" and not field.words]
    attributes = {f"data-{name}": f"_{column}" for name, column in section.attributes.items()}
    orders = {field.name: _order(field, rows) for field in fields}
    return Markup(
        "\n".join(
            f"<tr{_find(searched, row)}"
            f"{''.join(_attribute(name, row[key]) for name, key in attributes.items())}>"
            f"{''.join(_cell(field, row, links, orders[field.name]) for field in fields)}</tr>"
            for row in rows
        )
    )


def _order(field: Field, rows: Sequence[Row]) -> dict[str, int]:
    """The position of each code or text when the column is sorted. Empty: the script sorts by the values.

    Codes are in the order of words.yml. Texts in two languages are in the order of the Chinese texts: an
    English text of a lesson begins with the weekday."""
    values = [*field.words]
    if field.is_pair:
        chinese = column_of_language(field.name, "zh")
        texts = {row[field.name]: row[chinese] or row[field.name] for row in rows if row[field.name]}
        values = sorted(texts, key=lambda text: _natural(texts[text]))
    return {value: position for position, value in enumerate(values)}


def _natural(text: str) -> list[str]:
    """The key that sorts texts by the numbers in them."""
    return [run.zfill(9) if run.isdecimal() else run for run in re.split(r"(\d+)", text)]


def _attribute(name: str, value: Any) -> str:
    return f' {name}="{escape("" if value is None else value)}"'


def _find(fields: Sequence[Field], row: Row) -> str:
    """The attribute with the pinyin by which a search finds a row; empty: the row has no Chinese names."""
    texts = [row[field.name] for field in fields if not field.is_pair]
    readings = " ".join(filter(None, (pinyin_of(text) for text in texts if isinstance(text, str))))
    return _attribute("data-find", readings) if readings else ""


@lru_cache(SAME_TEXTS)
def pinyin_of(text: str) -> str:
    """The initials and the syllables of a Chinese text: a search finds 张伟 by zw, zhangwei or zhang. Empty:
    the text has no Chinese characters."""
    if not CHINESE.search(text):
        return ""
    # Loading its tables takes a tenth of a second.
    from pypinyin import lazy_pinyin

    syllables = lazy_pinyin(text, errors="ignore")
    return f"{''.join(syllable[0] for syllable in syllables)} {''.join(syllables)}"


def heading_facts(layout: Layout, row: Row, links: Links) -> list[dict[str, Any]]:
    """The facts below a page's title. Facts that are not known are left out. A number of students links to
    the list below that has them."""
    facts = []
    for field in layout.fields:
        if row[field.name] is not None:
            cell = _content(field, row, links)
            if field.name in layout.section.narrows and row[field.name]:
                level = quote(label_of(field.name, "levels").zh)
                cell = f'<a href="#{layout.section.narrows[field.name]}.level={level}">{cell}</a>'
            facts.append({"label": field.label, "cell": Markup(cell)})
    return facts


def _cell(field: Field, row: Row, links: Links, order: Mapping[str, int]) -> str:
    """A cell. `order`: the positions of the column's texts when the column is sorted."""
    value, inside, style = row[field.name], _content(field, row, links), _style(field)
    if field.name == "level" and value in labels("levels"):
        style = value
    attributes = f' class="{style}"' if style else ""
    if isinstance(value, str) and value in order:
        attributes += f' data-sort="{order[value]}"'
    return f"<td{attributes}>{inside}</td>"


def _style(field: Field) -> str:
    """The class of the field's cells in page.css; empty: none."""
    if field.kind in NUMBERS:
        return "n"
    return "wide" if field.is_wide else "date" if field.kind == "date" else ""


def _content(field: Field, row: Row, links: Links) -> str:
    """What a cell shows, as HTML."""
    value = row[field.name]
    if value is None or (isinstance(value, float) and not isfinite(value)):
        return "—"
    if field.is_pair:
        return bilingual(Words(value, row[column_of_language(field.name, "zh")] or value))
    if isinstance(value, Words):
        inside: str = bilingual(value)
    elif isinstance(value, str):
        inside = bilingual(field.words[value]) if value in field.words else _escaped(value)
    else:
        inside = _text(field, value)
    if field.link and (key := row[f"_{field.link[1]}"]) in links.pages.get(field.link[0], ()):
        return f'<a href="{links.root}{field.link[0]}/{key}.html">{inside}</a>'
    return inside


@lru_cache(SAME_TEXTS)
def _escaped(text: str) -> str:
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


def calendar_of(rows: Sequence[Row]) -> dict[str, Any]:
    """The weekdays with lessons, and the rows of each week by weekday."""
    weeks: dict[int, dict[int, Row]] = {}
    for row in rows:
        week = row["week"] if row["week"] is not None else row["date"].isocalendar().week
        weeks.setdefault(week, {})[row["weekday"]] = row
    return {"days": sorted({row["weekday"] for row in rows}), "weeks": weeks}


def line_chart(layout: Layout, line: Line, rows: Sequence[Row]) -> dict[str, Any] | None:
    """The lines of the rows over their order, in pixels. None: fewer than two values make no line."""
    values = {name: [row[name] for row in rows] for name in line.values}
    numbers = [float(value) for series in values.values() for value in series if value is not None]
    if len(rows) < 2 or len(numbers) < 2:
        return None
    low, high = _ends(min(numbers), max(numbers))

    def x(index: int) -> str:
        return f"{LEFT + (WIDTH - LEFT - RIGHT) * index / (len(rows) - 1):.1f}"

    def y(value: Any) -> str:
        return f"{TOP + (HEIGHT - TOP - BOTTOM) * (high - float(value)) / (high - low):.1f}"

    words = {field.name: field.label for field in layout.fields}
    lines = [
        (
            words[name],
            "L".join(f"{x(index)} {y(value)}" for index, value in enumerate(series) if value is not None),
        )
        for name, series in values.items()
    ]
    return {
        "size": (WIDTH, HEIGHT, LEFT, RIGHT),
        "grid": [(y(tick), f"{tick:g}") for tick in (low, (low + high) / 2, high)],
        "axis": [(x(i), rows[i][line.along]) for i in range(0, len(rows), -(-len(rows) // MOST_LABELS))],
        # The first line is drawn last, above the others.
        "lines": [(number, *drawn) for number, drawn in reversed(list(enumerate(lines))) if drawn[1]],
        "alt": f"{layout.section.name.zh} {layout.section.name.en}",
    }


def _ends(low: float, high: float) -> tuple[float, float]:
    """Round ends of the axis around the values."""
    step = 1 if high - low < 8 else 5 if high - low < 40 else 20
    ends = (low // step * step, -(-high // step) * step)
    return ends if ends[0] < ends[1] else (ends[0] - step, ends[1] + step)
