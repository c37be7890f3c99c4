"""Programs that a command starts, watches and stops."""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

#: Seconds between two looks at a program that is to end.
LOOK = 0.1


@dataclass
class Program:
    """A program that a command runs in the background."""

    #: What it is for, in words.
    what: str
    command: list[str]
    #: The file that it writes to.
    log: Path
    process: subprocess.Popen[bytes] | None = None

    def start(self, pass_fds: Sequence[int] = ()) -> None:
        """Start it in a process group of its own, so that Ctrl-C reaches the command alone. `pass_fds`: open
        files that the program inherits."""
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
        """The exit status; None: it runs, or was never started."""
        return None if self.process is None else self.process.poll()

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the program and to what it has started."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)

    def is_gone(self) -> bool:
        """Whether the program and all that it has started have ended."""
        if self.process is None:
            return True
        self.process.poll()
        try:
            os.killpg(self.process.pid, 0)
        except ProcessLookupError:
            return True
        return False


def stop(programs: Sequence[Program], patience: float) -> None:
    """Ask programs to end, and kill what has not ended after `patience` seconds."""
    for program in programs:
        program.send(signal.SIGTERM)
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline and not all(program.is_gone() for program in programs):
        time.sleep(LOOK)
    for program in programs:
        program.send(signal.SIGKILL)
        if program.process is not None:
            program.process.wait()
