"""A small disk of its own, which a test can fill."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

#: The file that fills a disk.
BALLAST = "ballast"


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """A folder that has so much room and no more."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"a disk of its own needs the right to mount one: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path) -> None:
    """Fill a disk with a file to delete again, whoever else writes to it meanwhile."""
    with (disk / BALLAST).open("wb") as file:
        while (state := os.statvfs(disk)).f_bavail:
            with suppress(OSError):
                size = file.seek(0, os.SEEK_END)
                os.posix_fallocate(file.fileno(), size, max(state.f_bavail // 2, 1) * state.f_frsize)
