"""What the terminal shows: progress while a sync runs, and tables with a title."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

from rich.measure import Measurement
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from campus.http.events import Event, Listener
from pipelines.terminal import VisibleConsole

#: The exit status of a wrong question, as the command line has it, and that of SIGINT, as a shell reports it.
USAGE, INTERRUPTED = 2, 130

console = VisibleConsole(highlight=False)
errors = VisibleConsole(stderr=True, highlight=False)


@contextmanager
def progress() -> Iterator[Listener]:
    """A bar for each slice that is being read; on a plain stream one line when a slice is read."""
    if not console.is_terminal:
        yield _plain
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rows]:,} rows"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bars:
        tasks: dict[tuple[str, str], TaskID] = {}

        def listen(event: Event) -> None:
            if event.kind != "progress":
                _plain(event)
                return
            key = (event.resource, event.slice)
            if key not in tasks:
                tasks[key] = bars.add_task(f"{event.resource} {event.slice}", rows=0)
            bars.update(tasks[key], completed=event.done, total=event.total, rows=event.rows)
            if event.done >= event.total:
                bars.remove_task(tasks.pop(key))

        yield listen


def _plain(event: Event) -> None:
    if event.kind == "progress" and event.done >= event.total:
        told = f"  read {event.resource} {event.slice}: {event.rows:,} rows"
        console.print(told, markup=False, soft_wrap=True)
    elif event.kind in ("note", "plan", "throttled"):
        console.print(f"  {event.message}", markup=False, soft_wrap=True)


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
