"""The dbt project: its folder, its compiled SQL, and the place where its models are built.

dbt compiles the project into plain SQL when a developer changes it (`make models`); the result is part of the
code. model_runner.py runs that SQL. So no night needs dbt, whose rendering costs far more CPU than the SQL
itself (docs/explanation/decisions.md)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warehouse.files import locked

if TYPE_CHECKING:
    from warehouse.published.reading import Config

PROJECT = Path(__file__).parents[2] / "dbt"
#: The compiled project, which `make models` writes (pipelines/cli/developer/compile_models.py).
COMPILED = PROJECT.with_name("compiled_models.json")
#: Hexadecimal digits of a fingerprint.
DIGITS = 16


class ModelsBroken(Exception):
    """The models cannot be built in their present state."""


@dataclass(frozen=True)
class Build:
    """The place where models are built, and DuckDB's limits there."""

    home: Path
    #: DuckDB's, as is `memory_limit`.
    threads: int
    memory_limit: str
    #: The shard that is built; empty: all schools in one file.
    shard: str = ""

    @property
    def file(self) -> Path:
        """The private DuckDB file; the compiled SQL names its database after it."""
        return self.home / "build" / self.shard / "campus.duckdb"

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment variables that dbt's profile reads."""
        return {
            "CAMPUS_BUILD_FILE": str(self.file),
            "CAMPUS_BUILD_THREADS": str(self.threads),
            "CAMPUS_BUILD_MEMORY": self.memory_limit,
        }

    def config(self, spill: Path) -> Config:
        """DuckDB's configuration for a connection beside the build's own. `spill`: its temporary folder."""
        return {
            "memory_limit": self.memory_limit,
            "threads": self.threads,
            "temp_directory": str(spill),
            "preserve_insertion_order": False,
            "autoinstall_known_extensions": False,
        }


@contextmanager
def alone(build: Build) -> Iterator[None]:
    """Let one build at a time run in a home, across processes; others wait."""
    build.file.parent.mkdir(parents=True, exist_ok=True)
    with locked(build.file.parent / "lock"):
        yield


@cache
def compiled() -> Mapping[str, Any]:
    """The compiled project: nodes and sources as in dbt's manifest, with the SQL of each node.

    Raises ModelsBroken if the project has changed since it was compiled."""
    manifest: dict[str, Any] = json.loads(COMPILED.read_text(encoding="utf-8"))
    if manifest["fingerprint"] != fingerprint():
        raise ModelsBroken(f"{PROJECT} has changed since it was compiled: run `make models`")
    return manifest


def source_of(node: Mapping[str, Any]) -> str:
    """The source text of a node of the compiled project."""
    file: str = node["original_file_path"]
    return (PROJECT / file).read_text(encoding="utf-8")


def fingerprint(*folders: Path) -> str:
    """A digest of all files in folders; without any, of the dbt project."""
    state = hashlib.sha256()
    for folder in folders or (PROJECT,):
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                state.update(str(path.relative_to(folder)).encode())
                state.update(path.read_bytes())
    return state.hexdigest()[:DIGITS]
