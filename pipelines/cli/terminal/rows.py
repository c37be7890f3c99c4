"""Prints a query's rows as a table, CSV or JSON."""

import csv
import sys
from collections.abc import Callable, Sequence
from itertools import chain, count
from typing import Any

import msgspec
from rich.cells import cell_len
from rich.text import Text

from pipelines.cli.terminal.display import build_table, console, print_error, print_wide, width_of
from pipelines.terminal import for_stream
from warehouse.csv_cells import safe_cell

Rows = Sequence[Sequence[Any]]

#: Rows of a table at most: drawing more takes minutes.
MAX_ROWS = 1_000


def print_rows(columns: Sequence[str], rows: Rows, style: str) -> None:
    """Print a query's result as `table`, `csv` (without cells that a spreadsheet would run as formulas, see
    safe_cell) or `json` (exact values, decimals with all digits)."""
    _PRINTERS[style](columns, rows)


def _print_table(columns: Sequence[str], rows: Rows) -> None:
    """Print a line for each row, or for each value where the terminal is too narrow. Numbers have no
    separators, since many are ids."""
    shown = rows[:MAX_ROWS]
    table = build_table(columns, shown, _cell)
    if console.is_terminal and width_of(table) > console.width:
        _print_upright(columns, shown)
    else:
        print_wide(table)
    if len(rows) > MAX_ROWS:
        print_error(f"{MAX_ROWS:,} of {len(rows):,} rows; --format csv has all")


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
    """Column names as unique JSON keys: repeated names get _1, _2, ... as in DuckDB."""
    names: list[str] = []
    for column in columns:
        candidates = chain([column], (f"{column}_{n}" for n in count(1)))
        names.append(next(name for name in candidates if name not in names))
    return names


_PRINTERS: dict[str, Callable[[Sequence[str], Rows], None]] = {
    "table": _print_table,
    "csv": _print_csv,
    "json": _print_json,
}
