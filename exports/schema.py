"""schema.sql: the tables of core and marts with keys and references as constraints.

The published file has no constraints: its tables have the platform's gaps, and indexes would double
their size (docs/explanation/decisions.md)."""

from graphlib import TopologicalSorter
from pathlib import Path

import duckdb

from warehouse.identifiers import listed, quoted

#: The name of the export.
SCHEMA = "schema"
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


def write_schema(con: duckdb.DuckDBPyConnection, path: Path) -> int:
    """Write the statements that make the empty tables, each after those that it refers to; returns the
    number of tables."""
    tables = {(schema, name): columns for schema, name, columns in con.execute(TABLES).fetchall()}
    lines = {
        table: [f"{quoted(name)} {data_type}" for name, data_type in columns]
        for table, columns in tables.items()
    }
    needed = {table: set[tuple[str, str]]() for table in tables}
    for schema, name, kind, columns, to_schema, to_name, to_columns in con.execute(RELATIONS).fetchall():
        if kind == "foreign key":
            target = f"{quoted(to_schema)}.{quoted(to_name)} ({listed(to_columns)})"
            lines[schema, name].append(f"FOREIGN KEY ({listed(columns)}) REFERENCES {target}")
            needed[schema, name] |= {(to_schema, to_name)} - {(schema, name)}
        else:
            rule = "PRIMARY KEY" if kind == "primary key" else "UNIQUE"
            lines[schema, name].append(f"{rule} ({listed(columns)})")
    statements = [f"CREATE SCHEMA {schema};" for schema in ("core", "marts")]
    for schema, name in TopologicalSorter(needed).static_order():
        body = ",\n    ".join(lines[schema, name])
        statements.append(f"CREATE TABLE {quoted(schema)}.{quoted(name)} (\n    {body}\n);")
    path.write_text("\n".join(statements) + "\n", encoding="utf-8")
    return len(tables)
