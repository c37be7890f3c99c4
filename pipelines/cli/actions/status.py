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
#: Columns whose cells are not wrapped.
ONE_LINE = ("school", AS_OF)


def run_status(settings: Settings) -> int:
    """Print the status of the schools and what there is to do. Returns the exit status: 1 if anything."""
    status = status_of(settings)
    for line in summary_of(status):
        console.print(line, markup=False, soft_wrap=True)
    if shown_schools(status):
        console.print(table_of(status))
    failures = len(failure_lines(status.schools))
    for number, line in enumerate(lines_of(status)):
        console.print(line, style=ALARM if number < failures else None, markup=False, soft_wrap=True)
    return int(bool(status.to_do))


def table_of(status: Status) -> Table:
    """The table of the schools, at most as wide as the terminal."""
    table = Table(
        title=title_of(status), title_justify="left", title_style="bold", box=None, padding=(0, 1, 0, 0)
    )
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
