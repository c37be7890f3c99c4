"""The dbt project: its folder, what it compiles to, and the place where its models are built.

dbt compiles the project into plain SQL when a developer changes it (`make models`); the result is part of the
code. model_runner.py runs that SQL. No night needs dbt: it renders 350 nodes, which takes ten times the CPU
seconds of their SQL (docs/explanation/decisions.md)."""

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

PROJECT = Path(__file__).parents[1] / "dbt"
#: The compiled project, which `make models` writes (pipelines/cli/models.py).
COMPILED = PROJECT.with_name("compiled_models.json")
#: Hexadecimal digits of a fingerprint.
DIGITS = 16


class ModelsBroken(Exception):
    """The models cannot be built as they are."""


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
    def environment(self) -> Mapping[str, str]:
        """What the project's profile reads."""
        return {
            "CAMPUS_BUILD_FILE": str(self.file),
            "CAMPUS_BUILD_THREADS": str(self.threads),
            "CAMPUS_BUILD_MEMORY": self.memory_limit,
        }

    def config(self, spill: Path) -> Config:
        """DuckDB's, for a connection beside the build's own. `spill`: where what memory cannot hold goes."""
        return {
            "memory_limit": self.memory_limit,
            "threads": self.threads,
            "temp_directory": str(spill),
            "preserve_insertion_order": False,
            "autoinstall_known_extensions": False,
        }


@contextmanager
def alone(build: Build) -> Iterator[None]:
    """One build at a time in a home, whichever process it is in; others wait."""
    build.file.parent.mkdir(parents=True, exist_ok=True)
    with locked(build.file.parent / "lock"):
        yield


@cache
def compiled() -> Mapping[str, Any]:
    """The compiled project: nodes and sources as in dbt's manifest, with the SQL of each node.

    Raises ModelsBroken where the project has changed since it was compiled."""
    manifest: dict[str, Any] = json.loads(COMPILED.read_text(encoding="utf-8"))
    if manifest["fingerprint"] != fingerprint():
        raise ModelsBroken(f"{PROJECT} has changed since it was compiled: run `make models`")
    return manifest


def source_of(node: Mapping[str, Any]) -> str:
    """The file of a node of the compiled project, as it was written."""
    file: str = node["original_file_path"]
    return (PROJECT / file).read_text(encoding="utf-8")


def fingerprint(folder: Path = PROJECT) -> str:
    """A name for the present state of the files in a folder: it changes with any of them."""
    state = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            state.update(str(path.relative_to(folder)).encode())
            state.update(path.read_bytes())
    return state.hexdigest()[:DIGITS]
