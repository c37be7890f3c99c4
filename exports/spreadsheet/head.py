"""Writes the head of a sheet: title, values that all rows share, explanation, and figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from exports.spreadsheet.cells import as_text
from exports.spreadsheet.sheets import Figure, Language
from exports.spreadsheet.styles import LINE_HEIGHT, Paper, Styles, height_of, pixels

#: In points.
TITLE_HEIGHT, VALUE_HEIGHT = 24.0, 36.0
#: The formats of a change: None is neither good nor bad.
OF_CHANGES = {True: "good", False: "bad", None: "box"}


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
    heights = list[float]()
    for text, name in zip(lines, ("title", "shared", "note"), strict=True):
        if text:
            height = TITLE_HEIGHT if name == "title" else height_of(text, room)
            write_across(worksheet, len(heights), (0, across), text, styles.named(name))
            worksheet.set_row(len(heights), height)
            heights.append(height)
    # An empty row is above the figures, and another below the head.
    if figures:
        heights.append(LINE_HEIGHT)
        heights += _write_figures(worksheet, styles, len(heights), widths[: across + 1], figures, language)
    return len(heights) + 1, sum(heights) + LINE_HEIGHT


def _columns_within(widths: Sequence[float], room: float) -> int:
    """The last column that fits on a page."""
    used = 0
    for index, width in enumerate(widths):
        used += pixels(width)
        if used > room:
            return max(index - 1, 0)
    return len(widths) - 1


#: The first and the last column of neighbours.
Span = tuple[int, int]


def _write_figures(
    worksheet: Worksheet,
    styles: Styles,
    first_row: int,
    widths: Sequence[float],
    figures: Sequence[Figure],
    language: Language,
) -> list[float]:
    """Write figures side by side, each in a box. Returns the heights of the rows in points."""
    spans = list(_spans(widths, len(figures)))
    boxes = [_lines(figure, language) for figure in figures]
    heights = list[float]()
    for number, line in enumerate(zip_longest(*boxes, fillvalue=("", "box"))):
        end = {"bottom": 1} if number == max(map(len, boxes)) - 1 else {}
        for span, (text, name) in zip(spans, line, strict=False):
            write_across(worksheet, first_row + number, span, text, styles.named(name, **end))
        needed = (
            height_of(text, sum(widths[first : last + 1]))
            for (first, last), (text, _) in zip(spans, line, strict=False)
        )
        heights.append(VALUE_HEIGHT if number == 1 else max(needed))
        worksheet.set_row(first_row + number, heights[-1])
    return heights


def _lines(figure: Figure, language: Language) -> list[tuple[str, str]]:
    """The lines of a box with the names of their formats."""
    lines = ((figure.label, "label"), (figure.value, "value"), (figure.detail, "detail"))
    changes = [
        (f"{change.since.in_language(language)} {change.text.in_language(language)}", OF_CHANGES[change.good])
        for change in figure.changes
    ]
    return [*((words.in_language(language), name) for words, name in lines), *changes]


def _spans(widths: Sequence[float], boxes: int) -> Iterator[Span]:
    """Divide columns among boxes of about the same width. There may be fewer columns."""
    share, used, first, ended = sum(widths) / boxes, 0.0, 0, 0
    for index, width in enumerate(widths):
        used += width
        if index == len(widths) - 1 or used >= share * (ended + 1):
            yield first, index
            first, ended = index + 1, ended + 1


def write_across(worksheet: Worksheet, row: int, span: Span, text: str, style: Format) -> None:
    """Write a text over several columns."""
    first, last = span
    if last > first:
        worksheet.merge_range(row, first, row, last, "", style)
    worksheet.write_string(row, first, as_text(text), style)
