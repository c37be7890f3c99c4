"""Shows the files of shards as one database: views with the tables' names over all files."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from pathlib import Path

import duckdb

from warehouse.identifiers import literal, quoted
from warehouse.published.manifest import Manifest, schools_to_read

#: The database name under which a file is built; macros of the file contain it.
DATABASE = "campus"
#: The column with the school of a row is the first that a table has: a dataset may have both.
SCHOOL_COLUMNS = ("_school_id", "school_id")
#: The schema whose tables are the same in all files: thresholds and vocabularies.
EVERYWHERE = "seeds"
#: The table of a frozen file that names the tables and views divided between it and the shard's file.
DIVIDED = "quality.divided"
#: Tables of `quality` about a file as a whole, and the queries that combine them over all files.
COMBINED = {
    "publication": """
        SELECT {generation} AS generation, max(published_at) AS published_at,
            max_by(models_version, published_at) AS models_version,
            max_by(version, published_at) AS version
        FROM ({rows})
    """,
    "check_results": """
        SELECT name, max(model) AS model,
            max_by(status, list_position(['pass', 'warn', 'fail', 'error'], status)) AS status,
            sum(failures)::BIGINT AS failures, string_agg(DISTINCT message, '; ') AS message,
            max(checked_at) AS checked_at
        FROM ({rows}) GROUP BY name
    """,
    "contents": "SELECT DISTINCT * FROM ({rows})",
    "maintenance": "SELECT DISTINCT * FROM ({rows})",
    "relations": """
        SELECT DISTINCT ON (table_name, check_name, columns) * FROM ({rows}) ORDER BY checked_at DESC
    """,
    "lineage": "SELECT DISTINCT * FROM ({rows})",
    "metrics": "SELECT DISTINCT ON (metric) * FROM ({rows})",
    "dictionary": "SELECT DISTINCT ON (schema_name, table_name, column_name) * FROM ({rows})",
}
RELATIONS = """
    SELECT schema_name, table_name, database_name, comment
    FROM duckdb_tables() WHERE starts_with(database_name, 'shard_') AND NOT temporary
    UNION ALL
    SELECT schema_name, view_name, database_name, comment
    FROM duckdb_views() WHERE starts_with(database_name, 'shard_') AND NOT internal
"""
VIEWS = """
    SELECT DISTINCT ON (schema_name, view_name) schema_name || '.' || view_name, sql, comment
    FROM duckdb_views() WHERE list_contains($files, database_name)
    ORDER BY schema_name, view_name, list_position($files, database_name)
"""
#: A table in a statement of a view: its schema and its name.
TABLE = re.compile(r'(?=\b(\w+)"?\."?(\w+))')
COLUMNS = """
    SELECT schema_name, table_name, database_name, column_name
    FROM duckdb_columns() WHERE starts_with(database_name, 'shard_')
"""
MACROS = """
    SELECT DISTINCT ON (schema_name, function_name)
        schema_name, function_name, parameters, macro_definition
    FROM duckdb_functions()
    WHERE starts_with(database_name, 'shard_') AND function_type = 'table_macro' AND NOT internal
        AND NOT starts_with(function_name, 'metric_')
"""
#: A file with `quality.metrics`, which has the statements of the macros of measures: duckdb_functions() does
#: not show the defaults of parameters.
WITH_METRICS = """
    SELECT database_name FROM duckdb_tables()
    WHERE starts_with(database_name, 'shard_') AND (schema_name, table_name) = ('quality', 'metrics')
    ORDER BY database_name LIMIT 1
"""


@dataclass
class _Copy:
    """A table's comment and columns in a single file."""

    comment: str | None
    columns: set[str] = field(default_factory=set)


def show_as_one(con: duckdb.DuckDBPyConnection, manifest: Manifest, files: Mapping[str, Path]) -> None:
    """Attach the files of a manifest and use a database with views over all of them.

    `files`: local paths by the names in the manifest. A query about one school reads its shard alone."""
    con.execute(f"ATTACH ':memory:' AS {DATABASE}")
    con.execute(f"USE {DATABASE}")
    databases = [(_database(name), file) for name, file in manifest.files_of_shards.items()]
    databases += [(_frozen(name), file) for name, file in manifest.frozen_files.items()]
    for database, file in sorted(databases):
        con.execute(f"ATTACH {literal(str(files[file]))} AS {database} (READ_ONLY)")
    con.begin()
    _show_tables(con, manifest)
    for schema, name, parameters, definition in con.execute(MACROS).fetchall():
        given = ", ".join(parameters)
        con.execute(f"CREATE MACRO {quoted(schema)}.{quoted(name)}({given}) AS TABLE {definition}")
    for (database,) in con.execute(WITH_METRICS).fetchall():
        for (statement,) in con.execute(f"SELECT macro FROM {database}.quality.metrics").fetchall():
            con.execute(statement)
    con.commit()


def _database(shard: str) -> str:
    return f"shard_{shard}"


def _frozen(shard: str) -> str:
    """The database of a shard's closed semesters."""
    return f"{_database(shard)}_frozen"


def _show_tables(con: duckdb.DuckDBPyConnection, manifest: Manifest) -> None:
    """Make a view for each table and view of the files."""
    schools = schools_to_read(manifest)
    latest_first = sorted(schools, key=manifest.generation_of, reverse=True)
    shards = {_database(name): schools[name] for name in latest_first}
    frozen = {_frozen(name): schools[name] for name in manifest.frozen_files}
    divided_views = _divided_views(con, list(shards), frozen)
    for (schema, table), copies in _copies(con).items():
        combined = COMBINED.get(table) if schema == "quality" else None
        sources = {database: ids for database, ids in shards.items() if database in copies}
        # Tables that only frozen files have are not shown.
        if not sources or f"{schema}.{table}" in divided_views:
            continue
        con.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(schema)}")
        name = f"{quoted(schema)}.{quoted(table)}"
        first = copies[next(iter(sources))]
        if combined is None:
            sources |= {database: ids for database, ids in frozen.items() if database in copies}
        query = _query(schema, name, first, sources)
        if combined is not None:
            query = combined.format(rows=query, generation=literal(manifest.generation))
        con.execute(f"CREATE VIEW {name} AS {query}")
        # Comments on thousands of columns would take longer than all else; quality.dictionary has them.
        con.execute(f"COMMENT ON VIEW {name} IS {literal(first.comment or '')}")
    for name in _readers_last({name: sql for name, (sql, _) in divided_views.items()}):
        sql, comment = divided_views[name]
        con.execute(sql)
        con.execute(f"COMMENT ON VIEW {name} IS {literal(comment or '')}")


def _readers_last(views: Mapping[str, str]) -> Iterator[str]:
    """The names of views, each after the views that its statement reads. `views`: statements by name."""
    reads = dict[str, set[str]]()
    for name, sql in views.items():
        tables = set(TABLE.findall(sql))
        reads[name] = {read for read in views if tuple(read.split(".")) in tables} - {name}
    yield from TopologicalSorter(reads).static_order()


def _divided_views(
    con: duckdb.DuckDBPyConnection, shards: list[str], frozen: Collection[str]
) -> dict[str, tuple[str, str | None]]:
    """Statements and comments of the views of divided tables. They are made anew over the union, since a
    file's own view shows only its own rows."""
    divided = {
        name
        for database in frozen
        for (name,) in con.execute(f"SELECT name FROM {database}.{DIVIDED}").fetchall()
    }
    views = con.execute(VIEWS, {"files": shards}).fetchall() if divided else []
    return {name: (sql, comment) for name, sql, comment in views if name in divided}


def _copies(con: duckdb.DuckDBPyConnection) -> dict[tuple[str, str], dict[str, _Copy]]:
    """The copies of each table, by schema and table, then by database."""
    copies = defaultdict[tuple[str, str], dict[str, _Copy]](dict)
    for schema, table, database, comment in con.execute(RELATIONS).fetchall():
        copies[schema, table][database] = _Copy(comment)
    for schema, table, database, column in con.execute(COLUMNS).fetchall():
        copies[schema, table][database].columns.add(column)
    return copies


def _query(schema: str, name: str, first: _Copy, schools: Mapping[str, Collection[int]]) -> str:
    """The query for all rows of a table.

    `schools`: by database, the schools to read from it, the latest database first. Tables that are the same
    everywhere, and rows of no school, come from the first database."""
    databases = list(schools)
    if schema == EVERYWHERE:
        return f"FROM {databases[0]}.{name}"
    school = next((column for column in SCHOOL_COLUMNS if column in first.columns), None)
    parts = [f"FROM {database}.{name}" for database in databases]
    if school is not None:
        parts = [
            f"{part} WHERE {quoted(school)} IN ({', '.join(map(str, sorted(schools[database])))})"
            for part, database in zip(parts, databases, strict=True)
        ]
        parts[0] += f" OR {quoted(school)} IS NULL"
    return " UNION ALL BY NAME ".join(parts)
