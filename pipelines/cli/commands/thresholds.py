"""The command `campus thresholds`."""

import click

from pipelines.cli.command_options import SCHOOLS
from pipelines.cli.command_settings import settings_for_writing
from pipelines.cli.terminal.display import example

BUDGET = 10.0


@click.command(epilog=example("thresholds", "thresholds --school 101", "thresholds --suggest --budget 10"))
@SCHOOLS
@click.option("--suggest", is_flag=True, help="Propose limits from the closed semesters of each school.")
@click.option(
    "--budget",
    type=click.FloatRange(0, 100, min_open=True),
    help=f"With --suggest: the greatest percentage of students to flag.  [default: {BUDGET:g}]",
)
@click.option("--accept", is_flag=True, help="With --suggest: write the proposed limits.")
def thresholds(schools: tuple[int, ...], suggest: bool, budget: float | None, accept: bool) -> int:
    """Show how many students each early-warning rule flags with the files of $CAMPUS_HOME/thresholds, and
    whom these rules would have found in closed semesters, before they are used: nothing is published."""
    if not suggest and (budget is not None or accept):
        raise click.UsageError("--budget and --accept go with --suggest")
    settings = settings_for_writing()
    if suggest:
        from pipelines.cli.actions.suggest_thresholds import run_suggest

        return run_suggest(settings, schools, BUDGET if budget is None else budget, accept=accept)
    from pipelines.cli.actions.thresholds import run_thresholds

    return run_thresholds(settings, schools)
