"""Marts run by themselves: rows put into the tables of a built file, and what a mart makes of them."""

from collections.abc import Sequence
from typing import Any

import duckdb
import jinja2
import polars as pl

from tests.kits.models.builds import PROJECT
from warehouse.publish.models.dbt_project import compiled


def insert(
    connection: duckdb.DuckDBPyConnection, table: str, rows: Sequence[dict[str, Any]], schema: str = "core"
) -> None:
    """Add rows to a table. Columns that a row lacks are null."""
    connection.register("rows", pl.DataFrame(rows, infer_schema_length=None).to_arrow())
    connection.execute(f"insert into {schema}.{table} by name from rows")


def mart(connection: duckdb.DuckDBPyConnection, name: str) -> list[dict[str, Any]]:
    """The rows that a mart's own query, as it is compiled, makes of the file's tables."""
    query = compiled()["nodes"][f"model.campus.{name}"]["compiled_code"]
    return connection.sql(query).pl().to_dicts()


def make(connection: duckdb.DuckDBPyConnection, names: Sequence[str]) -> None:
    """Make models anew by their own queries, as they are compiled, in this order."""
    for name in names:
        node = compiled()["nodes"][f"model.campus.{name}"]
        connection.execute(f"create or replace table {node['schema']}.{name} as {node['compiled_code']}")


def macros(*files: str) -> Any:
    """The macros of some files (without .sql), as the compiler renders them."""
    source = "".join((PROJECT / "macros" / f"{file}.sql").read_text(encoding="utf-8") for file in files)
    return jinja2.Environment().from_string(source).module
