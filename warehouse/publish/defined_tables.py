"""The schemas `datasets` and `reports` of the published file: one table a dataset or report query, over all
schools.

The newest definition says which columns there are, and in which order; fields of other definitions follow,
then those of a dataset that no definition names any more. A field that had other types before is one column
where every old value is exactly one of the newest type; else the old values stand beside, in a column of
their own.
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
    """A table as it will be published: every field under its newest type, and what the lake holds of it.

    `snapshot` is None where nothing was ever loaded."""

    table: Table
    held: list[StoredColumn]
    snapshot: DeltaTable | None


def by_name(definitions: Iterable[Table]) -> list[list[Table]]:
    """The definitions of each table, in the order given. What DuckDB knows by one name is one table."""
    groups: dict[str, list[Table]] = {}
    for definition in definitions:
        groups.setdefault(folded(definition.name), []).append(definition)
    return list(groups.values())


def show(lake: Lake, definitions: Sequence[Table]) -> Shown:
    """What to publish of a table, as of now. `definitions`: all that there are of it, the newest first."""
    newest = definitions[0]
    snapshot = lake.open(newest) if lake.holds(newest) else None
    held = stored_columns(newest, snapshot) if snapshot else []
    columns: dict[str, Column] = {}
    for definition in definitions:
        for column in definition.columns:
            columns.setdefault(folded(column.name), column)
    defined = set(columns)
    # A snapshot has no values of what is defined no more.
    for each in [] if newest.is_snapshot else held:
        if folded(each.field) not in defined:
            comment = f"{each.column.comment} (no longer part of the dataset)".strip()
            columns[folded(each.field)] = replace(each.column, name=each.field, comment=comment)
    columns.pop(ROW_KEY.name, None)
    return Shown(replace(newest, columns=tuple(columns.values())), held, snapshot)


def fill(lake: Lake, shown: Shown, con: duckdb.DuckDBPyConnection) -> None:
    """Make the table in its schema."""
    table, placement = shown.table, place(shown.table, shown.held)
    sources = [each.column for each in (*shown.held, *placement.missing)]
    schema = pa.schema([pa.field(each.name, each.type) for each in (*sources, SCHOOL_ID, *BOOKKEEPING)])
    files = lake.files_of(table, shown.snapshot) if shown.snapshot else []
    view(con, "held", files, schema, hive=True)
    types = {name: type for name, type, *_ in con.execute("DESCRIBE held").fetchall()}
    selected: list[tuple[str, Column]] = []
    taken = {folded(column.name) for column in (*table.columns, SCHOOL_ID, *BOOKKEEPING)}
    for column in table.columns:
        before = [each.column for each in placement.superseded if folded(each.field) == folded(column.name)]
        own = replace(column, name=placement.names[column.name])
        fitting = [each for each in before if _fits(con, each, own, types)]
        selected.append((_newest(own.name, types[own.name], fitting), column))
        for each in before:
            if each not in fitting:
                name = typed_name(column.name, each.type, taken)
                taken.add(folded(name))
                comment = f"{column.name}, of rows from before its type changed"
                selected.append((quoted(each.name), Column(name, each.type, comment)))
    selected += [(quoted(column.name), column) for column in (SCHOOL_ID, *BOOKKEEPING)]
    expressions = ", ".join(f"{value} AS {quoted(column.name)}" for value, column in selected)
    create_table(
        con,
        relation(table.name),
        f"SELECT * REPLACE (CAST({EXTRA} AS JSON) AS {EXTRA}) FROM (SELECT {expressions} FROM held)",
        table.comment,
        comments(column for _, column in selected),
    )


def _newest(own: str, type: str, older: Sequence[Column]) -> str:
    """A field's value, which is in one of its columns."""
    casts = (f"CAST({quoted(each.name)} AS {type})" for each in older)
    return f"coalesce({', '.join([quoted(own), *casts])})" if older else quoted(own)


def _fits(con: duckdb.DuckDBPyConnection, older: Column, newest: Column, types: Mapping[str, str]) -> bool:
    """Whether every value of an older column is exactly one of the newest type: the same, there and back."""
    nested = any(pa.types.is_nested(column.type) for column in (older, newest))
    if nested and not widens(older.type, newest.type):
        return False
    value = quoted(older.name)
    back = f"TRY_CAST(TRY_CAST({value} AS {types[newest.name]}) AS {types[older.name]})"
    [(lost,)] = con.execute(f"SELECT count(*) FROM held WHERE {back} IS DISTINCT FROM {value}").fetchall()
    return bool(lost == 0)
