"""What is drawn of a sheet's cells: colours by value, and native charts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain, cycle

from xlsxwriter import Workbook
from xlsxwriter.utility import xl_col_to_name
from xlsxwriter.worksheet import Worksheet

from exports.columns import Shown
from exports.sheets import Chart, ColorScale, Highlight, Language, Sheet, Words
from exports.styles import Styles

#: Rows and pixels of a chart, and the space to the next one.
CHART_ROWS, CHART_SIZE = 20, {"width": 900, "height": 360}
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


def draw(book: Workbook, worksheet: Worksheet, sheet: Sheet, cells: Cells, language: Language) -> None:
    """Put the sheet's charts below its cells, one below the other."""
    for number, chart in enumerate(sheet.charts):
        drawn = book.add_chart({"type": chart.kind, "subtype": "stacked" if chart.stacked else None})
        last = cells.last if chart.rows is None else min(cells.last, cells.first + chart.rows - 1)
        category = cells.place(chart.categories)
        for name, color in zip(chart.values, chain(chart.colors, cycle(PALETTE)), strict=False):
            place = cells.place(name)
            drawn.add_series(
                {
                    "name": [cells.tab, cells.first - 1, place],
                    "categories": [cells.tab, cells.first, category, last, category],
                    "values": [cells.tab, cells.first, place, last, place],
                    **(
                        {"line": {"color": color, "width": 2}}
                        if chart.kind == "line"
                        else {"fill": {"color": color}}
                    ),
                }
            )
        drawn.set_title({"name": _plain(chart.title, language), "name_font": {"size": 12}})
        drawn.set_x_axis(_named(chart.x, language))
        drawn.set_y_axis(_named(chart.y, language) | _scaled(chart, cells))
        drawn.set_legend({"position": "bottom", "none": len(chart.values) == 1 and chart.kind != "pie"})
        drawn.set_size(CHART_SIZE)
        # A filter hides rows, which the chart then leaves out without changing its size.
        worksheet.insert_chart(cells.last + 2 + number * CHART_ROWS, 0, drawn, {"object_position": 3})


def _named(words: Words | None, language: Language) -> dict[str, object]:
    return {"name": _plain(words, language), "name_font": {"bold": False}} if words else {}


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
