"""Functions in Python that the SQL of models calls."""

from collections.abc import Iterator

import duckdb
import polars as pl
import pytest

from warehouse.publish.models import sql_functions
from warehouse.publish.models.sql_functions import SqlFunction, register_functions


def _twice(rows: pl.DataFrame) -> pl.DataFrame:
    if rows["number"].max() == 13:
        raise ValueError("thirteen")
    return pl.concat([rows, rows]).select("name", half=pl.col("number") / 2)


@pytest.fixture
def connection(monkeypatch: pytest.MonkeyPatch) -> Iterator[duckdb.DuckDBPyConnection]:
    function = SqlFunction(
        "twice", _twice, {"name": "VARCHAR", "number": "BIGINT"}, {"half": "DOUBLE", "name": "VARCHAR"}
    )
    monkeypatch.setattr(sql_functions, "FUNCTIONS", (function,))
    with duckdb.connect() as con:
        register_functions(con)
        yield con


def _query(number: str, count: int) -> str:
    return f"""
        SELECT unnest(twice(list({{'name': 'n' || i, 'number': {number}}})), recursive := true)
        FROM range({count}) AS rows(i) GROUP BY i % 2 ORDER BY ALL
    """


def test_rows_go_in_and_come_out_by_group(connection: duckdb.DuckDBPyConnection) -> None:
    rows = connection.sql(_query("if(i = 0, null, i)", 3)).fetchall()
    assert rows == [(0.5, "n1"), (0.5, "n1"), (1.0, "n2"), (1.0, "n2"), (None, "n0"), (None, "n0")]


def test_no_rows_give_none(connection: duckdb.DuckDBPyConnection) -> None:
    assert connection.sql(_query("i", 0)).fetchall() == []


def test_a_mistake_is_an_error_of_the_query(connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb.Error, match="thirteen"):
        connection.sql(_query("13", 1)).fetchall()


def test_functions_may_be_registered_again(connection: duckdb.DuckDBPyConnection) -> None:
    register_functions(connection)
    register_functions(connection.cursor())
    assert len(connection.sql(_query("i", 1)).fetchall()) == 2
