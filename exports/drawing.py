"""What is drawn of a sheet's cells: colours by value, and native charts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, cycle

from xlsxwriter import Workbook
from xlsxwriter.chart import Chart as XlsxChart
from xlsxwriter.utility import xl_col_to_name
from xlsxwriter.worksheet import Worksheet

from exports.columns import Shown
from exports.sheets import Chart, ColorScale, Highlight, Language, Sheet, Words
from exports.styles import FONT, LENGTHWISE, LINE_HEIGHT, PIXEL, UPRIGHT, Paper, Styles

#: Points of height: what a chart has, and the least that it can do with to stay on the page of its table.
HIGH, LOW = 270.0, 150.0
#: Of all that is written in a chart; a theme's own font may have no Chinese.
LETTERS = {"name": FONT, "size": 10}
#: Colours of series, told apart by the colour-blind too (Okabe and Ito).
PALETTE = ("#4D4D4D", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")


@dataclass(frozen=True)
class Cells:
    """Where the rows of a sheet are: first and last row from 0, labels above the first; and the places of the
    columns by name."""

    tab: str
    first: int
    last: int
    columns: Mapping[str, tuple[int, Shown]]

    def place(self, name: str) -> int:
        """The place of a column, from 0."""
        return self.columns[name][0]

    def shown(self, name: str) -> Shown:
        """How a column is shown."""
        return self.columns[name][1]


def colour(worksheet: Worksheet, sheet: Sheet, cells: Cells, styles: Styles) -> None:
    """Put the sheet's colours on cells that are written."""
    for scale in sheet.scales:
        first, last = cells.place(scale.columns[0]), cells.place(scale.columns[-1])
        worksheet.conditional_format(cells.first, first, cells.last, last, _scale(scale, cells))
    for highlight in sheet.highlights:
        fill = styles.of(bg_color=highlight.fill)
        for name in highlight.columns:
            place = cells.place(name)
            rule = {"type": "formula", "criteria": _condition(highlight, name, cells), "format": fill}
            worksheet.conditional_format(cells.first, place, cells.last, place, rule)


@dataclass(frozen=True)
class Room:
    """Where a sheet's charts have room: below its table, or `on_next` page; `width` and `height` of one in
    points."""

    width: float
    height: float
    on_next: bool


@dataclass(frozen=True)
class Drawn:
    """A sheet that is written, with the room for its charts."""

    worksheet: Worksheet
    sheet: Sheet
    cells: Cells
    room: Room


def room_for(sheet: Sheet, paper: Paper, used: float, *, is_broken: bool) -> Room:
    """The room below a table, of which `used` points are written; `is_broken`: on several pages."""
    left = paper.height - used - 1.5 * LINE_HEIGHT
    fits = left >= LOW and not is_broken
    width = min(paper.width, LENGTHWISE if paper.lengthwise else UPRIGHT) * PIXEL
    return Room(width, min(HIGH, left) if fits else HIGH, on_next=bool(sheet.charts) and not fits)


def draw(book: Workbook, drawn: Sequence[Drawn], language: Language) -> None:
    """Put the charts of sheets below their cells, one below the other."""
    by_name: dict[Words, Drawn] = {}
    for one in drawn:
        by_name.setdefault(one.sheet.name, one)
    for one in by_name.values():
        charts = [(chart, by_name.get(chart.of or one.sheet.name)) for chart in one.sheet.charts]
        for number, (chart, of) in enumerate(charts):
            if of is None:
                continue
            made = _made(book, chart, of.cells, language)
            # A little less than there is, since no program measures quite like another.
            made.set_size({"width": one.room.width / PIXEL * 0.97, "height": one.room.height / PIXEL})
            row = one.cells.last + 2 + number * math.ceil(one.room.height / LINE_HEIGHT + 1)
            # A filter hides rows, which the chart then leaves out without changing its size.
            one.worksheet.insert_chart(row, 0, made, {"object_position": 3})


def _made(book: Workbook, chart: Chart, cells: Cells, language: Language) -> XlsxChart:
    made = book.add_chart({"type": chart.kind, "subtype": "stacked" if chart.stacked else None})
    last = cells.last if chart.rows is None else min(cells.last, cells.first + chart.rows - 1)
    category = cells.place(chart.categories)
    for name, color in zip(chart.values, chain(chart.colors, cycle(PALETTE)), strict=False):
        place = cells.place(name)
        look = {"line": {"color": color, "width": 2}} if chart.kind == "line" else {"fill": {"color": color}}
        made.add_series(
            {
                "name": [cells.tab, cells.first - 1, place],
                "categories": [cells.tab, cells.first, category, last, category],
                "values": [cells.tab, cells.first, place, last, place],
                **look,
            }
        )
    made.set_title({"name": _plain(chart.title, language), "name_font": {**LETTERS, "size": 12}})
    made.set_x_axis({"num_font": LETTERS} | _named(chart.x, language))
    made.set_y_axis({"num_font": LETTERS} | _named(chart.y, language) | _scaled(chart, cells))
    made.set_legend(
        {"position": "bottom", "font": LETTERS, "none": len(chart.values) == 1 and chart.kind != "pie"}
    )
    return made


def _named(words: Words | None, language: Language) -> dict[str, object]:
    return {"name": _plain(words, language), "name_font": {**LETTERS, "bold": False}} if words else {}


def _scaled(chart: Chart, cells: Cells) -> dict[str, object]:
    """The axis of the values, in their kind; its ends are given as in the query."""
    is_percent = cells.shown(chart.values[0]).kind == "percent"
    ends = {"min": chart.least, "max": chart.greatest}
    return {
        "num_format": "0%" if is_percent else "General",
        "major_gridlines": {"visible": True, "line": {"color": "#D9D9D9"}},
        "line": {"none": True},
        **{name: end / (100 if is_percent else 1) for name, end in ends.items() if end is not None},
    }


def _plain(words: Words, language: Language) -> str:
    """The words; what begins with = would be the formula of a cell that has them."""
    return words.in_language(language).lstrip("=")


def _scale(scale: ColorScale, cells: Cells) -> dict[str, object]:
    """xlsxwriter's options of a colour scale. Its bounds are given as in the query."""
    rule: dict[str, object] = {"type": "3_color_scale" if scale.middle else "2_color_scale"}
    rule |= {"min_color": scale.low, "max_color": scale.high}
    if scale.middle:
        rule["mid_color"] = scale.middle
    share = 100 if cells.shown(scale.columns[0]).kind == "percent" else 1
    for side, bound in (("min", scale.least), ("max", scale.greatest)):
        if bound is not None:
            rule |= {f"{side}_type": "num", f"{side}_value": bound / share}
    return rule


def _condition(highlight: Highlight, name: str, cells: Cells) -> str:
    """A formula that holds for the cells to be filled, for the first of them. An empty cell is not below."""
    shown = cells.shown(name)
    cell = f"${xl_col_to_name(cells.place(name))}{cells.first + 1}"
    if highlight.equal is not None:
        text = shown.words.get(highlight.equal, highlight.equal).replace('"', '""')
        return f'={cell}="{text}"'
    assert highlight.below is not None
    below = highlight.below / 100 if shown.kind == "percent" else highlight.below
    return f"=AND(ISNUMBER({cell}),{cell}<{below!r})"
