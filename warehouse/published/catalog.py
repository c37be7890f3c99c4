"""The catalogue of open tables: which version of each table, and which files, belong to a publication.

Readers of Delta open each table at the version that `catalog.json` names. DuckDB reads the files themselves,
without an extension: the catalogue's snapshot lists them by table, school and semester."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import obstore
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from warehouse.files import NO_PROGRESS_BAR
from warehouse.identifiers import folded, literal, quoted, relation
from warehouse.published.reading import opened
from warehouse.published.shards import PublicationBroken, Published, Shards, read_manifest, read_object

CATALOG = "catalog.json"
#: The folder of the tables, below the root of the shards.
TABLES = "tables"
#: The columns by which tables are partitioned, in this order, if a table has them.
PARTITIONS = ("school_id", "semester_id")
_COLUMNS: dict[str, pa.DataType] = {
    "table_name": pa.string(),
    # Identifies the table's schema.
    "schema_id": pa.string(),
    # Only in rows without a path: the table's description, and its schema as in a Delta log.
    "description": pa.string(),
    "schema": pa.string(),
    "school_id": pa.int64(),
    "semester_id": pa.int64(),
    # Below the root of the shards.
    "path": pa.string(),
    "rows": pa.int64(),
    "bytes": pa.int64(),
    # Identifies the rows of the partition.
    "content": pa.string(),
}
#: The files of open tables. Each schema of a table has a row without a path.
FILES = pa.schema(_COLUMNS)
#: The types of Delta that are written otherwise in SQL.
SQL_TYPES = {
    "long": "BIGINT",
    "integer": "INTEGER",
    "short": "SMALLINT",
    "byte": "TINYINT",
    "string": "VARCHAR",
    "timestamp_ntz": "TIMESTAMP",
    "binary": "BLOB",
}


class Snapshot(msgspec.Struct, frozen=True):
    """A snapshot whose files are kept."""

    #: As in Catalog.
    files: str
    versions: dict[str, int]


class Catalog(msgspec.Struct, frozen=True):
    """A snapshot of all open tables."""

    #: Named by the time of publication.
    generation: str = ""
    #: By shard, the list of files that it was made from.
    made_of: dict[str, str] = {}
    #: By table (`schema.table`), the version of the Delta table below `tables/schema/table`.
    versions: dict[str, int] = {}
    #: The list of all files (FILES), below the root of the shards.
    files: str = ""
    #: Earlier snapshots whose files are kept, the latest first.
    before: tuple[Snapshot, ...] = ()
    #: Whether a deletion of the tables is under way, or was killed.
    is_deleted: bool = False

    @property
    def snapshots(self) -> tuple[Snapshot, ...]:
        """The snapshots whose files are kept, this one first; empty: nothing is published."""
        return (Snapshot(self.files, self.versions), *self.before) if self.files else ()


def read_catalog(shards: Shards) -> tuple[Catalog, str | None]:
    """The present catalogue and its ETag; an empty one and None if nothing was published yet.

    Raises PublicationBroken."""
    data, tag = read_object(shards, CATALOG)
    try:
        return (Catalog() if tag is None else msgspec.json.decode(data, type=Catalog)), tag
    except msgspec.MsgspecError as error:
        raise PublicationBroken(
            f"{shards.root}/{CATALOG} is not a catalogue of this version ({error}): delete it, and publish "
            "again with `campus build`"
        ) from error


def read_files(shards: Shards, name: str) -> pa.Table:
    """A list of files (FILES). Raises FileNotFoundError."""
    listed = pa.BufferReader(bytes(obstore.get(shards.objects, name).bytes()))
    # pyarrow's own threads may abort a process that ends soon afterwards, so none of this module uses them.
    return parquet.ParquetFile(listed).read(use_threads=False)


def rows_with(files: pa.Table, column: str, values: Collection[Any]) -> pa.Table:
    """The rows of a list whose column has one of some values."""
    wanted = pa.array(list(values), files.schema.field(column).type)
    return files.filter(pc.is_in(files[column], wanted))


def described(files: pa.Table) -> pa.Table:
    """The rows that describe tables, without a path."""
    return files.filter(pc.is_null(files["path"]))


def of_schools(files: pa.Table, schools: Collection[int | None]) -> pa.Table:
    """The rows of some schools (None: rows of no school), and those that describe tables."""
    is_theirs = pc.is_in(files["school_id"], pa.array(list(schools), pa.int64()))
    return files.filter(pc.or_(pc.is_null(files["path"]), is_theirs))


def encoded_files(files: pa.Table) -> bytes:
    """The Parquet file that `read_files` reads."""
    written = io.BytesIO()
    # A reader of one table skips the groups of others.
    parquet.write_table(files, written, compression="zstd", row_group_size=10_000)
    return written.getvalue()


def columns_of(schema: str) -> dict[str, str]:
    """The columns of a schema of Delta, with their SQL types in the published file."""
    return {
        field["name"]: field["metadata"].get("duckdb_type") or _sql_type(field["type"])
        for field in json.loads(schema)["fields"]
    }


def catalog_sql(shards: Shards, catalog: Catalog, schools: Collection[int] = ()) -> Iterator[str]:
    """The statements that show the open tables as views in any DuckDB session, from 1.2.0 on.

    The views read the files of this snapshot. `schools`: views of these schools alone, for a reader who may
    read no other; empty: all."""
    files = read_files(shards, catalog.files)
    if schools:
        files = of_schools(files, schools)
    yield f"-- The open tables of {shards.root} as published at {catalog.generation}."
    condition = f" AND school_id IN ({', '.join(map(str, sorted(schools)))})" if schools else ""
    listed_files = f"read_parquet({literal(f'{shards.root}/{catalog.files}')})"
    for name, table in _by_table(files):
        for schema_id in _schemas(table):
            yield (
                f"SET VARIABLE {_variable(name, schema_id)} = ("
                f"SELECT list({literal(f'{shards.root}/')} || path ORDER BY path) "
                f"FROM {listed_files} WHERE table_name = {literal(name)} "
                f"AND schema_id = {literal(schema_id)} AND path IS NOT NULL{condition});"
            )
    yield from _views(files, lambda name, schema_id: f"getvariable({literal(_variable(name, schema_id))})")


def _variable(name: str, schema_id: str) -> str:
    """The variable with the files of a table that have one schema."""
    return f"{name.replace('.', '_')}_{schema_id}"


#: The line of a traceback that has the exception.
_EXCEPTION = re.compile(r"[\w.]+(Error|Exception): ")


@contextmanager
def opened_for(published: Published, query: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open what a query reads: the open tables if they have all its tables, else the published files.

    Raises duckdb.Error, FileNotFoundError, PublicationBroken."""
    if not isinstance(published, Path) and published.has_tables:
        catalog, _ = read_catalog(published)
        manifest = read_manifest(published)
        # If shards are newer or missing, the open tables would show older rows or fewer schools.
        is_current = catalog.made_of == manifest.table_files and not manifest.without_table_files
        if is_current and (names := _open_tables_of(catalog, query)):
            with closing(duckdb.connect()) as con:
                con.execute(NO_PROGRESS_BAR)
                _show_tables(con, published, catalog, names)
                with _store_errors_in_words(published):
                    yield con
            return
    with opened(published) as con:
        yield con


@contextmanager
def _store_errors_in_words(shards: Shards) -> Iterator[None]:
    """Raise PublicationBroken where DuckDB has a traceback for a message: that of the library that reads the
    files of a store."""
    try:
        yield
    except duckdb.Error as error:
        if not str(error).startswith("Traceback"):
            raise
        lines = str(error).splitlines()
        cause = next((line for line in lines if _EXCEPTION.match(line)), lines[-1])
        raise PublicationBroken(f"{shards.root} cannot be read: {cause.partition(': ')[2]}") from None


def _open_tables_of(catalog: Catalog, query: str) -> set[str]:
    """The tables of a query if all are open tables; empty: the query reads something else, or no table."""
    with closing(duckdb.connect()) as con:
        # A statement other than SELECT is an error there, without any table.
        [(tree,)] = con.execute("SELECT json_serialize_sql($1)", [query]).fetchall()
    names = set(_relations(json.loads(tree)))
    return names if names <= catalog.versions.keys() else set()


def _relations(tree: Any) -> Iterator[str]:
    """The tables, views and table macros that are named with a schema in a tree of json_serialize_sql."""
    if isinstance(tree, list):
        for part in tree:
            yield from _relations(part)
    elif isinstance(tree, dict):
        # Of a table, then of a function.
        for catalog, schema, name in (
            ("catalog_name", "schema_name", "table_name"),
            ("catalog", "schema", "function_name"),
        ):
            if tree.get(schema) and name in tree:
                yield folded(".".join(filter(None, (tree.get(catalog), tree[schema], tree[name]))))
        for part in tree.values():
            yield from _relations(part)


def _show_tables(
    con: duckdb.DuckDBPyConnection, shards: Shards, catalog: Catalog, names: Collection[str]
) -> None:
    """Make views of some open tables. The files of an object store are read there, only those that a query
    needs."""
    files = rows_with(read_files(shards, catalog.files), "table_name", names)
    if shards.is_remote:
        from obstore.fsspec import FsspecStore

        # DuckDB's own access to an object store is an extension. A cached one would keep what the environment
        # said of the store when it was made.
        FsspecStore.clear_instance_cache()
        con.register_filesystem(FsspecStore("s3"))

    def listed(name: str, schema_id: str) -> str:
        stored = rows_with(rows_with(files, "table_name", [name]), "schema_id", [schema_id])
        return f"[{', '.join(literal(f'{shards.root}/{path}') for path in texts(stored, 'path'))}]"

    for statement in _views(files, listed):
        con.execute(statement)


def _views(files: pa.Table, paths: Callable[[str, str], str]) -> Iterator[str]:
    """The views of all tables of a list. `paths`: the SQL of the files of a table that have a schema, by name
    and id."""
    names = texts(files, "table_name")
    for schema_name in sorted({name.partition(".")[0] for name in names}):
        yield f"CREATE SCHEMA IF NOT EXISTS {quoted(schema_name)};"
    for name, table in _by_table(files):
        parts = [_rows_sql(schema, paths(name, schema_id)) for schema_id, schema in _schemas(table).items()]
        yield from _view_statements(name, table, parts)


def _by_table(files: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    for name in texts(files, "table_name"):
        yield name, rows_with(files, "table_name", [name])


def texts(files: pa.Table, column: str) -> list[str]:
    """The distinct texts of a column, sorted; nulls left out."""
    return sorted(str(text) for text in set(files[column].to_pylist()) if text is not None)


def _schemas(table: pa.Table) -> dict[str, str]:
    """The schemas of a table's files, by id. Shards that other versions of the models made may differ."""
    used = set(texts(table.filter(pc.is_valid(table["path"])), "schema_id"))
    rows = described(table).to_pylist()
    return {row["schema_id"]: row["schema"] for row in rows if row["schema_id"] in used}


def _view_statements(name: str, table: pa.Table, parts: list[str]) -> Iterator[str]:
    """The view of a table and its comments. `parts`: the queries whose rows it shows."""
    [*_, latest] = described(table).to_pylist()
    if not parts:
        columns = columns_of(latest["schema"]).items()
        nulls = ", ".join(f"NULL::{type_} AS {quoted(column)}" for column, type_ in columns)
        parts = [f"SELECT {nulls} WHERE false"]
    yield f"CREATE OR REPLACE VIEW {relation(name)} AS {' UNION ALL BY NAME '.join(parts)};"
    yield f"COMMENT ON VIEW {relation(name)} IS {literal(latest['description'] or '')};"
    for field in json.loads(latest["schema"])["fields"]:
        comment = literal(field["metadata"].get("comment", ""))
        yield f"COMMENT ON COLUMN {relation(name)}.{quoted(field['name'])} IS {comment};"


def _rows_sql(schema: str, paths: str) -> str:
    """The rows of files with one schema. The partition columns are in the paths, as text, so that a missing
    semester does not fail in DuckDB before 1.3; filters on them still skip files."""
    columns = columns_of(schema)
    by = [column for column in PARTITIONS if column in columns]
    selected = [
        f"{'TRY_CAST' if column in by else 'CAST'}({quoted(column)} AS {type_}) AS {quoted(column)}"
        for column, type_ in columns.items()
    ]
    types = ", ".join(f"{column}: VARCHAR" for column in by)
    return (
        f"SELECT {', '.join(selected)} FROM read_parquet({paths}, hive_partitioning = true, "
        f"hive_types = {{{types}}})"
    )


def _sql_type(type_: str | Mapping[str, str]) -> str:
    if isinstance(type_, str):
        return SQL_TYPES.get(type_, type_.upper())
    return f"{_sql_type(type_['elementType'])}[]"
