"""The dbt project as the outside sees it: where it is, what its environment is, and what it compiles to.

dbt turns the project into plain SQL once for each of its states; model_runner.py runs that SQL. A build by
dbt itself takes ten times the CPU seconds of its SQL, as it renders 350 nodes anew (docs/decisions.md)."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from warehouse.files import locked, workspace

PROJECT = Path(__file__).parents[1] / "dbt"
# Beside this interpreter: a console script may be run from anywhere, with no environment activated.
EXECUTABLE = Path(sys.executable).parent / "dbt"
# Said by dbt: only what is wrong, and nothing into files of its own.
QUIET = ("--no-use-colors", "--quiet", "--log-level-file", "none", "--no-populate-cache")
#: States of the project of which the compiled SQL is kept: a process of the version before may go on.
KEPT = 3
#: Letters in the name of a state.
NAME = 16
FOLDERS = ("--project-dir", os.fspath(PROJECT), "--profiles-dir", os.fspath(PROJECT))


class ModelsBroken(Exception):
    """The dbt project cannot be compiled."""


@dataclass(frozen=True)
class Build:
    """A place to build the models: `file` is the private DuckDB file. Its name is that of the database in the
    compiled SQL. `threads` and `memory_limit` are DuckDB's; `shard`: whose file it is; empty: that of all
    schools."""

    home: Path
    threads: int
    memory_limit: str
    shard: str = ""

    @property
    def file(self) -> Path:
        return self.home / "build" / self.shard / "campus.duckdb"

    @property
    def target(self) -> Path:
        """Where dbt keeps its artifacts for the project as it is now."""
        return self.home / "dbt" / fingerprint()

    @property
    def environment(self) -> Mapping[str, str]:
        """What the project's profile reads."""
        return {
            "CAMPUS_BUILD_FILE": str(self.file),
            "CAMPUS_BUILD_THREADS": str(self.threads),
            "CAMPUS_BUILD_MEMORY": self.memory_limit,
        }


@contextmanager
def alone(build: Build) -> Iterator[None]:
    """One build at a time in a home, whichever process it is in; others wait."""
    build.file.parent.mkdir(parents=True, exist_ok=True)
    with locked(build.file.parent / "lock"):
        yield


def compiled(build: Build) -> Path:
    """dbt's manifest of the project with the SQL of every node, compiled now if the project has changed since
    the last time.

    Raises ModelsBroken with dbt's own words."""
    path, folder = build.target / "manifest.json", build.target.parent
    if not path.exists():
        with workspace(folder) as scratch:
            # Another process may have compiled while this one waited.
            if not path.exists():
                _compile(build, scratch)
        _forget_old(folder)
    return path


def _compile(build: Build, scratch: Path) -> None:
    """Compile in `scratch`, and keep the manifest, which appears as a whole."""
    # A file of its own, so that nothing waits for a build; the database is named after it.
    file = scratch / build.file.name
    result = subprocess.run(
        [EXECUTABLE, *QUIET, "compile", "--no-introspect", "--exclude", "test_type:unit", *FOLDERS],
        env={
            **os.environ,
            **build.environment,
            "CAMPUS_BUILD_FILE": str(file),
            "DBT_TARGET_PATH": str(scratch),
            "DBT_LOG_PATH": str(scratch),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode:
        raise ModelsBroken(f"dbt cannot compile {PROJECT}:\n{result.stdout.strip()}")
    build.target.mkdir(exist_ok=True)
    (scratch / "manifest.json").replace(build.target / "manifest.json")


def _forget_old(folder: Path) -> None:
    """Delete the manifests of all but the last states of the project."""
    manifests = sorted(folder.glob(f"{'?' * NAME}/manifest.json"), key=lambda path: path.stat().st_mtime)
    for old in manifests[:-KEPT]:
        shutil.rmtree(old.parent, ignore_errors=True)


def fingerprint(folder: Path = PROJECT) -> str:
    """A name for the present state of the files in a folder: it changes with any of them."""
    state = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            state.update(str(path.relative_to(folder)).encode())
            state.update(path.read_bytes())
    return state.hexdigest()[:NAME]
