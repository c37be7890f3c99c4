"""DuckDB over files of the lake: connections with a memory limit, views with every column."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from warehouse.files import NO_PROGRESS_BAR, STORAGE_VERSION
from warehouse.identifiers import listed, literal, quoted

#: Enough to compare slices of any size, by ranges of keys; what goes beyond is spilled to disk.
MEMORY_MB = 128


def connect(
    database: str | Path = ":memory:", *, memory_mb: int = MEMORY_MB, scratch: Path
) -> duckdb.DuckDBPyConnection:
    """A connection of two threads that spills to `scratch` beyond its memory, and fetches no extension."""
    con = duckdb.connect(
        str(database),
        config={
            "memory_limit": f"{memory_mb}MB",
            "threads": 2,
            "temp_directory": str(scratch),
            "autoinstall_known_extensions": False,
            "storage_compatibility_version": STORAGE_VERSION,
        },
    )
    con.execute(NO_PROGRESS_BAR)
    return con


#: Engines in memory with which nobody works at present. To start one takes as long as a commit.
_idle: deque[duckdb.DuckDBPyConnection] = deque()


@contextmanager
def pooled(scratch: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to an engine in memory that nobody else uses meanwhile, with MEMORY_MB of its own.

    What is temporary in it (registered tables, views) goes with it; nothing else may be made. What goes
    beyond its memory is spilled to `scratch`."""
    engine = _engine(scratch)
    with closing(engine.cursor()) as con:
        yield con
    # Not after an error: an engine that ran out of memory or disk may keep something.
    _idle.append(engine)


def close_idle() -> None:
    """Close the engines with which nobody works, and give back what they hold."""
    while _idle:
        _idle.pop().close()


def _engine(scratch: Path) -> duckdb.DuckDBPyConnection:
    """An idle engine that spills to `scratch` from now on, or a new one."""
    while _idle:
        engine = _idle.pop()
        try:
            engine.execute(f"SET temp_directory = {literal(str(scratch))}")
        except duckdb.NotImplementedException:
            # It has spilled, and keeps that folder.
            engine.close()
        else:
            return engine
    return connect(scratch=scratch)


def view(
    con: duckdb.DuckDBPyConnection, name: str, files: Sequence[str], schema: pa.Schema, *, hive: bool = False
) -> None:
    """Show Parquet files as a temporary view with exactly the columns of `schema`.

    Columns that were added after a file was written are null; no files at all is no rows. `hive` reads
    partition columns from the paths. In SQL alone: DuckDB's relations bind a query again with each step.
    """
    empty = f"{name}_empty"
    con.register(empty, schema.empty_table())
    rows = f"FROM {quoted(empty)}"
    if files:
        found = f"read_parquet({_texts(files)}, union_by_name = true, hive_partitioning = {hive})"
        rows += f" UNION ALL BY NAME FROM {found}"
    show_query(con, name, f"SELECT {listed(schema.names)} FROM ({rows})")


def show_query(con: duckdb.DuckDBPyConnection, name: str, query: str) -> None:
    """Show a query's rows as a temporary view, in the place of one of that name."""
    con.execute(f"CREATE OR REPLACE TEMP VIEW {quoted(name)} AS {query}")


def show_files(con: duckdb.DuckDBPyConnection, name: str, files: Sequence[str], select: str = "*") -> None:
    """Show `select` of files that are all alike as a temporary view. It can select `file_row_number`, too."""
    found = f"read_parquet({_texts(files)}, file_row_number = true, hive_partitioning = false)"
    show_query(con, name, f"SELECT {select} FROM {found}")


def _texts(files: Sequence[str]) -> str:
    return f"[{', '.join(map(literal, files))}]"


@contextmanager
def transaction(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """What is done while the block lasts reaches the file at once, or not at all. A comment that is a commit
    of its own costs as much as to make a small table."""
    con.begin()
    try:
        yield
    except BaseException:
        con.rollback()
        raise
    con.commit()


def create_table(
    con: duckdb.DuckDBPyConnection, name: str, query: str, comment: str, comments: Mapping[str, str]
) -> None:
    """Make a table (`name` is quoted already) of a query's rows, with comments on it and on its columns."""
    con.execute(f"CREATE TABLE {name} AS {query}")
    con.execute(f"COMMENT ON TABLE {name} IS {literal(comment)}")
    for column, text in comments.items():
        con.execute(f"COMMENT ON COLUMN {name}.{quoted(column)} IS {literal(text)}")


#: Rows of a batch or row group on the way between DuckDB and a file that is soon deleted.
BATCH_ROWS = 16_384

#: Rows of both sides that are joined at a time. DuckDB's hash join of wide rows has a floor below which it
#: fails instead of spilling, and that floor grows with the rows; a range of keys keeps it constant.
CHUNK_ROWS = 65_536
#: Rows by whose keys the ranges are chosen. DuckDB holds the keys of all of them in memory.
SAMPLED_ROWS = 250_000


def key_ranges(
    con: duckdb.DuckDBPyConnection, views: Mapping[str, Iterable[str]], key: str
) -> list[tuple[str, dict[str, Any]]]:
    """Conditions (SQL with $low and $high, and their values) that split views into ranges of about
    CHUNK_ROWS rows. `views`: their files by name. Parquet's statistics make a range cheap where rows lie in
    the order of their keys."""
    rows = sum(pq.read_metadata(file).num_rows for files in views.values() for file in files)
    parts = math.ceil(rows / CHUNK_ROWS) or 1
    shares = [part / parts for part in range(1, parts)]
    bounds: list[Any] = []
    if shares:
        keys = " UNION ALL ".join(f"SELECT {quoted(key)} AS key FROM {name}" for name in views)
        sampled = f"random() < {SAMPLED_ROWS / rows}"
        [(found,)] = con.execute(
            f"SELECT quantile_disc(key, {shares}) FROM ({keys}) WHERE {sampled}"
        ).fetchall()
        bounds = sorted(set(found or ()))
    ranges = []
    for low, high in pairwise([None, *bounds, None]):
        conditions, values = ["true"], {}
        if low is not None:
            conditions.append(f"{quoted(key)} >= $low")
            values["low"] = low
        if high is not None:
            # Where the key has another type since, what is held has none of this one: the first range's.
            unkeyed = f" OR {quoted(key)} IS NULL" if low is None else ""
            conditions.append(f"({quoted(key)} < $high{unkeyed})")
            values["high"] = high
        ranges.append((" AND ".join(conditions), values))
    return ranges
