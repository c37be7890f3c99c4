"""The dbt project as the outside sees it: where it is, what its environment is, and its parsed manifest."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "dbt"
# Beside this interpreter: a console script may be run from anywhere, with no environment activated.
EXECUTABLE = Path(sys.executable).parent / "dbt"


# A checked build is published seconds later; one that is a day old never will be.
LEFT_BEHIND_SECONDS = 24 * 3600


class ModelsBroken(Exception):
    """The dbt project cannot be parsed."""


@dataclass(frozen=True)
class Build:
    """A place to build the models: `file` is the private DuckDB file. It is the same for every build, since
    dbt parses the whole project again when it changes."""

    home: Path
    threads: int
    memory_limit: str

    @property
    def file(self) -> Path:
        return self.home / "build" / "campus.duckdb"

    def checked(self, run_id: str) -> Path:
        """Where a run's build waits for its publication, once every check has passed."""
        return self.file.with_name(f"{run_id}.duckdb")

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
    """One build at a time in a home, whichever process it is in; others wait. What earlier builds left behind
    is deleted."""
    build.file.parent.mkdir(parents=True, exist_ok=True)
    with (build.file.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for left in build.file.parent.glob("*.duckdb"):
            if time.time() - left.stat().st_mtime > LEFT_BEHIND_SECONDS:
                left.unlink()
        yield


def manifest(build: Build) -> Path:
    """The parsed project, parsed now if it has changed since the last time.

    Raises ModelsBroken with dbt's own words."""
    path = build.target / "manifest.json"
    if not path.exists():
        _parse(build)
    return path


def _parse(build: Build) -> None:
    build.target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=build.target.parent) as scratch:
        result = subprocess.run(
            [EXECUTABLE, "--no-use-colors", "parse", "--project-dir", PROJECT, "--profiles-dir", PROJECT],
            env={**os.environ, **build.environment, "DBT_TARGET_PATH": scratch, "DBT_LOG_PATH": scratch},
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode:
            raise ModelsBroken(f"dbt cannot parse {PROJECT}:\n{result.stdout.strip()}")
        # Several processes may parse at once; the first one's work is as good as any other's.
        if not build.target.exists():
            shutil.copytree(scratch, build.target, dirs_exist_ok=True)


def fingerprint() -> str:
    """A name for the project's present state: it changes with any of its files."""
    state = hashlib.sha256()
    for path in sorted(PROJECT.rglob("*")):
        if path.is_file():
            state.update(str(path.relative_to(PROJECT)).encode())
            state.update(path.read_bytes())
    return state.hexdigest()[:16]
