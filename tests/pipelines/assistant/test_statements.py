"""An assistant may run one SELECT on the tables shown to it; each of these attacks is refused."""

from collections.abc import Iterator
from contextlib import closing

import duckdb
import pytest

from pipelines.assistant.statements import FUNCTIONS, OPERATOR, Refused, check_statement
from tests.kits.exports.hostile_statements import HOSTILE

TABLES = {"core.dim_student": ["student_id"], "marts.early_warning": ["level"]}
ALLOWED = (
    "SELECT level, count(*) FROM marts.early_warning GROUP BY ALL ORDER BY 2 DESC LIMIT 3",
    "FROM core.dim_student",
    "FROM CORE.Dim_Student",
    "WITH s AS (FROM core.dim_student), t AS (FROM s) FROM t JOIN core.dim_student USING (student_id)",
    "SELECT CASE WHEN level LIKE 'a%' THEN 1 END, level IS DISTINCT FROM 'b' FROM marts.early_warning",
    "SELECT round(100.0 * sum(1) FILTER (level = 'x') / nullif(count(*), 0), 1) FROM marts.early_warning",
    "SELECT row_number() OVER (PARTITION BY level ORDER BY level) FROM marts.early_warning QUALIFY true",
    "SELECT unnest(range(3)), [x + 1 for x in [1, 2]], {'a': 1}.a",
    "SELECT 1 UNION ALL VALUES (2)",
    "SELECT current_date, DATE '2026-01-01' + INTERVAL 1 DAY, extract('year' FROM now())",
)


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with closing(duckdb.connect()) as connection:
        yield connection


def test_there_are_enough_attacks() -> None:
    assert len(set(HOSTILE)) == len(HOSTILE) >= 60


@pytest.mark.parametrize("statement", HOSTILE)
def test_an_attack_is_refused(con: duckdb.DuckDBPyConnection, statement: str) -> None:
    with pytest.raises(Refused):
        check_statement(con, statement, TABLES)


@pytest.mark.parametrize("statement", ALLOWED)
def test_a_select_is_allowed(con: duckdb.DuckDBPyConnection, statement: str) -> None:
    check_statement(con, statement, TABLES)


def test_the_message_names_the_table_to_write(con: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(Refused, match=r"there is no table early_warning: write marts\.early_warning"):
        check_statement(con, "FROM early_warning", TABLES)


def test_each_allowed_function_is_one_of_duckdb(con: duckdb.DuckDBPyConnection) -> None:
    rows = con.execute("SELECT DISTINCT lower(function_name) FROM duckdb_functions()").fetchall()
    assert {name for (name,) in rows} | {"unnest", "row", "if"} >= FUNCTIONS
    assert not any(OPERATOR.fullmatch(name) for name in FUNCTIONS)
