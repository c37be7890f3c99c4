"""The command `campus push-receiver`."""

import click

from pipelines.cli.command_settings import settings_for_writing
from pipelines.cli.terminal.display import example


@click.command("push-receiver", epilog=example("push-receiver"))
def push_receiver() -> None:
    """Receive the platform's change pushes (CAMPUS_PUSH_TOKEN, CAMPUS_PUSH_HOST, CAMPUS_PUSH_PORT)."""
    settings = settings_for_writing()
    from pipelines.settings.settings import SettingsError

    if not settings.takes_pushes:
        raise SettingsError(["CAMPUS_PUSH_TOKEN is not set: the platform signs its pushes with it"])
    from pipelines.pushes.receiver import serve

    serve(settings)
