"""The command `campus ui`, and the options of whatever serves the UI."""

import sys
from collections.abc import Callable
from typing import Any

import click

from pipelines.cli.display import example
from pipelines.cli.given import given_to_write

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 3000


def ui_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--host`, `--port` and `--allow-launch` to a command."""
    options = (
        click.option(
            "--host", default=DEFAULT_HOST, show_default=True, help="Where it listens; it has no login."
        ),
        click.option(
            "-p",
            "--port",
            type=click.IntRange(1, 65535),
            default=DEFAULT_PORT,
            show_default=True,
            help="Its port.",
        ),
        click.option(
            "--allow-launch/--read-only",
            default=None,
            help="Whether it may start and delete runs; default: where --host is this machine alone.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def may_launch(host: str, allow_launch: bool | None) -> bool:
    """Whether the UI may start runs, by the options of its command."""
    from pipelines.options import is_loopback

    return is_loopback(host) if allow_launch is None else allow_launch


class Forgiving(click.Command):
    """Takes `campus ui -- -p 3001`, as earlier versions had it, for `campus ui -p 3001`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options, also those behind `--`."""
        return super().parse_args(ctx, [argument for argument in args if argument != "--"])


@click.command(cls=Forgiving, epilog=example("ui", "ui --port 3001 --read-only"))
@ui_options
def ui(host: str, port: int, allow_launch: bool | None) -> None:
    """Serve the Dagster UI on what the command line ran, with the daemon that starts nights."""
    settings = given_to_write()
    from pipelines.instance import prepare_programs
    from pipelines.lake import lake_of
    from pipelines.ui.supervisor import run_ui

    lake_of(settings)
    prepare_programs(settings)

    sys.exit(run_ui(settings, host, port, allow_launch=may_launch(host, allow_launch)))
