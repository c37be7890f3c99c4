"""The two versions to compare, each run by an interpreter that knows the code of this version alone.

The installed project is always the present one, and some commands start further processes. So each version
has a virtual environment: the folder of the version, then the installed packages, but not the project."""

import json
import subprocess
import threading
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.worktree import ROOT, make_environment

#: The exit status of a process that would run the code of the wrong version.
WRONG_CODE = 97
#: Runs a command of the version in the folder `root`.
COMMAND = f"""
import sys
from importlib import import_module
root, module, function = sys.argv[1:4]
sys.argv = ["campus", *sys.argv[4:]]
program = import_module(module)
if not program.__file__.startswith(root + "/"):
    sys.exit({WRONG_CODE})
getattr(program, function)()
"""
#: Where the clock is libfaketime's, the system refuses the waits of time.sleep, which are until a time.
SITE = """
import select, time
time.sleep = lambda seconds: select.select([], [], [], seconds) and None
"""
#: Prints the file of each package that is named.
ORIGINS = """
import json, sys
from importlib.util import find_spec
print(json.dumps({name: find_spec(name).origin for name in sys.argv[1:]}))
"""


class CannotCompare(Exception):
    """The two versions cannot be compared; the message says why."""


class Stopped(CannotCompare):
    """A command was ended before its time."""


@dataclass(frozen=True)
class Version:
    """A version of the project."""

    name: str
    root: Path
    #: The interpreter that knows the code of this version alone.
    python: Path
    #: The module and the function of the command `campus`.
    entry: tuple[str, str]
    commands: "Commands"

    @classmethod
    def of(cls, name: str, root: Path, folder: Path, commands: "Commands") -> "Version":
        """The version whose code is in `root`. Raises CannotCompare if other code would run.

        folder: where to make the virtual environment."""
        environment = folder / "venv"
        packages = make_environment(environment, root)
        (packages / "sitecustomize.py").write_text(SITE, encoding="utf-8")
        project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        module, _, function = project["scripts"]["campus"].partition(":")
        version = cls(name, root, environment / "bin" / "python", (module, function), commands)
        version.check_origins()
        return version

    def check_origins(self) -> None:
        """Raises CannotCompare if any package of the version would be imported from elsewhere."""
        packages = sorted(path.parent.name for path in self.root.glob("*/__init__.py"))
        command = [str(self.python), "-P", "-c", ORIGINS, *packages]
        answer = subprocess.run(command, cwd="/", env={}, check=True, stdout=subprocess.PIPE, text=True)
        strangers = {
            package: origin
            for package, origin in json.loads(answer.stdout).items()
            if not Path(origin).is_relative_to(self.root)
        }
        if strangers or not packages:
            raise CannotCompare(f"{self.name} would not run its own code: {strangers}")

    def campus(
        self, arguments: Sequence[str], environment: Mapping[str, str], folder: Path, stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run `campus` with these arguments in a folder.

        Raises CannotCompare if the process would have run the code of another version, or was stopped."""
        completed = self.commands.run(
            [str(self.python), "-P", "-c", COMMAND, str(self.root), *self.entry, *arguments],
            environment,
            folder,
            stdin,
        )
        if completed.returncode == WRONG_CODE:
            raise CannotCompare(f"{self.name} would not run its own code: campus {' '.join(arguments)}")
        return completed


class Commands:
    """The processes that run now, so that an interrupted comparison can end them."""

    def __init__(self) -> None:
        self._processes: set[subprocess.Popen[str]] = set()
        self._is_stopped = threading.Event()

    def run(
        self, command: Sequence[str], environment: Mapping[str, str], folder: Path, stdin: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end. Raises Stopped after `stop`."""
        with subprocess.Popen(
            command,
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            self._processes.add(process)
            if self._is_stopped.is_set():
                process.terminate()
            output, errors = process.communicate(stdin)
            self._processes.discard(process)
        if self._is_stopped.is_set():
            raise Stopped("the comparison was stopped")
        return subprocess.CompletedProcess(command, process.returncode, output, errors)

    def stop(self) -> None:
        """End the processes that run, and start no more."""
        self._is_stopped.set()
        for process in tuple(self._processes):
            process.terminate()


def git(*arguments: str) -> str:
    """The output of git in the present version. Raises CannotCompare with the message of git."""
    completed = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    if completed.returncode:
        raise CannotCompare(f"git {arguments[0]}: {completed.stderr.strip()}")
    return completed.stdout.strip()


def remarks(commit: str) -> Iterator[str]:
    """What a reader of the comparison should know about the two versions."""
    changed = git("status", "--porcelain").splitlines()
    yield f"Base: {git('log', '-1', '--format=%h %s', commit)}"
    yield f"Present: {git('log', '-1', '--format=%h %s')}; uncommitted files: {len(changed)}"
    if git("diff", "--name-only", commit, "--", "simulator"):
        yield "simulator/ differs. Both versions meet the present one, but `campus demo` starts its own."
    if git("diff", "--name-only", commit, "--", "requirements.lock"):
        yield "requirements.lock differs. Both versions run with the packages that are installed now."
