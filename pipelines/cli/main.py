"""The command `campus`. Exit status: 0 all done, 1 something failed, 2 bad settings or usage."""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn, get_args

import click

from exports.sheets import Format
from pipelines.cli.backup import backup, restore
from pipelines.cli.display import INTERRUPTED, complain, console, example
from pipelines.cli.district import district
from pipelines.cli.forgetting import forget
from pipelines.cli.given import given, given_to_write
from pipelines.cli.groups import Group
from pipelines.cli.ui import ui
from pipelines.cli.writing.commands import COMMANDS
from simulator.cli import simulator

#: The commands as the help lists them.
SECTIONS = {
    "First steps": ("demo", "doctor", "sync", "status", "ui"),
    "What was loaded": ("sql", "export", "extract", "thresholds", "quarantine", "build"),
    "Operation": ("backup", "restore", "notify", "forget", "push-receiver", "district"),
    "Writing to the platform": ("roster", "attendance", "swipes", "cards", "devices", "fields"),
    "Development": ("simulator",),
}


class Edge(Group):
    """What no command handles by itself ends here, as a line for the person at the terminal."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Be the command of this process, and end it: all that was opened is closed by then."""
        try:
            return super().__call__(*args, **kwargs)
        except SystemExit as end:
            leave(end.code)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a foreseen error or an interrupt ends it with its exit status."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # The reader has what it wanted, as `head` does; click ends quietly.
            raise
        except KeyboardInterrupt:
            console.show_cursor()
            complain("interrupted: what is finished is kept; run the same command again for the rest")
            # The run's own thread would go on otherwise; the lake is safe from a death at any moment.
            os._exit(INTERRUPTED)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            status = _complained(error)
            if status is None:
                raise
            sys.exit(status)


def leave(status: str | int | None) -> NoReturn:
    """End the process with an exit status, as sys.exit has it. Python would first take apart all that it has
    imported, object by object, which goes with the process anyway: 0.7 CPU s after a sync."""
    if isinstance(status, str):
        sys.exit(status)
    # A reader that has gone has what it wanted.
    with suppress(BrokenPipeError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status or 0)


def _complained(error: Exception) -> int | None:
    """Say in a line what went wrong; the exit status, None: nobody foresaw it."""
    # A command that ends well needs to know none of them.
    import sqlite3

    import duckdb
    import msgspec
    from deltalake.exceptions import DeltaError

    from pipelines.settings import SettingsError
    from pipelines.storage_trouble import in_words
    from pipelines.writers import Busy
    from simulator.starting import SimulatorError
    from warehouse.files import unusable
    from warehouse.lake.delta import SchemaConflict
    from warehouse.publish.dbt_project import ModelsBroken

    if isinstance(error, SettingsError):
        for problem in error.problems:
            complain(problem)
        return 2
    words = in_words(error, _home())
    worded = (
        *(OSError, Busy, DeltaError, SchemaConflict, ModelsBroken, SimulatorError),
        *(sqlite3.Error, duckdb.Error, msgspec.MsgspecError),
    )
    if words is None and not isinstance(error, worded):
        return None
    complain(words or (unusable(error) if isinstance(error, OSError) else error))
    return 1


def _home() -> Path:
    """Where a command writes; the folder that it runs in where no settings say so."""
    from pipelines.settings import SettingsError

    try:
        return given().home
    except SettingsError:
        return Path.cwd()


@click.group(
    cls=Edge,
    sections=SECTIONS,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=example("demo", "sync --help"),
)
@click.version_option(package_name="campus-warehouse", prog_name="campus")
def main() -> None:
    """Campus Warehouse: a school platform's data in a warehouse that people can trust."""


for _command in (simulator, backup, restore, forget, district, ui, *COMMANDS):
    main.add_command(_command)


@main.command(epilog=example("sync", "sync --school 101 --full"))
@click.option("--school", "schools", type=int, multiple=True, help="Only this school; may be repeated.")
@click.option("--full", is_flag=True, help="Read everything again.")
@click.option("--select", "selection", help="Only these assets, in Dagster's selection syntax.")
@click.option(
    "--accept-vanished",
    is_flag=True,
    help="Let rows vanish however many they are (see `safety` in campus.yaml).",
)
def sync(schools: tuple[int, ...], full: bool, selection: str | None, accept_vanished: bool) -> None:
    """Load from the platform, build the models and publish campus.duckdb: the nightly job, here and now."""
    settings = given_to_write()
    from pipelines.cli.commands import run_sync

    sys.exit(run_sync(settings, schools, selection, full=full, accept_vanished=accept_vanished))


@main.command(epilog=example("build"))
def build() -> None:
    """Build the models from the lake as it is, check them, and publish campus.duckdb."""
    settings = given_to_write()
    from pipelines.cli.commands import run_build
    from pipelines.cli.session import session

    with session(settings, "campus build", alone=False) as tags:
        sys.exit(run_build(settings, tags))


@main.command(epilog=example("thresholds", "thresholds --school 101"))
@click.option("--school", "schools", type=int, multiple=True, help="Only this school; may be repeated.")
def thresholds(schools: tuple[int, ...]) -> None:
    """Show how many students each rule of early warning flags with the files of $CAMPUS_HOME/thresholds,
    before they are used: nothing is published."""
    settings = given_to_write()
    from pipelines.cli.thresholds import run_thresholds

    sys.exit(run_thresholds(settings, schools))


@main.command(epilog=example("notify --test"))
@click.option("--test", is_flag=True, help="Send a message that says it is a trial.")
def notify(test: bool) -> None:
    """Send what there is to do to the webhook and the mailboxes of the settings, as the morning does."""
    settings = given()
    from pipelines.cli.notifying import run_notify

    sys.exit(run_notify(settings, test=test))


@main.command(epilog=example("demo"))
def demo() -> None:
    """The whole thing on the embedded simulator: two nights, build, publish, and a few things to see."""
    settings = given_to_write()
    from pipelines.cli.demo import run_demo

    sys.exit(run_demo(settings))


@main.command(epilog=example("doctor"))
@click.option("--rediscover", is_flag=True, help="Forget what was found of the platform's capabilities.")
def doctor(rediscover: bool) -> None:
    """Say in words whether the settings, the token, its scopes and each endpoint are right."""
    settings = given()
    from pipelines.cli.doctor import run_doctor

    sys.exit(run_doctor(settings, rediscover=rediscover))


@main.command(epilog=example("status"))
def status() -> None:
    """Say how each school stands and what there is to do; exit status 1 where there is something."""
    settings = given()
    from pipelines.cli.status import run_status

    sys.exit(run_status(settings))


@main.command(
    epilog=example(
        'sql "FROM marts.early_warning LIMIT 5"', 'sql "FROM core.dim_student" --format csv > students.csv'
    )
)
@click.argument("query")
@click.option(
    "--format", "style", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True
)
def sql(query: str, style: str) -> None:
    """Run QUERY on the published campus.duckdb, also while a sync runs; every statement's result is shown."""
    from pipelines.cli.sql import run_sql

    sys.exit(run_sql(given().published, query, style))


@main.command(epilog=example("export --all", "export marts.early_warning --school 101 --format csv"))
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--all", "configured", is_flag=True, help="All that `exports` of campus.yaml names.")
@click.option(
    "--format",
    "format",
    type=click.Choice(get_args(Format)),
    help="Default: `exports.format` of campus.yaml.",
)
@click.option(
    "--to",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to write to, made where the folder above is there; default $CAMPUS_HOME/exports.",
)
@click.option("--school", "schools", type=int, multiple=True, help="Only this school; may be repeated.")
def export(
    names: tuple[str, ...],
    configured: bool,
    format: Format | None,
    folder: Path | None,
    schools: tuple[int, ...],
) -> None:
    """Write NAME as a file for each school: board, a ready-made workbook, or a table such as
    marts.early_warning."""
    if bool(names) == configured:
        raise click.UsageError("name what to export, or give --all")
    settings = given() if folder else given_to_write()
    from pipelines.cli.exporting import run_export

    if folder is not None:
        _check_place(folder)
    sys.exit(run_export(settings, names, format=format, folder=folder, schools=schools))


@main.command(
    epilog=example(
        "extract --pseudonymous --to study.duckdb --key-name study-2025",
        "extract --pseudonymous --to study.duckdb --dry-run",
    )
)
@click.option("--pseudonymous", is_flag=True, help="Required: there is no other kind of extract.")
@click.option(
    "--to",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="File to write, *.duckdb, readable by its owner alone.",
)
@click.option("--school", "schools", type=int, multiple=True, help="Only this school; may be repeated.")
@click.option(
    "--semester",
    "semesters",
    type=int,
    multiple=True,
    help="Only this semester, in tables that have one; may be repeated.",
)
@click.option(
    "--table", "tables", multiple=True, help="Only this table, as core.dim_student; may be repeated."
)
@click.option(
    "--key-name",
    help="Extracts of the same name have the same pseudonyms. Default: a new name, so that nobody can join "
    "this extract with another one.",
)
@click.option(
    "--hide-schools",
    is_flag=True,
    help="Key the ids of schools, classes and other things too, and drop their names.",
)
@click.option("--dry-run", is_flag=True, help="Show what becomes of each column, and write nothing.")
@click.option("--force", is_flag=True, help="Replace an extract that is there.")
def extract(
    pseudonymous: bool,
    path: Path,
    schools: tuple[int, ...],
    semesters: tuple[int, ...],
    tables: tuple[str, ...],
    key_name: str | None,
    hide_schools: bool,
    dry_run: bool,
    force: bool,
) -> None:
    """Write core and marts without names, numbers and texts for researchers and vendors: people by keyed ids,
    small groups blank."""
    if not pseudonymous:
        raise click.UsageError("say --pseudonymous: an extract names nobody, and there is no other kind")
    settings = given() if dry_run else given_to_write()
    from exports.extracts.plan import Request
    from pipelines.cli.extracting import run_extract

    if not dry_run:
        _check_place(path)
    request = Request(schools, semesters, tables, hide_schools, settings.options.extracts.tables)
    sys.exit(run_extract(settings, request, path, key_name=key_name, replace=force, dry_run=dry_run))


def _check_place(path: Path) -> None:
    """Raises click.UsageError where the folder of a file or folder to be made is not there."""
    from warehouse.files import no_folder_above

    if problem := no_folder_above(path):
        raise click.UsageError(problem)


@main.group(cls=Group, epilog=example("quarantine list"))
def quarantine() -> None:
    """Rows that could not be loaded: what they are, and another try."""


_OF_SCHOOL = click.option(
    "--school", "schools", type=int, multiple=True, help="Only this school; may be repeated."
)
_OF_RESOURCE = click.option(
    "--resource", "resources", multiple=True, help="Only this resource; may be repeated."
)


@quarantine.command("list", epilog=example("quarantine list --school 101 --format csv"))
@_OF_SCHOOL
@_OF_RESOURCE
@click.option(
    "--format", "style", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True
)
@click.option("--personal", is_flag=True, help="With the fields that tell about a person.")
def list_quarantine(schools: tuple[int, ...], resources: tuple[str, ...], style: str, personal: bool) -> None:
    """Show each row in quarantine: why, since when, and the JSON as it was sent, without personal fields."""
    settings = given()
    from pipelines.cli.quarantine import run_list

    sys.exit(run_list(settings, schools, resources, style, personal=personal))


@quarantine.command("replay", epilog=example("quarantine replay --resource grades"))
@_OF_SCHOOL
@_OF_RESOURCE
def replay_quarantine(schools: tuple[int, ...], resources: tuple[str, ...]) -> None:
    """Load the rows that the platform has mended, or that this version can read, without their whole list."""
    settings = given_to_write()
    from pipelines.cli.quarantine import run_replay

    sys.exit(run_replay(settings, schools, resources))


@main.command("push-receiver", epilog=example("push-receiver"))
def push_receiver() -> None:
    """Take the platform's change pushes (CAMPUS_PUSH_TOKEN, CAMPUS_PUSH_HOST, CAMPUS_PUSH_PORT)."""
    settings = given_to_write()
    from pipelines.settings import SettingsError

    if not settings.takes_pushes:
        raise SettingsError(["CAMPUS_PUSH_TOKEN is not set: the platform signs its pushes with it"])
    from pipelines.pushes.receiver import serve

    serve(settings)
