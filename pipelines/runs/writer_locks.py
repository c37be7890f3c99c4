"""Locks of the processes of a home: each has a file that is locked while the process lives.

A command that loads is alone; runs of Dagster's daemon write side by side, as their queue allows. The process
of any run has a second lock, for which nobody waits: exports write nothing in the lake. However a process
dies, the system releases its locks, so the file of a dead process is recognized."""

import fcntl
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from pipelines.settings.settings import Settings
from warehouse.files import locked
from warehouse.lake.tables import PLATFORM_ZONE

FOLDER, MUTEX = "writers", ".lock"
#: The ends of the names of lock files: of writers, and of processes of runs.
WRITER, RUN = ".json", ".run"
#: Seconds between two checks whether other writers have ended.
CHECK_INTERVAL = 1.0


@dataclass(frozen=True)
class Writer:
    """A process that writes in a home."""

    #: The name of its lock file.
    name: str
    command: str
    pid: int
    host: str
    #: When it began, by the platform's wall clock.
    since: str
    #: Whether no other process may write meanwhile.
    alone: bool

    def __str__(self) -> str:
        return f"{self.command} (pid {self.pid} on {self.host}, since {self.since} {PLATFORM_ZONE})"


class Busy(Exception):
    """Another process writes in the home; the message names it."""


@contextmanager
def writing(
    settings: Settings, command: str, *, alone: bool, patience: float, notify: Callable[[str], None]
) -> Iterator[Writer]:
    """Register as a writer of the home. `alone`: the only writer; else beside writers that are not alone.
    `patience`: seconds to wait for other writers, which `notify` names.

    Raises Busy."""
    folder = settings.home / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    since = datetime.now(PLATFORM_ZONE)
    name = _file_name(since, WRITER)
    me = Writer(name, command, os.getpid(), socket.gethostname(), f"{since:%Y-%m-%d %H:%M}", alone)
    deadline, notified = time.monotonic() + patience, set[str]()
    while True:
        with locked(folder / MUTEX):
            others = [other for other in _live_writers(folder) if alone or other.alone]
            if not others:
                descriptor = _create_locked(folder / name, json.dumps(asdict(me)))
                break
        if time.monotonic() >= deadline:
            raise Busy(
                f"{settings.home} is being written by {others[0]}: wait for it to finish, or stop it; then "
                "run the command again"
            )
        if others[0].name not in notified:
            notify(f"Waiting for {others[0]}, which writes in {settings.home}.")
            notified.add(others[0].name)
        time.sleep(CHECK_INTERVAL)
    try:
        yield me
    finally:
        (folder / name).unlink(missing_ok=True)
        os.close(descriptor)


@contextmanager
def process_lock(settings: Settings) -> Iterator[str]:
    """Lock a file of the home while this process executes a run. Yields the name of the file."""
    folder, name = settings.home / FOLDER, _file_name(datetime.now(PLATFORM_ZONE), RUN)
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / MUTEX):
        # Deletes the files of dead runs: a home may have no command that would.
        _locked_files(folder, RUN)
        descriptor = _create_locked(folder / name, "")
    try:
        yield name
    finally:
        (folder / name).unlink(missing_ok=True)
        os.close(descriptor)


def live_processes(settings: Settings) -> set[str]:
    """The names of the lock files of the processes that live. Deletes the files of dead processes, where this
    process may."""
    folder = settings.home / FOLDER
    if not folder.exists():
        return set()
    with _mutex(folder):
        return {file.name for file in _locked_files(folder, WRITER, RUN)}


def live_writers(settings: Settings) -> list[Writer]:
    """The processes that write in the home now. Deletes the files of dead processes, where this process
    may."""
    folder = settings.home / FOLDER
    if not folder.exists():
        return []
    with _mutex(folder):
        return _live_writers(folder)


def is_of_this_machine(name: str) -> bool:
    """Whether the lock file of this name is, or was, of a process of this machine."""
    return name.startswith(f"{socket.gethostname()}-")


def _file_name(since: datetime, end: str) -> str:
    return f"{socket.gethostname()}-{os.getpid()}-{since:%Y%m%dT%H%M%S%f}{end}"


def _live_writers(folder: Path) -> list[Writer]:
    writers = []
    for file in _locked_files(folder, WRITER):
        # A writer that ends just now deletes its file.
        with suppress(FileNotFoundError):
            writers.append(Writer(**json.loads(file.read_text(encoding="utf-8"))))
    return writers


def _mutex(folder: Path) -> AbstractContextManager[None]:
    """The lock under which files of processes are made and deleted. A mere reader deletes none."""
    return locked(folder / MUTEX) if os.access(folder, os.W_OK) else nullcontext()


def _locked_files(folder: Path, *ends: str) -> list[Path]:
    """The files with these ends that a process has locked. Deletes the files of dead processes, where this
    process may."""
    files, may_delete = [], os.access(folder, os.W_OK)
    for file in sorted(file for end in ends for file in folder.glob(f"*{end}")):
        # A writer that ends just now deletes its file.
        with suppress(FileNotFoundError):
            descriptor = os.open(file, os.O_RDONLY)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                files.append(file)
            else:
                if may_delete:
                    file.unlink()
            finally:
                os.close(descriptor)
    return files


def _create_locked(file: Path, content: str) -> int:
    """Write a file that is locked until its descriptor is closed, at the latest by the end of the process."""
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    os.write(descriptor, content.encode())
    return descriptor
