"""The files of open tables of a shard: written once its checks have passed, and named by a list.

A partition whose rows have not changed keeps its file, so a night writes the semesters that are still open.
Nobody reads a file before the catalogue names it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import obstore
import pyarrow as pa

from warehouse.files import workspace
from warehouse.identifiers import listed, literal, quoted, relation
from warehouse.publish.tables.schema import select_and_schema
from warehouse.published.catalog import FILES, PARTITIONS, TABLES, encoded_files, read_files
from warehouse.published.manifest import TABLE_FILES
from warehouse.published.reading import Config
from warehouse.published.shards import Shards, put
from warehouse.published.union import DIVIDED

#: The schemas whose models are published as open tables.
SCHEMAS = ("core", "marts")
#: Files that are stored at a time.
AT_A_TIME = 8
#: The database of the closed semesters.
FROZEN = "frozen"
MODELS = """
    SELECT table_name, comment FROM duckdb_tables()
    WHERE database_name = current_database() AND schema_name = ? ORDER BY table_name
"""

#: A row of FILES.
Row = dict[str, Any]


@dataclass(frozen=True)
class _Models:
    """The finished models of a shard, and the files that they had before."""

    con: duckdb.DuckDBPyConnection
    #: The tables with rows of closed semesters in the frozen file.
    divided: frozenset[str]
    #: The rows of the last list, by table, id of the schema, school, semester and content.
    before: Mapping[tuple[Any, ...], list[Row]]
    scratch: Path
    generation: str


def write_table_files(
    shards: Shards, name: str, files: tuple[Path, Path | None], generation: str, last: str, config: Config
) -> str:
    """Write the changed partitions of a shard's finished models. Returns the name of the list of all of them.

    Args:
        name: The shard.
        files: Its finished file, and its file of closed semesters.
        last: The list of its published files; empty: there is none.
        config: DuckDB's.

    Raises NotImplementedError, OSError, duckdb.Error."""
    file, frozen = files
    with (
        workspace(file.parent / "tables") as scratch,
        closing(duckdb.connect(str(file), read_only=True, config=dict(config))) as con,
    ):
        divided = frozenset[str]()
        if frozen is not None:
            con.execute(f"ATTACH {literal(str(frozen))} AS {FROZEN} (READ_ONLY)")
            names = con.execute(f"SELECT name FROM {FROZEN}.{DIVIDED}").fetchall()
            divided = frozenset(name for (name,) in names)
        models = _Models(con, divided, _last_rows(shards, last), scratch, generation)
        rows = [row for schema in SCHEMAS for row in _schema_rows(shards, models, schema)]
    table_files = f"shards/{name}/{generation}{TABLE_FILES}"
    obstore.put(shards.objects, table_files, encoded_files(pa.Table.from_pylist(rows, schema=FILES)))
    return table_files


def _last_rows(shards: Shards, last: str) -> Mapping[tuple[Any, ...], list[Row]]:
    rows: dict[tuple[Any, ...], list[Row]] = {}
    for row in read_files(shards, last).to_pylist() if last else ():
        key = (row["table_name"], row["schema_id"], row["school_id"], row["semester_id"], row["content"])
        rows.setdefault(key, []).append(row)
    return rows


def _schema_rows(shards: Shards, models: _Models, schema: str) -> Iterator[Row]:
    """Write the changed files of a schema's tables; yields the rows of all their files."""
    for table, description in models.con.execute(MODELS, [schema]).fetchall():
        name = f"{schema}.{table}"
        columns, delta_schema = select_and_schema(models.con, schema, table)
        query = f"SELECT {columns} FROM {relation(name)}"
        if name in models.divided:
            query += f" UNION ALL SELECT {columns} FROM {FROZEN}.{relation(name)}"
        schema_id = hashlib.sha256(delta_schema.encode()).hexdigest()[:16]
        row = {"table_name": name, "schema_id": schema_id}
        # Without a path: an empty table is a table too.
        yield {**row, "description": description, "schema": delta_schema}
        yield from _partition_rows(shards, models, row, query)


def _partition_rows(shards: Shards, models: _Models, table: Row, query: str) -> Iterator[Row]:
    columns = models.con.sql(f"FROM ({query}) LIMIT 0")
    by = [column for column in PARTITIONS if column in columns.columns]
    # DuckDB's hash is the same for NULL and an empty list, but not for their texts.
    texts = [
        f"{quoted(name)}::VARCHAR"
        for name, type_ in zip(columns.columns, columns.types, strict=True)
        if type_.id == "list"
    ]
    changed = []
    contents: dict[tuple[Any, ...], str] = {}
    digest_of = f"sum(hash({', '.join(['rows', *texts])}))"
    for *key, count, digest in models.con.execute(
        f"SELECT {listed(by)}, count(*), {digest_of} FROM ({query}) AS rows GROUP BY ALL"
    ).fetchall():
        school_id, semester_id = (*key, None)[:2]
        content = f"{count}-{digest:x}"
        existing = models.before.get(
            (table["table_name"], table["schema_id"], school_id, semester_id, content)
        )
        if existing is not None:
            yield from existing
            continue
        contents[school_id, semester_id] = content
        changed.append(tuple(key))
    if not changed:
        return
    written = list(_copy(models, table["table_name"], query, by, changed))
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        list(pool.map(lambda row: put(shards, models.scratch / row["path"], row["path"]), written))
    for row in written:
        yield {**table, **row, "content": contents[row["school_id"], row["semester_id"]]}


def _copy(
    models: _Models, name: str, query: str, by: list[str], changed: list[tuple[Any, ...]]
) -> Iterator[Row]:
    """Write the changed partitions to files, named as they will be stored."""
    folder = f"{TABLES}/{name.replace('.', '/')}"
    (models.scratch / folder).parent.mkdir(parents=True, exist_ok=True)
    rows = (("NULL" if value is None else str(value) for value in key) for key in changed)
    keys = ", ".join(f"({', '.join(row)})" for row in rows)
    same = " AND ".join(
        f"rows.{quoted(column)} IS NOT DISTINCT FROM changed.{quoted(column)}" for column in by
    )
    copy = models.con.execute(
        f"COPY (FROM ({query}) AS rows SEMI JOIN (VALUES {keys}) AS changed({listed(by)}) ON {same}) "
        f"TO {literal(str(models.scratch / folder))} (FORMAT parquet, COMPRESSION zstd, RETURN_STATS, "
        f"PARTITION_BY ({listed(by)}), FILENAME_PATTERN {literal(models.generation + '_{i}')})"
    )
    for file, rows, size, _, _, partition, *_ in copy.fetchall():
        values = {column: None if text is None else int(text) for column, text in partition.items()}
        path = str(Path(file).relative_to(models.scratch))
        yield {"semester_id": None, **values, "path": path, "rows": rows, "bytes": size}
