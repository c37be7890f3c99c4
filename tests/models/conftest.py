"""Builds of the dbt project as the pipeline runs them: a private DuckDB file with `raw`, and dbt on it."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest
import worlds
from raw_tables import Rows, create_raw

PROJECT = Path(__file__).parents[2] / "warehouse" / "dbt"
NIGHTLY = ("build", "--exclude-resource-type", "unit_test")


@dataclass(frozen=True)
class Build:
    """What one dbt command left: exit code, output, file, and each node's status and failing rows by name."""

    exit_code: int
    output: str
    file: Path
    manifest: Mapping[str, Any]
    statuses: Mapping[str, str]
    failures: Mapping[str, int | None]

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query on the file."""
        with duckdb.connect(str(self.file), read_only=True) as connection:
            return connection.execute(query).fetchall()


Builder = Callable[..., Build]


def _node_name(unique_id: str) -> str:
    """model.campus.NAME, test.campus.NAME.HASH, unit_test.campus.MODEL.NAME"""
    kind, _project, *names = unique_id.split(".")
    return names[1] if kind == "unit_test" else names[0]


@pytest.fixture(scope="session")
def run_dbt(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    """Runs dbt on a fresh file of the given raw rows, or on a copy of a built file. The build file's path is
    the same each time, as in production, so that dbt parses the project once."""
    home = tmp_path_factory.mktemp("models")
    build_file = home / "campus.duckdb"
    environment = {
        **os.environ,
        "CAMPUS_BUILD_FILE": str(build_file),
        "DBT_TARGET_PATH": str(home / "target"),
        "DBT_LOG_PATH": str(home / "logs"),
    }

    def run(name: str, command: tuple[str, ...], source: Mapping[str, Rows] | Path) -> Build:
        if isinstance(source, Path):
            shutil.copy(source, build_file)
        else:
            create_raw(build_file, source)
        folders = ("--project-dir", str(PROJECT), "--profiles-dir", str(PROJECT))
        dbt = Path(sys.executable).with_name("dbt")
        done = subprocess.run(
            [dbt, *command, *folders], env=environment, capture_output=True, text=True, check=False
        )
        results = json.loads((home / "target" / "run_results.json").read_text())["results"]
        by_name = {_node_name(result["unique_id"]): result for result in results}
        return Build(
            exit_code=done.returncode,
            output=done.stdout + done.stderr,
            # The published file has another name than the one that was built.
            file=build_file.rename(home / f"published {name}.duckdb"),
            manifest=json.loads((home / "target" / "manifest.json").read_text()),
            statuses={node: result["status"] for node, result in by_name.items()},
            failures={node: result["failures"] for node, result in by_name.items()},
        )

    return run


@pytest.fixture(scope="session")
def healthy(run_dbt: Builder) -> Build:
    """Two small schools without a fault, and every dbt unit test."""
    return run_dbt("healthy", ("build",), worlds.HEALTHY)


@pytest.fixture(scope="session")
def empty(run_dbt: Builder) -> Build:
    """A first sync that brought nothing."""
    return run_dbt("empty", NIGHTLY, {})


@pytest.fixture(scope="session")
def broken(run_dbt: Builder) -> Build:
    """A platform on which everything is wrong that a check looks for."""
    return run_dbt("broken", NIGHTLY, worlds.BROKEN)


def broken_by(build: Build) -> dict[str, list[str]]:
    """The statements by which a model's yml breaks each of its checks, by `schema.model`, core first."""
    models = (node for node in build.manifest["nodes"].values() if node["resource_type"] == "model")
    said = {
        f"{model['schema']}.{model['name']}": model["config"]["meta"].get("broken_by", []) for model in models
    }
    return dict(sorted(said.items()))


@pytest.fixture(scope="session")
def tampered(run_dbt: Builder, healthy: Build, tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Built tables with wrong numbers in them, and rows of dimensions and facts more than once: the checks
    of the marts, and those of the rest that block, run again."""
    file = Path(shutil.copy(healthy.file, tmp_path_factory.mktemp("tampered") / "built.duckdb"))
    with duckdb.connect(str(file)) as connection:
        tables = connection.execute(
            "select table_name from duckdb_tables() where schema_name = 'core'"
        ).fetchall()
        for (table,) in tables:
            connection.execute(
                f"insert into core.{table} select one.* from (from core.{table} limit 1) as one, range(3)"
            )
        for model, statements in broken_by(healthy).items():
            for statement in statements:
                changed = connection.execute(statement).fetchall()
                assert changed != [(0,)], f"{model}, broken_by: changes no row of worlds.HEALTHY: {statement}"
    # dbt writes a severity down as it was spelled.
    blocking = (
        f"path:models/core,test_type:data,config.severity:{spelled}" for spelled in ("ERROR", "error")
    )
    return run_dbt("tampered", ("test", "--select", "path:models/marts,test_type:data", *blocking), file)
