"""The commands `campus backup` and `campus restore`."""

import os
import sys
from pathlib import Path

import click

from pipelines.cli.display import complain, console, example
from pipelines.cli.given import given

FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command(epilog=example("backup /srv/campus-backups --first", "backup /srv/campus-backups --keep 14"))
@click.argument("folder", type=FOLDER)
@click.option("--first", is_flag=True, help="Expect no backup in FOLDER, and make it where it is not there.")
@click.option("--keep", type=click.IntRange(1), default=7, show_default=True, help="Backups that stay.")
def backup(folder: Path, keep: int, *, first: bool) -> None:
    """Copy the home into a new folder below FOLDER: the lake, the published file, Dagster's runs, the inbox.

    What the backup before has in the same state is linked to. Loads wait meanwhile. Without --first a FOLDER
    without a backup is refused, since a disk that is not mounted looks so."""
    settings = given()
    from pipelines.backup import BackupError, back_up, check_folder
    from pipelines.cli.session import session
    from pipelines.instance import POSTGRES_URL
    from pipelines.lake import lake_of

    lake_of(settings)
    lake = settings.lake_folder
    if not (settings.home if lake is None else lake).exists():
        _end(f"{settings.home} holds no warehouse: run campus sync, or see that CAMPUS_HOME is right")
    try:
        check_folder(folder, first=first)
    except BackupError as error:
        _end(str(error))
    with session(settings, "campus backup"):
        try:
            made = back_up(settings, folder, keep)
        except BackupError as error:
            _end(str(error))
    _say(
        f"Backed up {settings.home} to {made.path}: {made.tables} tables, {made.files:,} files "
        f"({made.linked:,} as in the backup before), {made.bytes / 1e6:,.1f} MB."
    )
    if lake is None:
        _say(
            f"The lake is not in it: {settings.lake_root} is an object store, whose own versioning or "
            "replication keeps it. What is here belongs to the lake as it was now."
        )
    _say("The settings in .env are not in it, since they hold secrets: keep them where you keep secrets.")
    if POSTGRES_URL in os.environ:
        _say(f"Dagster's runs are in Postgres ({POSTGRES_URL}): have pg_dump keep them.")


@click.command(epilog=example("restore /srv/campus-backups"))
@click.argument("backup", type=FOLDER)
@click.option(
    "--forgotten",
    "lists",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    multiple=True,
    help="A list of the forgotten, lake/forgotten.json of the home before; may be repeated.",
)
def restore(backup: Path, lists: tuple[Path, ...]) -> None:
    """Make an empty home of BACKUP, or of the latest in a folder of backups.

    Persons and schools that were forgotten since the backup are taken out again: by the lists of all backups
    in the folder, and those that --forgotten names."""
    settings = given()
    from pipelines.backup import BackupError
    from pipelines.backup import restore as restored_from

    try:
        made = restored_from(settings, backup, lists)
    except BackupError as error:
        _end(str(error))
    _say(
        f"Restored {settings.home} from {made.path}: {made.tables} tables, {made.files:,} files, "
        f"{made.bytes / 1e6:,.1f} MB."
    )
    from pipelines.cli.forgetting_runs import run_forget_again

    status = run_forget_again(settings, "campus restore")
    if not status:
        _say("Next: campus doctor, then campus sync.")
    sys.exit(status)


def _say(words: str) -> None:
    console.print(words, markup=False, soft_wrap=True)


def _end(problem: str) -> None:
    complain(problem)
    sys.exit(1)
