"""Builds of the models as the pipeline makes them: a private DuckDB file with `raw`, and the models on it."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
import pytest
import worlds
from raw_tables import Rows, create_raw

from warehouse.publish.compiled_models import read_project
from warehouse.publish.dbt_project import compiled
from warehouse.publish.model_runner import Built, Checked, check, run

PROJECT = Path(__file__).parents[2] / "warehouse" / "dbt"


@dataclass(frozen=True)
class Build:
    """What a build left: the file, and each node's status and failing rows by its name."""

    file: Path
    statuses: Mapping[str, str]
    failures: Mapping[str, int | None]

    @property
    def problems(self) -> dict[str, str]:
        """What stands in the way of a publication."""
        return {name: status for name, status in self.statuses.items() if status in ("error", "fail")}

    @cached_property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        """One for all queries: to open the file takes longer than most of them."""
        return duckdb.connect(str(self.file), read_only=True)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query on the file."""
        return self._connection.execute(query).fetchall()


#: Models beyond the marts whose checks all have to find something in the tampered file.
HARNESSED = ("quality.reconciliation",)

Builder = Callable[[str, Mapping[str, Rows] | Path], Build]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    """Builds the models as a night does, on a fresh file of the given raw rows or on a copy of a file."""
    project = read_project(compiled())

    def run_models(name: str, source: Mapping[str, Rows] | Path) -> Build:
        folder = tmp_path_factory.mktemp(name)
        file = folder / "campus.duckdb"
        if isinstance(source, Path):
            shutil.copy(source, file)
        else:
            create_raw(file, source)
        with duckdb.connect(str(file)) as connection:
            changed = {f"{schema}.{table}" for schema, table in connection.execute(LAKE).fetchall()}
            done = list(run(connection, project, changed))
        return Build(
            # The published file has another name than the one that was built.
            file=file.rename(folder / "published.duckdb"),
            statuses={_name(each): _status(each) for each in done},
            failures={each.check.name: each.failures for each in done if isinstance(each, Checked)},
        )

    return run_models


LAKE = "select schema_name, table_name from duckdb_tables() where schema_name in ('raw', 'quality')"


def _name(done: Built | Checked) -> str:
    return done.check.name if isinstance(done, Checked) else done.model.name.partition(".")[2]


def _status(done: Built | Checked) -> str:
    if isinstance(done, Checked):
        return done.status
    return "success" if done.problem is None else "error"


@pytest.fixture(scope="session")
def dbt_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose private file is built by dbt itself. One for all who do so, each with a file of its own in
    its turn: dbt parses the project for the first of them only, which takes 5 s of CPU."""
    return tmp_path_factory.mktemp("dbt_home")


@pytest.fixture(scope="session")
def healthy(build: Builder) -> Build:
    """Two small schools without a fault."""
    return build("healthy", worlds.HEALTHY)


@pytest.fixture(scope="session")
def empty(build: Builder) -> Build:
    """A first sync that brought nothing."""
    return build("empty", {})


@pytest.fixture(scope="session")
def broken(build: Builder) -> Build:
    """A platform on which everything is wrong that a check looks for."""
    return build("broken", worlds.BROKEN)


def broken_by() -> dict[str, list[str]]:
    """The statements by which a model's yml breaks each of its checks, by `schema.model`, core first."""
    models = (node for node in compiled()["nodes"].values() if node["resource_type"] == "model")
    said = {
        f"{model['schema']}.{model['name']}": model["config"]["meta"].get("broken_by", []) for model in models
    }
    return dict(sorted(said.items()))


@pytest.fixture(scope="session")
def tampered(healthy: Build, tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Built tables with wrong numbers in them, and rows of dimensions and facts more than once: the checks
    of the marts, and those of the rest that block, run again."""
    file = Path(shutil.copy(healthy.file, tmp_path_factory.mktemp("tampered") / "campus.duckdb"))
    with duckdb.connect(str(file)) as connection:
        tables = connection.execute(
            "select table_name from duckdb_tables() where schema_name = 'core'"
        ).fetchall()
        for (table,) in tables:
            connection.execute(
                f"insert into core.{table} select one.* from (from core.{table} limit 1) as one, range(3)"
            )
        for model, statements in broken_by().items():
            for statement in statements:
                changed = connection.execute(statement).fetchall()
                assert changed != [(0,)], f"{model}, broken_by: changes no row of worlds.HEALTHY: {statement}"
        found = [
            check(connection, one)
            for one in read_project(compiled()).checks
            if one.of in HARNESSED
            or one.of.startswith("marts.")
            or (one.of.startswith("core.") and one.blocks)
        ]
    statuses = {one.check.name: one.status for one in found}
    return Build(file, statuses, {one.check.name: one.failures for one in found})
