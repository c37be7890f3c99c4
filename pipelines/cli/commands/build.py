"""The command `campus build`."""

import click

from pipelines.cli.command_settings import settings_for_writing
from pipelines.cli.terminal.display import example


@click.command(epilog=example("build"))
def build() -> int:
    """Build the models from the lake as it is, check them, and publish campus.duckdb."""
    settings = settings_for_writing()
    from pipelines.cli.actions.load import run_build
    from pipelines.cli.command_session import session

    with session(settings, "campus build", alone=False) as tags:
        return run_build(settings, tags)
