"""How cells look: formats by kind, widths by content."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from xlsxwriter import Workbook
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from exports.columns import Shown

#: In every Windows, and in Excel for the Mac; elsewhere a program takes its own font that has Chinese.
FONT, FONT_SIZE = "Microsoft YaHei", 11
#: Of a workbook that is made: xlsxwriter counts rows and columns in pixels of this font.
DEFAULTS = {
    "default_format_properties": {"font_name": FONT, "font_size": FONT_SIZE, "font_scheme": "none"},
    "default_row_height": 21,
    "default_column_width": 72,
}
#: Pixels of a digit of that font, and of what is left free beside a cell's text; points of a pixel.
DIGIT, PADDING, PIXEL = 8, 5, 0.75
#: Characters. Longer text is wrapped; a label is wrapped to so many lines, if its words allow it.
WIDEST, LABEL_LINES = 60, 2
#: Excel's number of the size of paper, and the characters that a heading of a page may have.
A4, PAGE_HEADING = 9, 240
#: Inches of the margins; pixels between them on the short and the long side of A4.
MARGINS = {"left": 0.4, "right": 0.4, "top": 0.6, "bottom": 0.5}
UPRIGHT, LENGTHWISE = 717, 1045
#: What a page may be made smaller to, so that 11 points are 10 at least, whose font is a little wider, too.
SMALLEST = 0.92
#: By how much the font of another program may be wider: a digit has 9 pixels there.
WIDER_FONT = 1.15
#: What a page may be made smaller to where that keeps a class on its page: 8 points.
SMALLEST_OF_CLASS = 0.73
#: Points of a line of text, and how many lines the tallest row has.
LINE_HEIGHT, MOST_LINES = 15.75, 25
#: Points below a label, where the arrow of its filter is.
ARROW = 14
#: Widths of what is written in one way only.
FIXED_WIDTHS = {"date": 10, "datetime": 19, "time": 8, "boolean": 6}
#: What stays on one line when text is wrapped: a word, or one character of a script without spaces.
PIECE = re.compile(r"[^\s\u2e80-\uffef]+\s*|[\u2e80-\uffef]|\s+")
#: Digits behind the point that are shown; all are kept.
PLACES = 2

HEADER = {
    "bold": True, "bg_color": "#DCE6F1", "border": 1, "border_color": "#A6A6A6",
    "text_wrap": True, "align": "center", "valign": "top",
}  # fmt: skip
#: A line below each row, which leads the eye on paper.
CELL = {"valign": "top", "bottom": 1, "bottom_color": "#D9D9D9"}


@dataclass(frozen=True)
class Paper:
    """How a table lies on A4: lengthwise or upright, on how many `pages` side by side; `width` in pixels and
    `height` in points are what one page has room for at `scale`."""

    lengthwise: bool
    pages: int
    width: float
    height: float
    scale: float


class Styles:
    """The formats of one workbook. A file has each format once, however many cells use it."""

    def __init__(self, book: Workbook) -> None:
        self._add = cache(lambda *properties: book.add_format(dict(properties)))

    def cell(self, column: Shown) -> Format:
        """The format of a column's cells."""
        aligned = {"align": "center"} if column.kind in FIXED_WIDTHS else {}
        return self.of(**CELL, **aligned, num_format=number_format(column), text_wrap=column.wraps)

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
    if column.kind == "decimal" and column.places is None and not column.signed:
        return "General"
    places = PLACES if column.places is None else min(column.places, PLACES)
    decimals = f".{'0' * places}" if places else ""
    number = f"0{decimals}%" if column.kind == "percent" else f"#,##0{decimals}"
    return f"+{number};-{number};{number}" if column.signed else number


def fitted(column: Shown, values: Sequence[Any]) -> Shown:
    """The column as wide as its label and some of its values, as cells have them; wrapped where they are
    wider, or have lines of their own."""
    pieces = [text_width(piece.rstrip()) for piece in PIECE.findall(column.label)]
    label = max([*pieces, -(-text_width(column.label) // LABEL_LINES)]) + 1
    widest = max((_width(column, value) for value in values), default=0)
    width = column.width or max(label, min(WIDEST, widest))
    has_lines = any(isinstance(value, str) and "\n" in value for value in values)
    return replace(column, width=width, wraps=widest > width or has_lines)


def widened(columns: Sequence[Shown]) -> list[Shown]:
    """The columns so wide that they fill a page lengthwise, where figures have room above them."""
    missing = LENGTHWISE - sum(pixels(column.width) for column in columns)
    more = max(missing // len(columns), 0) / DIGIT
    return [replace(column, width=column.width + more) for column in columns]


def filled(columns: Sequence[Shown], name: str) -> list[Shown]:
    """The columns with this one as wide as the others leave room on an upright page."""
    others = sum(pixels(column.width) for column in columns if column.name != name)
    width = max((UPRIGHT / SMALLEST - others - PADDING) // DIGIT, 1)
    return [replace(column, width=width, wraps=True) if column.name == name else column for column in columns]


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


def shown_as(column: Shown, value: Any) -> str:
    """A value that is no date, as its cell shows it."""
    if value is None or isinstance(value, str):
        return column.words.get(value or "", value or "")
    places = PLACES if column.places is None else min(column.places, PLACES)
    sign = "+" if column.signed else ""
    return f"{value:{sign}.{places}%}" if column.kind == "percent" else f"{value:{sign},.{places}f}"


def _width(column: Shown, value: Any) -> float:
    if value is None:
        return 0
    if column.kind in FIXED_WIDTHS and not isinstance(value, str):
        return FIXED_WIDTHS[column.kind] + 1
    return text_width(shown_as(column, value)) + (1 if isinstance(value, str) else 0.5)


def pixels(width: float) -> int:
    """Of a column that is so many characters wide."""
    return round(width * DIGIT) + PADDING


def paper_for(widths: Sequence[float], repeated: int = 0) -> Paper:
    """The paper for columns of these widths in characters: upright where that has room for them.
    `repeated`: so many of the first are on each of the pages that are side by side."""
    whole = sum(map(pixels, widths))
    again = sum(map(pixels, widths[:repeated]))
    lengthwise = whole * SMALLEST > UPRIGHT
    across, down = (LENGTHWISE, UPRIGHT) if lengthwise else (UPRIGHT, LENGTHWISE)
    room = across / SMALLEST
    pages = 1 if whole <= room else math.ceil((whole - again) / max(room - again, room / 2))
    # A program makes pages side by side no smaller than it must, so the first may have room for less.
    smaller = min(1.0, across / whole) if pages == 1 else WIDER_FONT
    height = down * PIXEL - 72 * (MARGINS["top"] + MARGINS["bottom"] - MARGINS["left"] - MARGINS["right"])
    return Paper(lengthwise, pages, across / smaller, height / smaller, smaller)


def set_page(worksheet: Worksheet, heading: str, paper: Paper, tallest: float = 0) -> None:
    """Set a worksheet up for printing on this paper, what it is above, and the number of the page below.
    `tallest`: points of the highest part that is to be on one page."""
    if paper.lengthwise:
        worksheet.set_landscape()
    worksheet.set_paper(A4)
    scale = paper.scale * paper.height / tallest if tallest > paper.height and paper.pages == 1 else 1.0
    if SMALLEST_OF_CLASS <= scale < 1:
        worksheet.set_print_scale(int(100 * scale))
    else:
        worksheet.fit_to_pages(paper.pages, 0)
    worksheet.set_margins(**MARGINS)
    text, look = heading.replace("&", "&&"), f'&"{FONT},Regular"&10 '
    worksheet.set_header(f"&L{look}{text}&R{look}&A" if len(text) <= PAGE_HEADING else f"&R{look}&A")
    worksheet.set_footer(f"&C{look}&P / &N")
