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

from exports.source import Origin
from exports.spreadsheet.about import TEXTS, WIDTHS, WrittenSheet, tab_name, write_about
from exports.spreadsheet.cells import as_text, is_too_long, shortened
from exports.spreadsheet.columns import SheetColumn, sheet_columns
from exports.spreadsheet.drawing import Cells, Drawn, colour, draw, room_for
from exports.spreadsheet.excel_table import add_table
from exports.spreadsheet.head import write_head
from exports.spreadsheet.sheets import Language, Sheet, Words, Workbook
from exports.spreadsheet.styles import (
    ARROW,
    DEFAULTS,
    LINE_HEIGHT,
    WIDEST,
    Styles,
    filled,
    filled_on_one_page,
    fitted,
    height_of,
    paper_for,
    set_page,
    shown_as,
    widened,
)
from warehouse.identifiers import quoted

#: Rows of a sheet with its header, columns of a sheet, and sheets of one table, at most.
MAX_ROWS, MAX_COLUMNS, MAX_PARTS = 1_048_576, 16_384, 4
#: Rows that are read at a time. Column widths depend on the first batch.
BATCH_ROWS = 2_048
#: Excel's limits of links in a sheet and of a link's characters. Further links stay text.
MAX_LINKS, MAX_LINK = 65_530, 2_079
#: With so many rows, an equal number in all rows is no chance.
MANY = 8
#: Excel's limit of page breaks.
MAX_BREAKS = 1_023

#: Addresses for browsers only: a cell must not start a program or open a local file.
ADDRESS = re.compile(r"https?://\S.*")

#: Stands for null, which is not zero.
NOTHING = "—"

Put = Callable[[int, int, Any], object]


class SheetTooLarge(Exception):
    """A table that is too large for a workbook."""

    def __init__(self, table: str, size: str) -> None:
        super().__init__(
            f"{table} has {size}, which is too much for a spreadsheet: export it with --format csv or parquet"
        )


@dataclass
class Book:
    """A workbook that is being written."""

    con: duckdb.DuckDBPyConnection
    workbook: Workbook
    origin: Origin
    language: Language
    file: xlsxwriter.Workbook
    styles: Styles
    tabs: set[str] = field(default_factory=set)
    #: The names of its tables.
    tables: set[str] = field(default_factory=set)
    #: For the first sheet.
    sheets: list[WrittenSheet] = field(default_factory=list)
    #: The written sheets that may have charts.
    drawn: list[Drawn] = field(default_factory=list)
    #: The number of texts that were longer than a cell.
    cut: int = 0

    def add(self, name: str) -> Worksheet:
        """A new sheet. Its tab has this name, or the name with a number."""
        tab = tab_name(name, self.tabs)
        self.tabs.add(tab.casefold())
        return self.file.add_worksheet(tab)

    def text(self, words: Words) -> str:
        """A text in the workbook's language."""
        return words.in_language(self.language)

    @property
    def heading(self) -> str:
        """The text above each page on paper."""
        return f"{self.text(self.workbook.title)} · {self.origin.school.name} · {self.origin.day}"

    def has_head(self, sheet: Sheet) -> bool:
        """Whether a sheet has a head, and all its cells have lines."""
        return self.workbook.for_paper or sheet.on_one_page


def write_workbook(
    con: duckdb.DuckDBPyConnection, workbook: Workbook, origin: Origin, target: Path, language: Language
) -> list[WrittenSheet]:
    """Write a workbook for the school of `origin` to `target`, with temporary files beside it. Returns its
    sheets with their rows.

    Raises SheetTooLarge."""
    file = xlsxwriter.Workbook(
        str(target), {**DEFAULTS, "constant_memory": True, "tmpdir": str(target.parent)}
    )
    book = Book(con, workbook, origin, language, file, Styles(file))
    title = book.text(workbook.title)
    file.set_properties({"title": title, "created": origin.published_at})
    # The first sheet is written last, when the rows are counted.
    about = book.add(book.text(TEXTS["about"]))
    for sheet in workbook.sheets:
        _write_sheet(book, sheet)
    draw(file, book.drawn, language)
    write_about(about, book.styles, workbook, origin, book.sheets, book.cut, language)
    set_page(about, book.heading, paper_for(WIDTHS))
    # After a failure, the unfinished file stays open: closing would assemble it.
    try:
        file.close()
    except FileSizeError as error:
        raise SheetTooLarge(title, "more than 4 GB") from error
    return book.sheets


def _write_sheet(book: Book, sheet: Sheet) -> None:
    parameters = book.origin.parameters(sheet.query)
    columns = sheet_columns(book.con, sheet, parameters, book.language)
    title = book.text(sheet.name)
    if len(columns) > MAX_COLUMNS:
        raise SheetTooLarge(title, f"more than {MAX_COLUMNS:,} columns")
    # The last value of each row is its page, which is not shown.
    page = quoted(sheet.breaks) if sheet.breaks else "NULL"
    cells = ", ".join((*(column.cell for column in columns), page))
    result = book.con.execute(f"SELECT {cells} FROM ({sheet.query})", parameters)
    sample = result.fetchall() if book.has_head(sheet) else result.fetchmany(BATCH_ROWS)
    never = book.origin.not_loaded(sheet.sources)
    nothing = book.text(TEXTS["never_loaded"].format(never) if never else TEXTS["no_rows"])
    common = _in_common(sheet, columns, sample) if book.workbook.for_paper else {}
    shared = _shared_values(book, columns, common)
    if common:
        indexes = [index for index in range(len(columns)) if index not in common]
        columns = tuple(columns[index] for index in indexes)
        sample = [(*(row[index] for index in indexes), row[-1]) for row in sample]
    rows = chain(sample, _streamed(result))
    first = sample[:BATCH_ROWS]
    columns = tuple(fitted(column, [row[index] for row in first]) for index, column in enumerate(columns))
    if sheet.on_one_page and sheet.fills:
        columns = tuple(filled_on_one_page(columns, sheet.fills, sample))
    for number in range(MAX_PARTS):
        worksheet = book.add(f"{title} ({number + 1})" if number else title)
        written = _write_part(book, worksheet, sheet, columns, shared, rows, nothing)
        book.sheets.append(WrittenSheet(worksheet.get_name(), sheet, written))
        following = next(rows, None)
        if following is None:
            return
        rows = chain([following], rows)
    raise SheetTooLarge(title, f"more than {MAX_PARTS * MAX_ROWS:,} rows")


def _streamed(result: duckdb.DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    while batch := result.fetchmany(BATCH_ROWS):
        yield from batch


def _in_common(
    sheet: Sheet, columns: Sequence[SheetColumn], rows: Sequence[tuple[Any, ...]]
) -> dict[int, Any]:
    """The values that all rows share, by index of the column: on paper they are written once. Columns with
    colours or charts stay, and so do dates and the cells of a matrix. A few numbers may be equal by
    chance."""
    coloured = [scale.columns for scale in sheet.scales]
    coloured += [highlight.columns for highlight in sheet.highlights]
    needed = set(chain(*coloured))
    needed |= {name for chart in sheet.charts if not chart.of for name in (chart.categories, *chart.values)}
    kinds = ("text",) if len(rows) < MANY else ("text", "integer", "decimal", "percent")
    return {
        index: rows[0][index]
        for index, column in enumerate(columns)
        if len(rows) > 1 and column.name not in needed and not column.stays
        if rows[0][index] is None or column.kind in kinds
        if all(row[index] == rows[0][index] for row in rows)
    }


def _shared_values(book: Book, columns: Sequence[SheetColumn], common: Mapping[int, Any]) -> str:
    """A line with the values that all rows share."""
    labelled = []
    for index, value in common.items():
        label = " · ".join((*columns[index].groups, columns[index].label))
        labelled.append(f"{label}{book.text(TEXTS['colon'])}{shown_as(columns[index], value) or NOTHING}")
    return "    ".join(labelled)


def _write_part(
    book: Book,
    worksheet: Worksheet,
    sheet: Sheet,
    columns: Sequence[SheetColumn],
    shared: str,
    rows: Iterator[tuple[Any, ...]],
    nothing: str,
) -> int:
    """Write one worksheet with as many rows as it can hold. Returns the number of rows.

    Args:
        shared: The values that all rows share.
        nothing: Why there are no rows."""
    if sheet.figures:
        columns = widened(columns)
    if sheet.fills and not sheet.on_one_page:
        columns = filled(columns, sheet.fills)
    widths = [column.width for column in columns]
    for index, width in enumerate(widths):
        worksheet.set_column(index, index, width)
    repeated = _repeated(columns)
    paper = paper_for(widths, repeated)
    top, used = 0, 0.0
    if book.has_head(sheet):
        about = "\n".join(book.text(text) for text in (sheet.about, sheet.notice) if text)
        lines = f"{book.text(book.workbook.title)} · {book.text(sheet.name)}", shared, about
        top, used = write_head(worksheet, book.styles, widths, paper, lines, sheet.figures, book.language)
    header, height = _write_header(book, worksheet, columns, top)
    first = header + 1
    body = _write_rows(book, worksheet, sheet, columns, islice(rows, MAX_ROWS - first), first)
    worksheet.freeze_panes(first, 0)
    last_row, last_column = max(body.last, first), len(columns) - 1
    worksheet.ignore_errors({"number_stored_as_text": xl_range(0, 0, last_row, last_column)})
    worksheet.repeat_rows(top, header)
    labels = [as_text(column.label) for column in columns]
    table_name = f"{book.workbook.name} {sheet.name.en}"
    if body.last < first or not add_table(worksheet, table_name, labels, (header, body.last), book.tables):
        worksheet.autofilter(header, 0, last_row, last_column)
    if paper.pages > 1 or sheet.breaks:
        worksheet.repeat_columns(0, repeated - 1)
    tallest = _tallest(body, used, height) if sheet.breaks else 0
    notice = book.text(sheet.notice) if sheet.notice else ""
    set_page(worksheet, book.heading, paper, tallest, notice, on_one_page=sheet.on_one_page)
    if body.last < first:
        worksheet.write_string(first, 0, nothing, book.styles.named("nothing"))
        return 0
    by_name = {column.name: (index, column) for index, column in enumerate(columns)}
    cells = Cells(worksheet.get_name(), first, body.last, by_name)
    colour(worksheet, sheet, cells, book.styles)
    room = room_for(sheet, paper, used + height + body.height, is_broken=bool(body.breaks))
    breaks = [*body.breaks, *([body.last + 1] if room.on_next else [])]
    worksheet.set_h_pagebreaks(breaks[:MAX_BREAKS])
    book.drawn.append(Drawn(worksheet, sheet, cells, room))
    return body.last - first + 1


def _repeated(columns: Sequence[SheetColumn]) -> int:
    """The number of first columns that every page repeats: the columns that identify the row."""
    texts = takewhile(lambda column: column.kind == "text" and column.width < WIDEST / 2, columns)
    return max(1, len(list(texts)))


def _write_header(
    book: Book, worksheet: Worksheet, columns: Sequence[SheetColumn], top: int
) -> tuple[int, float]:
    """Write the headings of groups and the labels below them, from row `top` on. Returns the row of the
    labels, and the height of the header in points.

    A column without a heading only looks like one merged cell. So the row of the labels is complete, for
    filters and other programs."""
    depth, used = max(len(column.groups) for column in columns), 0.0
    for level in range(depth):
        index, height = 0, 0.0
        for groups, members in groupby(columns, key=lambda column: column.groups[: level + 1]):
            widths = [column.width for column in members]
            size = len(widths)
            name = groups[level] if len(groups) > level else ""
            style = book.styles.heading(joins_above=len(groups) < level, joins_below=not name)
            if size > 1 and name:
                worksheet.merge_range(top + level, index, top + level, index + size - 1, "", style)
            for number in range(size if not name else 1):
                worksheet.write_string(top + level, index + number, as_text(name), style)
            height = max(height, height_of(name, sum(widths)))
            index += size
        worksheet.set_row(top + level, height)
        used += height
    for index, column in enumerate(columns):
        style = book.styles.heading(joins_above=len(column.groups) < depth)
        worksheet.write_string(top + depth, index, as_text(column.label), style)
    height = max(height_of(column.label, column.width) for column in columns) + ARROW
    worksheet.set_row(top + depth, height)
    return top + depth, used + height


@dataclass
class WrittenRows:
    """The written rows of a table."""

    #: The number of the last row.
    last: int
    #: The height of the rows in points.
    height: float = 0.0
    #: The rows that begin a page.
    breaks: list[int] = field(default_factory=list)
    #: The height of the rows above each of these.
    heights: list[float] = field(default_factory=list)


def _write_rows(
    book: Book,
    worksheet: Worksheet,
    sheet: Sheet,
    columns: Sequence[SheetColumn],
    rows: Iterator[tuple[Any, ...]],
    first: int,
) -> WrittenRows:
    """Write rows from `first` on. The last value of a row is its page."""
    wrapped = [(index, column.width) for index, column in enumerate(columns) if column.wraps]
    styles = [book.styles.cell(column) for column in columns]
    puts = [_put(book, worksheet, column, style) for column, style in zip(columns, styles, strict=True)]
    has_lines, body, page = book.has_head(sheet), WrittenRows(first - 1), None
    for number, row in enumerate(rows, first):
        for index, put in enumerate(puts):
            value = row[index]
            if value is not None:
                put(number, index, value)
            elif has_lines:
                worksheet.write_blank(number, index, None, styles[index])
        height = max((height_of(str(row[index] or ""), width) for index, width in wrapped), default=0)
        # Some programs do not compute the height of wrapped text.
        if height > LINE_HEIGHT:
            worksheet.set_row(number, height)
        if number > first and row[-1] != page:
            body.breaks.append(number)
            body.heights.append(body.height)
        page = row[-1]
        body.last, body.height = number, body.height + max(height, LINE_HEIGHT)
    return body


def _tallest(body: WrittenRows, head: float, header: float) -> float:
    """The height of the highest part between two page breaks, in points. The head is on the first page, the
    header on every page."""
    stretches = [below - above for above, below in pairwise([0.0, *body.heights, body.height])]
    return header + max(stretches[0] + head, *stretches)


def _put(book: Book, worksheet: Worksheet, column: SheetColumn, style: Format) -> Put:
    """The function that writes the cells of a column. Text is always written as text, whatever it looks
    like."""

    words, write_string, write_number = column.words, worksheet.write_string, worksheet.write_number

    def put_text(row: int, index: int, value: str) -> None:
        text = words.get(value, value)
        if is_too_long(text):
            text = shortened(text, book.text(TEXTS["cut_end"]))
            book.cut += 1
        write_string(row, index, as_text(text), style)

    def put_number(row: int, index: int, value: float | str) -> None:
        if isinstance(value, str):
            put_text(row, index, value)
        else:
            write_number(row, index, value, style)

    def put_flag(row: int, index: int, value: bool) -> None:
        worksheet.write_boolean(row, index, value, style)

    def put_link(row: int, index: int, value: str) -> None:
        fits = len(value) <= MAX_LINK and worksheet.hlink_count < MAX_LINKS
        if not (fits and ADDRESS.fullmatch(value)) or worksheet.write_url(row, index, value, string=value):
            put_text(row, index, value)

    if column.kind == "boolean":
        return put_flag
    if column.kind == "link":
        return put_link
    return put_text if column.kind == "text" else put_number
