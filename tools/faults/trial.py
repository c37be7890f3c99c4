"""Tries faults: each in a worktree, on the files of tests that run its line, until the first test fails."""

import ast
import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Self

import coverage

from tools.faults.fault import ROOT, Fault, line_of, planted
from tools.worktree import worktree

#: CPU seconds of tests, by their record, that a fault is tried on at most.
MOST_SECONDS = 15
#: The tests of a fault run in groups that reach these seconds: most faults are found by the first.
GROUPS = (4, MOST_SECONDS)
#: A run hangs after this many times its recorded seconds, and as many seconds besides.
PATIENCE, LEAST_PATIENCE = 6, 120
RUNNER = Path(__file__).with_name("runner.py")
#: What builds the models runs the SQL of each of them.
RUNS_SQL = ("warehouse/publish/models/model_runner.py", "_build")
MODEL_TESTS = "tests/warehouse/models/"


@dataclass(frozen=True)
class Records:
    """What the files of tests run and cost. lines: by file of the product and line, the files of tests."""

    lines: Mapping[str, Mapping[int, Sequence[str]]]
    seconds: Mapping[str, float]


@dataclass(frozen=True)
class Trial:
    """failed_test: the first, empty if none failed; cpu: seconds of all tests; files: their count."""

    fault: Fault
    failed_test: str
    cpu: float
    files: int


def record(folder: Path, pytest_options: Sequence[str]) -> None:
    """Run the whole suite once and record what each file runs. The suite must pass.

    Raises subprocess.CalledProcessError."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    command = [sys.executable, "-m", "pytest", "-p", "tools.faults.recording", *pytest_options]
    environment = {**os.environ, "FAULTS_RECORDS": str(folder), "PYTHONPATH": str(ROOT)}
    subprocess.run(command, cwd=ROOT, env=environment, check=True)


def read_records(folder: Path) -> Records:
    """Read what `record` has written."""
    lines: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    seconds: dict[str, float] = defaultdict(float)
    for path in folder.glob("lines.*"):
        data = coverage.CoverageData(str(path))
        data.read()
        for file in data.measured_files():
            for line, contexts in data.contexts_by_lineno(file).items():
                lines[file][line] += [context for context in contexts if context]
    for path in folder.glob("seconds.*.json"):
        for file, cpu in json.loads(path.read_text(encoding="utf-8")).items():
            seconds[file] += cpu
    return Records(lines, seconds)


def files_for(fault: Fault, records: Records, tree: Path) -> list[str]:
    """The files of tests that run the line: those of the same room first, then by their seconds."""
    if fault.path.endswith(".sql"):
        lines = range(*_function_lines(tree / RUNS_SQL[0], RUNS_SQL[1]))
        path, home = RUNS_SQL[0], MODEL_TESTS
    else:
        lines = range(*_statement_lines(tree / fault.path, line_of(fault, tree)))
        path, home = fault.path, f"tests/{Path(fault.path).parent}/"
    room = f"tests/{fault.path.partition('/')[0]}/"
    by_line = records.lines.get(path, {})
    files = {file for line in lines for file in by_line.get(line, ())}
    files = {file for file in files if (tree / file).exists()}

    def rank(file: str) -> tuple[bool, bool, float]:
        return not file.startswith(home), not file.startswith(room), records.seconds[file]

    return sorted(files, key=rank)


def try_faults(
    faults: Sequence[Fault], records: Records, processes: int, save: Callable[[Trial], None]
) -> None:
    """Try all faults, in as many worktrees as there are processes. `save` gets each trial as it ends."""
    numbered = list(enumerate(faults))
    with ThreadPoolExecutor(processes) as pool:
        shares = [numbered[process::processes] for process in range(processes)]
        for future in [pool.submit(_try_in_a_worktree, share, records, save) for share in shares]:
            future.result()


def _try_in_a_worktree(
    faults: Sequence[tuple[int, Fault]], records: Records, save: Callable[[Trial], None]
) -> None:
    with worktree("HEAD") as tree, Runner(tree) as runner:
        for number, fault in faults:
            groups = list(_groups(files_for(fault, records, tree), records.seconds))
            is_sound = False
            while not is_sound:
                with planted([fault], tree, number):
                    trial = _try(fault, groups, records.seconds, runner)
                is_sound = runner.passes_without_faults(trial.failed_test)
            save(trial)


def _try(
    fault: Fault, groups: Iterable[Sequence[str]], seconds: Mapping[str, float], runner: "Runner"
) -> Trial:
    cpu, count, failed_test = 0.0, 0, ""
    for files in groups:
        patience = PATIENCE * sum(seconds[file] for file in files) + LEAST_PATIENCE
        failed_test, group_cpu = runner.run(files, patience)
        cpu += group_cpu
        count += len(files)
        if failed_test:
            break
    return Trial(fault, failed_test, cpu, count)


class Runner:
    """The process of runner.py in a worktree. Tests that fail without a fault are left out from then on."""

    def __init__(self, tree: Path, marks: str = "not slow") -> None:
        self._tree = tree
        self._marks = marks
        self._passing: set[str] = set()
        self._failing: set[str] = set()

    def __enter__(self) -> Self:
        command = [str(self._tree / ".venv/bin/python"), str(RUNNER), self._marks]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, cwd=self._tree, stdin=pipe, stdout=pipe, text=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def run(self, files: Sequence[str], patience: float) -> tuple[str, float]:
        """The first test of files that fails, or "", and the CPU seconds. Ends after so many seconds."""
        assert self._process.stdin is not None and self._process.stdout is not None
        request = {"files": files, "excluded": [*self._failing], "seconds": patience}
        print(json.dumps(request), file=self._process.stdin, flush=True)
        answer = json.loads(self._process.stdout.readline())
        return answer["failed_test"], answer["cpu"]

    def leave_out(self, test: str) -> None:
        """Leave a test out from now on."""
        self._failing.add(test)

    def passes_without_faults(self, test: str) -> bool:
        """Whether a test passes on the worktree as it is. Tries it once; a run that hung is believed."""
        file = test.partition("::")[0]
        if test in self._passing or not (self._tree / file).is_file():
            return True
        failed_test, _ = self.run([file], 10 * LEAST_PATIENCE)
        (self._failing if failed_test else self._passing).add(failed_test or test)
        return not failed_test


def _groups(files: Sequence[str], seconds: Mapping[str, float]) -> Iterator[list[str]]:
    """Divide files where their seconds, added up, pass each of GROUPS. At least one file is tried."""
    ends = accumulate(seconds[file] for file in files)
    groups: list[list[str]] = [[] for _ in GROUPS]
    for file, end in zip(files, ends, strict=True):
        group = next((group for group, most in zip(groups, GROUPS, strict=True) if end <= most), None)
        if group is not None:
            group.append(file)
        elif not any(groups):
            groups[-1].append(file)
    yield from filter(None, groups)


def _statement_lines(path: Path, line: int) -> tuple[int, int]:
    """The first line of the statement at a line, and the line after its end, or after its header."""
    spans = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            end = body[0].lineno - 1 if body else node.end_lineno or node.lineno
            spans.append((node.lineno, max(end, node.lineno) + 1))
    return max(span for span in spans if span[0] <= line < span[1])


def _function_lines(path: Path, name: str) -> tuple[int, int]:
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    [node] = [node for node in nodes if isinstance(node, ast.FunctionDef) and node.name == name]
    return node.body[0].lineno, (node.end_lineno or node.lineno) + 1
