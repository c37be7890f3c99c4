"""What is drawn of a sheet's cells: colours by value, and native charts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xlsxwriter import Workbook
from xlsxwriter.utility import xl_col_to_name
from xlsxwriter.worksheet import Worksheet

from warehouse.exports.columns import Shown
from warehouse.exports.sheets import Chart, ColorScale, Highlight, Language, Sheet, Words
from warehouse.exports.styles import Styles

#: Rows and pixels of a chart, and the space to the next one.
CHART_ROWS, CHART_SIZE = 20, {"width": 760, "height": 380}


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
    """Put the sheet's charts to the right of its cells, one below the other."""
    for number, chart in enumerate(sheet.charts):
        drawn = book.add_chart({"type": chart.kind, "subtype": "stacked" if chart.stacked else None})
        last = cells.last if chart.rows is None else min(cells.last, cells.first + chart.rows - 1)
        categories = [
            cells.tab,
            cells.first,
            cells.place(chart.categories),
            last,
            cells.place(chart.categories),
        ]
        for name, color in zip(chart.values, _colors(chart), strict=True):
            place = cells.place(name)
            drawn.add_series(
                {
                    "name": [cells.tab, cells.first - 1, place],
                    "categories": categories,
                    "values": [cells.tab, cells.first, place, last, place],
                    **color,
                }
            )
        drawn.set_title({"name": _plain(chart.title, language), "name_font": {"size": 12}})
        drawn.set_x_axis({"name": _plain(chart.x, language)} if chart.x else {})
        drawn.set_y_axis(_axis(chart, language))
        drawn.set_legend({"position": "bottom", "none": len(chart.values) == 1 and chart.kind != "pie"})
        drawn.set_size(CHART_SIZE)
        # A filter hides rows, which the chart then leaves out without changing its size.
        worksheet.insert_chart(number * CHART_ROWS + 1, len(cells.columns) + 1, drawn, {"object_position": 3})


def _axis(chart: Chart, language: Language) -> dict[str, object]:
    given = {"name": chart.y and _plain(chart.y, language), "min": chart.least, "max": chart.greatest}
    return {name: value for name, value in given.items() if value is not None}


def _plain(words: Words, language: Language) -> str:
    """The words; what begins with = would be the formula of a cell that has them."""
    return words.in_language(language).lstrip("=")


def _colors(chart: Chart) -> list[dict[str, object]]:
    part = "line" if chart.kind == "line" else "fill"
    given: list[dict[str, object]] = [{part: {"color": color}} for color in chart.colors[: len(chart.values)]]
    return given + [{}] * (len(chart.values) - len(given))


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
