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
    with _mounted(folder, "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs"):
        yield folder


@contextmanager
def shown_read_only(original: Path, folder: Path) -> Iterator[Path]:
    """A folder that shows another one, in which nobody can write there."""
    with _mounted(folder, "--bind", str(original)):
        subprocess.run(["mount", "-o", "remount,bind,ro", str(folder)], check=True)
        yield folder


@contextmanager
def _mounted(folder: Path, *arguments: str) -> Iterator[None]:
    folder.mkdir()
    mounted = subprocess.run(["mount", *arguments, str(folder)], capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"a disk of its own needs the right to mount one: {mounted.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path) -> None:
    """Fill a disk with a file to delete again, whoever else writes to it meanwhile."""
    with (disk / BALLAST).open("wb") as file:
        while (state := os.statvfs(disk)).f_bavail:
            with suppress(OSError):
                size = file.seek(0, os.SEEK_END)
                os.posix_fallocate(file.fileno(), size, max(state.f_bavail // 2, 1) * state.f_frsize)
