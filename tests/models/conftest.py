"""Builds of the dbt project as the pipeline runs them: a private DuckDB file with `raw`, and dbt on it."""

import itertools
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
from tampered_core import TAMPERED_CORE
from tampered_grades import TAMPERED_GRADES

PROJECT = Path(__file__).parents[2] / "warehouse" / "dbt"
NIGHTLY = ("build", "--exclude-resource-type", "unit_test")


@dataclass(frozen=True)
class Build:
    """What one dbt command left: exit code, output, file, and each node's status and failing rows by name."""

    exit_code: int
    output: str
    file: Path
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


#: Wrong numbers in built marts, so many that every check of each of them has something to find.
TAMPERING = {
    **TAMPERED_GRADES,
    "grade_student_semester": (
        "update marts.grade_student_semester"
        " set passed_courses = passed_courses + 1, percent_rank_in_class = 1.5 where student_id = 1",
        "insert into marts.grade_student_semester from marts.grade_student_semester where student_id = 2",
    ),
    "attendance_student_day": (
        "update marts.attendance_student_day set late = present + 1, period_absence_rate = 101",
        "insert into marts.attendance_student_day from marts.attendance_student_day limit 1",
    ),
    "attendance_student_semester": (
        "update marts.attendance_student_semester set school_id = 9, unrecorded = expected + 1",
        "update marts.attendance_student_semester set tier = 'unrecorded', lateness_rate = -1",
        "update marts.attendance_student_semester set longest_absence_streak = 99",
        "insert into marts.attendance_student_semester from marts.attendance_student_semester limit 1",
    ),
    "attendance_student_month_end": (
        "update marts.attendance_student_month_end set school_id = 9, late = present + 1, tier = null,"
        " month_recorded = recorded + 1",
        "insert into marts.attendance_student_month_end from marts.attendance_student_month_end limit 1",
    ),
    "attendance_class_session": (
        "update marts.attendance_class_session set school_id = 9, lateness_rate = 101, present = absent + 1"
        " where recorded > 0",
        "insert into marts.attendance_class_session from marts.attendance_class_session limit 1",
    ),
    "attendance_class_week": (
        "update marts.attendance_class_week set other_sessions = other_sessions + 1, recording_rate = 200",
        "insert into marts.attendance_class_week from marts.attendance_class_week",
    ),
    "attendance_heatmap": (
        "update marts.attendance_heatmap set absent = absent + 1, lateness_rate = 200",
        "insert into marts.attendance_heatmap from marts.attendance_heatmap",
    ),
    "attendance_unrecorded": (
        "update marts.attendance_unrecorded set due_sessions = 0, unrecorded_sessions = 9",
        "update marts.attendance_unrecorded set unrecorded_rate = -1",
        "insert into marts.attendance_unrecorded from marts.attendance_unrecorded",
    ),
    "attendance_group_week": (
        "update marts.attendance_group_week set average_daily_attendance = student_days + 1",
        "update marts.attendance_group_week set lateness_rate = 200",
        "insert into marts.attendance_group_week from marts.attendance_group_week",
    ),
    "score_student_semester": (
        "insert into marts.score_student_semester values (1, 20, 1, -1, 0, 0, 0, 101)",
        "insert into marts.score_student_semester from marts.score_student_semester",
    ),
    "early_warning": (
        "update marts.early_warning set level = 'fine', attendance_rate = 101, score_drop = -1",
        "update marts.early_warning set has_attendance = false, has_grades = false",
        "insert into marts.early_warning from marts.early_warning",
    ),
    "attendance_and_grades": (
        "update marts.attendance_and_grades set students_of_tier = 99, percent_of_tier = 101",
        "update marts.attendance_and_grades set recorded = recorded + 1",
        "insert into marts.attendance_and_grades from marts.attendance_and_grades",
    ),
}


@pytest.fixture(scope="session")
def tampered(run_dbt: Builder, healthy: Build, tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Built tables with wrong numbers in them, and rows of dimensions and facts more than once: the checks
    of the marts, and those of the rest that block, run again."""
    file = Path(shutil.copy(healthy.file, tmp_path_factory.mktemp("tampered") / "built.duckdb"))
    with duckdb.connect(str(file)) as connection:
        tables = connection.execute(
            "select table_name from duckdb_tables() where schema_name = 'core'"
        ).fetchall()
        for statement in (
            *(
                f"insert into core.{table} select one.* from (from core.{table} limit 1) as one, range(3)"
                for (table,) in tables
            ),
            *TAMPERED_CORE,
            *itertools.chain.from_iterable(TAMPERING.values()),
        ):
            connection.execute(statement)
    # dbt writes a severity down as it was spelled.
    blocking = (
        f"path:models/core,test_type:data,config.severity:{spelled}" for spelled in ("ERROR", "error")
    )
    return run_dbt("tampered", ("test", "--select", "path:models/marts,test_type:data", *blocking), file)
