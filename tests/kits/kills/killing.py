"""Commands as process groups of their own, and where they were when they were killed."""

import re
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.kits.programs.processes import PATIENCE, ROOT, Program, started

#: Where none of these is: its beginning, and its end.
ELSEWHERE = "start or end"
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


@dataclass(frozen=True)
class Victims:
    """Runs programs of the project, each as a process group of its own, one after the other."""

    #: Files of what the program prints, and of its stacks.
    output: Path
    stacks: Path

    def run(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        home: Path,
        kill_when: Callable[[float], bool] = lambda _seconds: False,
    ) -> Ended:
        """Run a program on a home. Its whole group is killed when `kill_when` says so, which is asked again
        and again with the seconds since the start."""
        self.stacks.write_text("")
        homes = {"CAMPUS_HOME": str(home), "DAGSTER_HOME": str(home / "dagster")}
        began, killed = time.monotonic(), False
        with (
            self.output.open("w") as output,
            started(command, {**environment, **homes}, ROOT, output=output, stacks=self.stacks) as program,
        ):
            while program.poll(LOOK) is None:
                seconds = time.monotonic() - began
                if kill_when(seconds) or seconds > PATIENCE:
                    killed = True
                    _tell_where(program, self.stacks)
                    program.kill()
                    break
            status, seconds = program.wait(), time.monotonic() - began
        text = self.output.read_text()
        stage = _stage(self.stacks.read_text(), text) if killed and status < 0 else ""
        return Ended(status, text, seconds, stage)


def _tell_where(program: Program, stacks: Path) -> None:
    """Have it write its stacks. Since its threads run on, that can itself end it: as good a kill as any."""
    program.send_signal(signal.SIGUSR1)
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
