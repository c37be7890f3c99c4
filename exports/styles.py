"""How cells look: formats by kind, widths by content."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from xlsxwriter import Workbook
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from exports.columns import Shown

#: Characters. Longer text is wrapped; a label is wrapped to so many lines, if its words allow it.
WIDEST, LABEL_LINES = 60, 3
#: Excel's number of the size of paper, and the characters that a heading of a page may have.
A4, PAGE_HEADING = 9, 240
#: Characters across a page that can still be read.
PAGE_WIDTH = 260
#: Points of a line of text, and how many lines the tallest row has.
LINE_HEIGHT, MOST_LINES = 15, 27
#: What the arrow of a filter takes of a label's cell.
ARROW = 3
#: Widths of what is written in one way only.
FIXED_WIDTHS = {"date": 10, "datetime": 19, "time": 8, "boolean": 6}
#: What stays on one line when text is wrapped: a word, or one character of a script without spaces.
PIECE = re.compile(r"[^\s\u2e80-\uffef]+\s*|[\u2e80-\uffef]|\s+")
#: Digits behind the point that are shown; all are kept.
PLACES = 2

HEADER = {
    "bold": True, "bg_color": "#DCE6F1", "border": 1, "border_color": "#A6A6A6",
    "text_wrap": True, "align": "center", "valign": "vcenter",
}  # fmt: skip


class Styles:
    """The formats of one workbook. A file has each format once, however many cells use it."""

    def __init__(self, book: Workbook) -> None:
        self._add = cache(lambda *properties: book.add_format(dict(properties)))

    def cell(self, column: Shown) -> Format:
        """The format of a column's cells."""
        return self.of(valign="top", num_format=number_format(column), text_wrap=column.wraps)

    def heading(self, *, joins_above: bool = False, joins_below: bool = False) -> Format:
        """The format of a cell of the header; without a line to a neighbour that it belongs to."""
        open_sides = {"top": 0} if joins_above else {}
        return self.of(**HEADER, **open_sides, **({"bottom": 0} if joins_below else {}))

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
        "boolean": '"TRUE";;"FALSE"',
        "text": "@",
        "link": "@",
    }
    if column.kind in fixed:
        return fixed[column.kind]
    if column.kind == "decimal" and column.places is None:
        return "General"
    places = PLACES if column.places is None else min(column.places, PLACES)
    decimals = f".{'0' * places}" if places else ""
    return f"0{decimals}%" if column.kind == "percent" else f"#,##0{decimals}"


def fitted(column: Shown, values: Sequence[Any]) -> Shown:
    """The column as wide as its label and some of its values, as cells have them; wrapped where they are
    wider, or have lines of their own."""
    pieces = [text_width(piece.rstrip()) for piece in PIECE.findall(column.label)]
    label = max([*pieces, -(-text_width(column.label) // LABEL_LINES)]) + ARROW
    widest = max((_width(column, value) for value in values), default=0)
    width = column.width or max(label, min(WIDEST, widest))
    has_lines = any(isinstance(value, str) and "\n" in value for value in values)
    return replace(column, width=width, wraps=widest > width or has_lines)


def height_of(text: str, width: float) -> float:
    """Points that a text takes, wrapped to a width in characters, as far as a row can have them."""
    lines = 0
    for line in text[: int(width) * MOST_LINES].splitlines() or [""]:
        lines, used = lines + 1, 0
        for piece in PIECE.findall(line):
            if used and used + text_width(piece.rstrip()) > width:
                lines, used = lines + 1, 0
            used += text_width(piece)
    return min(lines, MOST_LINES) * LINE_HEIGHT


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


def set_page(worksheet: Worksheet, heading: str, width: float = 0) -> None:
    """Set a worksheet of a width in characters up for printing: as wide as a page, or as few pages as can be
    read, with what it is above and the number of the page below."""
    worksheet.set_landscape()
    worksheet.set_paper(A4)
    worksheet.fit_to_pages(max(1, math.ceil(width / PAGE_WIDTH)), 0)
    worksheet.set_margins(left=0.4, right=0.4, top=0.7, bottom=0.6)
    text = heading.replace("&", "&&")
    worksheet.set_header(f"&L{text}&R&A" if len(text) <= PAGE_HEADING else "&R&A")
    worksheet.set_footer("&C&P / &N")
