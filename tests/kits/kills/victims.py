"""Programs of the project that say where they are when they are told to, forked from one process.

What each of them would import first is imported once: that is most of the seconds of a short command. A line
of JSON on the standard input asks for one; its process id is the answer, and its exit status once it ended.
SIGUSR1 has a program write the stacks of all its threads to the file `stacks`, at once, whatever it does."""

import faulthandler
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from dagster._cli import main as dagster

from pipelines.cli import command_session  # noqa: F401 - imported by campus when it runs
from pipelines.cli.actions import load  # noqa: F401 - imported by campus when it runs
from pipelines.cli.main import main as campus

PROGRAMS = {"campus": campus, "dagster": dagster}


def become(request: dict[str, Any]) -> None:
    """Be the program: in a process group of its own, with its environment and output."""
    os.setsid()
    faulthandler.register(signal.SIGUSR1, file=os.open(request["stacks"], os.O_WRONLY))
    output = os.open(request["output"], os.O_WRONLY | os.O_TRUNC | os.O_CREAT)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(output, stream.fileno())
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = request["command"]
    PROGRAMS[Path(sys.argv[0]).name]()


def tell(number: int) -> None:
    """Answer with a number."""
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    for line in iter(sys.stdin.readline, ""):
        if pid := os.fork():
            tell(pid)
            tell(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        else:
            become(json.loads(line))
            break
