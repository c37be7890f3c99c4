"""Workbooks for Excel and its like, written row by row: memory does not grow with the rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby, islice, pairwise, takewhile
from pathlib import Path
from typing import Any

import duckdb
import xlsxwriter
from xlsxwriter.exceptions import FileSizeError
from xlsxwriter.format import Format
from xlsxwriter.utility import xl_range
from xlsxwriter.worksheet import Worksheet

from exports.about import WIDTHS, Part, tab_name, write_about
from exports.cells import as_text, is_too_long, shortened
from exports.columns import Shown, shown_columns
from exports.drawing import Cells, Drawn, colour, draw, room_for
from exports.head import write_head
from exports.sheets import Language, Sheet, Words, Workbook
from exports.source import Origin
from exports.styles import (
    ARROW,
    DEFAULTS,
    LINE_HEIGHT,
    WIDEST,
    Styles,
    filled,
    fitted,
    height_of,
    paper_for,
    set_page,
    shown_as,
    widened,
)

#: Rows of a sheet, its header's included, and its columns; sheets that one table may take.
MAX_ROWS, MAX_COLUMNS, MAX_PARTS = 1_048_576, 16_384, 4
#: Rows that are read at a time; column widths go by the first ones.
BATCH_ROWS = 2_048
#: Links that Excel takes in a sheet, and characters of one; what is beyond stays text.
MAX_LINKS, MAX_LINK = 65_530, 2_079
#: So many rows have the same number for a reason.
MANY = 8
#: Pages that Excel begins where it is told to.
MAX_BREAKS = 1_023

#: What a browser opens: a cell must not start a program or open a file of the reader's.
ADDRESS = re.compile(r"https?://\S.*")

NO_ROWS = Words(
    "No rows: there is nothing to show as of the date of the data.", "无数据：截至数据日期没有可显示的记录。"
)
NOT_LOADED = Words("Not known: never loaded whole: {}.", "未知：尚未完整加载：{}。")
#: Null is not zero: what all rows lack may be unknown.
COLON, NOTHING = Words(": ", "："), Words("—", "—")
CUT = Words("… [cut: a cell holds no more]", "…【已截断：单元格长度有限】")

Put = Callable[[int, int, Any], object]


class TooLarge(Exception):
    """A table that no workbook can sensibly hold."""

    def __init__(self, table: str, what: str) -> None:
        super().__init__(
            f"{table} has {what}, which is too much for a spreadsheet: export it with --format csv or parquet"
        )


@dataclass
class Book:
    """A workbook that is being written. `title`: what it is of; `heading`: what stands above each page on
    paper; `for_paper`: whether its sheets have heads; `parts`: the sheets so far, for the first one; `drawn`:
    those that may have charts; `cut`: texts that were longer than a cell."""

    file: xlsxwriter.Workbook
    styles: Styles
    language: Language
    title: str
    heading: str
    for_paper: bool
    tabs: set[str] = field(default_factory=set)
    parts: list[Part] = field(default_factory=list)
    drawn: list[Drawn] = field(default_factory=list)
    cut: int = 0

    def add(self, name: str) -> Worksheet:
        """A new sheet, with a tab of this name or the next like it."""
        tab = tab_name(name, self.tabs)
        self.tabs.add(tab.casefold())
        return self.file.add_worksheet(tab)

    def said(self, words: Words) -> str:
        """The words in the workbook's language."""
        return words.in_language(self.language)


def write_workbook(
    con: duckdb.DuckDBPyConnection, workbook: Workbook, origin: Origin, target: Path, language: Language
) -> list[Part]:
    """Write a workbook for the school of `origin` to `target`, and what it needs meanwhile beside it. Returns
    its sheets, with their rows.

    Raises TooLarge."""
    file = xlsxwriter.Workbook(
        str(target), {**DEFAULTS, "constant_memory": True, "tmpdir": str(target.parent)}
    )
    title = workbook.title.in_language(language)
    file.set_properties({"title": title, "created": origin.published_at})
    heading = f"{title} · {origin.school.name} · {origin.day}"
    book = Book(file, Styles(file), language, title, heading, workbook.for_paper)
    # First in the file and written last, when the rows are counted.
    about = book.add({"en": "About", "zh": "说明"}[language])
    for sheet in workbook.sheets:
        _write_sheet(book, con, sheet, origin)
    draw(file, book.drawn, language)
    write_about(about, book.styles, workbook, origin, book.parts, book.cut, language)
    set_page(about, book.heading, paper_for(WIDTHS))
    # Not where something failed: what is unfinished need not be put together.
    try:
        file.close()
    except FileSizeError as error:
        raise TooLarge(title, "more than 4 GB") from error
    return book.parts


def _write_sheet(book: Book, con: duckdb.DuckDBPyConnection, sheet: Sheet, origin: Origin) -> None:
    parameters = origin.parameters(sheet.query)
    columns = shown_columns(con, sheet, parameters, book.language)
    title = book.said(sheet.name)
    if len(columns) > MAX_COLUMNS:
        raise TooLarge(title, f"more than {MAX_COLUMNS:,} columns")
    cells = ", ".join(column.cell for column in columns)
    result = con.execute(f"SELECT {cells} FROM ({sheet.query})", parameters)
    sample = result.fetchall() if book.for_paper else result.fetchmany(BATCH_ROWS)
    never = origin.not_loaded(sheet.sources)
    nothing = book.said(NOT_LOADED).format(book.said(never)) if never else book.said(NO_ROWS)
    common = _in_common(sheet, columns, sample) if book.for_paper else {}
    told = _told(book, columns, common)
    if common:
        own = [place for place in range(len(columns)) if place not in common]
        columns = tuple(columns[place] for place in own)
        sample = [tuple(row[place] for place in own) for row in sample]
    rows = chain(sample, _streamed(result))
    first = sample[:BATCH_ROWS]
    columns = tuple(fitted(column, [row[place] for row in first]) for place, column in enumerate(columns))
    for number in range(MAX_PARTS):
        worksheet = book.add(f"{title} ({number + 1})" if number else title)
        written = _write_part(book, worksheet, sheet, columns, told, rows, nothing)
        book.parts.append(Part(worksheet.get_name(), sheet, written))
        following = next(rows, None)
        if following is None:
            return
        rows = chain([following], rows)
    raise TooLarge(title, f"more than {MAX_PARTS * MAX_ROWS:,} rows")


def _streamed(result: duckdb.DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    while batch := result.fetchmany(BATCH_ROWS):
        yield from batch


def _in_common(sheet: Sheet, columns: Sequence[Shown], rows: Sequence[tuple[Any, ...]]) -> dict[int, Any]:
    """By place, what all rows have the same: on paper it is said once. What is coloured or drawn stays, and
    so do dates and the cells of a matrix; a few numbers may be the same by chance."""
    coloured = [each.columns for each in sheet.scales] + [each.columns for each in sheet.highlights]
    needed = set(chain(*coloured))
    needed |= {name for chart in sheet.charts if not chart.of for name in (chart.categories, *chart.values)}
    told = ("text",) if len(rows) < MANY else ("text", "integer", "decimal", "percent")
    return {
        place: rows[0][place]
        for place, column in enumerate(columns)
        if len(rows) > 1 and column.name not in needed and not column.stays
        if rows[0][place] is None or column.kind in told
        if all(row[place] == rows[0][place] for row in rows)
    }


def _told(book: Book, columns: Sequence[Shown], common: Mapping[int, Any]) -> str:
    """What all rows have in common, in words."""
    said = []
    for place, value in common.items():
        label = " · ".join((*columns[place].groups, columns[place].label))
        said.append(f"{label}{book.said(COLON)}{shown_as(columns[place], value) or book.said(NOTHING)}")
    return "    ".join(said)


def _write_part(
    book: Book,
    worksheet: Worksheet,
    sheet: Sheet,
    columns: Sequence[Shown],
    told: str,
    rows: Iterator[tuple[Any, ...]],
    nothing: str,
) -> int:
    """Write one worksheet, as many rows as it holds. `told`: what all rows have in common; `nothing`: why
    there are no rows. The rows written."""
    if sheet.figures:
        columns = widened(columns)
    if sheet.fills:
        columns = filled(columns, sheet.fills)
    widths = [column.width for column in columns]
    for place, width in enumerate(widths):
        worksheet.set_column(place, place, width)
    repeated = _repeated(columns)
    paper = paper_for(widths, repeated)
    top, used = 0, 0.0
    if book.for_paper:
        lines = f"{book.title} · {book.said(sheet.name)}", told, book.said(sheet.about)
        top, used = write_head(worksheet, book.styles, widths, paper, lines, sheet.figures, book.language)
    header, height = _write_header(book, worksheet, columns, top)
    first = header + 1
    body = _write_rows(book, worksheet, sheet, columns, islice(rows, MAX_ROWS - first), first)
    _set_up(book, worksheet, columns, (top, header, max(body.last, first)))
    if paper.pages > 1:
        worksheet.repeat_columns(0, repeated - 1)
    set_page(worksheet, book.heading, paper, _tallest(body, used, height) if sheet.breaks else 0)
    if body.last < first:
        worksheet.write_string(first, 0, nothing, book.styles.of(italic=True))
        return 0
    by_name = {column.name: (place, column) for place, column in enumerate(columns)}
    cells = Cells(worksheet.get_name(), first, body.last, by_name)
    colour(worksheet, sheet, cells, book.styles)
    room = room_for(sheet, paper, used + height + body.height, is_broken=bool(body.breaks))
    breaks = [*body.breaks, *([body.last + 1] if room.on_next else [])]
    worksheet.set_h_pagebreaks(breaks[:MAX_BREAKS])
    book.drawn.append(Drawn(worksheet, sheet, cells, room))
    return body.last - first + 1


def _repeated(columns: Sequence[Shown]) -> int:
    """How many columns are on each of several pages side by side: those that say whose the row is."""
    texts = takewhile(lambda column: column.kind == "text" and column.width < WIDEST / 2, columns)
    return max(1, len(list(texts)))


def _write_header(book: Book, worksheet: Worksheet, columns: Sequence[Shown], top: int) -> tuple[int, float]:
    """Write the headings of groups and the labels below them, from row `top` on. The row of the labels, and
    the height of all in points.

    What has no heading of its own looks like one cell with what is below, and is none, so that the row of the
    labels is whole: it is what filters and other programs go by."""
    depth, used = max(len(column.groups) for column in columns), 0.0
    for level in range(depth):
        place, height = 0, 0.0
        for groups, members in groupby(columns, key=lambda column: column.groups[: level + 1]):
            widths = [column.width for column in members]
            size = len(widths)
            name = groups[level] if len(groups) > level else ""
            style = book.styles.heading(joins_above=len(groups) < level, joins_below=not name)
            if size > 1 and name:
                worksheet.merge_range(top + level, place, top + level, place + size - 1, "", style)
            for number in range(size if not name else 1):
                worksheet.write_string(top + level, place + number, as_text(name), style)
            height = max(height, height_of(name, sum(widths)))
            place += size
        worksheet.set_row(top + level, height)
        used += height
    for place, column in enumerate(columns):
        style = book.styles.heading(joins_above=len(column.groups) < depth)
        worksheet.write_string(top + depth, place, as_text(column.label), style)
    height = max(height_of(column.label, column.width) for column in columns) + ARROW
    worksheet.set_row(top + depth, height)
    return top + depth, used + height


@dataclass
class Body:
    """The rows of a table: the last one's number, their height in points, before which of them a page
    begins, and how high the rows were above each of these."""

    last: int
    height: float = 0.0
    breaks: list[int] = field(default_factory=list)
    heights: list[float] = field(default_factory=list)


def _write_rows(
    book: Book,
    worksheet: Worksheet,
    sheet: Sheet,
    columns: Sequence[Shown],
    rows: Iterator[tuple[Any, ...]],
    first: int,
) -> Body:
    """Write rows from `first` on."""
    wrapped = [(place, column.width) for place, column in enumerate(columns) if column.wraps]
    styles = [book.styles.cell(column) for column in columns]
    puts = [_put(book, worksheet, column, style) for column, style in zip(columns, styles, strict=True)]
    breaks_at = next((place for place, column in enumerate(columns) if column.name == sheet.breaks), None)
    body, before = Body(first - 1), None
    for number, row in enumerate(rows, first):
        for place, value in enumerate(row):
            if value is not None:
                puts[place](number, place, value)
            elif book.for_paper:
                worksheet.write_blank(number, place, None, styles[place])
        height = max((height_of(str(row[place] or ""), width) for place, width in wrapped), default=0)
        # Not every program finds the height of wrapped text by itself.
        if height > LINE_HEIGHT:
            worksheet.set_row(number, height)
        if breaks_at is not None:
            if number > first and row[breaks_at] != before:
                body.breaks.append(number)
                body.heights.append(body.height)
            before = row[breaks_at]
        body.last, body.height = number, body.height + max(height, LINE_HEIGHT)
    return body


def _tallest(body: Body, head: float, header: float) -> float:
    """Points of the highest stretch between two page breaks. The head is on the first page, the header on
    each."""
    stretches = [below - above for above, below in pairwise([0.0, *body.heights, body.height])]
    return header + max(stretches[0] + head, *stretches)


def _put(book: Book, worksheet: Worksheet, column: Shown, style: Format) -> Put:
    """What writes the cells of a column. Text is always written as text, never as what it may look like."""

    words, write_string, write_number = column.words, worksheet.write_string, worksheet.write_number

    def put_text(row: int, place: int, value: str) -> None:
        text = words.get(value, value)
        if is_too_long(text):
            text = shortened(text, book.said(CUT))
            book.cut += 1
        write_string(row, place, as_text(text), style)

    def put_number(row: int, place: int, value: float | str) -> None:
        if isinstance(value, str):
            put_text(row, place, value)
        else:
            write_number(row, place, value, style)

    def put_flag(row: int, place: int, value: bool) -> None:
        worksheet.write_boolean(row, place, value, style)

    def put_link(row: int, place: int, value: str) -> None:
        fits = len(value) <= MAX_LINK and worksheet.hlink_count < MAX_LINKS
        if not (fits and ADDRESS.fullmatch(value)) or worksheet.write_url(row, place, value, string=value):
            put_text(row, place, value)

    if column.kind == "boolean":
        return put_flag
    if column.kind == "link":
        return put_link
    return put_text if column.kind == "text" else put_number


def _set_up(book: Book, worksheet: Worksheet, columns: Sequence[Shown], rows: tuple[int, int, int]) -> None:
    """Header in view and filtered; on paper it is on each page. `rows`: where the header begins and ends, and
    the last row."""
    top, header, last = rows
    worksheet.freeze_panes(header + 1, 0)
    worksheet.autofilter(header, 0, last, len(columns) - 1)
    worksheet.ignore_errors({"number_stored_as_text": xl_range(0, 0, last, len(columns) - 1)})
    worksheet.repeat_rows(top, header)
