"""Runs the unit tests of models: rows that a model is given, and the rows that it must make of them.

Their ymls (dbt/models/**/*unit_tests*.yml) have dbt's form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import yaml

from warehouse.identifiers import listed, quoted, relation
from warehouse.publish.models.compiled_models import Model, Project
from warehouse.publish.models.dbt_project import PROJECT
from warehouse.publish.models.sql_functions import register_functions

#: The rows of a table: column and value, or a query.
Rows = list[dict[str, Any]] | str

_REF = re.compile(r"ref\('(\w+)'\)")
_SOURCE = re.compile(r"source\('(\w+)', *'(\w+)'\)")


@dataclass(frozen=True)
class UnitTest:
    """A unit test of a model."""

    name: str
    #: The model, without its schema.
    model: str
    #: By `ref('...')` or `source('...', '...')`, the rows of the input.
    given: Mapping[str, Rows]
    expected: Rows


@cache
def unit_tests() -> tuple[UnitTest, ...]:
    """All unit tests of the project."""
    return tuple(
        UnitTest(
            test["name"],
            test["model"],
            {entry["input"]: entry["rows"] for entry in test["given"]},
            test["expect"]["rows"],
        )
        for path in sorted(PROJECT.glob("models/**/*unit_tests*.yml"))
        for test in yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)["unit_tests"]
    )


def run_unit_tests(tests: Iterable[UnitTest], project: Project, built: Path) -> dict[str, list[str]]:
    """The differences of each unit test, as lines; none: it passes. `built`: a file of all models, which has
    the types of columns.

    Raises duckdb.Error for rows that do not fit the columns, and for a model that reads another input."""
    models = {model.name.partition(".")[2]: model for model in project.models}
    with closing(duckdb.connect()) as con:
        con.execute(f"ATTACH '{built}' AS built (READ_ONLY)")
        register_functions(con)
        return {test.name: _differences(con, test, models) for test in tests}


def _differences(con: duckdb.DuckDBPyConnection, test: UnitTest, models: Mapping[str, Model]) -> list[str]:
    con.execute("ATTACH ':memory:' AS campus")
    try:
        con.execute("USE campus")
        for name, rows in test.given.items():
            table = _table_of(name, models)
            con.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(table.partition('.')[0])}")
            _make_table(con, relation(table), f"built.{relation(table)}", rows)
        con.execute(f"CREATE TABLE made AS {models[test.model].sql}")
        _make_table(con, "expected", "made", test.expected)
        columns = listed(list(test.expected[0])) if isinstance(test.expected, list) and test.expected else "*"
        return [
            f"{mark} {row}"
            for mark, first, second in (("made", "made", "expected"), ("lacks", "expected", "made"))
            for row in con.execute(
                f"SELECT {columns} FROM {first} EXCEPT ALL SELECT {columns} FROM {second}"
            ).fetchall()
        ]
    finally:
        con.execute("USE memory")
        con.execute("DETACH campus")


def _table_of(name: str, models: Mapping[str, Model]) -> str:
    """The table (`schema.table`) of an input."""
    if model := _REF.fullmatch(name):
        return models[model[1]].name
    source = _SOURCE.fullmatch(name)
    assert source is not None, name
    return f"{source[1]}.{source[2]}"


def _make_table(con: duckdb.DuckDBPyConnection, table: str, like: str, rows: Rows) -> None:
    """Make a table of rows, with the columns of the table `like`; a query may bring more columns."""
    query = f" UNION ALL BY NAME ({rows})" if isinstance(rows, str) else ""
    con.execute(f"CREATE TABLE {table} AS (FROM {like} LIMIT 0){query}")
    for row in rows if isinstance(rows, list) else ():
        places = ", ".join("?" for _ in row)
        con.execute(f"INSERT INTO {table} ({listed(list(row))}) VALUES ({places})", list(row.values()))
