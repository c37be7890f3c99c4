"""Sheets as data: a file of this folder names a view, its columns, their words, order and colours, and this
module makes a `Sheet` of it. Pages and workbooks make the same sheet, so that a figure has one query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import cycle
from typing import Annotated, Any, Literal

import duckdb
import pydantic.dataclasses
from pydantic import BeforeValidator, ConfigDict, Field

from exports.library.view_rows import Data, ViewData, sorted_by
from exports.library.words import Phrase, colour, content_of, labels, to_words, untranslated
from exports.spreadsheet.sheets import (
    Chart,
    ColorScale,
    Column,
    Definition,
    Figure,
    Highlight,
    Kind,
    Language,
    Sheet,
    Words,
    Workbook,
)
from warehouse.identifiers import literal, quoted

#: The first column of a sheet of pages: the key of the row's page.
PAGE = "page"
#: A file has no other names than those of the fields.
STRICT = ConfigDict(extra="forbid")


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=STRICT)
class ColumnData(Column):
    """A column of a view, where the dictionary does not say how it is shown."""

    name: str
    label: Phrase | None = None
    #: The kind of codes in words.yml.
    codes: str | None = None
    #: Shows a tick where the column has this value.
    tick: bool | None = None
    #: The view has the text in two languages, in columns with _en and _zh at their ends.
    is_pair: bool = False
    #: The type of a column that the view lacks: for readers to fill in.
    to_fill: str | None = None
    #: Left out where no row has a value.
    is_optional: bool = False


class Pivot(Data):
    """A column for each key that has a value."""

    #: The column with the keys. A column of this name with _order at its end has their order, and those with
    #: _en and _zh their labels.
    key: str
    value: str
    #: The column with the label of a key, such as a name. None: the key.
    label: str | None = None
    #: The column with a code that the label of a key has in brackets, where it is there.
    detail: str | None = None
    #: SQL for cells without a row.
    empty: str = "NULL"
    kind: Kind | None = None
    unit: str | None = None
    #: The kind of codes in words.yml, as the labels of the keys, or of their details.
    codes: str | None = None
    #: Columns for the keys of all rows of the school, not only for those with a value.
    all_keys: bool = False


class Group(Data):
    """Columns below a heading."""

    heading: Phrase
    columns: tuple[Item, ...]


def _to_item(value: Any) -> Any:
    """A column in a file: its name, {name: {...}}, {pivot: {...}}, or {heading: ..., columns: [...]}."""
    if isinstance(value, str):
        return ColumnData(name=value)
    if not isinstance(value, Mapping):
        return value
    if "heading" in value:
        return Group.model_validate(value)
    [(name, settings)] = value.items()
    return Pivot.model_validate(settings) if name == "pivot" else ColumnData(name=name, **settings)


Item = Annotated[ColumnData | Pivot | Group, BeforeValidator(_to_item)]


class Scale(Data):
    """Colours by value over all cells of columns. The columns of a pivot are named by its value."""

    columns: tuple[str, ...]
    order: Literal["more is better", "less is better", "redder up to", "redder down to"]
    #: The value of the reddest cells. None: the greatest value.
    worst: float | None = None


class FillData(Data):
    """Fills of cells by the value."""

    columns: tuple[str, ...]
    #: The colour of each code.
    codes: dict[str, str] = Field(default_factory=dict)
    #: The colour of values below a number.
    below: tuple[float, str] | None = None


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=STRICT)
class ChartData(Chart):
    """A chart of a sheet's cells. The columns of a pivot are named by its value."""

    title: Phrase
    x: Phrase | None = None
    y: Phrase | None = None
    #: Names of colours, in the order of the values without a colour by the key of a pivot.
    colours: tuple[str, ...] = ()
    #: Names of colours by the key of a pivot.
    colours_of: dict[str, str] = Field(default_factory=dict)


class SheetData(ViewData):
    """A sheet in a file."""

    name: Phrase
    about: Phrase = Words("", "")
    columns: tuple[Item, ...]
    #: `shown`: rows of the semester that long sheets show; `all`: those of all semesters.
    semesters: Literal["shown", "all"] = "shown"
    #: The column with the key of a row's page.
    page: str | None = None
    scales: tuple[Scale, ...] = ()
    fills_of_cells: tuple[FillData, ...] = ()
    charts: tuple[ChartData, ...] = ()
    #: The sheet of the file whose charts stand on this sheet.
    charts_of: str | None = None
    breaks: str | None = None
    notice: Phrase | None = None
    fills: str | None = None
    on_one_page: bool = False
    #: No row is about one person, so that logs may show the first rows.
    summary: bool = False
    #: Left out where it has no rows.
    only_with_rows: bool = False


Group.model_rebuild()


@cache
def sheets_of(file: str) -> dict[str, SheetData]:
    """The sheets of a file of this folder by name. Raises pydantic.ValidationError."""
    return {name: SheetData.model_validate(data) for name, data in content_of(file)["sheets"].items()}


@dataclass(frozen=True)
class Rows:
    """The rows of a sheet's view of one school."""

    con: duckdb.DuckDBPyConnection
    data: SheetData
    school_id: int
    #: The columns of the view.
    names: frozenset[str]

    @classmethod
    def of(cls, con: duckdb.DuckDBPyConnection, data: SheetData, school_id: int) -> Rows:
        described = con.execute(f"FROM {data.source} LIMIT 0").description or ()
        return cls(con, data, school_id, frozenset(name for name, *_ in described))

    def select(self, columns: str, condition: str = "true", clauses: str = "") -> list[tuple[Any, ...]]:
        """Columns of the rows of all pages. `clauses`: SQL after the condition."""
        query = f"SELECT {columns} FROM {self.data.source} WHERE {self.condition} AND {condition} {clauses}"
        return self.con.execute(query, {"school_id": self.school_id}).fetchall()

    @property
    def condition(self) -> str:
        is_shown = " AND is_shown" if self.data.semesters == "shown" else ""
        return f"school_id = $school_id{is_shown} AND ({self.data.condition})"


@dataclass(frozen=True)
class _Cell:
    """A column of the sheet that is made."""

    name: str
    #: SQL for its value.
    value: str
    column: Column
    #: The value and the key of a pivot; empty: the column is none of a pivot.
    pivot: str = ""
    key: str = ""


def make_workbook(
    con: duckdb.DuckDBPyConnection,
    file: str,
    school_id: int,
    language: Language,
    figures: Sequence[Figure],
    definitions: Sequence[Definition],
) -> Workbook:
    """Make the workbook of a file of this folder. `figures`: those above its first sheet."""
    content, sheets = content_of(file), sheets_of(file)
    by_name = {
        name: make_sheet(con, data, school_id, language)
        for name, data in sheets.items()
        if not data.only_with_rows or Rows.of(con, data, school_id).select("1", clauses="LIMIT 1")
    }
    for name, sheet in by_name.items():
        if (drawn := sheets[name].charts_of) is not None:
            charts = tuple(replace(chart, of=by_name[drawn].name) for chart in by_name[drawn].charts)
            by_name[name] = replace(sheet, charts=charts)
    first = next(iter(by_name))
    by_name[first] = replace(by_name[first], figures=tuple(figures))
    return Workbook(
        name=file,
        title=to_words(content["title"]),
        about=to_words(content["about"]),
        sheets=tuple(by_name.values()),
        definitions=tuple(definitions),
        filters=to_words(content["filters"]),
        for_paper=True,
    )


def make_sheet(
    con: duckdb.DuckDBPyConnection, data: SheetData, school_id: int, language: Language | None
) -> Sheet:
    """Make a sheet of one school: of its pages $pages, where the sheet is one of pages.

    `language`: of columns with a text in two languages. None: both, the English one first."""
    rows = Rows.of(con, data, school_id)
    return _sheet(rows, list(_cells(rows, data.columns, (), language)))


def _sheet(rows: Rows, cells: Sequence[_Cell]) -> Sheet:
    data = rows.data
    return Sheet(
        name=data.name,
        about=data.about,
        query=_query(rows, cells, {}, f" AND list_contains($pages, {_text(data.page)})" if data.page else ""),
        sources=(f"views.{data.view}",),
        columns={cell.name: cell.column for cell in cells},
        scales=tuple(_scale(scale, cells) for scale in data.scales),
        highlights=tuple(highlight for fill in data.fills_of_cells for highlight in _highlights(fill)),
        charts=tuple(_chart(chart, cells) for chart in data.charts),
        breaks=data.breaks,
        notice=data.notice,
        fills=next((cell.name for cell in cells if data.fills and cell.name.startswith(data.fills)), None),
        on_one_page=data.on_one_page,
        summary=data.summary,
    )


def make_page_sheet(
    con: duckdb.DuckDBPyConnection, data: SheetData, school_id: int, keys: Mapping[str, str]
) -> tuple[Sheet, str]:
    """Make a sheet of pages in both languages, and SQL for its rows of the pages from $first to $last of the
    school $school_id, page by page.

    `keys`: columns of the view that the SQL has as text before those of the sheet, by their names in it.
    `page` is the key of the row's page."""
    rows = Rows.of(con, data, school_id)
    cells = list(_cells(rows, data.columns, (), None))
    texts = {name: _text(column) for name, column in keys.items()}
    condition = f" AND {texts[PAGE]} BETWEEN $first AND $last"
    return _sheet(rows, cells), _query(rows, cells, texts, condition)


def _text(column: str) -> str:
    return f"{quoted(column)}::VARCHAR"


def _query(rows: Rows, cells: Sequence[_Cell], keys: Mapping[str, str], condition: str) -> str:
    """SQL for the rows of the school $school_id. `keys`: SQL for further columns, by name."""
    data = rows.data
    columns = dict(keys) | {cell.name: cell.value for cell in cells}
    if data.breaks:
        columns[data.breaks] = quoted(data.breaks)
    pivoted = {cell.name for cell in cells if cell.pivot}
    groups = [value for name, value in columns.items() if name not in pivoted] + [
        quoted(name.removeprefix("-")) for name in data.order
    ]
    listed = ", ".join(f"{value} AS {quoted(name)}" for name, value in columns.items())
    grouped = f" GROUP BY {', '.join(dict.fromkeys(groups))}" if pivoted else ""
    order = sorted_by(data.order, keys.get(PAGE, ""))
    return f"SELECT {listed} FROM {data.source} WHERE {rows.condition}{condition}{grouped}{order}"


def _cells(
    rows: Rows, items: Sequence[Item], headings: tuple[Words, ...], language: Language | None
) -> Iterator[_Cell]:
    for item in items:
        if isinstance(item, Group):
            yield from _cells(rows, item.columns, (*headings, item.heading), language)
        elif isinstance(item, Pivot):
            yield from _pivot_cells(rows, item, headings)
        elif not item.is_optional or rows.select("1", f"{quoted(item.name)} IS NOT NULL", "LIMIT 1"):
            column = replace(item, groups=headings, words=labels(item.codes) if item.codes else {})
            yield from (_Cell(name, value, column) for name, value in _values(item, language))


def _values(item: ColumnData, language: Language | None) -> Iterator[tuple[str, str]]:
    """The names and the SQL of the cells of a column: a pair of texts is two columns for both languages."""
    if item.is_pair:
        for code in (language,) if language else ("en", "zh"):
            yield f"{item.name}_{code}", quoted(f"{item.name}_{code}")
    elif item.to_fill:
        yield item.name, f"NULL::{item.to_fill}"
    elif item.tick is not None:
        yield item.name, f"CASE WHEN {quoted(item.name)} IS {str(item.tick).upper()} THEN '✓' END"
    else:
        yield item.name, quoted(item.name)


def _pivot_cells(rows: Rows, pivot: Pivot, headings: tuple[Words, ...]) -> Iterator[_Cell]:
    key, value = quoted(pivot.key), quoted(pivot.value)
    for code, label in _pivot_keys(rows, pivot):
        column = Column(label=label, kind=pivot.kind, unit=pivot.unit, groups=headings, stays=True)
        cell = f"coalesce(any_value({value}) FILTER ({key}::VARCHAR = {literal(code)}), {pivot.empty})"
        yield _Cell(f"{pivot.value} {code}", cell, column, pivot.value, code)


def _pivot_keys(rows: Rows, pivot: Pivot) -> Iterator[tuple[str, Words]]:
    """The keys of a pivot in their order, with their labels."""
    key, name = quoted(pivot.key), pivot.label or pivot.key
    en, zh, order = (
        quoted(column if (column := f"{pivot.key}_{end}") in rows.names else name)
        for end in ("en", "zh", "order")
    )
    keys = rows.select(
        f"{key}::VARCHAR, any_value({en})::VARCHAR, any_value({zh})::VARCHAR, "
        f"{f'any_value({quoted(pivot.detail)})' if pivot.detail else 'NULL'}",
        f"{key} IS NOT NULL AND {'true' if pivot.all_keys else f'{quoted(pivot.value)} IS NOT NULL'}",
        f"GROUP BY {key} ORDER BY min({order}) NULLS LAST, {key}",
    )
    codes = labels(pivot.codes) if pivot.codes else {}
    for code, label_en, label_zh, detail in keys:
        label = Words(label_en, label_zh)
        if detail is not None:
            text = codes.get(detail, untranslated(detail))
            yield code, Words(f"{label.en} ({text.en})", f"{label.zh}（{text.zh}）")
        else:
            yield code, label if pivot.detail else codes.get(code, label)


def _expanded(names: Sequence[str], cells: Sequence[_Cell]) -> tuple[str, ...]:
    """The columns of these names; those of a pivot for its value."""
    return tuple(cell.name for name in names for cell in cells if name == (cell.pivot or cell.name))


def _scale(scale: Scale, cells: Sequence[_Cell]) -> ColorScale:
    columns, red, white = _expanded(scale.columns, cells), colour("red"), colour("white")
    ends: dict[str, ColorScale] = {
        "more is better": ColorScale(columns, low=red, middle=colour("amber"), high=colour("green")),
        "less is better": ColorScale(columns, low=colour("green"), middle=colour("amber"), high=red),
        "redder up to": ColorScale(columns, low=white, high=red, least=0, greatest=scale.worst),
        "redder down to": ColorScale(columns, low=red, high=white, least=scale.worst, greatest=100),
    }
    return ends[scale.order]


def _highlights(fill: FillData) -> Iterator[Highlight]:
    for code, name in fill.codes.items():
        yield Highlight(fill.columns, colour(name), equal=code)
    if fill.below:
        limit, name = fill.below
        yield Highlight(fill.columns, colour(name), below=limit)


def _chart(chart: ChartData, cells: Sequence[_Cell]) -> Chart:
    values = _expanded(chart.values, cells)
    keys, in_order = {cell.name: cell.key for cell in cells}, cycle(chart.colours)
    names = [chart.colours_of.get(keys[name]) or next(in_order) for name in values] if chart.colours else ()
    return replace(chart, values=values, colors=tuple(map(colour, names)))
