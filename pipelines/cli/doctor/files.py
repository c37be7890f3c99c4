"""What the doctor says of who else can read what the home holds."""

import stat
from collections.abc import Iterator
from pathlib import Path

from pipelines.cli.doctor.findings import Finding
from pipelines.settings import Settings

OTHERS = stat.S_IRWXO


def examine_files(settings: Settings) -> Iterator[Finding]:
    """Whether others can read the home, a file of settings, or the folder of exports."""
    home = settings.home
    open_to_others = [
        (home, "it holds data about children"),
        *((file, "it has secrets") for file in settings.read_from),
        # It may be elsewhere, by a link.
        (home / "exports", "its files name children"),
    ]
    found = [
        Finding(False, f"Others can read {path}, and {why}: chmod o-rwx {path}")
        for path, why in open_to_others
        if path.exists() and path.stat().st_mode & OTHERS
    ]
    found += [
        Finding(False, f"Everybody can replace {home}, as {folder} is open to all: chmod o-w {folder}")
        for folder in (home.parent,)
        if _is_open_to_all(folder)
    ]
    yield from found or [Finding(True, f"Nobody but its owner and group can read {home}.")]


def _is_open_to_all(folder: Path) -> bool:
    """Whether everybody may put another folder in the place of one in this."""
    mode = folder.stat().st_mode if folder.exists() else 0
    return bool(mode & stat.S_IWOTH) and not mode & stat.S_ISVTX
