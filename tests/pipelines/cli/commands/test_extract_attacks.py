"""Attacks on extracts: joins of two extracts without a common key, and known days of absence.

A standard extract says that it does not withstand them. A strong extract does."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import pytest

from exports.extracts.plan import ExtractRequest
from exports.extracts.write import write_extract
from tests.kits.programs import command_line
from tests.kits.worlds.world import World

SMALLEST = 5
#: By protection, the rows of attendance and of grades: the key of a student, if any, and what an attacker
#: compares.
WITHOUT_KEY = "SELECT row_number() OVER (), * EXCLUDE (school_id, semester_id, cohort_id)"
ATTENDANCE = {
    "standard": "SELECT student_id, date, lesson, status FROM core.fct_attendance",
    "strong": f"{WITHOUT_KEY} FROM coarse.attendance_week",
}
GRADES = {
    "standard": "SELECT student_id, real_score, full_score FROM core.fct_grade WHERE source = 'class'",
    "strong": f"{WITHOUT_KEY} FROM coarse.course_grade",
}
Rows = list[tuple[Any, ...]]


@pytest.fixture(scope="module")
def published(make_world: Callable[..., World]) -> World:
    world = make_world("crowd")
    assert world.load(select=None).problems == []
    assert world.publish().problem is None
    return world


def extract(world: World, name: str, *arguments: str) -> tuple[Path, dict[str, Any]]:
    """Make an extract with a key of its own. Returns it and its report."""
    path, report = (world.home / "extracts" / f"{name}{suffix}" for suffix in (".duckdb", ".json"))
    path.parent.mkdir(exist_ok=True)
    options = ("--pseudonymous", "--to", str(path), "--report", str(report), "--hide-schools", *arguments)
    result = command_line.campus(world.home, "extract", *options, CAMPUS_HOME=str(world.home))
    assert result.exit_code == 0, result.output
    return path, json.loads(report.read_text(encoding="utf-8"))


@pytest.fixture(scope="module", params=["standard", "strong"])
def pair(request: pytest.FixtureRequest, published: World) -> tuple[str, list[Path], dict[str, Any]]:
    """The protection, two extracts of different keys, and the report on the first."""
    extracts = [
        extract(
            published, f"{request.param}-{recipient}", "--protect", request.param, "--key-name", recipient
        )
        for recipient in ("first", "second")
    ]
    return request.param, [path for path, _ in extracts], extracts[0][1]


def ask(file: Path, query: str) -> Rows:
    with duckdb.connect(str(file), read_only=True) as con:
        return con.execute(query).fetchall()


def joined(files: list[Path], query: str) -> tuple[int, int]:
    """How many keys of the first extract match a single key of the second by all of their rows, and how many
    keys there are."""
    profiles = []
    for file in files:
        rows_of = defaultdict[Any, list[tuple[Any, ...]]](list)
        for key, *row in ask(file, query):
            rows_of[key].append(tuple(map(str, row)))
        profiles.append(Counter(tuple(sorted(rows)) for rows in rows_of.values()))
    matched = [profile for profile, count in profiles[0].items() if count == profiles[1][profile] == 1]
    return len(matched), profiles[0].total()


@pytest.mark.parametrize("queries", [ATTENDANCE, GRADES], ids=["attendance", "grades"])
def test_two_extracts_are_joined_in_standard_alone(
    pair: tuple[str, list[Path], dict[str, Any]], queries: dict[str, str]
) -> None:
    protection, files, _ = pair
    matched, keys = joined(files, queries[protection])
    assert keys >= 40
    assert matched > keys / 2 if protection == "standard" else matched == 0


def test_known_days_of_absence_find_students_in_standard_alone(
    pair: tuple[str, list[Path], dict[str, Any]],
) -> None:
    """The report says as many as the attack finds."""
    protection, [file, _], report = pair
    exposures = report["students_found_by_days_of_absence"]
    if protection == "strong":
        assert all(exposure["students"] > 20 for exposure in exposures.values())
        found_students = {(exposure["singled_out"], exposure["among_few"]) for exposure in exposures.values()}
        assert found_students == {(0, 0)} and exposures.keys() == {"2", "3"}
        return
    days_of = defaultdict[str, set[str]](set)
    for student, day in ask(file, "SELECT student_id, date FROM core.fct_attendance WHERE is_absent"):
        days_of[student].add(str(day))
    for most in (2, 3):
        sets_of = {
            student: [days for size in range(1, most + 1) for days in combinations(sorted(absent), size)]
            for student, absent in days_of.items()
        }
        sharing = Counter(days for sets in sets_of.values() for days in sets)
        fewest = [min(sharing[days] for days in sets) for sets in sets_of.values()]
        assert exposures[str(most)] == {
            "students": len(days_of),
            "singled_out": fewest.count(1),
            "among_few": sum(count < SMALLEST for count in fewest),
        }
    assert exposures["3"]["singled_out"] >= exposures["2"]["singled_out"] > 20


def test_each_row_of_a_strong_extract_is_shared(published: World) -> None:
    file, report = extract(published, "shared", "--protect", "strong")
    tables = [
        name for (name,) in ask(file, "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'coarse'")
    ]
    assert sorted(tables) == ["attendance_week", "course_grade", "student_semester"]
    by_name = {entry["table"]: entry for entry in report["tables_of_students"]}
    for table in tables:
        sizes = ask(file, f"SELECT count(*) FROM coarse.{table} GROUP BY ALL ORDER BY 1")
        entry = by_name[f"coarse.{table}"]
        assert sizes[0][0] >= entry["fewest_sharing"] >= SMALLEST
        assert entry["rows"] == entry["suppressed"] + sum(size for (size,) in sizes)
        assert entry["suppressed_share"] == entry["suppressed"] / entry["rows"]
    types = ask(file, "SELECT DISTINCT data_type FROM duckdb_columns() WHERE schema_name = 'coarse'")
    assert {name for (name,) in types} <= {"BIGINT", "INTEGER", "VARCHAR", "BOOLEAN"}, "no date"
    columns = {
        name for (name,) in ask(file, "SELECT column_name FROM duckdb_columns() WHERE schema_name = 'coarse'")
    }
    assert columns.isdisjoint({"student_id", "gender", "is_boarding", "date"})
    assert ask(file, "SELECT protection, smallest_group FROM about.extract") == [("strong", SMALLEST)]


def test_many_rows_of_a_student_are_a_single_student(published: World, tmp_path: Path) -> None:
    """Who has a course six times is alone in it."""
    copy = tmp_path / "campus.duckdb"
    copy.write_bytes((published.home / "campus.duckdb").read_bytes())
    with duckdb.connect(str(copy)) as con:
        con.execute(
            "INSERT INTO core.fct_grade SELECT grade.* REPLACE ('Glider' AS course_name) FROM "
            "(FROM core.fct_grade WHERE source = 'class' AND score_percent IS NOT NULL LIMIT 1) AS grade, "
            "range(6)"
        )
    written = write_extract(copy, ExtractRequest(protection="strong"), tmp_path / "x.duckdb", b"k" * 32, "k")
    assert ask(written.path, "SELECT count(*) FROM coarse.course_grade") != [(0,)]
    assert ask(written.path, "SELECT count(*) FROM coarse.course_grade WHERE course_name = 'Glider'") == [
        (0,)
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--protect", "strong", "--table", "core.fct_grade"], "a strong extract cannot have core.fct_grade"),
        (["--protect", "weak"], "'weak' is not one of"),
        (["--report", "{home}/report.json", "--dry-run"], "leave out --dry-run"),
        (["--report", "{home}/report.txt"], "name it *.json"),
        (["--report", "{home}/notes.json"], "exists already"),
        (["--report", "{home}/notes.json", "--force"], "is not a report on an extract"),
    ],
)
def test_a_mistake_is_one_line(published: World, arguments: list[str], message: str) -> None:
    notes = published.home / "notes.json"
    notes.write_text("{}", encoding="utf-8")
    options = [argument.format(home=published.home) for argument in arguments]
    target = str(published.home / "mistake.duckdb")
    result = command_line.campus(
        published.home, "extract", "--pseudonymous", "--to", target, *options, CAMPUS_HOME=str(published.home)
    )
    assert result.exit_code == 2 and message in result.output
    assert notes.read_text(encoding="utf-8") == "{}" and not Path(target).exists()
