"""The session of a command that writes. Registers the command as a writer, and handles interrupts."""

import os
import pwd
import signal
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType

from pipelines.cli.terminal.display import print_line
from pipelines.runs.instance import open_instance
from pipelines.runs.interrupted_runs import cancel_runs, close_gone_runs
from pipelines.runs.launchers import LAUNCHER_TAG, PROCESS_TAG
from pipelines.runs.storage_failures import disk_problem
from pipelines.runs.writer_locks import writing
from pipelines.settings.settings import Settings

#: Seconds for which a command waits for another command.
PATIENCE = 10.0


@contextmanager
def session(settings: Settings, command: str, *, alone: bool = True) -> Iterator[Mapping[str, str]]:
    """Register the command as a writer of the home, and yield the tags for its runs. `alone`: no other writer
    may run meanwhile.

    Runs of killed processes are closed first. On Ctrl-C or SIGTERM, the command's own runs are cancelled.
    Raises pipelines.runs.writer_locks.Busy, and OSError where the disk is nearly full."""
    settings.home.mkdir(parents=True, exist_ok=True)
    if full := disk_problem(settings.home):
        raise OSError(full)
    with (
        writing(settings, command, alone=alone, patience=PATIENCE, notify=print_line) as writer,
        open_instance(settings) as instance,
        interrupt_on_signals(),
    ):
        for message in close_gone_runs(instance, settings):
            print_line(message)
        try:
            yield {PROCESS_TAG: writer.name, LAUNCHER_TAG: _launcher(command, writer.host)}
        except KeyboardInterrupt:
            cancel_runs(instance, writer)
            raise


def read_only_tags(command: str) -> Mapping[str, str]:
    """The tags for a command that writes nothing in the home, and so runs beside writers."""
    return {LAUNCHER_TAG: _launcher(command, socket.gethostname())}


def _launcher(command: str, host: str) -> str:
    """The command, and the operating system's name of its user. The environment may name anybody."""
    user_id = os.getuid()
    try:
        user = pwd.getpwuid(user_id).pw_name
    except KeyError:
        user = f"user {user_id}"
    # The text names the variable, since its value proves nothing.
    if sudo_user := os.environ.get("SUDO_USER"):
        user += f" (SUDO_USER {sudo_user!r})"
    return f"{command} of {user} on {host}, process {os.getpid()}"


@contextmanager
def interrupt_on_signals() -> Iterator[None]:
    """Treat SIGTERM (from a service manager) and SIGHUP (the terminal closed) like Ctrl-C, also where a shell
    started this process in the background, with Ctrl-C ignored."""

    def ignore_ctrl_c(number: int, _frame: FrameType | None) -> None:
        # Dagster gives SIGTERM the handler of SIGINT after each run.
        if number != signal.SIGINT:
            raise KeyboardInterrupt

    def interrupt(number: int, frame: FrameType | None) -> None:
        # An event loop has its own handler, which lets its tasks end.
        on_ctrl_c = signal.getsignal(signal.SIGINT)
        if not callable(on_ctrl_c):
            raise KeyboardInterrupt
        on_ctrl_c(number, frame)

    # nohup ignores SIGHUP.
    numbers = [
        number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) != signal.SIG_IGN
    ]
    earlier = {number: signal.signal(number, interrupt) for number in numbers}
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        earlier[signal.SIGINT] = signal.signal(signal.SIGINT, ignore_ctrl_c)
    try:
        yield
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
