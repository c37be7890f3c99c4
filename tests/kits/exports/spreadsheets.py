"""Workbooks as a reader finds them: each sheet's headers and rows, read back by openpyxl."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openpyxl
from openpyxl.cell import Cell
from openpyxl.utils import range_boundaries
from openpyxl.worksheet.worksheet import Worksheet

from exports.library.words import texts

#: What a sheet says that has no rows.
NO_ROWS = texts("spreadsheet")["no_rows"]
EMPTY = (NO_ROWS.en, NO_ROWS.zh)

Labels = tuple[str, ...]


@dataclass(frozen=True)
class Tab:
    """A sheet. `head`: what stands above the table; `labels`: the headers of each column from the topmost
    down; `rows`: what is in the cells, a percentage as one (0 to 100); `sheet`: openpyxl's own."""

    head: list[str]
    labels: list[Labels]
    rows: list[tuple[Any, ...]]
    sheet: Worksheet

    def column(self, *labels: str) -> list[Any]:
        """The values below these headers."""
        place = self.labels.index(labels)
        return [row[place] for row in self.rows]

    def common(self, *labels: str) -> str | None:
        """What the head says that all rows have in common below these headers."""
        label = " · ".join(labels) + ": "
        said = [text for line in self.head for text in line.split("    ") if text.startswith(label)]
        return None if said == [label + "—"] else said[0].removeprefix(label)

    def under(self, heading: str, *keys: Labels) -> Iterator[tuple[Any, ...]]:
        """A matrix row by row: what is in the columns `keys`, the label of a column below `heading`, and the
        value there. Empty cells are left out."""
        for row in self.rows:
            named = dict(zip(self.labels, row, strict=True))
            of = tuple(named[key] if key in named else self.common(*key) for key in keys)
            for labels, value in named.items():
                if len(labels) == 2 and labels[0] == heading and value is not None:
                    yield (*of, labels[1], value)


def read_book(path: Path) -> Mapping[str, Tab]:
    """The sheets of a workbook by their names, the first one (about the others) aside."""
    book = openpyxl.load_workbook(path)
    return {sheet.title: _read(sheet) for sheet in book.worksheets[1:]}


def about(path: Path) -> list[tuple[Any, ...]]:
    """The rows of the first sheet."""
    return list(openpyxl.load_workbook(path).worksheets[0].iter_rows(values_only=True))


def filtered(sheet: Worksheet) -> str:
    """The cells that the filters are for: of the table, or of a sheet that is none."""
    [cells] = [table.ref for table in sheet.tables.values()] or [sheet.auto_filter.ref]
    return str(cells)


def _read(sheet: Worksheet) -> Tab:
    first_column, header, last_column, _ = range_boundaries(filtered(sheet))
    columns = range(first_column, last_column + 1)
    top = int(sheet.print_title_rows.split(":")[0].strip("$"))
    headings = {column: [_heading(sheet, row, column) for row in range(top, header)] for column in columns}
    labels = [
        tuple(filter(None, [*headings[column], sheet.cell(header, column).value])) for column in columns
    ]
    rows = [tuple(map(_value, cells)) for cells in sheet.iter_rows(min_row=header + 1, max_col=last_column)]
    said = [row for row in rows if any(value is not None for value in row)]
    head = [str(cell.value) for row in sheet.iter_rows(max_row=top - 1) for cell in row if cell.value]
    return Tab(head if top > 1 else [], labels, [] if said and said[0][0] in EMPTY else said, sheet)


def _heading(sheet: Worksheet, row: int, column: int) -> str | None:
    """What a cell of the header shows, a merged one as all others of its range."""
    for merged in sheet.merged_cells.ranges:
        if merged.min_row <= row <= merged.max_row and merged.min_col <= column <= merged.max_col:
            return sheet.cell(merged.min_row, merged.min_col).value
    return sheet.cell(row, column).value


def _value(cell: Cell) -> Any:
    is_percent = "%" in cell.number_format and isinstance(cell.value, int | float)
    return round(cell.value * 100, 6) if is_percent else cell.value
