"""The change log: what a sync found different in scores and grades, appended and never rewritten.

It follows the data by one step. A data commit says which version of the slice it makes (N) and which version
of the Delta table it replaced; `record_changes` compares the two and appends the difference together with
"logged up to N", in one commit. A crash between data and log is made up for by the next `record_changes`,
without which no further commit of the slice is made; two that race conflict. So every change is logged once.
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
from warehouse.lake.log_tables import CHANGES
from warehouse.lake.parquet import read_files
from warehouse.lake.sql import BATCH_ROWS, key_ranges, pooled, view
from warehouse.lake.tables import SYNCED_AT, TIMESTAMP, Slice, Table, file_schema
from warehouse.lake.tip import Tip
from warehouse.load.delta_commit import append


def base_of(slice: Slice) -> str:
    """Name of the transaction that says which Delta version the slice's last commit replaced."""
    return f"{slice.counter}@base"


@dataclass(frozen=True)
class Replacement:
    """A slice's files (below the table) before and after its commit of this `version` (its own count)."""

    version: int
    before: Sequence[str]
    after: Sequence[str]


def is_logged(lake: Lake, table: Table, slice: Slice, version: int) -> bool:
    """Whether the log has all up to the slice's commit of this `version` (its own count)."""
    return not version or version == lake.tip(CHANGES).transactions.get(_name(table, slice))


def record_all_changes(lake: Lake, table: Table, slices: Iterable[Slice], scratch: Path) -> None:
    """`record_changes` of each slice whose last commit is not logged."""
    logged, made = lake.tip(CHANGES).transactions, lake.tip(table).transactions
    for slice in slices:
        if made.get(slice.counter) != logged.get(_name(table, slice)):
            record_changes(lake, table, slice, scratch)


def record_changes(
    lake: Lake, table: Table, slice: Slice, scratch: Path, made: Replacement | None = None
) -> Tip:
    """Log the slice's last commit unless that is done. Cheap where nothing is due.

    `made`: what is known of a commit. Of another one the table is opened as it was before, which reads the
    names of all of its files. Returns the table at that commit: a commit made on it fails if another,
    unlogged one came between.
    """
    return until_committed(partial(_record_changes, lake, table, slice, scratch, made))


def _record_changes(lake: Lake, table: Table, slice: Slice, scratch: Path, made: Replacement | None) -> Tip:
    # The log first: a commit that another process makes and logs meanwhile is a conflict then, not news.
    log, data, name = lake.tip(CHANGES), lake.tip(table), _name(table, slice)
    version, logged = data.transactions.get(slice.counter), log.transactions.get(name)
    if version is None or version == logged:
        return data
    part = Slice.of(resource=table.name, _school_id=slice.school_id)
    if made is None or made.version != version:
        before = lake.open(table, data.transactions.get(base_of(slice)))
        made = Replacement(version, relative_files(before, slice), data.files(slice))
    files = {"o": lake.readable(table, made.before), "n": lake.readable(table, made.after)}
    rows = _differences(table, files, scratch) if made.before else _baseline(files["n"])
    append(lake, CHANGES, part, log, _stamped(rows, slice, version), {name: version}, {})
    return data


def _name(table: Table, slice: Slice) -> str:
    """Name of the log's transaction that says up to which of the slice's commits it goes."""
    return f"{table.name}/{slice.counter}"


def _differences(table: Table, files: Mapping[str, Sequence[str]], scratch: Path) -> Iterator[pa.RecordBatch]:
    with pooled(scratch) as con:
        for alias, of_one in files.items():
            view(con, alias, of_one, table.lake_schema)
        for within, bounds in key_ranges(con, files, table.primary_key[0]):
            yield from con.sql(_difference(table, within), params=bounds).to_arrow_reader(BATCH_ROWS)


def _baseline(files: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """What is logged of a slice's first rows: that they were loaded, which is no news of any of them."""
    stamps = read_files(files, pa.schema([(SYNCED_AT, TIMESTAMP)]), (), [SYNCED_AT])
    seen_at: Any = pc.max(stamps[SYNCED_AT])
    row = {"op": "loaded", "seen_at": seen_at.as_py()}
    yield pa.RecordBatch.from_pylist([row], schema=file_schema(CHANGES))


def _stamped(rows: Iterable[pa.RecordBatch], slice: Slice, version: int) -> Iterator[pa.RecordBatch]:
    schema = file_schema(CHANGES)
    for batch in rows:
        columns = {name: batch.column(name) for name in batch.schema.names}
        columns["slice"] = pa.repeat(str(slice), batch.num_rows)
        columns["slice_version"] = pa.repeat(pa.scalar(version, pa.int64()), batch.num_rows)
        yield pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)


def _difference(table: Table, within: str) -> str:
    """Changes from o to n: one for the row itself, and one for each of its fields that differs."""
    fields = [field for field in table.row_schema if field.name not in table.ignored_changes]
    pairs = ",\n".join(
        f"{{field: {literal(field.name)}, before: {as_text(field, 'o')}, after: {as_text(field, 'n')}}}"
        for field in fields
    )
    names = [quoted(field.name) for field in fields]
    differs = " OR ".join(f"n.{name} IS DISTINCT FROM o.{name}" for name in names)
    matched = " AND ".join(f"n.{quoted(key)} = o.{quoted(key)}" for key in table.primary_key)
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
        SELECT key, op, NULL AS field, NULL AS before, NULL AS after, seen_at FROM paired WHERE op IS NOT NULL
        UNION ALL
        SELECT key, 'updated', value.field, value.before, value.after, seen_at
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
