"""The command `campus thresholds`."""

import click

from pipelines.cli.command_options import SCHOOLS
from pipelines.cli.command_settings import settings_for_writing
from pipelines.cli.terminal.display import example


@click.command(epilog=example("thresholds", "thresholds --school 101"))
@SCHOOLS
def thresholds(schools: tuple[int, ...]) -> int:
    """Show how many students each early-warning rule flags with the files of $CAMPUS_HOME/thresholds, and
    whom these rules would have found in closed semesters, before they are used: nothing is published."""
    settings = settings_for_writing()
    from pipelines.cli.actions.thresholds import run_thresholds

    return run_thresholds(settings, schools)
