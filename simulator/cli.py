"""The command line, derived from the settings. Imports no server, since every `campus` command imports
this."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import date
from typing import TYPE_CHECKING, Any, get_args

import click

from simulator.readings import Readings
from simulator.settings import Access, Settings, Size

if TYPE_CHECKING:
    from simulator.http.faults import Fault


def _options(command: Callable[..., None]) -> Callable[..., None]:
    """Add an option per field of the settings, in the order of the fields."""
    for group in (Readings, Access, Size):
        for field in reversed(dataclasses.fields(group)):
            command = click.option(*_names(field), **_attributes(field))(command)
    return command


def _names(field: dataclasses.Field[Any]) -> tuple[str, str]:
    flag = "--" + field.name.replace("_", "-")
    return (f"{flag}/--no-{field.name}" if isinstance(field.default, bool) else flag), field.name


def _attributes(field: dataclasses.Field[Any]) -> dict[str, Any]:
    default, metadata = field.default, field.metadata
    attributes: dict[str, Any] = {"help": metadata["help"], "default": default, "show_default": True}
    if "choices" in metadata:
        attributes["type"] = click.Choice(metadata["choices"])
    elif isinstance(default, tuple):
        attributes |= {"multiple": True, "type": get_args(field.type)[0], "show_default": False}
    elif isinstance(default, date):
        attributes |= {"type": click.DateTime(["%Y-%m-%d"]), "default": default.isoformat()}
    elif not isinstance(default, bool):
        attributes["type"] = click.IntRange(metadata["least"], metadata["most"])
    return attributes


def _faults(_context: click.Context, _parameter: click.Parameter, texts: tuple[str, ...]) -> list[Fault]:
    import msgspec

    from simulator.http.faults import Fault

    try:
        return [msgspec.json.decode(text, type=Fault) for text in texts]
    except msgspec.DecodeError as error:
        raise click.BadParameter(str(error)) from error


@click.command(epilog="\b\nExample:\n  campus simulator --port 8711 --schools 2")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", default=0, type=click.IntRange(0, 65535), show_default=True, help="Port; 0 takes a free one."
)
@click.option("--client-id", envvar="SIMULATOR_CLIENT_ID", default="demo-client", show_default=True)
@click.option(
    "--client-secret",
    envvar="SIMULATOR_CLIENT_SECRET",
    default="demo-secret",
    help="Better given in SIMULATOR_CLIENT_SECRET, where no process list shows it.",
)
@click.option("--push-url", help="Address for change pushes; without it changes are not pushed.")
@click.option(
    "--push-token",
    envvar="SIMULATOR_PUSH_TOKEN",
    default="demo-push-token",
    help="Key that signs pushes; better given in SIMULATOR_PUSH_TOKEN.",
)
@click.option(
    "--fault", "faults", multiple=True, callback=_faults, help='A fault as JSON, such as {"kind": "slow"}.'
)
@click.option(
    "--until-stdin-closes", is_flag=True, hidden=True, help="Leave with the process that started this one."
)
@_options
def simulator(
    host: str,
    port: int,
    client_id: str,
    client_secret: str,
    push_url: str | None,
    push_token: str,
    faults: list[Fault],
    until_stdin_closes: bool,
    **options: Any,
) -> None:
    """Run a simulated school platform: made-up schools behind the real interface."""
    from simulator.app import Application
    from simulator.http.faults import FaultPlan
    from simulator.push import Subscriber
    from simulator.server import serve

    options["today"] = options["today"].date()
    settings = Settings.of(client_id, client_secret, **options)
    subscriber = Subscriber(push_url, push_token) if push_url else None
    app = Application(settings, FaultPlan(faults, seed=settings.size.seed), subscriber)
    try:
        serve(app, host, port, until_stdin_closes=until_stdin_closes)
    except OSError as error:
        raise click.ClickException(f"cannot listen on {host}:{port}: {error.strerror}") from error
