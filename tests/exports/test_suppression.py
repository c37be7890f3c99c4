"""Rows that tell about few people leave the house without their numbers, whoever writes the query."""

from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from exports.spreadsheet.sheets import Sheet
from exports.suppression import Exposed, refuse_exposed
from tests.kits.exports.published_file import ANY, exported, publish

MARKED = (
    "CREATE TABLE marts.by_group AS SELECT * FROM (VALUES "
    "(101, 7, 'girls', false, 20, 95.5), (101, 8, 'boys', true, 3, 66.7), (101, 9, 'others', NULL, 1, 50.0)) "
    "groups (school_id, cohort_id, name, is_suppressed, students, rate)"
)
SHEET = Sheet(name=ANY, about=ANY, query="FROM marts.by_group WHERE school_id = $school_id")
SAFE = "SELECT name, is_suppressed, CASE WHEN NOT is_suppressed THEN students END AS n FROM marts.by_group"


@pytest.fixture
def published(tmp_path: Path) -> Path:
    return publish(tmp_path / "campus.duckdb", [MARKED])


def test_an_export_of_the_table_has_the_rows_without_their_numbers(published: Path, tmp_path: Path) -> None:
    [written] = exported(published, "marts.by_group", schools=[101], folder=tmp_path, format="parquet")
    with duckdb.connect() as con:
        rows = con.execute(f"FROM '{written.path}' ORDER BY cohort_id").fetchall()
    assert [(row[1], *row[3:5]) for row in rows] == [(7, False, 20), (8, True, None), (9, None, None)]
    assert [row[5] is None for row in rows] == [False, True, True]
    [written] = exported(published, "by_group", schools=[101], folder=tmp_path, format="csv")
    assert "66.7" not in written.path.read_text() and "95.5" in written.path.read_text()


@pytest.mark.parametrize(
    "query",
    [
        SHEET.query,
        "SELECT students FROM marts.by_group",
        "SELECT sum(students) AS students, bool_or(is_suppressed) AS is_suppressed FROM marts.By_Group",
        "WITH g AS (FROM marts.by_group) SELECT name, is_suppressed, rate FROM g",
    ],
)
def test_a_query_that_shows_them_is_refused(published: Path, query: str) -> None:
    with duckdb.connect(str(published), read_only=True) as con, pytest.raises(Exposed):
        refuse_exposed(con, [replace(SHEET, query=query)], {"school_id": 101})


@pytest.mark.parametrize("query", [SAFE, f"{SAFE} WHERE school_id = $school_id", "FROM core.dim_school"])
def test_a_query_that_does_not_is_let_through(published: Path, query: str) -> None:
    with duckdb.connect(str(published), read_only=True) as con:
        refuse_exposed(con, [replace(SHEET, query=query)], {"school_id": 101})
