"""How cells look: formats by kind, widths by content."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import Any

from xlsxwriter import Workbook
from xlsxwriter.format import Format

from warehouse.exports.columns import Shown

#: Characters. Longer text is wrapped; a label is, from a third of that on.
WIDEST, WIDEST_LABEL = 60, 20
#: What the arrow of a filter takes of a label's cell.
ARROW = 3
#: Widths of what is written in one way only.
FIXED_WIDTHS = {"date": 10, "datetime": 19, "time": 8, "boolean": 6}
#: Digits behind the point that are shown; all are kept.
PLACES = 2

HEADER = {"bold": True, "bg_color": "#DCE6F1", "border": 1, "border_color": "#A6A6A6", "text_wrap": True}


class Styles:
    """The formats of one workbook. A file has each format once, however many cells use it."""

    def __init__(self, book: Workbook) -> None:
        self._add = cache(lambda *properties: book.add_format(dict(properties)))

    def cell(self, column: Shown, *, wrap: bool = False) -> Format:
        """The format of a column's cells."""
        properties = {"valign": "top", "num_format": number_format(column)}
        return self.of(**properties, **({"text_wrap": True} if wrap else {}))

    def of(self, **properties: Any) -> Format:
        """The format with these properties, in xlsxwriter's words."""
        return self._add(*sorted(properties.items()))


def number_format(column: Shown) -> str:
    """The number format of a column, in Excel's words. Text is `@`, which keeps it text when it is edited."""
    fixed = {
        "integer": "#,##0" if column.counted else "0",
        "date": "yyyy-mm-dd",
        "datetime": "yyyy-mm-dd hh:mm:ss",
        "time": "hh:mm:ss",
        "boolean": "General",
        "text": "@",
        "link": "@",
    }
    if column.kind in fixed:
        return fixed[column.kind]
    places = PLACES if column.places is None else min(column.places, PLACES)
    decimals = f".{'0' * places}" if places else ""
    return f"0{decimals}%" if column.kind == "percent" else f"#,##0{decimals}"


def width_of(column: Shown, values: Sequence[Any]) -> float:
    """Characters that a column takes, by its label and some of its values as cells have them."""
    label = min(text_width(column.label), WIDEST_LABEL) + ARROW
    return column.width or max(
        label, min(WIDEST, max((_width(column, value) for value in values), default=0))
    )


def text_width(text: str) -> int:
    """Characters of the longest line; a Chinese one counts two."""
    wide = ("W", "F")
    lines = text.splitlines() or [""]
    return max(sum(2 if unicodedata.east_asian_width(char) in wide else 1 for char in line) for line in lines)


def _width(column: Shown, value: Any) -> int:
    if value is None:
        return 0
    if isinstance(value, str):
        return text_width(column.words.get(value, value)) + 1
    if column.kind in FIXED_WIDTHS:
        return FIXED_WIDTHS[column.kind] + 1
    places = PLACES if column.places is None else min(column.places, PLACES)
    return len(f"{value:.{places}%}" if column.kind == "percent" else f"{value:,.{places}f}") + 1
