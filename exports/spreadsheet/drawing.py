"""Colours and native charts of a sheet's cells."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, cycle

from xlsxwriter import Workbook
from xlsxwriter.chart import Chart as XlsxChart
from xlsxwriter.utility import xl_col_to_name
from xlsxwriter.worksheet import Worksheet

from exports.spreadsheet.columns import SheetColumn
from exports.spreadsheet.sheets import Chart, ColorScale, Highlight, Language, Sheet, Words
from exports.spreadsheet.styles import FONT, LENGTHWISE, LINE_HEIGHT, PIXEL, UPRIGHT, Paper, Styles

#: The height of a chart in points, and the least height at which it stays on the page of its table.
HIGH, LOW = 270.0, 150.0
#: The font of charts: a theme's font may lack Chinese.
LETTERS = {"name": FONT, "size": 10}
#: Colours of series that colour-blind readers can distinguish (Okabe and Ito).
PALETTE = ("#4D4D4D", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")


@dataclass(frozen=True)
class Cells:
    """The cells of a sheet: first and last row, counted from 0, and the indexes of the columns by name. The
    labels are above the first row."""

    tab: str
    first: int
    last: int
    columns: Mapping[str, tuple[int, SheetColumn]]

    def index_of(self, name: str) -> int:
        """The index of a column, counted from 0."""
        return self.columns[name][0]

    def column(self, name: str) -> SheetColumn:
        """The column as it is shown."""
        return self.columns[name][1]


def colour(worksheet: Worksheet, sheet: Sheet, cells: Cells, styles: Styles) -> None:
    """Colour the written cells of a sheet."""
    for scale in sheet.scales:
        first, last = cells.index_of(scale.columns[0]), cells.index_of(scale.columns[-1])
        worksheet.conditional_format(cells.first, first, cells.last, last, _scale(scale, cells))
    for highlight in sheet.highlights:
        fill = styles.of(bg_color=highlight.fill)
        for name in highlight.columns:
            index = cells.index_of(name)
            rule = {"type": "formula", "criteria": _condition(highlight, name, cells), "format": fill}
            worksheet.conditional_format(cells.first, index, cells.last, index, rule)


@dataclass(frozen=True)
class Room:
    """The room for a sheet's charts: below its table, or on the next page. Width and height of a chart in
    points."""

    width: float
    height: float
    on_next: bool


@dataclass(frozen=True)
class Drawn:
    """A written sheet with the room for its charts."""

    worksheet: Worksheet
    sheet: Sheet
    cells: Cells
    room: Room


def room_for(sheet: Sheet, paper: Paper, used: float, *, is_broken: bool) -> Room:
    """The room below a table. `used`: the written points of the page. `is_broken`: the table has page
    breaks."""
    left = paper.height - used - 1.5 * LINE_HEIGHT
    fits = left >= LOW and not is_broken
    width = min(paper.width, LENGTHWISE if paper.lengthwise else UPRIGHT) * PIXEL
    return Room(width, min(HIGH, left) if fits else HIGH, on_next=bool(sheet.charts) and not fits)


def draw(book: Workbook, drawn: Sequence[Drawn], language: Language) -> None:
    """Add the charts of sheets below their cells, one below the other."""
    by_name: dict[Words, Drawn] = {}
    for entry in drawn:
        by_name.setdefault(entry.sheet.name, entry)
    for entry in by_name.values():
        charts = [(chart, by_name.get(chart.of or entry.sheet.name)) for chart in entry.sheet.charts]
        for number, (chart, of) in enumerate(charts):
            if of is None:
                continue
            added = _add_chart(book, chart, of.cells, language)
            # A little smaller than the room, since programs measure differently.
            added.set_size({"width": entry.room.width / PIXEL * 0.97, "height": entry.room.height / PIXEL})
            row = entry.cells.last + 2 + number * math.ceil(entry.room.height / LINE_HEIGHT + 1)
            # The chart keeps its size when a filter hides rows.
            entry.worksheet.insert_chart(row, 0, added, {"object_position": 3})


def _add_chart(book: Workbook, chart: Chart, cells: Cells, language: Language) -> XlsxChart:
    drawn = book.add_chart({"type": chart.kind, "subtype": "stacked" if chart.stacked else None})
    last = cells.last if chart.rows is None else min(cells.last, cells.first + chart.rows - 1)
    category = cells.index_of(chart.categories)
    for name, color in zip(chart.values, chain(chart.colors, cycle(PALETTE)), strict=False):
        index = cells.index_of(name)
        look = {"line": {"color": color, "width": 2}} if chart.kind == "line" else {"fill": {"color": color}}
        drawn.add_series(
            {
                "name": [cells.tab, cells.first - 1, index],
                "categories": [cells.tab, cells.first, category, last, category],
                "values": [cells.tab, cells.first, index, last, index],
                **look,
            }
        )
    drawn.set_title({"name": _plain(chart.title, language), "name_font": {**LETTERS, "size": 12}})
    drawn.set_x_axis({"num_font": LETTERS} | _named(chart.x, language))
    drawn.set_y_axis({"num_font": LETTERS} | _named(chart.y, language) | _scaled(chart, cells))
    drawn.set_legend(
        {"position": "bottom", "font": LETTERS, "none": len(chart.values) == 1 and chart.kind != "pie"}
    )
    return drawn


def _named(words: Words | None, language: Language) -> dict[str, object]:
    return {"name": _plain(words, language), "name_font": {**LETTERS, "bold": False}} if words else {}


def _scaled(chart: Chart, cells: Cells) -> dict[str, object]:
    """The options of the axis of values. Its ends are values of the query."""
    is_percent = cells.column(chart.values[0]).kind == "percent"
    ends = {"min": chart.least, "max": chart.greatest}
    return {
        "num_format": "0%" if is_percent else "General",
        "major_gridlines": {"visible": True, "line": {"color": "#D9D9D9"}},
        "line": {"none": True},
        **{name: end / (100 if is_percent else 1) for name, end in ends.items() if end is not None},
    }


def _plain(words: Words, language: Language) -> str:
    """The text without a leading =, which would make it a formula."""
    return words.in_language(language).lstrip("=")


def _scale(scale: ColorScale, cells: Cells) -> dict[str, object]:
    """xlsxwriter's options of a colour scale. Its bounds are values of the query."""
    rule: dict[str, object] = {"type": "3_color_scale" if scale.middle else "2_color_scale"}
    rule |= {"min_color": scale.low, "max_color": scale.high}
    if scale.middle:
        rule["mid_color"] = scale.middle
    share = 100 if cells.column(scale.columns[0]).kind == "percent" else 1
    for side, bound in (("min", scale.least), ("max", scale.greatest)):
        if bound is not None:
            rule |= {f"{side}_type": "num", f"{side}_value": bound / share}
    return rule


def _condition(highlight: Highlight, name: str, cells: Cells) -> str:
    """The formula for the first cell that is true for cells to fill. An empty cell is not below a number."""
    shown = cells.column(name)
    cell = f"${xl_col_to_name(cells.index_of(name))}{cells.first + 1}"
    if highlight.equal is not None:
        text = shown.words.get(highlight.equal, highlight.equal).replace('"', '""')
        return f'={cell}="{text}"'
    assert highlight.below is not None
    below = highlight.below / 100 if shown.kind == "percent" else highlight.below
    return f"=AND(ISNUMBER({cell}),{cell}<{below!r})"
