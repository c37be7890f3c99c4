"""Applies the terms of retention: personal columns of people whom the platform deleted, and the past of rows.
Both are off by default."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from warehouse.forgetting.columns import is_defined
from warehouse.forgetting.scrub import rules_of
from warehouse.forgetting.surgery import METADATA, batches_of, held_as, slices_of
from warehouse.lake.delta import Lake, held_schema, until_committed
from warehouse.lake.log_tables import CHANGES, PAST_ROWS, Log
from warehouse.lake.tables import DELETED_AT, TRASHED, TRASHED_AT, Slice, Table, file_schema
from warehouse.load.change_log import record_all_changes
from warehouse.load.delta_commit import replace


def personal_columns(table: Table, schema: pa.Schema) -> frozenset[str]:
    """What a tombstone loses: the columns that tell about one person, and `_extra`. Keys stay, since a row
    is known by them."""
    rules = rules_of(table, schema)
    return rules.personal.difference(rules.keys)


def expire_tombstones(
    lake: Lake, tables: Iterable[Table], term: timedelta, now: datetime, scratch: Path
) -> int:
    """Null the personal columns of rows that were deleted longer ago than `term`. Rows changed; where
    nothing is due nothing is written. now: the platform's wall clock."""
    until = now - term
    changed = 0
    for table in tables:
        if table.is_snapshot or not lake.holds(table):
            continue
        slices = slices_of(lake, table)
        if table.tracks_changes:
            # A change that is not logged yet is found by comparing files.
            record_all_changes(lake, table, slices, scratch)
        columns = personal_columns(table, held_schema(lake.open(table)))
        for slice in slices:
            changed += until_committed(partial(_expire_slice, lake, table, slice, columns, until))
    return changed


def without_expired(
    table: Table, term: timedelta, now: datetime
) -> Callable[[pa.RecordBatch], pa.RecordBatch] | None:
    """What takes personal columns from rows on their way in that the platform shows as deleted for longer
    than `term`: it would send them again each night. A row without the time of its deletion counts as
    deleted long ago. None: the platform shows no deleted rows of this table."""
    if not table.shows_deleted or is_defined(table.name):
        return None
    columns, until = personal_columns(table, table.staging_schema), now - term

    def rewrite(batch: pa.RecordBatch) -> pa.RecordBatch:
        pairs = zip(_values(batch, TRASHED), _values(batch, TRASHED_AT), strict=True)
        return _nulled(batch, columns, [bool(gone) and (at is None or at < until) for gone, at in pairs])

    return rewrite


def expire_history(lake: Lake, term: timedelta, now: datetime) -> int:
    """Delete past rows and logged changes that are older than `term`; since when the past of a table is
    known moves with them. Rows that are gone. now: the platform's wall clock."""
    until = now - term
    gone = 0
    for log, moment in ((PAST_ROWS, "known_to"), (CHANGES, "seen_at")):
        if lake.holds(log):
            for slice in slices_of(lake, log):
                gone += until_committed(partial(_expire_log, lake, log, slice, moment, until))
    return gone


def _expire_slice(lake: Lake, table: Table, slice: Slice, columns: frozenset[str], until: datetime) -> int:
    table_state = lake.table_state(table)
    files = lake.readable(table, table_state.files(slice))
    schema = pa.schema([field for field in table_state.schema if field.name not in table.slice_columns])

    def expired(batch: pa.RecordBatch) -> pa.RecordBatch:
        return _nulled(batch, columns, [at is not None and at < until for at in _values(batch, DELETED_AT)])

    changed = sum(_differing(batch, expired(batch)) for batch in batches_of(files, schema))
    if changed:
        rows = map(expired, batches_of(files, schema))
        replace(lake, held_as(table, table_state.schema), slice, table_state, rows, {}, METADATA)
    return changed


def _expire_log(lake: Lake, log: Log, slice: Slice, moment: str, until: datetime) -> int:
    table_state = lake.table_state(log)
    schema = file_schema(log)
    # That a slice was loaded for the first time says nothing of anybody, and the models begin there.
    stays = {"loaded"} if log is CHANGES else set()
    gone = 0

    def left() -> Iterator[pa.RecordBatch]:
        nonlocal gone
        gone = 0
        for batch in batches_of(lake.readable(log, table_state.files(slice)), schema):
            ops = _values(batch, "op") if log is CHANGES else [None] * batch.num_rows
            is_old = [
                at is not None and at < until and op not in stays
                for at, op in zip(_values(batch, moment), ops, strict=True)
            ]
            gone += sum(is_old)
            yield batch.filter(pa.array([not old for old in is_old], pa.bool_()))
        if log is PAST_ROWS and gone:
            # A mark: before it, the past is not known any more.
            mark = {**dict.fromkeys(schema.names), "known_from": until}
            yield pa.RecordBatch.from_pylist([mark], schema=schema)

    for _ in left():
        pass
    if gone:
        replace(lake, log, slice, table_state, left(), {}, METADATA)
    return gone


def _nulled(batch: pa.RecordBatch, columns: frozenset[str], due: Sequence[bool]) -> pa.RecordBatch:
    """A batch whose rows have lost some columns where they are due."""
    if not any(due):
        return batch
    arrays = []
    for position, field in enumerate(batch.schema):
        column = batch.column(position)
        if field.name in columns:
            values = [None if gone else value for gone, value in zip(due, column.to_pylist(), strict=True)]
            column = pa.array(values, field.type)
        arrays.append(column)
    return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)


def _differing(before: pa.RecordBatch, after: pa.RecordBatch) -> int:
    """How many rows are others than before."""
    if before is after:
        return 0
    return sum(a != b for a, b in zip(before.to_pylist(), after.to_pylist(), strict=True))


def _values(batch: pa.RecordBatch, name: str) -> list[Any]:
    return batch.column(batch.schema.names.index(name)).to_pylist()
