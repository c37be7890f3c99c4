"""Programs that a command starts, watches and stops."""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

#: Seconds between two checks whether a program has ended.
CHECK_INTERVAL = 0.1


@dataclass
class Program:
    """A program that a command runs in the background."""

    #: Its purpose, in words.
    what: str
    command: list[str]
    #: The file for its output.
    log: Path
    process: subprocess.Popen[bytes] | None = None

    def start(self, pass_fds: Sequence[int] = ()) -> None:
        """Start the program in its own process group, so that Ctrl-C reaches the command alone. `pass_fds`:
        open files that the program inherits."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                pass_fds=pass_fds,
            )

    @property
    def status(self) -> int | None:
        """The exit status; None: the program runs, or was never started."""
        return None if self.process is None else self.process.poll()

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the program and its children."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)

    def is_gone(self) -> bool:
        """Whether the program and its children have ended."""
        if self.process is None:
            return True
        self.process.poll()
        try:
            os.killpg(self.process.pid, 0)
        except ProcessLookupError:
            return True
        return False


def stop(programs: Sequence[Program], patience: float) -> None:
    """Terminate programs, and kill those that still run after `patience` seconds."""
    for program in programs:
        program.send(signal.SIGTERM)
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline and not all(program.is_gone() for program in programs):
        time.sleep(CHECK_INTERVAL)
    for program in programs:
        program.send(signal.SIGKILL)
        if program.process is not None:
            program.process.wait()
