"""The work of `campus status`."""

from rich.table import Table
from rich.text import Text

from pipelines.cli.terminal.display import console
from pipelines.settings.settings import Settings
from pipelines.status.report import Status, status_of
from pipelines.status.text import (
    AS_OF,
    COLUMNS,
    GROUPS,
    failure_lines,
    lines_of,
    rows_of,
    shown_schools,
    summary_of,
    title_of,
)

ALARM = "bold red"
#: Headings of columns, hyphenated to fit a terminal of 80 columns.
HEADS = {
    "base data": "base\ndata",
    "attendance": "atten-\ndance",
    "datasets": "data-\nsets",
    "reports": "re-\nports",
    "failures": "fail-\nures",
    "quarantine": "quaran-\ntine",
}
#: The width of the widest line, and the indent of the further lines of a wrapped one.
MAX_WIDTH, INDENT = 100, "  "
#: Columns whose cells are not wrapped.
ONE_LINE = ("school", AS_OF)


def run_status(settings: Settings) -> int:
    """Print the status of the schools and what there is to do. Returns the exit status: 1 if anything."""
    status = status_of(settings)
    if status.schools:
        console.print(title_of(status), style="bold")
    for line in summary_of(status):
        _print_wrapped(line)
    if shown_schools(status):
        console.print(table_of(status), width=_width())
    failures = len(failure_lines(status.schools))
    for number, line in enumerate(lines_of(status)):
        _print_wrapped(line, ALARM if number < failures else "")
    return int(bool(status.to_do))


def _width() -> int:
    return min(console.width, MAX_WIDTH)


def _print_wrapped(line: str, style: str = "") -> None:
    """Print a line; where it is longer than the terminal, its further lines are indented."""
    first, *further = Text(line).wrap(console, _width() - len(INDENT))
    for text in (first, *(Text(INDENT) + text for text in further)):
        text.stylize(style)
        console.print(text)


def table_of(status: Status) -> Table:
    """The table of the schools, at most as wide as the terminal."""
    table = Table(box=None, padding=(0, 1, 0, 0))
    for name in COLUMNS:
        head = HEADS.get(name, name)
        width = max(map(len, head.split("\n"))) if name in HEADS else None
        table.add_column(head, overflow="fold", no_wrap=name in ONE_LINE, min_width=width)
    for row in _rows(status):
        table.add_row(*row)
    return table


def _rows(status: Status) -> list[list[Text]]:
    """The cells of each school; red where the last load failed."""
    rows: list[list[Text]] = []
    for school, cells in zip(shown_schools(status), rows_of(status), strict=True):
        failed = {AS_OF} if school.age.failed else set()
        failed |= {group for group in GROUPS if group in school.groups and school.groups[group].failed}
        # The title says the year.
        texts = (str(cell).removeprefix(f"{status.at:%Y}-") for cell in cells)
        named = zip(COLUMNS, texts, strict=True)
        rows.append([Text(text, style=ALARM if name in failed else "") for name, text in named])
    return rows
