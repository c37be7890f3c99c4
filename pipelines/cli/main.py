"""The command `campus`. Exit status: 0 all done, 1 something failed, 2 bad settings or usage."""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import click

from pipelines.cli.command_groups import Group
from pipelines.cli.command_settings import read_settings
from pipelines.cli.commands.backup import backup, restore
from pipelines.cli.commands.build import build
from pipelines.cli.commands.catalog import catalog
from pipelines.cli.commands.deliver import deliver
from pipelines.cli.commands.demo import demo
from pipelines.cli.commands.district import district
from pipelines.cli.commands.doctor import doctor
from pipelines.cli.commands.export import export
from pipelines.cli.commands.extract import extract
from pipelines.cli.commands.forget import forget
from pipelines.cli.commands.inputs import inputs
from pipelines.cli.commands.mcp import mcp
from pipelines.cli.commands.metric import metric
from pipelines.cli.commands.notify import notify
from pipelines.cli.commands.push_receiver import push_receiver
from pipelines.cli.commands.quarantine import quarantine
from pipelines.cli.commands.sql import sql
from pipelines.cli.commands.status import status
from pipelines.cli.commands.sync import sync
from pipelines.cli.commands.thresholds import thresholds
from pipelines.cli.commands.ui import ui
from pipelines.cli.terminal.display import INTERRUPTED, complain, console, example
from pipelines.cli.writing.commands import attendance, cards, devices, fields, roster, swipes
from simulator.cli import simulator

SECTIONS = {
    "First steps": (demo, doctor, sync, status, ui),
    "What was loaded": (sql, metric, catalog, mcp, export, extract, thresholds, inputs, quarantine, build),
    "Operation": (backup, restore, notify, deliver, forget, push_receiver, district),
    "Writing to the platform": (roster, attendance, swipes, cards, devices, fields),
    "Development": (simulator,),
}


class Edge(Group):
    """Ends each command with the exit status that it returns; reports a foreseen error in a line."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run as the command of this process, and end the process; all files are closed by then."""
        try:
            return super().__call__(*args, **kwargs)
        except SystemExit as end:
            leave(end.code)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, and exit with its status. A command that returns None has succeeded."""
        try:
            ctx.exit(super().invoke(ctx) or 0)
        except BrokenPipeError:
            # The reader has all it wanted, as `head` does; click ends quietly.
            raise
        except KeyboardInterrupt:
            console.show_cursor()
            complain("interrupted: what is finished is kept; run the same command again for the rest")
            # The run's own thread would go on otherwise; the lake survives a kill at any moment.
            os._exit(INTERRUPTED)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            exit_status = _report(error)
            if exit_status is None:
                raise
            sys.exit(exit_status)


def leave(exit_status: str | int | None) -> NoReturn:
    """End the process as sys.exit does, but without the interpreter's own end, which is slow after a sync."""
    if isinstance(exit_status, str):
        sys.exit(exit_status)
    # A reader that has gone has all it wanted.
    with suppress(BrokenPipeError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(exit_status or 0)


def _report(error: Exception) -> int | None:
    """Report a foreseen error in one line and return the exit status; None: the error is unforeseen."""
    # A command that succeeds needs none of these imports.
    import sqlite3

    import duckdb
    import msgspec
    from deltalake.exceptions import DeltaError

    from pipelines.runs.storage_failures import storage_message
    from pipelines.runs.writer_locks import Busy
    from pipelines.settings.settings import SettingsError
    from simulator.launch import SimulatorError
    from warehouse.files import unusable
    from warehouse.lake.delta import SchemaConflict
    from warehouse.publish.models.dbt_project import ModelsBroken

    if isinstance(error, SettingsError):
        for problem in error.problems:
            complain(problem)
        return 2
    message = storage_message(error, _home())
    foreseen = (
        *(OSError, Busy, DeltaError, SchemaConflict, ModelsBroken, SimulatorError),
        *(sqlite3.Error, duckdb.Error, msgspec.MsgspecError),
    )
    if message is None and not isinstance(error, foreseen):
        return None
    complain(message or (unusable(error) if isinstance(error, OSError) else error))
    return 1


def _home() -> Path:
    """The home of the settings; the current folder where the settings cannot be read."""
    from pipelines.settings.settings import SettingsError

    try:
        return read_settings().home
    except SettingsError:
        return Path.cwd()


def _show_version(context: click.Context, _option: click.Parameter, show: bool) -> None:
    """Print the version and the digest of the models, by which quality.publication names them."""
    if not show or context.resilient_parsing:
        return
    from importlib.metadata import version

    from warehouse.publish.build import models_digest

    click.echo(f"campus, version {version('campus-warehouse')}, models {models_digest()}")
    context.exit()


@click.group(
    cls=Edge,
    sections=SECTIONS,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=example("demo", "sync --help"),
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_show_version,
    help="Show the version and the digest of the models, and exit.",
)
def main() -> None:
    """Campus Warehouse: a school platform's data in a warehouse that people can trust."""
