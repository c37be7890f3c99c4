"""A command that writes: known to others while it does, and what it leaves behind when it is interrupted."""

import os
import pwd
import signal
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType

from pipelines.cli.display import console
from pipelines.instance import open_instance
from pipelines.interrupted import PROCESS_TAG, cancel_runs, close_gone_runs
from pipelines.launches import LAUNCHER_TAG
from pipelines.settings import Settings
from pipelines.storage_trouble import no_room
from pipelines.writers import writing

# Seconds for which a command waits for another one.
PATIENCE = 10.0


@contextmanager
def session(settings: Settings, command: str, *, alone: bool = True) -> Iterator[Mapping[str, str]]:
    """Write in the home, `alone` or beside others that are not; yields the tags for runs. Runs that a killed
    process has left are closed; when this one is interrupted, by Ctrl-C or a polite kill, its own are
    reported as cancelled.

    Raises pipelines.writers.Busy, and OSError where the disk is as good as full."""
    settings.home.mkdir(parents=True, exist_ok=True)
    if full := no_room(settings.home):
        raise OSError(full)
    with (
        writing(settings, command, alone=alone, patience=PATIENCE, tell=_tell) as writer,
        open_instance(settings) as instance,
        terminated_as_interrupted(),
    ):
        for words in close_gone_runs(instance, settings):
            _tell(words)
        try:
            yield {
                PROCESS_TAG: writer.name,
                LAUNCHER_TAG: _launcher(command, writer.host),
            }
        except KeyboardInterrupt:
            cancel_runs(instance, writer)
            raise


def looking(command: str) -> Mapping[str, str]:
    """The tags of a command that writes nothing in the home, and runs beside whoever does."""
    return {LAUNCHER_TAG: _launcher(command, socket.gethostname())}


def _launcher(command: str, host: str) -> str:
    """Who runs the command, by the process itself: the environment may name anybody."""
    user_id = os.getuid()
    try:
        user = pwd.getpwuid(user_id).pw_name
    except KeyError:
        user = f"user {user_id}"
    # Not proven, and so named as what it is: who called sudo, if it was called.
    if behind := os.environ.get("SUDO_USER"):
        user += f" (SUDO_USER {behind!r})"
    return f"{command} of {user} on {host}, process {os.getpid()}"


@contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """Take SIGTERM, as a service manager sends it, and the end of the terminal for Ctrl-C."""

    def interrupt(_number: int, frame: FrameType | None) -> None:
        # An event loop has a handler of its own, which lets its tasks end.
        on_ctrl_c = signal.getsignal(signal.SIGINT)
        if not callable(on_ctrl_c):
            raise KeyboardInterrupt
        on_ctrl_c(signal.SIGINT, frame)

    # nohup has SIGHUP ignored.
    taken = [one for one in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(one) != signal.SIG_IGN]
    before = {one: signal.signal(one, interrupt) for one in taken}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _tell(words: str) -> None:
    console.print(words, markup=False, soft_wrap=True)
