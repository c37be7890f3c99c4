"""DuckDB over files of the lake: connections with a memory limit, views, tables and key ranges."""

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

#: Enough to compare slices of any size by ranges of keys; DuckDB spills the rest to disk.
MEMORY_MB = 128


def connect(
    database: str | Path = ":memory:", *, memory_mb: int = MEMORY_MB, scratch: Path
) -> duckdb.DuckDBPyConnection:
    """Open a connection with two threads that spills to `scratch` and installs no extension."""
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


#: Idle in-memory engines. Starting an engine takes as long as a commit.
_idle: deque[duckdb.DuckDBPyConnection] = deque()


@contextmanager
def pooled(scratch: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection to an in-memory engine of its own, with MEMORY_MB; it spills to `scratch`.

    Temporary objects (registered tables, views) are dropped with the connection; make no others."""
    engine = _engine(scratch)
    with closing(engine.cursor()) as con:
        yield con
    # Not reused after an error: an engine that ran out of memory or disk may keep state.
    _idle.append(engine)


def close_idle() -> None:
    """Close the idle engines and free their memory."""
    while _idle:
        _idle.pop().close()


def _engine(scratch: Path) -> duckdb.DuckDBPyConnection:
    """An idle engine, set to spill to `scratch`, or a new engine."""
    while _idle:
        engine = _idle.pop()
        try:
            engine.execute(f"SET temp_directory = {literal(str(scratch))}")
        except duckdb.NotImplementedException:
            # An engine that has spilled cannot change its folder.
            engine.close()
        else:
            return engine
    return connect(scratch=scratch)


def view(
    con: duckdb.DuckDBPyConnection, name: str, files: Sequence[str], schema: pa.Schema, *, hive: bool = False
) -> None:
    """Make a temporary view of Parquet files with exactly the columns of `schema`.

    Columns that were added after a file was written are null; without files there are no rows. `hive`: read
    partition columns from the paths. Plain SQL, since DuckDB's relations bind a query anew with each step.
    """
    empty = f"{name}_empty"
    con.register(empty, schema.empty_table())
    rows = f"FROM {quoted(empty)}"
    if files:
        parquet = f"read_parquet({_texts(files)}, union_by_name = true, hive_partitioning = {hive})"
        rows += f" UNION ALL BY NAME FROM {parquet}"
    show_query(con, name, f"SELECT {listed(schema.names)} FROM ({rows})")


def show_query(con: duckdb.DuckDBPyConnection, name: str, query: str) -> None:
    """Make or replace a temporary view of a query."""
    con.execute(f"CREATE OR REPLACE TEMP VIEW {quoted(name)} AS {query}")


def show_files(con: duckdb.DuckDBPyConnection, name: str, files: Sequence[str], select: str = "*") -> None:
    """Make a temporary view of `select` over files of the same schema; `file_row_number` can be selected."""
    parquet = f"read_parquet({_texts(files)}, file_row_number = true, hive_partitioning = false)"
    show_query(con, name, f"SELECT {select} FROM {parquet}")


def _texts(files: Sequence[str]) -> str:
    return f"[{', '.join(map(literal, files))}]"


@contextmanager
def transaction(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Commit the block's statements together, or roll all of them back. A comment in a commit of its own
    costs as much as making a small table."""
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
    """Make a table from a query, with comments on it and on its columns. `name`: quoted."""
    con.execute(f"CREATE TABLE {name} AS {query}")
    con.execute(f"COMMENT ON TABLE {name} IS {literal(comment)}")
    for column, text in comments.items():
        con.execute(f"COMMENT ON COLUMN {name}.{quoted(column)} IS {literal(text)}")


def version_of(con: duckdb.DuckDBPyConnection, query: str) -> tuple[int, int | None]:
    """The number and the hash of the rows of a query, in any order. The hash of no rows is None."""
    [(rows, hashes)] = con.execute(f"SELECT count(*), sum(hash(stored)) FROM ({query}) AS stored").fetchall()
    return rows, hashes


#: Rows of a batch, or of a row group in a temporary file.
BATCH_ROWS = 16_384

#: Rows of both sides that are joined at a time. Below some memory, which grows with the rows, DuckDB's hash
#: join of wide rows fails instead of spilling; ranges of keys keep that memory constant.
CHUNK_ROWS = 65_536
#: Rows sampled to choose the ranges. DuckDB holds the keys of all of them in memory.
SAMPLED_ROWS = 250_000


def key_ranges(
    con: duckdb.DuckDBPyConnection, views: Mapping[str, Iterable[str]], key: str
) -> list[tuple[str, dict[str, Any]]]:
    """Conditions that split views into ranges of about CHUNK_ROWS rows: SQL with $low and $high, and values.

    `views`: files by view. Parquet's statistics make a range cheap if rows are sorted by their keys."""
    rows = sum(pq.read_metadata(file).num_rows for files in views.values() for file in files)
    parts = math.ceil(rows / CHUNK_ROWS) or 1
    shares = [part / parts for part in range(1, parts)]
    bounds: list[Any] = []
    if shares:
        keys = " UNION ALL ".join(f"SELECT {quoted(key)} AS key FROM {name}" for name in views)
        sampled = f"random() < {SAMPLED_ROWS / rows}"
        [(quantiles,)] = con.execute(
            f"SELECT quantile_disc(key, {shares}) FROM ({keys}) WHERE {sampled}"
        ).fetchall()
        bounds = sorted(set(quantiles or ()))
    ranges = []
    for low, high in pairwise([None, *bounds, None]):
        conditions, values = ["true"], {}
        if low is not None:
            conditions.append(f"{quoted(key)} >= $low")
            values["low"] = low
        if high is not None:
            # After a change of the key's type, stored rows have no key of the new type: the first range's.
            unkeyed = f" OR {quoted(key)} IS NULL" if low is None else ""
            conditions.append(f"({quoted(key)} < $high{unkeyed})")
            values["high"] = high
        ranges.append((" AND ".join(conditions), values))
    return ranges
