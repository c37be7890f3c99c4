"""Commands as process groups of their own, and where they were when they were killed."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from select import select

ROOT = Path(__file__).parents[3]
VICTIMS = Path(__file__).with_name("victims.py")
BIN = Path(sys.executable).parent
#: Where none of these is: its beginning, and its end.
ELSEWHERE = "start or end"
PATIENCE = 600.0  # seconds, for a command on a busy machine
#: What a stack says of where a command is: the first of these that is on any thread's.
STAGES = (
    ("upkeep", ("assets/maintenance.py",)),
    ("swap", ("warehouse/publish/publish.py",)),
    ("check", ("warehouse/publish/models/model_runner.py", "in check")),
    ("model", ("warehouse/publish/models/model_runner.py",)),
    ("fill", ("warehouse/publish/fill.py",)),
    ("model", ("warehouse/publish/build.py", "in build_models")),
    ("log", ("warehouse/load/logs/writer.py",)),
    ("commit", ("warehouse/load/commit.py",)),
    ("tables", ("warehouse/lake/delta.py", "in ensure")),
    ("load", ("loading/",)),
    ("Dagster", ("dagster/_core/",)),
)


#: Seconds between two looks at whether the moment has come.
LOOK = 0.01


@dataclass(frozen=True)
class Ended:
    """How a command ended. `stage`: where it was when it was killed; empty: it ended by itself."""

    status: int
    output: str
    seconds: float
    stage: str = ""

    @property
    def last_words(self) -> str:
        """The last line of its output, without what Dagster has to say for those who look for a defect."""
        lines = [line for line in self.output.splitlines() if line.strip() and " DEBUG - " not in line]
        return lines[-1].rpartition(" - ")[2] if lines else "nothing"


class Victims:
    """Runs programs of the project, each as a process group of its own, one after the other."""

    def __init__(self, process: "subprocess.Popen[str]", folder: Path) -> None:
        self._process = process
        self.output, self._stacks = folder / "output", folder / "stacks"

    def run(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        home: Path,
        kill_when: Callable[[float], bool] = lambda _seconds: False,
    ) -> Ended:
        """Run a program on a home. Its whole group is killed when `kill_when` says so, which is asked again
        and again with the seconds since the start."""
        for file in (self.output, self._stacks):
            file.write_text("")
        own = {"PATH": os.environ["PATH"], "CAMPUS_HOME": str(home), "DAGSTER_HOME": str(home / "dagster")}
        request = {
            "command": [str(BIN / command[0]), *command[1:]],
            "environment": {**own, **environment},
            "stacks": str(self._stacks),
            "output": str(self.output),
        }
        began, killed = time.monotonic(), False
        pid = self._ask(json.dumps(request))
        while not self._has_answered():
            seconds = time.monotonic() - began
            if kill_when(seconds) or seconds > PATIENCE:
                killed = True
                # To write the stacks of threads that run on can itself end a program: as good a kill as any.
                with suppress(ProcessLookupError):
                    _tell_where(pid, self._stacks)
                    os.killpg(pid, signal.SIGKILL)
                break
        status, seconds = self._answer(), time.monotonic() - began
        with suppress(ProcessLookupError):
            # What it has started and not waited for.
            os.killpg(pid, signal.SIGKILL)
        output = self.output.read_text()
        stage = _stage(self._stacks.read_text(), output) if killed and status < 0 else ""
        return Ended(status, output, seconds, stage)

    def _ask(self, line: str) -> int:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> int:
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())

    def _has_answered(self) -> bool:
        return bool(select([self._process.stdout], [], [], LOOK)[0])


@contextmanager
def victims() -> Iterator[Victims]:
    """What runs programs, as long as the block lasts."""
    command = [sys.executable, VICTIMS]
    pipe, environment = subprocess.PIPE, {**os.environ, "PYTHONPATH": str(ROOT)}
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, cwd=ROOT, env=environment, stdin=pipe, stdout=pipe, text=True) as process,
    ):
        yield Victims(process, Path(folder))


def _tell_where(pid: int, stacks: Path) -> None:
    """Have it write its stacks, if it is there to do so."""
    os.kill(pid, signal.SIGUSR1)
    ends = time.monotonic() + 1
    while not stacks.stat().st_size and time.monotonic() < ends:
        time.sleep(0.001)


def _stage(stacks: str, said: str) -> str:
    """The stage, and of a sync the run that was under way."""
    threads = stacks.split("\n\n")
    for stage, (file, *function) in STAGES:
        for thread in threads:
            lines = thread.splitlines()
            if any(file in line and all(part in line for part in function) for line in lines):
                return f"{stage} {_run(said)}".strip()
    return ELSEWHERE


def _run(said: str) -> str:
    done = re.findall(r"^(?:.*: )?(\w+): .* in [\d,]+ s$", said, re.MULTILINE)
    return f"after {done[-1]}" if done else ""
