"""The two versions to compare, each run by an interpreter that knows the code of this version alone.

The installed project is always the present one, and some commands start further processes. So each version
has a virtual environment: the folder of the version, then the installed packages, but not the project."""

import json
import signal
import subprocess
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.kits.programs.processes import LATE_MODULES, ForkServer, run
from tools.unchanged.clock import SERVER_CLOCK
from tools.worktree import ROOT, make_environment

#: Where the clock is libfaketime's, the system refuses the waits of time.sleep, which are until a time.
SITE = """
import select, time
time.sleep = lambda seconds: select.select([], [], [], seconds) and None
"""
#: What a process reads when it starts; the order of sets is among it.
SERVER_ENVIRONMENT = {"LANG": "C.UTF-8", "PYTHONHASHSEED": "0", **SERVER_CLOCK}
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
    #: Its processes know the code of this version alone.
    server: ForkServer

    @classmethod
    def of(cls, name: str, root: Path, folder: Path) -> "Version":
        """The version whose code is in `root`. Raises CannotCompare if other code would run.

        folder: where to make the virtual environment."""
        environment = folder / "venv"
        packages = make_environment(environment, root)
        (packages / "sitecustomize.py").write_text(SITE, encoding="utf-8")
        project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        python = environment / "bin" / "python"
        check_origins(name, root, python)
        # Of an earlier version, a module may have another name.
        late_modules = [
            module for module in LATE_MODULES if (root / f"{module.replace('.', '/')}.py").is_file()
        ]
        entries = {"campus": project["scripts"]["campus"]}
        return cls(name, root, ForkServer(str(python), entries, late_modules, SERVER_ENVIRONMENT))

    def campus(
        self, arguments: Sequence[str], environment: Mapping[str, str], folder: Path, stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run `campus` with these arguments in a folder. Raises Stopped if it was killed."""
        try:
            ended = run(["campus", *arguments], environment, folder, typed=stdin, server=self.server)
        except BrokenPipeError:
            raise Stopped("the comparison was stopped") from None
        if ended.returncode == -signal.SIGKILL:
            raise Stopped(f"campus {' '.join(arguments)} was killed")
        return ended


def check_origins(name: str, root: Path, python: Path) -> None:
    """Raises CannotCompare if any package of a version would be imported from elsewhere."""
    packages = sorted(path.parent.name for path in root.glob("*/__init__.py"))
    command = [str(python), "-P", "-c", ORIGINS, *packages]
    answer = subprocess.run(command, cwd="/", env={}, check=True, stdout=subprocess.PIPE, text=True)
    strangers = {
        package: origin
        for package, origin in json.loads(answer.stdout).items()
        if not Path(origin).is_relative_to(root)
    }
    if strangers or not packages:
        raise CannotCompare(f"{name} would not run its own code: {strangers}")


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
