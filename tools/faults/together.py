"""Tries the faults that few tests may find at once: all are planted together, and the tests run once.

For the first test of a file that fails, the faults are halved until one is left. It is found, and taken out
before the file is tried again."""

import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from itertools import count
from pathlib import Path

from tools.faults.fault import ROOT, Fault, FaultMissing, line_of, planted
from tools.faults.trial import Runner, Trial
from tools.worktree import worktree

#: Seconds after which a test hangs, and has failed.
SECONDS_A_TEST = 300
#: A test that fails is tried for as long.
PATIENCE = 2 * SECONDS_A_TEST


class Suspects:
    """The faults that are not found yet, in a worktree."""

    def __init__(self, faults: Sequence[Fault], tree: Path) -> None:
        self.faults = [fault for fault in faults if is_in(fault, tree)]
        self._tree = tree
        self._numbers = count()

    def planted(self, faults: Sequence[Fault]) -> AbstractContextManager[None]:
        """Plant some of them until the block ends."""
        return planted(faults, self._tree, next(self._numbers))

    def behind(self, tests: str, runner: Runner) -> Fault | None:
        """The fault that fails a test, or a file of tests. None if no fault alone does."""

        def fails(faults: Sequence[Fault]) -> bool:
            with self.planted(faults):
                return bool(runner.run([tests], PATIENCE)[0])

        if not fails(self.faults) or fails([]):
            return None
        suspects = self.faults
        while len(suspects) > 1:
            half = len(suspects) // 2
            suspects = next((faults for faults in (suspects[:half], suspects[half:]) if fails(faults)), [])
        return next(iter(suspects), None)


def try_together(
    faults: Sequence[Fault], commit: str, options: Sequence[str], save: Callable[[Trial], None]
) -> None:
    """Try faults on the tests of a commit that these options of pytest select. `save` gets what they find."""
    with worktree(commit) as tree:
        try_in_tree(faults, tree, options, save)


def try_in_tree(
    faults: Sequence[Fault], tree: Path, options: Sequence[str], save: Callable[[Trial], None]
) -> None:
    """Try faults as `try_together` does, in a folder with an environment."""
    suspects = Suspects(faults, tree)
    with suspects.planted(suspects.faults):
        files = list(dict.fromkeys(test.partition("::")[0] for test in failing_tests(tree, options)))
    print(f"{len(suspects.faults)} faults, tests of {len(files)} files fail", flush=True)
    with Runner(tree, "slow or not slow") as runner:
        while files and suspects.faults:
            with suspects.planted(suspects.faults):
                test, _ = runner.run(files[:1], PATIENCE)
            if not test:
                files.pop(0)
                continue
            # Some tests fail only after those before them in their file.
            fault = suspects.behind(test, runner) or suspects.behind(files[0], runner)
            if fault:
                suspects.faults.remove(fault)
                save(Trial(fault, test, 0.0, 1))
            elif test.startswith(f"{files[0]}::"):
                runner.leave_out(test)
            else:
                # The file hangs, or cannot be read, whatever is planted.
                files.pop(0)


def failing_tests(tree: Path, options: Sequence[str]) -> list[str]:
    """The tests that fail in a worktree as it is now, the quickest first."""
    report = tree / "report.xml"
    command = [str(tree / ".venv/bin/python"), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    limits = [f"--timeout={SECONDS_A_TEST}", "--continue-on-collection-errors"]
    reporting = [f"--junit-xml={report}", "-o", "junit_family=xunit1"]
    subprocess.run([*command, *limits, *reporting, *options], cwd=tree, check=False)
    cases = ET.parse(report).getroot().iter("testcase")
    failed = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    failed.sort(key=lambda case: float(case.get("time", 0)))
    return [f"{case.get('file')}::{case.get('name')}" for case in failed if case.get("file")]


def changed_tests(commit: str) -> set[str]:
    """The files of tests that are not the same in a commit."""
    command = ["git", "-C", str(ROOT), "diff", "--name-only", commit, "--", "tests"]
    return set(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines())


def is_in(fault: Fault, tree: Path) -> bool:
    """Whether the code of the worktree has the line of a fault."""
    try:
        line_of(fault, tree)
    except (FaultMissing, FileNotFoundError):
        return False
    return True
