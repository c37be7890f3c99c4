"""Writes the head of a sheet: title, values that all rows share, explanation, and figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from xlsxwriter.worksheet import Worksheet

from exports.spreadsheet.cells import as_text
from exports.spreadsheet.sheets import Change, Figure, Language
from exports.spreadsheet.styles import LINE_HEIGHT, Paper, Styles, height_of, pixels

Look = Mapping[str, Any]

TITLE: Look = {"bold": True, "font_size": 16}
COMMON: Look = {"bold": True, "text_wrap": True, "valign": "top"}
NOTE: Look = {"font_color": "#595959", "text_wrap": True, "valign": "top"}
TITLE_HEIGHT, VALUE_HEIGHT = 24.0, 36.0
#: The frame of a figure.
BOX: Look = {
    "left": 1, "right": 1, "border_color": "#A6A6A6",
    "text_wrap": True, "align": "center", "valign": "vcenter",
}  # fmt: skip
LABEL: Look = {"bold": True, "bg_color": "#DCE6F1", "top": 1}
VALUE: Look = {"bold": True, "font_size": 22}
DETAIL: Look = {"font_color": "#595959"}
#: Good and bad changes. Both are equally dark, for grey prints.
GOOD: Look = {"font_color": "#1B6E3C"}
BAD: Look = {"font_color": "#A61C14"}


def write_head(
    worksheet: Worksheet,
    styles: Styles,
    widths: Sequence[float],
    paper: Paper,
    lines: tuple[str, str, str],
    figures: Sequence[Figure],
    language: Language,
) -> tuple[int, float]:
    """Write the head of a sheet.

    Args:
        widths: The widths of the sheet's columns.
        lines: Title, values that all rows share, explanation.

    Returns:
        The number of rows of the head, and their height in points."""
    across = _columns_within(widths, paper.width)
    room = sum(widths[: across + 1])
    row, heights = 0, list[float]()
    for text, look in zip(lines, (TITLE, COMMON, NOTE), strict=True):
        if text:
            height = TITLE_HEIGHT if look is TITLE else height_of(text, room)
            _across(worksheet, row, (0, across), text, styles.of(**look))
            worksheet.set_row(row, height)
            heights.append(height)
            row += 1
    if figures:
        row += 1
        heights.append(LINE_HEIGHT)
        for height, cells in _boxes(widths[: across + 1], figures, language):
            for place, text, look in cells:
                _across(worksheet, row, place, text, styles.of(**BOX, **look))
            worksheet.set_row(row, height)
            heights.append(height)
            row += 1
    return row + 1, sum(heights) + LINE_HEIGHT


def _columns_within(widths: Sequence[float], room: float) -> int:
    """The last column that fits on a page."""
    used = 0
    for place, width in enumerate(widths):
        used += pixels(width)
        if used > room:
            return max(place - 1, 0)
    return len(widths) - 1


Place = tuple[int, int]
Cell = tuple[Place, str, Look]


def _boxes(
    widths: Sequence[float], figures: Sequence[Figure], language: Language
) -> Iterator[tuple[float, list[Cell]]]:
    """The boxes of figures side by side. Yields the height and the cells of each line."""
    places = list(_shared(widths, len(figures)))
    rooms = [sum(widths[first : last + 1]) for first, last in places]
    boxes = [_lines(figure, language) for figure in figures]
    most = max(map(len, boxes))
    for number in range(most):
        line = [box[number] if number < len(box) else ("", {}) for box in boxes]
        end = {"bottom": 1} if number == most - 1 else {}
        needed = [height_of(text, room) for (text, _), room in zip(line, rooms, strict=False)]
        cells: list[Cell] = [
            (place, text, {**look, **end}) for place, (text, look) in zip(places, line, strict=False)
        ]
        yield VALUE_HEIGHT if number == 1 else max(needed), cells


def _lines(figure: Figure, language: Language) -> list[tuple[str, Look]]:
    """The lines of a box with their formats."""
    lines = ((figure.label, LABEL), (figure.value, VALUE), (figure.detail, DETAIL))
    changes = [
        (f"{change.since.in_language(language)} {change.text.in_language(language)}", _look(change))
        for change in figure.changes
    ]
    return [*((words.in_language(language), look) for words, look in lines), *changes]


def _look(change: Change) -> Look:
    return {} if change.good is None else GOOD if change.good else BAD


def _shared(widths: Sequence[float], parts: int) -> Iterator[Place]:
    """Divide columns into `parts` stretches of about the same width. There may be fewer columns."""
    share, used, first, done = sum(widths) / parts, 0.0, 0, 0
    for place, width in enumerate(widths):
        used += width
        if place == len(widths) - 1 or used >= share * (done + 1):
            yield first, place
            first, done = place + 1, done + 1


def _across(worksheet: Worksheet, row: int, place: Place, text: str, style: Any) -> None:
    """Write a text over several columns."""
    first, last = place
    if last > first:
        worksheet.merge_range(row, first, row, last, "", style)
    worksheet.write_string(row, first, as_text(text), style)
