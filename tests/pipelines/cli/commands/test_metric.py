"""`campus metric` on a small file with the macros of three measures."""

import json
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from click.testing import Result

from tests.kits.programs.command_line import campus

ROWS = """
    SELECT * FROM (VALUES
        (1, 'Class 1', 96.25, 30), (1, 'Class 2', 50.00, 4), (1, 'Class 3', NULL, 20)
    ) AS groups(school_id, class, value, students)
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    with closing(duckdb.connect(str(folder / "campus.duckdb"))) as con:
        con.execute("CREATE SCHEMA quality")
        con.execute("CREATE SCHEMA marts")
        con.execute("CREATE SCHEMA staging")
        con.execute(
            "CREATE TABLE staging.stg_attendance_thresholds AS "
            "SELECT 'small_group_students' AS threshold, 5 AS value"
        )
        con.execute(
            "CREATE TABLE quality.metrics AS SELECT * FROM (VALUES"
            " ('attendance_rate', 'Attendance rate', '出勤率', 'percent',"
            " ['school', 'class', 'student'], 'date'),"
            " ('pass_rate', 'Pass rate', '及格率', 'percent', ['school', 'class'], NULL)"
            ") AS measures(metric, label_en, label_zh, unit, dimensions, time_column)"
        )
        # Says what it is asked for, beside the rows.
        con.execute(
            "CREATE MACRO marts.metric_attendance_rate("
            '"by" := [], schools := NULL, since := NULL, until := NULL'
            ") AS TABLE SELECT 'attendance_rate' AS metric, * REPLACE (concat(class, ' ', since) AS class)"
            f" FROM ({ROWS}) WHERE schools IS NULL OR list_contains(schools, school_id)"
        )
        con.execute(
            'CREATE MACRO marts.metric_pass_rate("by" := [], schools := NULL) AS TABLE'
            " SELECT 'pass_rate' AS metric, NULL AS value, NULL AS students WHERE false"
        )
    return folder


def metric(home: Path, *arguments: str) -> Result:
    return campus(home, "metric", *arguments, CAMPUS_HOME=str(home))


def shown(home: Path, *arguments: str) -> list[dict[str, object]]:
    result = metric(home, *arguments, "--format", "json")
    assert result.exit_code == 0, result.output
    rows: list[dict[str, object]] = json.loads(result.stdout)
    return rows


def test_a_small_group_and_an_unknown_value_say_so(home: Path) -> None:
    rows = shown(home, "attendance_rate", "--by", "class")
    assert [(row["attendance_rate"], row["students"], row["note"]) for row in rows] == [
        (96.25, 30, ""),
        (None, None, "fewer than 5 students"),
        (None, 20, "not known"),
    ]


def test_the_limits_reach_the_measure(home: Path) -> None:
    rows = shown(home, "attendance_rate", "--by", "class", "--since", "2026-09-01", "--school", "1")
    assert rows[0]["class"] == "Class 1 2026-09-01"
    assert shown(home, "attendance_rate", "--by", "class", "--school", "2") == []


def test_a_total_of_nothing_is_not_known(home: Path) -> None:
    assert shown(home, "pass_rate") == [{"pass_rate": None, "students": None, "note": "not known"}]


def test_people_are_shown_on_request_alone(home: Path) -> None:
    refused = metric(home, "attendance_rate", "--by", "class,student")
    assert refused.exit_code == 2
    assert "a split by student shows single people: it needs --personal" in refused.stderr
    rows = shown(home, "attendance_rate", "--by", "class,student", "--personal")
    assert rows[1]["attendance_rate"] == 50.0, "a single person is no small group"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["atendance_rate"], "there is no measure atendance_rate; similar: attendance_rate"),
        (["weather"], "there is no measure weather; there are: attendance_rate, pass_rate"),
        (["pass_rate", "--by", "clas"], "pass_rate cannot be split by clas; similar: class"),
        (["pass_rate", "--since", "2026-09-01"], "pass_rate has no days"),
    ],
)
def test_a_wrong_name_lists_the_near_ones(home: Path, arguments: list[str], message: str) -> None:
    result = metric(home, *arguments)
    assert (result.exit_code, message in result.stderr) == (2, True), result.stderr


def test_without_a_name_the_measures_are_listed(home: Path) -> None:
    output = metric(home, "--format", "csv").stdout
    assert 'attendance_rate,Attendance rate,出勤率,percent,"school, class, student"' in output


def test_a_file_of_an_older_version_is_no_crash(tmp_path: Path) -> None:
    with closing(duckdb.connect(str(tmp_path / "campus.duckdb"))):
        pass
    result = metric(tmp_path, "attendance_rate")
    assert (
        result.exit_code == 1
        and "has no measures, an older version made it: run `campus build`" in result.stderr
    )
