"""The command `campus notify`."""

import click

from pipelines.cli.command_settings import read_settings
from pipelines.cli.terminal.display import example


@click.command(epilog=example("notify --test"))
@click.option("--test", is_flag=True, help="Send a message that says it is a test.")
def notify(test: bool) -> int:
    """Send the list of things to do to the webhook and the mailboxes of the settings, as the morning does."""
    settings = read_settings()
    from pipelines.cli.actions.notify import run_notify

    return run_notify(settings, test=test)
