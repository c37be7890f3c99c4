"""The command `campus sync`."""

import click

from pipelines.cli.command_options import SCHOOLS
from pipelines.cli.command_settings import settings_for_writing
from pipelines.cli.terminal.display import example


@click.command(epilog=example("sync", "sync --school 101 --full"))
@SCHOOLS
@click.option("--full", is_flag=True, help="Read everything again.")
@click.option("--select", "selection", help="Only these assets, in Dagster's selection syntax.")
@click.option(
    "--accept-vanished",
    is_flag=True,
    help="Let any number of rows vanish (see `safety` in campus.yaml).",
)
def sync(schools: tuple[int, ...], full: bool, selection: str | None, accept_vanished: bool) -> int:
    """Load from the platform, build the models and publish campus.duckdb: the nightly job, here and now."""
    settings = settings_for_writing()
    from pipelines.cli.actions.load import run_sync

    return run_sync(settings, schools, selection, full=full, accept_vanished=accept_vanished)
