"""The command `campus status`."""

from rich.text import Text

from pipelines.cli.display import console, show
from pipelines.settings import Settings
from pipelines.status import Status, status_of
from pipelines.status_text import AS_OF, COLUMNS, GROUPS, failure_lines, lines_of, rows_of, title_of

ALARM = "bold red"


def run_status(settings: Settings) -> int:
    """Show how each school stands and what there is to do. The exit status: 1 where there is something."""
    status = status_of(settings)
    if status.schools:
        show(title_of(status), COLUMNS, _rows(status))
    failures = len(failure_lines(status.schools))
    for number, line in enumerate(lines_of(status)):
        console.print(line, style=ALARM if number < failures else None, markup=False, soft_wrap=True)
    return int(bool(status.to_do))


def _rows(status: Status) -> list[list[str | int | Text]]:
    """In red where the last attempt failed; a terminal without colours has the column of failures."""
    rows: list[list[str | int | Text]] = []
    for school, cells in zip(status.schools, rows_of(status), strict=True):
        failed = {AS_OF} if school.age.failed else set()
        failed |= {group for group in GROUPS if group in school.groups and school.groups[group].failed}
        named = zip(COLUMNS, cells, strict=True)
        rows.append([Text(str(cell), style=ALARM) if name in failed else cell for name, cell in named])
    return rows
