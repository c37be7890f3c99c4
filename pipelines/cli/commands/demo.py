"""The command `campus demo`."""

import click

from pipelines.cli.command_settings import settings_for_writing
from pipelines.cli.terminal.display import example


@click.command(epilog=example("demo"))
def demo() -> int:
    """Show everything on the embedded simulator: two nights, build, publish, and a few results."""
    settings = settings_for_writing()
    from pipelines.cli.actions.demo import run_demo

    return run_demo(settings)
