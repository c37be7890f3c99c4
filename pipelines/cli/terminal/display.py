"""Prints lines, and tables with a title, at the terminal."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from pipelines.terminal import VisibleConsole

#: The exit status of wrong usage, as click has it, and of SIGINT, as a shell reports it.
USAGE, INTERRUPTED = 2, 130

console = VisibleConsole(highlight=False)
errors = VisibleConsole(stderr=True, highlight=False)


def print_line(text: str) -> None:
    """Print a line as it is: without markup, and unwrapped."""
    console.print(text, markup=False, soft_wrap=True)


def print_error(text: str) -> None:
    """Print a line to standard error, likewise."""
    errors.print(text, markup=False, soft_wrap=True)


def complain(problem: object) -> None:
    """Print to standard error why a command cannot go on."""
    print_error(f"campus: {problem}")


def fail(problem: object, exit_status: int = 1) -> int:
    """Print to standard error why a command failed, and return its exit status."""
    complain(problem)
    return exit_status


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table. Each row is one line, however wide, so that it can be read across and cut."""
    print_wide(build_table(columns, rows, _cell, title))


def build_table(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], cell: Callable[[Any], Text], title: str = ""
) -> Table:
    """Build a table with numbers aligned to the right. `cell`: formats a value."""
    table = Table(title=title or None, title_justify="left", title_style="bold")
    for index, column in enumerate(columns):
        numeric = any(isinstance(row[index], (int, float, Decimal)) for row in rows)
        table.add_column(Text(column), justify="right" if numeric else "left", no_wrap=True)
    for row in rows:
        table.add_row(*map(cell, row))
    return table


def width_of(table: Table) -> int:
    """The width of a row, in terminal cells."""
    return Measurement.get(console, console.options.update(width=100_000), table).maximum


def print_wide(table: Table) -> None:
    """Print a table with each row in one line, wider than the terminal if needed."""
    VisibleConsole(width=max(console.width, width_of(table)), highlight=False).print(table)


def _cell(value: Any) -> Text:
    if isinstance(value, Text):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return Text(f"{value:,}")
    return Text("" if value is None else str(value))


def example(*lines: str) -> str:
    """The examples below a command's help."""
    return "\b\nExample:\n" + "\n".join(f"  campus {line}" for line in lines)
