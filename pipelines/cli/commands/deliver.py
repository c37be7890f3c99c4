"""The command `campus deliver`."""

import click

from pipelines.cli.command_options import SCHOOLS
from pipelines.cli.command_settings import read_settings, settings_for_writing
from pipelines.cli.terminal.display import example


@click.command(epilog=example("deliver --dry-run", "deliver --school 101"))
@click.option("--dry-run", is_flag=True, help="Say who would get a mail. Nothing is sent or logged.")
@SCHOOLS
def deliver(dry_run: bool, schools: tuple[int, ...]) -> int:
    """Send each teacher a mail with links to the pages, or with the workbooks, as `exports.deliver` of
    campus.yaml says. A teacher gets each generation once."""
    settings = read_settings() if dry_run else settings_for_writing()
    from pipelines.cli.actions.deliver import run_deliver

    return run_deliver(settings, schools, dry_run=dry_run)
