"""The command `campus status`."""

from pipelines.cli.display import console, show
from pipelines.settings import Settings
from pipelines.status import status_of
from pipelines.status_text import COLUMNS, lines_of, rows_of, title_of


def run_status(settings: Settings) -> int:
    """Show how each school stands and what there is to do. The exit status: 1 where there is something."""
    status = status_of(settings)
    if status.schools:
        show(title_of(status), COLUMNS, rows_of(status))
    for line in lines_of(status):
        console.print(line, markup=False, soft_wrap=True)
    return int(bool(status.to_do))
