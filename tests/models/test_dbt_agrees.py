"""The project is one that dbt builds, unit tests and all, and our runner makes the same file of it."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import duckdb
import pytest
import worlds
from conftest import Build
from raw_tables import create_raw

from warehouse.publish.dbt_project import EXECUTABLE, FOLDERS
from warehouse.publish.dbt_project import Build as Place

MADE = ("seeds", "staging", "core", "marts")
RELATIONS = f"""
    select schema_name, table_name, comment from duckdb_tables() where schema_name in {MADE}
    union all
    select schema_name, view_name, comment from duckdb_views() where schema_name in {MADE}
    order by all
"""
COLUMNS = f"""
    select schema_name, table_name, column_index, column_name, data_type, comment
    from duckdb_columns() where schema_name in {MADE} order by all
"""
MACROS = f"select schema_name, function_name from duckdb_functions() where schema_name in {MADE}"


@pytest.fixture(scope="module")
def by_dbt(dbt_home: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """The file of worlds.HEALTHY as `dbt build` makes it, and the status of every node by its unique id."""
    # As `make model` has them: with other settings dbt would parse the project anew.
    place = Place(dbt_home, threads=os.cpu_count() or 1, memory_limit="1GB")
    place.file.parent.mkdir(exist_ok=True)
    place.file.unlink(missing_ok=True)
    create_raw(place.file, worlds.HEALTHY)
    target = dbt_home / "target"
    subprocess.run(
        [EXECUTABLE, "--quiet", "build", *FOLDERS],
        env={
            **os.environ,
            **place.environment,
            "DBT_TARGET_PATH": str(target),
            "DBT_LOG_PATH": str(dbt_home / "logs"),
        },
        check=False,
    )
    results = json.loads((target / "run_results.json").read_text(encoding="utf-8"))["results"]
    file = place.file.rename(tmp_path_factory.mktemp("by_dbt") / place.file.name)
    return file, {result["unique_id"]: result["status"] for result in results}


def test_dbt_builds_the_project_and_every_unit_test_passes(by_dbt: tuple[Path, dict[str, str]]) -> None:
    statuses = by_dbt[1]
    assert {name: status for name, status in statuses.items() if status not in ("success", "pass")} == {}
    assert "unit_test.campus.grade_student_semester.grade_student_semester_sums_means_and_ranks" in statuses


def test_the_runner_makes_the_same_file(by_dbt: tuple[Path, dict[str, str]], healthy: Build) -> None:
    with duckdb.connect(str(by_dbt[0]), read_only=True) as connection:

        def theirs(query: str) -> list[tuple[Any, ...]]:
            return connection.execute(query).fetchall()

        for query in (RELATIONS, COLUMNS, MACROS):
            assert healthy.rows(query) == theirs(query)
        for schema, table in (*(one[:2] for one in theirs(RELATIONS)), ("quality", "reconciliation")):
            rows = f"from {schema}.{table} order by all"
            assert healthy.rows(rows) == theirs(rows), f"{schema}.{table}"


def test_the_runner_knows_every_check(by_dbt: tuple[Path, dict[str, str]], healthy: Build) -> None:
    tests = {name.split(".")[2] for name in by_dbt[1] if name.startswith("test.")}
    assert tests == healthy.failures.keys()
