"""Formats of cells, widths of columns, and page layout."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from xlsxwriter import Workbook
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from exports.library.words import content_of
from exports.spreadsheet.columns import SheetColumn
from warehouse.rounding import half_up

#: Part of every Windows, and of Excel for the Mac. Elsewhere programs use their own Chinese font.
FONT, FONT_SIZE = "Microsoft YaHei", 11
#: The defaults of a workbook. xlsxwriter counts rows and columns in pixels of this font.
DEFAULTS = {
    "default_format_properties": {"font_name": FONT, "font_size": FONT_SIZE, "font_scheme": "none"},
    "default_row_height": 21,
    "default_column_width": 72,
}
#: Pixels of a digit of that font, pixels beside a cell's text, and points of a pixel.
DIGIT, PADDING, PIXEL = 8, 5, 0.75
#: The greatest width in characters, beyond which text wraps, and the lines of a label if its words allow it.
WIDEST, LABEL_LINES = 60, 2
#: Excel's number of the paper size, and the longest heading of a page.
A4, PAGE_HEADING = 9, 240
#: The margins in inches, and the pixels between them on the short and the long side of A4.
MARGINS = {"left": 0.4, "right": 0.4, "top": 0.6, "bottom": 0.5}
UPRIGHT, LENGTHWISE = 717, 1045
#: The smallest scale of a page: 11 points stay at least 10 points, also in a wider font.
SMALLEST = 0.92
#: The greatest width of another program's font, relative to this font: a digit of DejaVu Sans has 9.3 pixels.
WIDER_FONT = 1.18
#: The smallest scale of a page that keeps a class on one page: 8 points.
SMALLEST_OF_CLASS = 0.73
#: The smallest scale in percent of a sheet on one page, and the points of its head and header.
SMALLEST_ON_ONE_PAGE, HEAD_OF_PAGE = 50, 130
#: Points of a line of text, and lines of the tallest row.
LINE_HEIGHT, MOST_LINES = 15.75, 25
#: Points below a label, for the arrow of its filter.
ARROW = 14
#: Widths of kinds with a fixed format.
FIXED_WIDTHS = {"date": 10, "datetime": 19, "time": 8, "boolean": 6}
#: The pieces between which text wraps: words, or single characters of a script without spaces.
PIECE = re.compile(r"[^\s\u2e80-\uffef]+\s*|[\u2e80-\uffef]|\s+")
#: Decimals that are shown. Cells hold all decimals.
PLACES = 2

CONTENT = content_of("formats", Path(__file__).parent)


@dataclass(frozen=True)
class Paper:
    """The layout of a table on A4."""

    lengthwise: bool
    #: Pages side by side.
    pages: int
    #: The room of a page at `scale`: width in pixels, height in points.
    width: float
    height: float
    scale: float
    #: The scale at which a wider font fits, too.
    safe_scale: float


class Styles:
    """The formats of one workbook. A file stores each format once."""

    def __init__(self, book: Workbook) -> None:
        self._add = cache(lambda *properties: book.add_format(dict(properties)))

    def cell(self, column: SheetColumn) -> Format:
        """The format of a column's cells."""
        aligned = {"align": "center"} if column.kind in FIXED_WIDTHS else {}
        return self.named("cell", **aligned, num_format=number_format(column), text_wrap=column.wraps)

    def heading(self, *, joins_above: bool = False, joins_below: bool = False) -> Format:
        """The format of a header cell, without a line to a cell that it joins."""
        open_sides = {"top": 0} if joins_above else {}
        return self.named("header", **open_sides, **({"bottom": 0} if joins_below else {}))

    def named(self, name: str, **properties: Any) -> Format:
        """A format of formats.yml, with further properties."""
        return self.of(**CONTENT["formats"][name], **properties)

    def of(self, **properties: Any) -> Format:
        """The format with these properties, in xlsxwriter's words."""
        return self._add(*sorted(properties.items()))


def number_format(column: SheetColumn) -> str:
    """Excel's number format of a column."""
    fixed: Mapping[str, str] = CONTENT["number_formats"]
    if column.kind in fixed:
        return fixed[column.kind]
    if column.kind == "integer":
        return "#,##0" if column.has_unit else "0"
    if column.kind == "decimal" and column.places is None and not column.signed:
        return "General"
    places = PLACES if column.places is None else min(column.places, PLACES)
    decimals = f".{'0' * places}" if places else ""
    number = f"0{decimals}%" if column.kind == "percent" else f"#,##0{decimals}"
    return f"+{number};-{number};{number}" if column.signed else number


def fitted(column: SheetColumn, values: Sequence[Any]) -> SheetColumn:
    """The column with a width for its label and for sample values of its cells. Wider values and values of
    several lines wrap."""
    pieces = [text_width(piece.rstrip()) for piece in PIECE.findall(column.label)]
    label = max([*pieces, -(-text_width(column.label) // LABEL_LINES)]) + 1
    widest = max((_width(column, value) for value in values), default=0)
    width = column.width or max(label, min(WIDEST, widest))
    has_lines = any(isinstance(value, str) and "\n" in value for value in values)
    return replace(column, width=width, wraps=widest > width or has_lines)


def widened(columns: Sequence[SheetColumn]) -> list[SheetColumn]:
    """The columns widened to fill a lengthwise page, which has room for figures above them."""
    missing = LENGTHWISE - sum(pixels(column.width) for column in columns)
    added = max(missing // len(columns), 0) / DIGIT
    return [replace(column, width=column.width + added) for column in columns]


def filled(
    columns: Sequence[SheetColumn], name: str, room: float = LENGTHWISE / SMALLEST
) -> list[SheetColumn]:
    """The columns, of which the named column takes the free width of a page. `room`: pixels of the page."""
    used = sum(pixels(column.width) for column in columns if column.name != name)
    width = max((room - used - PADDING) // DIGIT, 1)
    return [replace(column, width=width, wraps=True) if column.name == name else column for column in columns]


def filled_on_one_page(
    columns: Sequence[SheetColumn], name: str, rows: Sequence[Sequence[Any]]
) -> list[SheetColumn]:
    """The columns for an upright page that holds all rows in the largest possible text. The named column
    takes the free width, and wraps."""
    index = next(index for index, column in enumerate(columns) if column.name == name)
    for percent in range(100, SMALLEST_ON_ONE_PAGE, -2):
        fitting = filled(columns, name, UPRIGHT / WIDER_FONT * 100 / percent)
        heights = (height_of(str(row[index] or ""), fitting[index].width) for row in rows)
        if HEAD_OF_PAGE + sum(heights) <= page_height(LENGTHWISE) * 100 / percent:
            break
    return fitting


def height_of(text: str, width: float) -> float:
    """The height in points of a text wrapped to a width in characters, up to the tallest row."""
    lines = 0
    for line in text[: int(width) * MOST_LINES].splitlines() or [""]:
        lines, used = lines + 1, 0
        for piece in PIECE.findall(line):
            if used and used + text_width(piece.rstrip()) > width:
                lines, used = lines + 1, 0
            used += text_width(piece)
    return min(lines, MOST_LINES) * LINE_HEIGHT


def text_width(text: str) -> int:
    """The characters of the longest line. A Chinese character counts two."""
    wide = ("W", "F")
    lines = text.splitlines() or [""]
    return max(sum(2 if unicodedata.east_asian_width(char) in wide else 1 for char in line) for line in lines)


def shown_as(column: SheetColumn, value: Any) -> str:
    """The text that a cell shows for a value, except for dates."""
    if value is None or isinstance(value, str):
        return column.words.get(value or "", value or "")
    places = PLACES if column.places is None else min(column.places, PLACES)
    sign = "+" if column.signed else ""
    if column.kind == "percent":
        return f"{half_up(100 * value, places):{sign}}%"
    return f"{half_up(value, places):{sign},}"


def _width(column: SheetColumn, value: Any) -> float:
    if value is None:
        return 0
    if column.kind in FIXED_WIDTHS and not isinstance(value, str):
        return FIXED_WIDTHS[column.kind] + 1
    return text_width(shown_as(column, value)) + (1 if isinstance(value, str) else 0.5)


def pixels(width: float) -> int:
    """The pixels of a column with this width in characters."""
    return round(width * DIGIT) + PADDING


def paper_for(widths: Sequence[float], repeated: int = 0) -> Paper:
    """The layout for columns of these widths in characters: upright if there is room.

    Args:
        repeated: The number of first columns that every page repeats."""
    whole = sum(map(pixels, widths))
    again = sum(map(pixels, widths[:repeated]))
    lengthwise = whole * SMALLEST > UPRIGHT
    across, down = (LENGTHWISE, UPRIGHT) if lengthwise else (UPRIGHT, LENGTHWISE)
    room = across / SMALLEST
    pages = 1 if whole <= room else math.ceil((whole - again) / max(room - again, room / 2))
    # A program shrinks pages side by side as little as it can, so the first page may have less room.
    smaller = min(1.0, across / whole) if pages == 1 else WIDER_FONT
    safe = min(1.0, across / whole / WIDER_FONT) if pages == 1 else SMALLEST / WIDER_FONT
    return Paper(lengthwise, pages, across / smaller, page_height(down) / smaller, smaller, safe)


def page_height(down: float) -> float:
    """The points between the upper and the lower margin, for the pixels of a side of the page."""
    return down * PIXEL - 72 * (MARGINS["top"] + MARGINS["bottom"] - MARGINS["left"] - MARGINS["right"])


def set_page(
    worksheet: Worksheet,
    heading: str,
    paper: Paper,
    tallest: float = 0,
    notice: str = "",
    *,
    on_one_page: bool = False,
) -> None:
    """Set the page layout of a worksheet, with a heading and page numbers.

    Args:
        tallest: The height in points of the highest part between two page breaks. 0: there are none.
        notice: Stands below each page.
        on_one_page: All rows are on one upright page."""
    if paper.lengthwise and not on_one_page:
        worksheet.set_landscape()
    worksheet.set_paper(A4)
    if tallest:
        # Excel ignores the page breaks of a sheet that is fitted to pages.
        whole = paper.scale * paper.height / tallest
        scale = min(paper.safe_scale, whole) if whole >= SMALLEST_OF_CLASS else paper.safe_scale
        worksheet.set_print_scale(int(100 * scale))
    else:
        worksheet.fit_to_pages(1 if on_one_page else paper.pages, int(on_one_page))
    worksheet.set_margins(**MARGINS)
    text, look = heading.replace("&", "&&"), f'&"{FONT},Regular"&10 '
    worksheet.set_header(f"&L{look}{text}&R{look}&A" if len(text) <= PAGE_HEADING else f"&R{look}&A")
    worksheet.set_footer(f"&L{look}{notice}&R{look}&P / &N" if notice else f"&C{look}&P / &N")
