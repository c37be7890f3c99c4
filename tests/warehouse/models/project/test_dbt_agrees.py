"""The project is one that dbt builds, unit tests and all, and our runner makes the same file of it."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipelines.cli.developer.compile_models import EXECUTABLE, FOLDERS
from tests.kits.models import worlds
from tests.kits.models.builds import Build
from tests.kits.models.raw_tables import create_raw
from warehouse.publish.models.dbt_project import Build as Place

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


def dbt(place: Place, *arguments: str) -> dict[str, str]:
    """Run dbt on the file of a place; the status of every node by its unique id."""
    target = place.home / "target"
    folders = {"DBT_TARGET_PATH": str(target), "DBT_LOG_PATH": str(place.home / "logs")}
    subprocess.run(
        [EXECUTABLE, "--quiet", *arguments, *FOLDERS],
        env={**os.environ, **place.environment, **folders},
        check=False,
    )
    results = json.loads((target / "run_results.json").read_text(encoding="utf-8"))["results"]
    return {result["unique_id"]: result["status"] for result in results}


def place_of(home: Path) -> Place:
    """One without a file, as `make model` has it: with other settings dbt would parse the project anew."""
    place = Place(home, threads=os.cpu_count() or 1, memory_limit="1GB")
    place.file.parent.mkdir(exist_ok=True)
    place.file.unlink(missing_ok=True)
    return place


def test_every_unit_test_passes(dbt_home: Path, healthy: Build) -> None:
    place = place_of(dbt_home)
    shutil.copy(healthy.file, place.file)
    statuses = dbt(place, "test", "--select", "test_type:unit")
    assert {name: status for name, status in statuses.items() if status not in ("success", "pass")} == {}
    assert "unit_test.campus.grade_student_semester.grade_student_semester_sums_means_and_ranks" in statuses


@pytest.fixture(scope="module")
def by_dbt(dbt_home: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """The file of worlds.HEALTHY as `dbt build` makes it, and the status of every node by its unique id."""
    place = place_of(dbt_home)
    create_raw(place.file, worlds.HEALTHY)
    statuses = dbt(place, "build")
    return place.file.rename(tmp_path_factory.mktemp("by_dbt") / place.file.name), statuses


@pytest.mark.slow
def test_dbt_builds_the_project(by_dbt: tuple[Path, dict[str, str]]) -> None:
    assert {name: status for name, status in by_dbt[1].items() if status not in ("success", "pass")} == {}


@pytest.mark.slow
def test_the_runner_makes_the_same_file(by_dbt: tuple[Path, dict[str, str]], healthy: Build) -> None:
    with duckdb.connect(str(by_dbt[0]), read_only=True) as connection:

        def theirs(query: str) -> list[tuple[Any, ...]]:
            return connection.execute(query).fetchall()

        for query in (RELATIONS, COLUMNS, MACROS):
            assert healthy.rows(query) == theirs(query)
        for schema, table in (*(row[:2] for row in theirs(RELATIONS)), ("quality", "reconciliation")):
            rows = f"from {schema}.{table} order by all"
            assert healthy.rows(rows) == theirs(rows), f"{schema}.{table}"


@pytest.mark.slow
def test_the_runner_knows_every_check(by_dbt: tuple[Path, dict[str, str]], healthy: Build) -> None:
    """dbt lacks the checks of measures, which `make models` adds."""
    tests = {name.split(".")[2] for name in by_dbt[1] if name.startswith("test.")}
    of_measures = {name for name in healthy.failures if "_same_" in name}
    assert tests | of_measures == healthy.failures.keys() and tests.isdisjoint(of_measures)
