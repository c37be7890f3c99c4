"""The command `campus doctor`."""

import click

from pipelines.cli.command_settings import read_settings
from pipelines.cli.terminal.display import example


@click.command(epilog=example("doctor"))
@click.option("--rediscover", is_flag=True, help="First forget what earlier runs discovered of the platform.")
def doctor(rediscover: bool) -> int:
    """Check the settings, the token, its scopes and each endpoint, and say what to do."""
    settings = read_settings()
    from pipelines.cli.doctor import run_doctor

    return run_doctor(settings, rediscover=rediscover)
