"""Builds of the models as the pipeline makes them: a private DuckDB file with `raw`, and the models on it."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import duckdb
import pytest

from tests.kits.models import worlds
from tests.kits.models.builds import Build, Builder, broken_by
from tests.kits.models.raw_tables import Rows, create_raw
from warehouse.publish.models.compiled_models import read_project
from warehouse.publish.models.dbt_project import compiled
from warehouse.publish.models.model_runner import Built, Checked, run, run_check
from warehouse.publish.relations import relations

#: Models beyond the marts whose checks all have to find something in the tampered file.
HARNESSED = ("quality.reconciliation",)


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
            statuses={_name(result): _status(result) for result in done},
            failures={result.check.name: result.failures for result in done if isinstance(result, Checked)},
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
        results = [
            run_check(connection, check)
            for check in read_project(compiled()).checks
            if check.of in HARNESSED
            or check.of.startswith("marts.")
            or (check.of.startswith("core.") and check.blocks)
        ]
        # After all else, since a row with a wrong key alone would break other checks, too.
        references = _break_references(connection)
        results += [
            run_check(connection, check)
            for check in read_project(compiled()).checks
            if check.name in references and not check.blocks
        ]
    statuses = {result.check.name: result.status for result in results}
    return Build(file, statuses, {result.check.name: result.failures for result in results})


def _break_references(connection: duckdb.DuckDBPyConnection) -> set[str]:
    """Make each declared reference lead nowhere; returns the names of their checks."""
    references = [row for row in relations(compiled()) if row["kind"] == "foreign key"]
    for row in references:
        table, column = f"{row['schema_name']}.{row['table_name']}", row["columns"][-1]
        if row["condition"]:
            connection.execute(f"update {table} set {column} = -1 where {row['condition']}")
        else:
            # No school -1 either, so any reference to it or below it leads nowhere.
            columns = ", ".join(row["columns"])
            connection.execute(
                f"insert into {table} ({columns}) values ({', '.join('-1' for _ in row['columns'])})"
            )
    return {row["check_name"] for row in references}
