"""Who writes in a home: a file for each process that does, locked as long as the process lives.

A command that loads is alone; runs that Dagster's daemon has launched write side by side, as their queue lets
them. What a dead process left is known by its lock, which the system has taken away, whatever killed it.
"""

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

from pipelines.settings import Settings
from warehouse.files import locked

FOLDER, MUTEX = "writers", ".lock"
#: Seconds between two looks at whether the others have ended.
LOOK = 1.0


@dataclass(frozen=True)
class Writer:
    """A process that writes. `alone`: no other may meanwhile; `since`: this machine's clock."""

    name: str
    command: str
    pid: int
    host: str
    since: str
    alone: bool

    def __str__(self) -> str:
        return f"{self.command} (pid {self.pid} on {self.host}, since {self.since})"


class Busy(Exception):
    """Another process writes in the home; the message names it."""


@contextmanager
def writing(
    settings: Settings, command: str, *, alone: bool, patience: float, tell: Callable[[str], None]
) -> Iterator[Writer]:
    """Be a writer of the home. `alone`: with no other; else with others that are not alone. `patience`:
    seconds to wait for others; `tell`: is told for whom.

    Raises Busy."""
    folder = settings.home / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    since, host = datetime.now(), socket.gethostname()
    name = f"{host}-{os.getpid()}-{since:%Y%m%dT%H%M%S%f}.json"
    me = Writer(name, command, os.getpid(), host, f"{since:%Y-%m-%d %H:%M:%S}", alone)
    ends, told = time.monotonic() + patience, set[str]()
    while True:
        with locked(folder / MUTEX):
            others = [other for other in _living(folder) if alone or other.alone]
            if not others:
                mine = _held(folder / name, json.dumps(asdict(me)))
                break
        if time.monotonic() >= ends:
            raise Busy(f"{settings.home} is being written by {others[0]}: wait for its end, or end it")
        if others[0].name not in told:
            tell(f"Waiting for {others[0]}, which writes in {settings.home}.")
            told.add(others[0].name)
        time.sleep(LOOK)
    try:
        yield me
    finally:
        (folder / name).unlink(missing_ok=True)
        os.close(mine)


def living(settings: Settings) -> list[Writer]:
    """Who writes in the home now; the files of dead processes are deleted."""
    folder = settings.home / FOLDER
    if not folder.exists():
        return []
    with locked(folder / MUTEX):
        return _living(folder)


def is_of_this_machine(name: str) -> bool:
    """Whether a writer of this name is, or was, a process of this machine."""
    return name.startswith(f"{socket.gethostname()}-")


def _living(folder: Path) -> list[Writer]:
    found = []
    for file in sorted(folder.glob("*.json")):
        # One that ends just now takes its file away.
        with suppress(FileNotFoundError):
            descriptor = os.open(file, os.O_RDONLY)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                found.append(Writer(**json.loads(file.read_text(encoding="utf-8"))))
            else:
                file.unlink()
            finally:
                os.close(descriptor)
    return found


def _held(file: Path, content: str) -> int:
    """Write a file that is locked until its descriptor is closed, by whatever ends the process."""
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    os.write(descriptor, content.encode())
    return descriptor
