"""Files of shards shown as one database: views of the tables' names over all of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from warehouse.identifiers import literal, quoted
from warehouse.published.manifest import Manifest, schools_to_read

#: The name of the database that a file is built as: its macros have it in them.
DATABASE = "campus"
#: What names the school of a row, the first that a table has: a dataset may have the other, too.
SCHOOL_COLUMNS = ("_school_id", "school_id")
#: The schema of tables that are the same in all files: thresholds and vocabularies.
EVERYWHERE = "seeds"
#: In a frozen file: what is divided between it and the file of its shard, tables and views.
DIVIDED = "quality.divided"
#: Tables of `quality` that say something of a file as a whole, and what they say of all together.
OF_A_FILE = {
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
COLUMNS = """
    SELECT schema_name, table_name, database_name, column_name
    FROM duckdb_columns() WHERE starts_with(database_name, 'shard_')
"""
MACROS = """
    SELECT DISTINCT ON (schema_name, function_name)
        schema_name, function_name, parameters, macro_definition
    FROM duckdb_functions()
    WHERE starts_with(database_name, 'shard_') AND function_type = 'table_macro' AND NOT internal
"""


@dataclass
class _Copy:
    """A table as one of the files has it."""

    comment: str | None
    columns: set[str] = field(default_factory=set)


def show_as_one(con: duckdb.DuckDBPyConnection, found: Manifest, files: Mapping[str, Path]) -> None:
    """Attach the files of a manifest, by their names there, and use a database with views over all of them.
    A question about one school reads the row groups of its shard alone."""
    con.execute(f"ATTACH ':memory:' AS {DATABASE}")
    con.execute(f"USE {DATABASE}")
    databases = [(_database(name), file) for name, file in found.files_of_shards.items()]
    databases += [(_frozen(name), file) for name, file in found.frozen_files.items()]
    for database, file in sorted(databases):
        con.execute(f"ATTACH {literal(str(files[file]))} AS {database} (READ_ONLY)")
    con.begin()
    _show_tables(con, found)
    for schema, name, parameters, definition in con.execute(MACROS).fetchall():
        given = ", ".join(parameters)
        con.execute(f"CREATE MACRO {quoted(schema)}.{quoted(name)}({given}) AS TABLE {definition}")
    con.commit()


def _database(shard: str) -> str:
    return f"shard_{shard}"


def _frozen(shard: str) -> str:
    """The closed semesters of a shard: further rows of some of its tables."""
    return f"{_database(shard)}_frozen"


def _show_tables(con: duckdb.DuckDBPyConnection, found: Manifest) -> None:
    """Make a view of each table and view of the files."""
    read = schools_to_read(found)
    latest = {_database(name): read[name] for name in sorted(read, key=found.generation_of, reverse=True)}
    frozen = {_frozen(name): read[name] for name in found.frozen_files}
    again = _divided_views(con, list(latest), frozen)
    for (schema, table), copies in _copies(con).items():
        of_a_file = OF_A_FILE.get(table) if schema == "quality" else None
        mine = {database: schools for database, schools in latest.items() if database in copies}
        # What a frozen file has for itself is not shown.
        if not mine or f"{schema}.{table}" in again:
            continue
        con.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(schema)}")
        name = f"{quoted(schema)}.{quoted(table)}"
        first = copies[next(iter(mine))]
        if of_a_file is None:
            mine |= {database: schools for database, schools in frozen.items() if database in copies}
        query = _query(schema, name, first, mine)
        if of_a_file is not None:
            query = of_a_file.format(rows=query, generation=literal(found.generation))
        con.execute(f"CREATE VIEW {name} AS {query}")
        # Those of its columns are in quality.dictionary: to say thousands of them takes longer than all else.
        con.execute(f"COMMENT ON VIEW {name} IS {literal(first.comment or '')}")
    for name, (sql, comment) in again.items():
        con.execute(sql)
        con.execute(f"COMMENT ON VIEW {name} IS {literal(comment or '')}")


def _divided_views(
    con: duckdb.DuckDBPyConnection, latest: list[str], frozen: Collection[str]
) -> dict[str, tuple[str, str | None]]:
    """The views of divided tables, as statements and comments: in a file they show its own rows alone."""
    divided = {
        name
        for database in frozen
        for (name,) in con.execute(f"SELECT name FROM {database}.{DIVIDED}").fetchall()
    }
    views = con.execute(VIEWS, {"files": latest}).fetchall() if divided else []
    return {name: (sql, comment) for name, sql, comment in views if name in divided}


def _copies(con: duckdb.DuckDBPyConnection) -> dict[tuple[str, str], dict[str, _Copy]]:
    """By schema and table what each database has of it."""
    copies = defaultdict[tuple[str, str], dict[str, _Copy]](dict)
    for schema, table, database, comment in con.execute(RELATIONS).fetchall():
        copies[schema, table][database] = _Copy(comment)
    for schema, table, database, column in con.execute(COLUMNS).fetchall():
        copies[schema, table][database].columns.add(column)
    return copies


def _query(schema: str, name: str, first: _Copy, schools: Mapping[str, Collection[int]]) -> str:
    """All rows. `schools`: those that are read of each database that has it, the latest first:
    this one says what is the same everywhere, and what is of no school."""
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
