"""The command `campus thresholds`."""

import click

from pipelines.cli.command_options import SCHOOLS
from pipelines.cli.command_settings import settings_for_writing
from pipelines.cli.terminal.display import example


@click.command(epilog=example("thresholds", "thresholds --school 101", "thresholds --one-in 3"))
@SCHOOLS
@click.option(
    "--one-in",
    type=click.IntRange(min=2),
    default=4,
    show_default=True,
    metavar="NUMBER",
    help="A talk is worth it if one of so many students needs it: the net benefit counts by that.",
)
def thresholds(schools: tuple[int, ...], one_in: int) -> int:
    """Show how many students each early-warning rule flags with the files of $CAMPUS_HOME/thresholds, and
    whom they would have found in the last closed semester, before they are used: nothing is published."""
    settings = settings_for_writing()
    from pipelines.cli.actions.thresholds import run_thresholds

    return run_thresholds(settings, schools, one_in)
