"""The change log: every change of scores and grades, appended and never rewritten.

A data commit records its version N of the slice and the version of the Delta table that it replaced. Then
`record_changes` compares the two versions and appends the difference together with "logged up to N", in one
commit. After a crash in between, the next `record_changes` logs the difference; the slice gets no further
commit before. Two processes that log the same commit conflict. So every change is logged once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from warehouse.identifiers import listed, literal, quoted
from warehouse.lake.delta import Lake, relative_files, until_committed
from warehouse.lake.logs.tables import CHANGES
from warehouse.lake.parquet import read_files
from warehouse.lake.sql import BATCH_ROWS, key_ranges, pooled, view
from warehouse.lake.table_state import TableState
from warehouse.lake.tables import SYNCED_AT, TIMESTAMP, Slice, Table, file_schema
from warehouse.load.delta_commit import append


def base_of(slice: Slice) -> str:
    """Name of the transaction that holds the Delta version which the slice's last commit replaced."""
    return f"{slice.counter}@base"


@dataclass(frozen=True)
class Replacement:
    """A slice's files (below the table) before and after its commit of this `version` (its own count)."""

    version: int
    before: Sequence[str]
    after: Sequence[str]


def is_logged(lake: Lake, table: Table, slice: Slice, version: int) -> bool:
    """Whether all commits of the slice up to this `version` (the slice's own count) are logged."""
    return not version or version == lake.table_state(CHANGES).transactions.get(_name(table, slice))


def record_all_changes(lake: Lake, table: Table, slices: Iterable[Slice], scratch: Path) -> None:
    """Log the last commit of each slice that is not logged."""
    logged, committed = lake.table_state(CHANGES).transactions, lake.table_state(table).transactions
    for slice in slices:
        if committed.get(slice.counter) != logged.get(_name(table, slice)):
            record_changes(lake, table, slice, scratch)


def record_changes(
    lake: Lake, table: Table, slice: Slice, scratch: Path, replacement: Replacement | None = None
) -> TableState:
    """Log the slice's last commit unless it is logged.

    Args:
        replacement: The files of the last commit. Without them the previous version of the table is opened,
            which reads the names of all of its files.

    Returns:
        The table at that commit. A commit on it fails if another, unlogged one came in between.
    """
    return until_committed(partial(_record_changes, lake, table, slice, scratch, replacement))


def _record_changes(
    lake: Lake, table: Table, slice: Slice, scratch: Path, replacement: Replacement | None
) -> TableState:
    # The log first: then a commit that another process makes and logs meanwhile is a conflict.
    log, data, name = lake.table_state(CHANGES), lake.table_state(table), _name(table, slice)
    version, logged = data.transactions.get(slice.counter), log.transactions.get(name)
    if version is None or version == logged:
        return data
    part = Slice.of(resource=table.name, _school_id=slice.school_id)
    if replacement is None or replacement.version != version:
        before = lake.open(table, data.transactions.get(base_of(slice)))
        replacement = Replacement(version, relative_files(before, slice), data.files(slice))
    files = {"o": lake.readable(table, replacement.before), "n": lake.readable(table, replacement.after)}
    place = {"slice": str(slice), "slice_version": version}
    rows = _differences(table, files, place, scratch) if replacement.before else _baseline(files["n"], place)
    append(lake, CHANGES, part, log, rows, {name: version}, {})
    return data


def _name(table: Table, slice: Slice) -> str:
    """Name of the log's transaction that holds the slice's last logged commit."""
    return f"{table.name}/{slice.counter}"


def _differences(
    table: Table, files: Mapping[str, Sequence[str]], place: Mapping[str, Any], scratch: Path
) -> Iterator[pa.RecordBatch]:
    with pooled(scratch) as con:
        for alias, paths in files.items():
            view(con, alias, paths, table.lake_schema)
        for within, bounds in key_ranges(con, files, table.primary_key[0]):
            differences = con.sql(_difference(table, within), params={**bounds, **place})
            yield from differences.to_arrow_reader(BATCH_ROWS)


def _baseline(files: Sequence[str], place: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    """One row for a first load, which changes no row."""
    stamps = read_files(files, pa.schema([(SYNCED_AT, TIMESTAMP)]), (), [SYNCED_AT])
    seen_at: Any = pc.max(stamps[SYNCED_AT])
    row = {**place, "op": "loaded", "seen_at": seen_at.as_py()}
    yield pa.RecordBatch.from_pylist([row], schema=file_schema(CHANGES))


def _difference(table: Table, within: str) -> str:
    """Changes from old (o) to new (n) rows: one for the row itself, and one for each field that differs."""
    fields = [field for field in table.row_schema if field.name not in table.ignored_changes]
    pairs = ",\n".join(
        f"{{field: {literal(field.name)}, before: {as_text(field, 'o')}, after: {as_text(field, 'n')}}}"
        for field in fields
    )
    names = [quoted(field.name) for field in fields]
    differs = " OR ".join(f"n.{name} IS DISTINCT FROM o.{name}" for name in names)
    matched = " AND ".join(f"n.{quoted(key)} = o.{quoted(key)}" for key in table.primary_key)
    version = "$slice_version::BIGINT AS slice_version"
    return f"""
        WITH paired AS (
            SELECT
                {key_text(table, "n")} AS key,
                CASE
                    WHEN o._synced_at IS NULL THEN 'created'
                    WHEN o._deleted_at IS NULL AND n._deleted_at IS NOT NULL THEN 'deleted'
                    WHEN o._deleted_at IS NOT NULL AND n._deleted_at IS NULL THEN 'returned'
                END AS op,
                n._synced_at AS seen_at,
                [{pairs}] AS fields
            FROM (FROM n WHERE {within}) AS n
            LEFT JOIN (FROM o WHERE {within}) AS o ON {matched}
            WHERE op IS NOT NULL OR {differs}
        ),
        values AS (
            SELECT key, seen_at, unnest(fields) AS value FROM paired WHERE op IS DISTINCT FROM 'created'
        )
        SELECT $slice AS slice, key, op, NULL AS field, NULL AS before, NULL AS after, seen_at, {version}
        FROM paired
        WHERE op IS NOT NULL
        UNION ALL
        SELECT $slice, key, 'updated', value.field, value.before, value.after, seen_at, {version}
        FROM values
        WHERE value.before IS DISTINCT FROM value.after
    """


def key_text(table: Table, alias: str) -> str:
    """The primary key as text: the id itself, or a JSON array."""
    if len(table.primary_key) == 1:
        return f"CAST({alias}.{quoted(table.primary_key[0])} AS VARCHAR)"
    return f"CAST(json_array({listed(table.primary_key, alias + '.')}) AS VARCHAR)"


def as_text(field: pa.Field[pa.DataType], alias: str) -> str:
    """A value as people write it: decimals without trailing zeros, lists and objects as JSON."""
    value = f"{alias}.{quoted(field.name)}"
    if pa.types.is_decimal(field.type):
        return f"rtrim(rtrim(CAST({value} AS VARCHAR), '0'), '.')"
    if pa.types.is_nested(field.type):
        return f"CAST(to_json({value}) AS VARCHAR)"
    return f"CAST({value} AS VARCHAR)"
