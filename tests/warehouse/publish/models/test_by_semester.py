"""Models that are made a semester at a time: which semesters a build makes anew, and of what."""

from collections.abc import Iterable
from dataclasses import replace

import duckdb
import pytest

from warehouse.publish.models.by_semester import STATES
from warehouse.publish.models.compiled_models import Model, ModelColumn, Narrowed, Project
from warehouse.publish.models.model_runner import Built, run

SHOWN = ("school_id", "semester_id", "student_id", "marks", "is_valid", "least")
#: Each row also says when it was made.
MADE = "made_on"
MARKS = Model(
    "core.marks",
    "table",
    f"""
    SELECT marks.school_id, marks.semester_id, marks.student_id, marks.marks, items.is_valid, rules.least,
        (SELECT max(day) FROM clock) AS {MADE}
    FROM "campus"."raw"."marks" AS marks
    JOIN "campus"."core"."dim_semester" AS semesters USING (school_id, semester_id)
    LEFT JOIN "campus"."raw"."valid" AS items USING (school_id, item_id)
    LEFT JOIN (SELECT * FROM "campus"."raw"."rules" WHERE least > 0) AS rules USING (school_id)
    WHERE semesters.is_over
    """,
    "",
    "",
    tuple(ModelColumn(name, None, "") for name in (*SHOWN, MADE)),
    ("raw.marks", "core.dim_semester", "raw.valid", "raw.rules"),
    by_semester={
        "raw.marks": Narrowed(("school_id", "semester_id", "student_id", "item_id", "marks")),
        "core.dim_semester": Narrowed(("school_id", "semester_id", "is_over")),
        "raw.valid": Narrowed(("school_id", "item_id", "is_valid"), semester_of=("raw.marks", "item_id")),
        "raw.rules": Narrowed(("school_id", "least"), "least > 0"),
    },
)
PROJECT = Project((MARKS,), ())


@pytest.fixture
def con() -> duckdb.DuckDBPyConnection:
    """A file with two closed semesters and an open one of school 1, and a closed one of school 2."""
    made = duckdb.connect()
    made.execute("ATTACH ':memory:' AS campus; USE campus")
    made.execute("CREATE SCHEMA raw; CREATE SCHEMA core; CREATE SCHEMA quality; CREATE TABLE clock (day INT)")
    made.execute(
        f"CREATE TABLE {STATES} (model VARCHAR, school_id BIGINT, semester_id BIGINT, state VARCHAR)"
    )
    made.execute(
        "CREATE TABLE core.dim_semester AS SELECT * FROM (VALUES "
        "(1, 20, true, 5), (1, 21, true, 5), (1, 22, false, 5), (2, 20, true, 5)) "
        "AS semesters (school_id, semester_id, is_over, loaded_on)"
    )
    made.execute(
        "CREATE TABLE raw.marks AS SELECT school_id, semester_id, 7 AS student_id, "
        "10 * semester_id + school_id AS item_id, 3 AS marks, 'x' AS note FROM core.dim_semester"
    )
    made.execute("CREATE TABLE raw.valid AS SELECT school_id, item_id, true AS is_valid FROM raw.marks")
    made.execute("CREATE TABLE raw.rules AS SELECT unnest([1, 2]) AS school_id, 4 AS least")
    return made


def made_anew(con: duckdb.DuckDBPyConnection, day: int, *changes: str) -> set[tuple[int, int]]:
    """Change the inputs and build; return the semesters whose rows were made on this day."""
    con.execute("DELETE FROM clock")
    con.execute("INSERT INTO clock VALUES (?)", [day])
    for change in changes:
        con.execute(change)
    done = [step for step in run(con, PROJECT, MARKS.inputs) if isinstance(step, Built)]
    assert [step.problem for step in done] == [None]
    semesters = con.execute(f"SELECT school_id, semester_id FROM core.marks WHERE {MADE} = {day}").fetchall()
    assert rows(con, "core.marks", SHOWN) == rows(con, f"({MARKS.sql})", SHOWN)
    return set(semesters)


def rows(con: duckdb.DuckDBPyConnection, table: str, columns: Iterable[str]) -> list[tuple[object, ...]]:
    return con.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY ALL").fetchall()


def test_a_night_makes_nothing_of_closed_semesters(con: duckdb.DuckDBPyConnection) -> None:
    assert made_anew(con, 1) == {(1, 20), (1, 21), (2, 20)}
    changes = (
        "UPDATE raw.marks SET marks = 9 WHERE semester_id = 22",
        "UPDATE raw.marks SET note = 'y'",
        "UPDATE core.dim_semester SET loaded_on = 6",
        "INSERT INTO raw.rules VALUES (1, 0)",
    )
    assert made_anew(con, 2, *changes) == set()


@pytest.mark.parametrize(
    ("change", "semesters"),
    [
        ("UPDATE raw.marks SET marks = 9 WHERE school_id = 1 AND semester_id = 20", {(1, 20)}),
        ("DELETE FROM raw.marks WHERE school_id = 2", set()),
        ("UPDATE raw.valid SET is_valid = false WHERE item_id = 211", {(1, 21)}),
        ("UPDATE raw.rules SET least = 5 WHERE school_id = 1", {(1, 20), (1, 21)}),
        ("UPDATE core.dim_semester SET is_over = true", {(1, 22)}),
        ("UPDATE core.dim_semester SET is_over = false WHERE school_id = 2", set()),
    ],
)
def test_a_late_change_makes_its_semesters_anew(
    con: duckdb.DuckDBPyConnection, change: str, semesters: set[tuple[int, int]]
) -> None:
    made_anew(con, 1)
    assert made_anew(con, 2, change) == semesters


def test_a_column_that_the_yml_does_not_name_is_a_problem(con: duckdb.DuckDBPyConnection) -> None:
    assert MARKS.by_semester is not None
    few = {**MARKS.by_semester, "raw.rules": Narrowed(("school_id",))}
    [built] = run(con, Project((replace(MARKS, by_semester=few),), ()), MARKS.inputs)
    assert isinstance(built, Built) and "least" in str(built.problem)
