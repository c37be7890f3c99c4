"""`quality.lineage`: the columns that each column of the published file is made of, down to the interface."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

import duckdb
import pyarrow as pa

from warehouse.lake.logs.tables import LOGS, MADE, Log
from warehouse.lake.sql import create_table, view
from warehouse.lake.tables import BOOKKEEPING, EXTRA, SCHOOL_ID, Column, Table, comments
from warehouse.publish.models.compiled_models import VALUE, read_project
from warehouse.publish.models.dbt_project import cached, compiled

#: The source_schema of columns of `raw`.
INTERFACE = "interface"
LINEAGE = Log(
    name="lineage",
    comment="The columns that each column is made of, and by which its rows are chosen, a row for each; "
    "a row without a source if no column gives its values",
    label_zh="数据血缘",
    columns=(
        Column("schema_name", pa.string(), "Schema", label_zh="模式"),
        Column("table_name", pa.string(), "Table or view", label_zh="表"),
        Column("column_name", pa.string(), "Column", label_zh="列"),
        Column(
            "source_schema",
            pa.string(),
            "Schema of the source; interface: the platform; null: a constant, or made by the warehouse",
            label_zh="来源模式",
        ),
        Column(
            "source_table",
            pa.string(),
            "Table or view of the source; of the interface: the path, or the file of the home",
            label_zh="来源表",
        ),
        Column(
            "source_column",
            pa.string(),
            "Column or field of the source; null: its rows, as in a count, or no field by name",
            label_zh="来源列",
        ),
        Column(
            "kind",
            pa.string(),
            "value: it gives the value; condition: it joins, filters or groups the rows that give the value; "
            "null: no source",
            label_zh="来源类型",
        ),
    ),
)

Lineage = Mapping[str, Mapping[str, Mapping[str, list[str]]]]
#: Schema, table, column and kind.
Source = tuple[str | None, str | None, str | None, str | None]
#: Of a column whose values no source gives.
NO_SOURCE: Source = (None, None, None, None)


def record_lineage(
    con: duckdb.DuckDBPyConnection, tables: Iterable[Table], endpoints: Mapping[str, str]
) -> None:
    """Write `quality.lineage` into a file that is not yet published.

    `tables`: those of `raw`; `endpoints`: by table, the path of the interface that it is read from."""
    view(con, "empty", [], LINEAGE.lake_schema)
    con.execute("DROP TABLE IF EXISTS quality.lineage")
    create_table(con, "quality.lineage", "FROM empty", LINEAGE.comment, comments(LINEAGE.columns))
    names = LINEAGE.lake_schema.names
    rows = [
        dict(zip(names, (*place, *source), strict=True))
        for place, sources in (*_of_raw(tables, endpoints), *_of_models(tables))
        for source in sources or [NO_SOURCE]
    ]
    con.register("sources", pa.Table.from_pylist(rows, schema=LINEAGE.lake_schema))
    con.execute("INSERT INTO quality.lineage FROM sources")


def model_lineage(tables: Iterable[Table]) -> Lineage:
    """By model, column and kind, the sources of its columns. `tables`: those of `raw`.

    Raises ModelsBroken if the project cannot be compiled."""
    columns = {
        f"raw.{table.name}": [column.name for column in (*table.columns, SCHOOL_ID, *BOOKKEEPING)]
        for table in tables
    }
    columns |= {f"quality.{log.name}": [column.name for column in log.columns] for log in (*LOGS, *MADE)}

    def make() -> Lineage:
        # Only the first process after a change needs them: sqlglot parses all SQL in seconds.
        from warehouse.publish.models.column_lineage import lineage_of

        return lineage_of(read_project(compiled()), columns)

    return cached("lineage", json.dumps(columns), make)


def _of_models(tables: Iterable[Table]) -> Iterator[tuple[tuple[str, str, str], list[Source]]]:
    for model, columns in model_lineage(tables).items():
        schema, _, table = model.partition(".")
        for column, kinds in columns.items():
            sources = [] if VALUE in kinds else [NO_SOURCE]
            for kind, names in kinds.items():
                for name in names:
                    source_schema, source_table, *source_column = name.split(".", 2)
                    sources.append((source_schema, source_table, "".join(source_column) or None, kind))
            yield (schema, table, column), sources


def _of_raw(
    tables: Iterable[Table], endpoints: Mapping[str, str]
) -> Iterator[tuple[tuple[str, str, str], list[Source]]]:
    for table in tables:
        path = endpoints[table.name]
        for column in table.columns:
            fields = column.sent_as or (None,)
            yield ("raw", table.name, column.name), [(INTERFACE, path, name, VALUE) for name in fields]
        for column in (SCHOOL_ID, *BOOKKEEPING):
            sources: list[Source] = [(INTERFACE, path, None, VALUE)] if column.name == EXTRA else []
            yield ("raw", table.name, column.name), sources
