"""The schemas `datasets` and `reports` of the published file: a table per dataset or report query, over all
schools.

Columns come in this order: the newest definition's, those of older definitions, then a dataset's fields that
no definition names any more. Where a field's type has changed, old values are cast to the newest type if that
loses nothing; otherwise they get a column of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import duckdb
import pyarrow as pa
from deltalake import DeltaTable

from warehouse.identifiers import folded, quoted, relation
from warehouse.lake.delta import Lake
from warehouse.lake.sql import create_table, view
from warehouse.lake.tables import BOOKKEEPING, EXTRA, ROW_KEY, SCHOOL_ID, Column, Table, comments
from warehouse.load.schema_evolution import StoredColumn, place, stored_columns, typed_name, widens


@dataclass(frozen=True)
class Shown:
    """A table as it will be published, and its state in the lake."""

    #: Every field under its newest type.
    table: Table
    #: The columns in the lake.
    stored: list[StoredColumn]
    #: None: nothing was ever loaded.
    snapshot: DeltaTable | None


def by_name(definitions: Iterable[Table]) -> list[list[Table]]:
    """Group definitions by table, in the order given; names that are equal to DuckDB are the same table."""
    groups: dict[str, list[Table]] = {}
    for definition in definitions:
        groups.setdefault(folded(definition.name), []).append(definition)
    return list(groups.values())


def show(lake: Lake, definitions: Sequence[Table]) -> Shown:
    """The table to publish, as of now. `definitions`: all definitions of the table, the newest first."""
    newest = definitions[0]
    snapshot = lake.open(newest) if lake.holds(newest) else None
    stored = stored_columns(newest, snapshot) if snapshot else []
    columns: dict[str, Column] = {}
    for definition in definitions:
        for column in definition.columns:
            columns.setdefault(folded(column.name), column)
    defined = set(columns)
    # A snapshot has no values of fields that are no longer defined.
    for old in [] if newest.is_snapshot else stored:
        if folded(old.field) not in defined:
            comment = f"{old.column.comment} (no longer part of the dataset)".strip()
            columns[folded(old.field)] = replace(old.column, name=old.field, comment=comment)
    columns.pop(ROW_KEY.name, None)
    return Shown(replace(newest, columns=tuple(columns.values())), stored, snapshot)


def fill(lake: Lake, shown: Shown, con: duckdb.DuckDBPyConnection) -> None:
    """Make the table in its schema."""
    table, placement = shown.table, place(shown.table, shown.stored)
    sources = [stored.column for stored in (*shown.stored, *placement.missing)]
    schema = pa.schema([pa.field(column.name, column.type) for column in (*sources, SCHOOL_ID, *BOOKKEEPING)])
    files = lake.files_of(table, shown.snapshot) if shown.snapshot else []
    view(con, "stored", files, schema, hive=True)
    types = {name: type for name, type, *_ in con.execute("DESCRIBE stored").fetchall()}
    selected: list[tuple[str, Column]] = []
    taken = {folded(column.name) for column in (*table.columns, SCHOOL_ID, *BOOKKEEPING)}
    for column in table.columns:
        superseded = [old.column for old in placement.superseded if folded(old.field) == folded(column.name)]
        own = replace(column, name=placement.names[column.name])
        fitting = [old for old in superseded if _fits(con, old, own, types)]
        selected.append((_newest(own.name, types[own.name], fitting), column))
        for old in superseded:
            if old not in fitting:
                name = typed_name(column.name, old.type, taken)
                taken.add(folded(name))
                comment = f"{column.name}, of rows from before its type changed"
                selected.append((quoted(old.name), Column(name, old.type, comment)))
    selected += [(quoted(column.name), column) for column in (SCHOOL_ID, *BOOKKEEPING)]
    expressions = ", ".join(f"{value} AS {quoted(column.name)}" for value, column in selected)
    create_table(
        con,
        relation(table.name),
        f"SELECT * REPLACE (CAST({EXTRA} AS JSON) AS {EXTRA}) FROM (SELECT {expressions} FROM stored)",
        table.comment,
        comments(column for _, column in selected),
    )


def _newest(own: str, type: str, older: Sequence[Column]) -> str:
    """SQL for a field's value, which is in one of its columns."""
    casts = (f"CAST({quoted(column.name)} AS {type})" for column in older)
    return f"coalesce({', '.join([quoted(own), *casts])})" if older else quoted(own)


def _fits(con: duckdb.DuckDBPyConnection, older: Column, newest: Column, types: Mapping[str, str]) -> bool:
    """Whether a cast to the newest type and back preserves every value of an older column."""
    nested = any(pa.types.is_nested(column.type) for column in (older, newest))
    if nested and not widens(older.type, newest.type):
        return False
    value = quoted(older.name)
    back = f"TRY_CAST(TRY_CAST({value} AS {types[newest.name]}) AS {types[older.name]})"
    [(lost,)] = con.execute(f"SELECT count(*) FROM stored WHERE {back} IS DISTINCT FROM {value}").fetchall()
    return bool(lost == 0)
