"""Applies retention terms to personal columns of deleted people, and to past versions of rows and levels.
Both terms are off by default."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from warehouse.forgetting.columns import is_defined
from warehouse.forgetting.scrub import rules_of
from warehouse.forgetting.surgery import METADATA, batches_of, slices_of, with_stored_schema
from warehouse.lake.delta import Lake, stored_schema, until_committed
from warehouse.lake.logs.tables import CHANGES, PAST_ROWS, PUBLISHED_LEVELS, Log
from warehouse.lake.tables import DELETED_AT, TRASHED, TRASHED_AT, Slice, Table, file_schema
from warehouse.load.delta_commit import replace
from warehouse.load.history.change_log import record_all_changes


def personal_columns(table: Table, schema: pa.Schema) -> frozenset[str]:
    """The columns that an expired tombstone loses: the personal columns and `_extra`, without key columns,
    which identify the row."""
    rules = rules_of(table, schema)
    return rules.personal.difference(rules.keys)


def expire_tombstones(
    lake: Lake, tables: Iterable[Table], term: timedelta, now: datetime, scratch: Path
) -> int:
    """Set the personal columns of rows deleted longer ago than `term` to null; returns the number of rows.

    If no row is due, nothing is written. `now`: the platform's wall clock."""
    until = now - term
    changed = 0
    for table in tables:
        if table.is_snapshot or not lake.holds(table):
            continue
        slices = slices_of(lake, table)
        if table.tracks_changes:
            # Changes that are not logged yet are found by comparing files, so they are logged first.
            record_all_changes(lake, table, slices, scratch)
        columns = personal_columns(table, stored_schema(lake.open(table)))
        for slice in slices:
            changed += until_committed(partial(_expire_slice, lake, table, slice, columns, until))
    return changed


def without_expired(
    table: Table, term: timedelta, now: datetime
) -> Callable[[pa.RecordBatch], pa.RecordBatch] | None:
    """A function that removes personal columns from loaded rows that were deleted longer ago than `term`.

    Without it, the platform would bring them back each night. A deleted row without a time counts as deleted
    long ago. None: the platform shows no deleted rows of this table."""
    if not table.shows_deleted or is_defined(table.name):
        return None
    columns, until = personal_columns(table, table.staging_schema), now - term

    def rewrite(batch: pa.RecordBatch) -> pa.RecordBatch:
        pairs = zip(_values(batch, TRASHED), _values(batch, TRASHED_AT), strict=True)
        return _nulled(batch, columns, [bool(gone) and (at is None or at < until) for gone, at in pairs])

    return rewrite


def expire_history(lake: Lake, term: timedelta, now: datetime) -> int:
    """Delete past rows, logged changes and published levels that are older than `term`; returns the number of
    rows.

    A mark records until when the past is unknown. `now`: the platform's wall clock."""
    until = now - term
    gone = 0
    for log, moment in ((PAST_ROWS, "known_to"), (CHANGES, "seen_at"), (PUBLISHED_LEVELS, "published_at")):
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
        replace(lake, with_stored_schema(table, table_state.schema), slice, table_state, rows, {}, METADATA)
    return changed


def _expire_log(lake: Lake, log: Log, slice: Slice, moment: str, until: datetime) -> int:
    table_state = lake.table_state(log)
    schema = file_schema(log)
    files = table_state.files(slice)
    last = _last_levels(batches_of(lake.readable(log, files), schema)) if log is PUBLISHED_LEVELS else {}
    gone = 0

    def left() -> Iterator[pa.RecordBatch]:
        nonlocal gone
        gone = 0
        for batch in batches_of(lake.readable(log, files), schema):
            is_old = [
                at is not None and at < until and not stays
                for at, stays in zip(_values(batch, moment), _stay(log, batch, last), strict=True)
            ]
            gone += sum(is_old)
            yield batch.filter(pa.array([not old for old in is_old], pa.bool_()))
        if log is PAST_ROWS and gone:
            # The mark: before this time, the past is unknown.
            mark = {**dict.fromkeys(schema.names), "known_from": until}
            yield pa.RecordBatch.from_pylist([mark], schema=schema)

    for _ in left():
        pass
    if gone:
        replace(lake, log, slice, table_state, left(), {}, METADATA)
    return gone


def _stay(log: Log, batch: pa.RecordBatch, last: Mapping[tuple[int, int], datetime]) -> list[bool]:
    """Whether rows of a log stay whatever their age. `last`: of `_last_levels`."""
    if log is CHANGES:
        # The first load of a slice names nobody, and the models need it as the start of history.
        return [op == "loaded" for op in _values(batch, "op")]
    if log is PUBLISHED_LEVELS:
        # Without the last row, the next publication would call the level new.
        return [last[key] == at for key, at in _dated_levels(batch)]
    return [False] * batch.num_rows


def _last_levels(batches: Iterable[pa.RecordBatch]) -> dict[tuple[int, int], datetime]:
    """The time of the last published level by semester and student."""
    last: dict[tuple[int, int], datetime] = {}
    for batch in batches:
        for key, at in _dated_levels(batch):
            last[key] = max(at, last.get(key, at))
    return last


def _dated_levels(batch: pa.RecordBatch) -> Iterator[tuple[tuple[int, int], datetime]]:
    names = ("semester_id", "student_id", "published_at")
    for semester, student, at in zip(*(_values(batch, name) for name in names), strict=True):
        yield (semester, student), at


def _nulled(batch: pa.RecordBatch, columns: frozenset[str], due: Sequence[bool]) -> pa.RecordBatch:
    """The batch with some columns set to null in the rows that are due."""
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
    """The number of rows that differ."""
    if before is after:
        return 0
    return sum(a != b for a, b in zip(before.to_pylist(), after.to_pylist(), strict=True))


def _values(batch: pa.RecordBatch, name: str) -> list[Any]:
    return batch.column(batch.schema.names.index(name)).to_pylist()
