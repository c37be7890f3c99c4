"""The command `campus ui`, and the options of commands that serve the UI."""

from collections.abc import Callable
from typing import Any

import click

from pipelines.cli.command_settings import settings_for_writing
from pipelines.cli.terminal.display import example

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 3000


def ui_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--host`, `--port` and `--allow-launch` to a command."""
    options = (
        click.option(
            "--host",
            default=DEFAULT_HOST,
            show_default=True,
            help="Address to listen on; the UI has no login.",
        ),
        click.option(
            "-p",
            "--port",
            type=click.IntRange(1, 65535),
            default=DEFAULT_PORT,
            show_default=True,
            help="Port to listen on.",
        ),
        click.option(
            "--allow-launch/--read-only",
            default=None,
            help="Whether the UI may start and delete runs; default: only if --host is this machine alone.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def may_launch(host: str, allow_launch: bool | None) -> bool:
    """Whether the UI may start runs, by the options of the command."""
    from pipelines.settings.options import is_loopback

    return is_loopback(host) if allow_launch is None else allow_launch


@click.command(epilog=example("ui", "ui --port 3001 --read-only"))
@ui_options
def ui(host: str, port: int, allow_launch: bool | None) -> int:
    """Serve the Dagster UI with the runs of the command line, and run the daemon that starts nights."""
    settings = settings_for_writing()
    from pipelines.lake.opening import lake_of
    from pipelines.runs.instance import prepare_programs
    from pipelines.ui.supervisor import run_ui

    lake_of(settings)
    prepare_programs(settings)

    return run_ui(settings, host, port, allow_launch=may_launch(host, allow_launch))
