"""Locks of the processes that write in a home: each has a file that is locked while the process lives.

A command that loads is alone; runs of Dagster's daemon write side by side, as their queue allows. However a
process dies, the system releases its lock, so the file of a dead process is recognized."""

import fcntl
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from pipelines.settings.settings import Settings
from warehouse.files import locked

FOLDER, MUTEX = "writers", ".lock"
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
    #: When it began, by its machine's clock.
    since: str
    #: Whether no other process may write meanwhile.
    alone: bool

    def __str__(self) -> str:
        return f"{self.command} (pid {self.pid} on {self.host}, since {self.since})"


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
    since, host = datetime.now(), socket.gethostname()
    name = f"{host}-{os.getpid()}-{since:%Y%m%dT%H%M%S%f}.json"
    me = Writer(name, command, os.getpid(), host, f"{since:%Y-%m-%d %H:%M:%S}", alone)
    deadline, notified = time.monotonic() + patience, set[str]()
    while True:
        with locked(folder / MUTEX):
            others = [other for other in _live_writers(folder) if alone or other.alone]
            if not others:
                descriptor = _create_locked(folder / name, json.dumps(asdict(me)))
                break
        if time.monotonic() >= deadline:
            raise Busy(f"{settings.home} is being written by {others[0]}: wait for it to finish, or stop it")
        if others[0].name not in notified:
            notify(f"Waiting for {others[0]}, which writes in {settings.home}.")
            notified.add(others[0].name)
        time.sleep(CHECK_INTERVAL)
    try:
        yield me
    finally:
        (folder / name).unlink(missing_ok=True)
        os.close(descriptor)


def live_writers(settings: Settings) -> list[Writer]:
    """The processes that write in the home now. Deletes the files of dead processes."""
    folder = settings.home / FOLDER
    if not folder.exists():
        return []
    with locked(folder / MUTEX):
        return _live_writers(folder)


def is_of_this_machine(name: str) -> bool:
    """Whether the writer of this name is, or was, a process of this machine."""
    return name.startswith(f"{socket.gethostname()}-")


def _live_writers(folder: Path) -> list[Writer]:
    writers = []
    for file in sorted(folder.glob("*.json")):
        # A writer that ends just now deletes its file.
        with suppress(FileNotFoundError):
            descriptor = os.open(file, os.O_RDONLY)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                writers.append(Writer(**json.loads(file.read_text(encoding="utf-8"))))
            else:
                file.unlink()
            finally:
                os.close(descriptor)
    return writers


def _create_locked(file: Path, content: str) -> int:
    """Write a file that is locked until its descriptor is closed, at the latest by the end of the process."""
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    os.write(descriptor, content.encode())
    return descriptor
