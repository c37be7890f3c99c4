"""The commands `campus backup` and `campus restore`."""

from pathlib import Path

import click

from pipelines.cli.command_settings import read_settings
from pipelines.cli.terminal.display import example

FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command(epilog=example("backup /srv/campus-backups --first", "backup /srv/campus-backups --keep 14"))
@click.argument("folder", type=FOLDER)
@click.option(
    "--first", is_flag=True, help="Expect no backup in FOLDER, and make FOLDER if it does not exist."
)
@click.option("--keep", type=click.IntRange(1), default=7, show_default=True, help="Backups that stay.")
def backup(folder: Path, keep: int, *, first: bool) -> int:
    """Copy the home into a new folder below FOLDER: the lake, the published file, Dagster's runs, the inbox.

    Files that are unchanged since the last backup are links to it. Loads wait meanwhile. Without --first, a
    FOLDER without a backup is refused, since it may be a disk that is not mounted."""
    settings = read_settings()
    from pipelines.cli.actions.backup import run_backup

    return run_backup(settings, folder, keep, first=first)


@click.command(epilog=example("restore /srv/campus-backups"))
@click.argument("backup", type=FOLDER)
@click.option(
    "--forgotten",
    "lists",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    multiple=True,
    help="A list of forgotten persons and schools, lake/forgotten.json of the earlier home; may be repeated.",
)
def restore(backup: Path, lists: tuple[Path, ...]) -> int:
    """Fill an empty home from BACKUP, or from the latest backup in a folder of backups.

    Persons and schools that were forgotten since the backup are removed again: by the lists of all backups
    in the folder, and those that --forgotten names."""
    settings = read_settings()
    from pipelines.cli.actions.backup import run_restore

    return run_restore(settings, backup, lists)
