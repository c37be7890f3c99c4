"""Programs of the project as processes, forked from a server that has imported everything."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from simulator.launch import start_fork_server
from simulator.process import RunningSimulator

ROOT = Path(__file__).parents[3]
PATIENCE = 600.0  # seconds, for a program on a busy machine
ORDERING = threading.Lock()
#: The functions of programs, and what they import only when they run.
ENTRIES = {
    "campus": "pipelines.cli.main:main",
    "dagster": "dagster._cli:main",
    "dagster-daemon": "dagster._daemon.cli:main",
}
LATE_MODULES = ("pipelines.cli.command_session", "pipelines.cli.actions.load")


def environment_for(home: Path, platform: RunningSimulator | None = None, **variables: str) -> dict[str, str]:
    """The environment of a program on a home and its platform, with nothing else from this process but
    PATH."""
    environment = {"PATH": os.environ["PATH"], "CAMPUS_HOME": str(home)}
    if platform is not None:
        environment |= {
            "CAMPUS_BASE_URL": platform.base_url,
            "CAMPUS_CLIENT_ID": platform.client_id,
            "CAMPUS_CLIENT_SECRET": platform.client_secret,
        }
    return environment | variables


@dataclass(frozen=True)
class ForkServer:
    """A process that has imported the programs of an interpreter. It starts with the first of them."""

    python: str
    entries: Mapping[str, str]
    late_modules: Sequence[str]
    #: Of the server, besides PATH.
    environment: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def orders(self) -> socket.socket:
        """Its socket. The server ends with this process, even after a kill."""
        script = Path(__file__).with_name("fork_server.py")
        command = [self.python, script, json.dumps(dict(self.entries)), json.dumps([*self.late_modules])]
        # Not the variables of the test that happens to be the first.
        return start_fork_server(command, {"PATH": os.environ["PATH"], **self.environment})

    def stop(self) -> None:
        """Kill its programs, and start no more: further orders raise BrokenPipeError."""
        self.orders.shutdown(socket.SHUT_WR)


PROJECT = ForkServer(sys.executable, ENTRIES, LATE_MODULES)


@dataclass(frozen=True)
class Program:
    """A program that runs as the leader of a process group."""

    pid: int
    #: What it prints, if no file takes that.
    stdout: IO[str]
    _report: socket.socket

    def poll(self, patience: float = 0.0) -> int | None:
        """The exit status, with a minus for a signal; None: it still runs after so many seconds."""
        ended, _, _ = select.select([self._report], [], [], patience)
        # The status stays there for other threads. A server that ends has killed its programs.
        return int(self._report.recv(64, socket.MSG_PEEK) or -signal.SIGKILL) if ended else None

    def wait(self, patience: float = PATIENCE) -> int:
        """The exit status. Raises TimeoutError after so many seconds."""
        status = self.poll(patience)
        if status is None:
            raise TimeoutError(f"the process {self.pid} has not ended after {patience:.0f} s")
        return status

    def send_signal(self, number: int) -> None:
        """Send a signal to the program alone, if it still runs."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill the process group, if the program still runs."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)


def run(
    command: Sequence[str],
    environment: Mapping[str, str],
    cwd: Path,
    *,
    umask: int = -1,
    patience: float = PATIENCE,
    typed: str = "",
    server: ForkServer = PROJECT,
) -> "subprocess.CompletedProcess[str]":
    """Run `campus`, `dagster` or `dagster-daemon` to its end. Raises TimeoutError after so many seconds.

    typed: the standard input."""
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as stdin,
        tempfile.TemporaryFile("w+", encoding="utf-8") as output,
        tempfile.TemporaryFile("w+", encoding="utf-8") as errors,
    ):
        stdin.write(typed)
        stdin.seek(0)
        with started(
            command, environment, cwd, stdin=stdin, output=output, errors=errors, umask=umask, server=server
        ) as program:
            status = program.wait(patience)
        output.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess(command, status, output.read(), errors.read())


@contextmanager
def started(
    command: Sequence[str],
    environment: Mapping[str, str],
    cwd: Path,
    *,
    output: IO[Any] | None = None,
    errors: IO[Any] | None = None,
    umask: int = -1,
    stacks: Path | None = None,
    end_by: int = signal.SIGKILL,
    stdin: IO[Any] | None = None,
    server: ForkServer = PROJECT,
) -> Iterator[Program]:
    """Run `campus`, `dagster` or `dagster-daemon` until the block ends. Its process group ends with it.

    output: the file of its stdout, by default a pipe. errors: the file of its stderr, by default its stdout.
    umask: by default that of this process. stacks: a file to which the program writes the stacks of all its
    threads on SIGUSR1; each line that it prints is then written at once. end_by: the signal at the end.
    stdin: by default empty."""
    order = {
        "command": list(command),
        "environment": dict(environment),
        "cwd": str(cwd),
        "umask": umask,
        "stacks": str(stacks or ""),
    }
    (stdout, its_stdout), (report, its_report) = os.pipe(), socket.socketpair(type=socket.SOCK_SEQPACKET)
    with os.fdopen(stdout, encoding="utf-8") as pipe, report:
        with (
            Path(os.devnull).open("rb") as nothing,
            os.fdopen(its_stdout, "wb") as its_pipe,
            its_report,
            ORDERING,
        ):
            files = (stdin or nothing, output or its_pipe, errors or output or its_pipe, its_report)
            descriptors = [file.fileno() for file in files]
            socket.send_fds(server.orders, [json.dumps(order).encode()], descriptors)
        pid = report.recv(64)
        assert pid, "the fork server has ended, see its stderr"
        program = Program(int(pid), pipe, report)
        try:
            yield program
        finally:
            program.send_signal(end_by)
            program.wait()
