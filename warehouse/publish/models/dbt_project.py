"""The dbt project: its folder, its compiled SQL, and the place where its models are built.

compiler.py renders the project into plain SQL, and model_runner.py runs that SQL. The compiled project stays
beside the code, as Python's bytecode does, so that only the first process after a change compiles."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from warehouse import identifiers
from warehouse.files import locked, write_text

if TYPE_CHECKING:
    from warehouse.published.reading import Config

Value = TypeVar("Value")

PROJECT = Path(__file__).parents[2] / "dbt"
#: The folder of compiled values. Fingerprints, wheels and git leave it out, as they do bytecode.
CACHE = PROJECT.with_name("__pycache__")
#: The libraries that make the values of the cache.
LIBRARIES = ("jinja2", "PyYAML", "sqlglot")
#: The database of a build, as compiled SQL names it: the stem of the built file.
DATABASE = "campus"
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
        """The private DuckDB file."""
        return self.home / "build" / self.shard / f"{DATABASE}.duckdb"

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

    Raises ModelsBroken if the project cannot be compiled."""
    # Which makes the checks of measures.
    metrics = (PROJECT.parent / "metrics.py").read_text(encoding="utf-8")
    return cached("compiled_models", metrics, _compile)


def _compile() -> dict[str, Any]:
    # Only the first process after a change needs the compiler.
    from warehouse.publish.models.compiler import Compiler, by_unique_id
    from warehouse.publish.models.metric_checks import check_nodes, metric_docs

    project = Compiler(PROJECT, metric_docs()).compile()
    project["nodes"] = by_unique_id((*project["nodes"].values(), *check_nodes(project["nodes"]).values()))
    return {kind: dict(sorted(nodes.items())) for kind, nodes in project.items()}


def cached(name: str, inputs: str, make: Callable[[], Value]) -> Value:
    """The value that `make` makes of the project and `inputs`; from CACHE, if the value there was made of the
    same by the same code and libraries. A process that cannot write there makes the value itself."""
    quoting = Path(identifiers.__file__).read_text(encoding="utf-8")
    versions = " ".join(version(library) for library in LIBRARIES)
    digest = hashlib.sha256(f"{inputs}{quoting}{versions}".encode()).hexdigest()[:DIGITS]
    file, made_of = CACHE / f"{name}.json", f"{fingerprint()} {fingerprint(Path(__file__).parent)} {digest}"
    stored = _read_cache(file)
    if stored.get("made_of") == made_of:
        value: Value = stored["value"]
        return value
    value = make()
    # The cache saves time alone: the value serves without it, as in a read-only folder or on a full disk.
    with suppress(OSError):
        CACHE.mkdir(exist_ok=True)
        write_text(file, json.dumps({"made_of": made_of, "value": value}, ensure_ascii=False))
        # Any user may read it, as the code.
        file.chmod(0o644)
    return value


def _read_cache(file: Path) -> dict[str, Any]:
    """The content of a file of the cache; empty: the file is absent, unreadable or damaged."""
    try:
        stored = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stored if isinstance(stored, dict) else {}


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
