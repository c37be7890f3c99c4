"""A query's rows as people and programs read them: a table, CSV or JSON."""

import csv
import sys
from collections.abc import Callable, Sequence
from itertools import chain, count
from typing import Any

import msgspec
from rich.cells import cell_len
from rich.text import Text

from pipelines.cli.display import console, draw, errors, print_wide, width_of
from pipelines.terminal import for_stream
from warehouse.csv_cells import safe_cell

Rows = Sequence[Sequence[Any]]

#: Of more rows than this nobody reads a table, and to draw it would take minutes.
SHOWN = 1_000


def print_rows(columns: Sequence[str], rows: Rows, style: str) -> None:
    """Print a query's result as `table`, `csv` (text that no spreadsheet program runs, see safe_cell) or
    `json` (each value exact, decimals with all their digits)."""
    _STYLES[style](columns, rows)


def _print_table(columns: Sequence[str], rows: Rows) -> None:
    """A line a row; on a terminal that is too narrow for it, a line a value. Numbers as they are, since many
    are ids."""
    shown = rows[:SHOWN]
    drawn = draw(columns, shown, _cell)
    if console.is_terminal and width_of(drawn) > console.width:
        _print_upright(columns, shown)
    else:
        print_wide(drawn)
    if len(rows) > SHOWN:
        errors.print(f"{SHOWN:,} of {len(rows):,} rows; --format csv has all", markup=False)


def _print_upright(columns: Sequence[str], rows: Rows) -> None:
    width = max(cell_len(column) for column in columns)
    for number, row in enumerate(rows, 1):
        console.print(f"── row {number} ".ljust(width, "─"), style="dim", markup=False)
        for column, value in zip(columns, row, strict=True):
            name = column + " " * (width - cell_len(column))
            console.print(Text.assemble((name, "bold"), " ", _cell(value)), soft_wrap=True)


def _cell(value: Any) -> Text:
    return Text("NULL", style="dim") if value is None else Text(str(value))


def _print_csv(columns: Sequence[str], rows: Rows) -> None:
    writer = csv.writer(sys.stdout)
    for row in chain([columns], rows):
        cells = map(safe_cell, row)
        writer.writerow(for_stream(cell, sys.stdout) if isinstance(cell, str) else cell for cell in cells)


def _print_json(columns: Sequence[str], rows: Rows) -> None:
    encoder = msgspec.json.Encoder(decimal_format="number")
    names = _distinct(columns)
    records = [dict(zip(names, row, strict=True)) for row in rows]
    sys.stdout.write(for_stream(encoder.encode(records).decode(), sys.stdout) + "\n")


def _distinct(columns: Sequence[str]) -> list[str]:
    """The names with _1, _2, ... at repeated ones as in DuckDB: an object has a name once."""
    names: list[str] = []
    for column in columns:
        candidates = chain([column], (f"{column}_{n}" for n in count(1)))
        names.append(next(name for name in candidates if name not in names))
    return names


_STYLES: dict[str, Callable[[Sequence[str], Rows], None]] = {
    "table": _print_table,
    "csv": _print_csv,
    "json": _print_json,
}
