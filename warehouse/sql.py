"""DuckDB over files of the lake: connections with a memory limit, quoted names, views with every column."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa


def connect(database: str | Path = ":memory:", *, memory_mb: int, scratch: Path) -> duckdb.DuckDBPyConnection:
    """A connection of two threads that spills to `scratch` beyond its memory, and fetches no extension."""
    return duckdb.connect(
        str(database),
        config={
            "memory_limit": f"{memory_mb}MB",
            "threads": 2,
            "temp_directory": str(scratch),
            "autoinstall_known_extensions": False,
        },
    )


def quoted(name: str) -> str:
    """An identifier, whatever the platform called its field."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text constant, for where SQL takes no parameter."""
    return "'" + text.replace("'", "''") + "'"


def listed(names: Sequence[str], prefix: str = "") -> str:
    """`prefix`.a, `prefix`.b for a select list."""
    return ", ".join(f"{prefix}{quoted(name)}" for name in names)


def view(
    con: duckdb.DuckDBPyConnection, name: str, files: Sequence[str], schema: pa.Schema, *, hive: bool = False
) -> None:
    """Show Parquet files as a view with exactly the columns of `schema`.

    Columns that were added after a file was written are null; no files at all is no rows. `hive` reads
    partition columns from the paths.
    """
    empty = f"{name}_empty"
    con.register(empty, schema.empty_table())
    rows = con.table(empty)
    if files:
        found = con.read_parquet(list(files), union_by_name=True, hive_partitioning=hive)
        con.register(f"{name}_files", found)
        rows = con.sql(f"FROM {quoted(empty)} UNION ALL BY NAME FROM {quoted(name + '_files')}")
    con.register(name, rows.select(listed(schema.names)))
