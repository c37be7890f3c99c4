"""What the terminal shows: lines, and tables with a title."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from pipelines.terminal import VisibleConsole

#: The exit status of a wrong question, as the command line has it, and that of SIGINT, as a shell reports it.
USAGE, INTERRUPTED = 2, 130

console = VisibleConsole(highlight=False)
errors = VisibleConsole(stderr=True, highlight=False)


def complain(problem: object) -> None:
    """Say in a line of its own what stands in the way of a command."""
    errors.print(f"campus: {problem}", markup=False, soft_wrap=True)


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table. A row stays one line however wide, so that it can be read across and cut."""
    print_wide(draw(columns, rows, _cell, title))


def draw(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], cell: Callable[[Any], Text], title: str = ""
) -> Table:
    """A table whose numbers stand on the right. `cell`: how a value is shown."""
    drawn = Table(title=title or None, title_justify="left", title_style="bold")
    for index, column in enumerate(columns):
        numeric = any(isinstance(row[index], (int, float, Decimal)) for row in rows)
        drawn.add_column(Text(column), justify="right" if numeric else "left", no_wrap=True)
    for row in rows:
        drawn.add_row(*map(cell, row))
    return drawn


def width_of(drawn: Table) -> int:
    """The letters that a row takes."""
    return Measurement.get(console, console.options.update(width=100_000), drawn).maximum


def print_wide(drawn: Table) -> None:
    """Print a table with each row in one line, wider than the terminal if need be."""
    VisibleConsole(width=max(console.width, width_of(drawn)), highlight=False).print(drawn)


def _cell(value: Any) -> Text:
    if isinstance(value, Text):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return Text(f"{value:,}")
    return Text("" if value is None else str(value))


def example(*lines: str) -> str:
    """What stands below a command's help."""
    return "\b\nExample:\n" + "\n".join(f"  campus {line}" for line in lines)
