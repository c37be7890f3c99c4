"""The work of `campus backup` and `campus restore`."""

import os
from pathlib import Path

from pipelines.backup import BackupError, back_up, check_folder, restore
from pipelines.cli.actions.forget import run_forget_again
from pipelines.cli.command_session import session
from pipelines.cli.terminal.display import fail, print_line
from pipelines.lake.opening import lake_of
from pipelines.settings.environment import POSTGRES_URL
from pipelines.settings.settings import Settings


def run_backup(settings: Settings, folder: Path, keep: int, *, first: bool) -> int:
    """Back up the home below `folder`, as back_up and check_folder do. Returns the exit status."""
    lake_of(settings)
    lake = settings.lake_folder
    if not (settings.home if lake is None else lake).exists():
        return fail(
            f"{settings.home} holds no warehouse: run campus sync, or check that CAMPUS_HOME is right"
        )
    try:
        check_folder(folder, first=first)
        with session(settings, "campus backup"):
            backup = back_up(settings, folder, keep)
    except BackupError as error:
        return fail(error)
    print_line(
        f"Backed up {settings.home} to {backup.path}: {backup.tables} tables, {backup.files:,} files "
        f"({backup.linked:,} unchanged since the last backup), {backup.bytes / 1e6:,.1f} MB."
    )
    if lake is None:
        print_line(
            f"The lake is not in the backup: {settings.lake_root} is an object store, whose own versioning "
            "or replication keeps it. The backup belongs to the lake as it was now."
        )
    print_line(
        "The settings in .env are not in the backup, since they hold secrets: keep them with your secrets."
    )
    if os.environ.get(POSTGRES_URL):
        print_line(f"Dagster's runs are in Postgres ({POSTGRES_URL}): back them up with pg_dump.")
    return 0


def run_restore(settings: Settings, path: Path, forgotten: tuple[Path, ...]) -> int:
    """Restore an empty home, and forget again whom the lists name. Returns the exit status."""
    try:
        backup = restore(settings, path, forgotten)
    except BackupError as error:
        return fail(error)
    print_line(
        f"Restored {settings.home} from {backup.path}: {backup.tables} tables, {backup.files:,} files, "
        f"{backup.bytes / 1e6:,.1f} MB."
    )
    for message in backup.closed:
        print_line(message)
    status = run_forget_again(settings, "campus restore")
    if not status:
        print_line("Next: campus doctor, then campus sync.")
    return status
