"""The command `campus status`."""

import click

from pipelines.cli.command_options import SCHOOLS
from pipelines.cli.command_settings import read_settings
from pipelines.cli.terminal.display import example


@click.command(epilog=example("status", "status --school 101"))
@SCHOOLS
def status(schools: tuple[int, ...]) -> int:
    """Show the status of the schools and what there is to do; exit status 1 where there is something.

    Of more than 20 schools the table shows those with problems."""
    settings = read_settings()
    from pipelines.cli.actions.status import run_status

    return run_status(settings.model_copy(update={"school_ids": schools}) if schools else settings)
