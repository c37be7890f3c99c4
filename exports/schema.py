"""schema.sql: the tables of core and marts with keys and references as constraints, in DuckDB's SQL or in
PostgreSQL's.

The published file has no constraints: its tables have the platform's gaps, and indexes would double
their size (docs/explanation/decisions.md)."""

from __future__ import annotations

from collections import defaultdict
from graphlib import TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from warehouse.identifiers import listed, literal, quoted, relation

if TYPE_CHECKING:
    import duckdb

#: The name of the export.
SCHEMA = "schema"
#: The databases that it is written for.
Dialect = Literal["duckdb", "postgres"]
#: PostgreSQL's names of DuckDB's types, where they differ.
POSTGRES_TYPES = {"DOUBLE": "DOUBLE PRECISION", "DOUBLE[]": "DOUBLE PRECISION[]"}
TABLES = """
    SELECT schema_name, table_name, list((column_name, data_type) ORDER BY column_index)
    FROM duckdb_columns()
    WHERE database_name = current_database() AND schema_name IN ('core', 'marts')
    GROUP BY ALL
    ORDER BY ALL
"""
# A reference by part of the rows, or to a view of staging, is no constraint.
RELATIONS = """
    FROM quality.relations
    SELECT schema_name, table_name, kind, columns, referenced_schema, referenced_table, referenced_columns
    WHERE condition IS NULL AND schema_name IN ('core', 'marts')
        AND coalesce(referenced_schema, 'core') IN ('core', 'marts')
    ORDER BY ALL
"""


def write_schema(con: duckdb.DuckDBPyConnection, path: Path, dialect: Dialect) -> int:
    """Write the statements that make the empty tables, each after those that it refers to; returns the
    number of tables.

    DuckDB has no foreign keys between schemas, and refuses rows that come together with those of their own
    table that they refer to. So there a comment on the column says what it refers to."""
    types = POSTGRES_TYPES if dialect == "postgres" else {}
    tables = {(schema, name): columns for schema, name, columns in con.execute(TABLES).fetchall()}
    lines = {
        table: [f"{quoted(name)} {types.get(data_type, data_type)}" for name, data_type in columns]
        for table, columns in tables.items()
    }
    needed = {table: set[tuple[str, str]]() for table in tables}
    comments = defaultdict[str, list[str]](list)
    for schema, name, kind, columns, to_schema, to_name, to_columns in con.execute(RELATIONS).fetchall():
        table = (schema, name)
        if kind != "foreign key":
            rule = "PRIMARY KEY" if kind == "primary key" else "UNIQUE"
            lines[table].append(f"{rule} ({listed(columns)})")
            continue
        target = f"{relation(f'{to_schema}.{to_name}')} ({listed(to_columns)})"
        needed[table] |= {(to_schema, to_name)} - {table}
        if dialect == "duckdb" and (schema != to_schema or name == to_name):
            comments[f"{relation('.'.join(table))}.{quoted(columns[-1])}"].append(
                f"({', '.join(columns)}) refers to {to_schema}.{to_name} ({', '.join(to_columns)})"
            )
        else:
            lines[table].append(f"FOREIGN KEY ({listed(columns)}) REFERENCES {target}")
    statements = [f"CREATE SCHEMA {schema};" for schema in ("core", "marts")]
    for table in TopologicalSorter(needed).static_order():
        body = ",\n    ".join(lines[table])
        statements.append(f"CREATE TABLE {relation('.'.join(table))} (\n    {body}\n);")
    statements += [
        f"COMMENT ON COLUMN {column} IS {literal('; '.join(references))};"
        for column, references in comments.items()
    ]
    path.write_text("\n".join(statements) + "\n", encoding="utf-8")
    return len(tables)
