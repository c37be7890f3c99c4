"""Merges the reading of a slice with the stored rows, in DuckDB.

Compares rows by their keys. The change of each row:

    new        not in the lake before (also if the platform already shows it as deleted)
    changed    in the lake, and any field or `_extra` differs, or a tombstone has another time of deletion
    filled     in the lake and the same, but for the first value of a column that not every reading requests
    unchanged  in the lake and the same; keeps its `_synced_at`
    returned   a tombstone that is alive again
    deleted    was alive, and the platform shows it as deleted
    vanished   was alive, and a complete reading lacks it: a tombstone from now on
    carried    was alive, and the reading lacks it but proves nothing: stays as it was
    untouched  a tombstone that the reading lacks, or a row that was not requested: stays as it was
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from warehouse.identifiers import listed, quoted
from warehouse.lake.parquet import GroupedWriter
from warehouse.lake.sql import BATCH_ROWS, key_ranges, show_files, view
from warehouse.lake.tables import DELETED_AT, SYNCED_AT, TRASHED, TRASHED_AT, Table, file_schema
from warehouse.load.slice_reading import SliceReading

#: Changes of rows that the reading holds, and those for which the slice is written.
IN_READING = ("new", "changed", "unchanged", "returned", "deleted")
MODIFYING = ("new", "changed", "returned", "deleted", "vanished")
#: A change of a row for which the slice is written, too. The logs count it as unchanged.
FILLED = "filled"
UPDATED_AT = "updated_at"


@dataclass(frozen=True)
class RowCounts:
    """The numbers of rows by change."""

    new: int = 0
    changed: int = 0
    filled: int = 0
    unchanged: int = 0
    returned: int = 0
    deleted: int = 0
    vanished: int = 0
    carried: int = 0
    untouched: int = 0
    #: Rows that are left out: beside a better one of the same key, or sent again by the platform.
    duplicates: int = 0
    #: Rows alive in the slice before and after.
    were_alive: int = 0
    are_alive: int = 0

    @property
    def loaded(self) -> int:
        return self.new + self.changed + self.filled + self.unchanged + self.returned + self.deleted

    @property
    def modified(self) -> int:
        """Rows that the commit would write differently; 0: there is nothing to commit."""
        return self.new + self.changed + self.filled + self.returned + self.deleted + self.vanished


def merge(
    con: duckdb.DuckDBPyConnection, table: Table, previous: Sequence[str], reading: SliceReading, target: Path
) -> RowCounts:
    """Write the merged slice to `target`, with the schema of the lake's files, sorted by its keys.

    `previous`: the paths of the slice's files in the lake."""
    _show_reading(con, reading)
    duplicates = _duplicates(con, table, reading)
    best = partial(_best, table, distinct=not duplicates)
    values: dict[str, Any] = {}
    views: dict[str, Sequence[str]] = {"reading": [str(reading.staged.path)]}
    changes = partial(_first_changes, table, best)
    if previous or table.retired:
        view(con, "previous", previous, file_schema(table))
        views["previous"] = previous
        _spare(con, table, reading)
        values["started_at"] = reading.cause.started_at
        values["complete"] = reading.account.complete and not _has_hole(reading)
        if reading.requested_since:
            values["first"] = reading.requested_since.first
        changes = partial(_changes, table, reading, best, _mates(con, table))
    schema, counts = file_schema(table), Counter[str](duplicates=duplicates)
    with GroupedWriter(str(target), schema, table.primary_key) as writer:
        for within, bounds in key_ranges(con, views, table.primary_key[0]):
            for batch in con.sql(changes(within), params=values | bounds).to_arrow_reader(BATCH_ROWS):
                counts.update(_count(batch))
                writer.write(batch.select(schema.names).cast(schema))
    return RowCounts(**counts)


def count_all(reading: SliceReading, change: str) -> RowCounts:
    """The counts of a reading of distinct keys whose rows all change alike: `new` or `unchanged`."""
    alive = reading.staged.alive
    return RowCounts(
        **{change: reading.staged.rows},
        were_alive=alive if change == "unchanged" else 0,
        are_alive=alive,
    )


def _has_hole(reading: SliceReading) -> bool:
    """Whether a row came without a readable key. That row may be any of the missing rows."""
    return any(bad.key is None for bad in reading.account.bad)


def _show_reading(con: duckdb.DuckDBPyConnection, reading: SliceReading) -> None:
    """Show the staged rows as a view. A deletion at the very start of the sync is one without a time."""
    trashed = f"{DELETED_AT} IS NOT NULL AS {TRASHED}, nullif({DELETED_AT}, {SYNCED_AT}) AS {TRASHED_AT}"
    show_files(con, "reading", [str(reading.staged.path)], f"*, {trashed}")


def _spare(con: duckdb.DuckDBPyConnection, table: Table, reading: SliceReading) -> None:
    """Register the keys and values that decide whether a missing row may vanish."""
    keys = {bad.key for bad in reading.account.bad if bad.key is not None}
    schema = pa.schema([table.row_schema.field(name) for name in table.primary_key])
    rows = [dict(zip(table.primary_key, key, strict=True)) for key in keys]
    con.register("spared_keys", pa.Table.from_pylist(rows, schema=schema))
    for number, keep in enumerate(reading.retained):
        type = table.row_schema.field(keep.column).type
        con.register(f"spared_values_{number}", pa.table({"value": pa.array(keep.values, type)}))
    if reading.requested:
        type = table.row_schema.field(reading.requested.column).type
        con.register("requested_values", pa.table({"value": pa.array(reading.requested.values, type)}))


def _mates(con: duckdb.DuckDBPyConnection, table: Table) -> str:
    """SQL that is true for the previous rows that a reading is compared with: one of each key.

    Several rows share a key only where the table once had another key: they are tombstones."""
    keys = listed(table.primary_key)
    [(shared,)] = con.execute(f"""
        SELECT EXISTS (
            SELECT 1
            FROM previous
            SEMI JOIN (SELECT {keys} FROM previous WHERE {DELETED_AT} IS NOT NULL) AS gone USING ({keys})
            GROUP BY {keys}
            HAVING count(*) > 1
        )
    """).fetchall()
    return (
        f"row_number() OVER (PARTITION BY {keys} ORDER BY {DELETED_AT} DESC NULLS FIRST) = 1"
        if shared
        else "true"
    )


def _duplicates(con: duckdb.DuckDBPyConnection, table: Table, reading: SliceReading) -> int:
    """How many rows of the reading stand beside a better one of the same key."""
    if reading.staged.ascends:
        return 0
    keys = listed(table.primary_key)
    [(distinct,)] = con.execute(f"SELECT count(*) FROM (SELECT DISTINCT {keys} FROM reading)").fetchall()
    return reading.staged.rows - int(distinct)


def _is_dated(table: Table) -> bool:
    """Whether rows have the time of their last update. A dataset may use the name for something else."""
    schema = table.row_schema
    return UPDATED_AT in schema.names and pa.types.is_timestamp(schema.field(UPDATED_AT).type)


def _updated(table: Table) -> str:
    return UPDATED_AT if _is_dated(table) else "NULL::TIMESTAMP"


def _rank(table: Table) -> str:
    """Ranks rows of one key: alive before deleted, then the latest update, then the last received."""
    return f"row(NOT {TRASHED}, coalesce({_updated(table)}, '-infinity'::TIMESTAMP), file_row_number)"


def _best(table: Table, within: str, *, distinct: bool) -> str:
    """The best row of each key `within` a range. `distinct`: each key comes once."""
    if distinct:
        return f"FROM reading WHERE {within}"
    return f"""
        FROM reading
        SEMI JOIN (
            SELECT arg_max(file_row_number, {_rank(table)}) AS file_row_number
            FROM reading
            WHERE {within}
            GROUP BY {listed(table.primary_key)}
        ) AS best USING (file_row_number)
        WHERE {within}
    """


def _first_changes(table: Table, best: Callable[[str], str], within: str) -> str:
    """As `_changes`, where the slice holds nothing."""
    return f"""
        SELECT {listed(file_schema(table).names)}, 'new' AS _change, false AS _was_alive
        {best(within)}
        ORDER BY {listed(table.primary_key)}
    """


def _changes(table: Table, reading: SliceReading, best: Callable[[str], str], mates: str, within: str) -> str:
    """Joins new rows (n) and old rows (o) by their keys `within` a range, in the order of the keys.

    A tombstone keeps its time unless the platform gives another. A row that changes gets the start of the
    sync as its stamp. A later stamp stays: a sync that began later ended before this one.
    """
    keys = listed(table.primary_key)
    columns = [quoted(name) for name in table.row_schema.names]
    chosen = ",\n".join(
        [
            *(f"CASE WHEN n._seen THEN n.{c} ELSE o.{c} END AS {c}" for c in columns),
            *(f"o.{quoted(column.name)}" for column in table.retired),
        ]
    )
    later = {quoted(name) for name in table.filled_later}
    differs = "\nOR ".join(
        f"(n.{c} IS DISTINCT FROM o.{c}{f' AND o.{c} IS NOT NULL' if c in later else ''})" for c in columns
    )
    fills = " OR ".join(f"n.{c} IS DISTINCT FROM o.{c}" for c in sorted(later)) or "false"
    matched = " AND ".join(_matched(table, key) for key in table.primary_key)
    spared = [f"({keys}) IN (FROM spared_keys)"]
    since = reading.requested_since
    requested = f"{quoted(since.column)} >= $first" if since else "true"
    for number, keep in enumerate(reading.retained):
        is_kept = f"coalesce({quoted(keep.column)} IN (FROM spared_values_{number}), false)"
        if keep.failed:
            spared.append(is_kept)
        else:
            requested += f" AND NOT {is_kept}"
    if reading.requested:
        requested += f" AND {quoted(reading.requested.column)} IN (FROM requested_values)"
    proves = _proves(table, reading)
    modifying = ", ".join(f"'{change}'" for change in (*MODIFYING, FILLED))
    return f"""
        WITH n AS (
            SELECT reading.*, true AS _seen {best(within)}
        ),
        o AS (
            SELECT
                *,
                true AS _held,
                {mates} AS _mate,
                coalesce({" OR ".join(spared)}, false) AS _spared,
                coalesce({requested}, false) AS _requested
            FROM previous
            WHERE {within}
        )
        SELECT
            {chosen},
            CASE
                WHEN n._seen IS NULL THEN o._deleted_at
                WHEN n._trashed THEN coalesce(n._trashed_at, o._deleted_at, $started_at)
            END AS _since,
            CASE
                WHEN n._seen AND o._held IS NULL THEN 'new'
                WHEN n._seen AND o._deleted_at IS NULL AND n._trashed THEN 'deleted'
                WHEN n._seen AND o._deleted_at IS NOT NULL AND NOT n._trashed THEN 'returned'
                WHEN n._seen AND (o._deleted_at IS DISTINCT FROM _since OR {differs}) THEN 'changed'
                WHEN n._seen AND ({fills}) THEN '{FILLED}'
                WHEN n._seen THEN 'unchanged'
                WHEN o._deleted_at IS NOT NULL OR NOT o._requested THEN 'untouched'
                WHEN $complete AND {proves} AND NOT o._spared THEN 'vanished'
                ELSE 'carried'
            END AS _change,
            coalesce(o._held AND o._deleted_at IS NULL, false) AS _was_alive,
            CASE WHEN _change IN ({modifying}) THEN greatest($started_at, o._synced_at) ELSE o._synced_at END
                AS {SYNCED_AT},
            CASE WHEN _change = 'vanished' THEN $started_at ELSE _since END AS {DELETED_AT}
        FROM n FULL JOIN o ON {matched} AND o._mate
        ORDER BY {keys}
    """


def _proves(table: Table, reading: SliceReading) -> str:
    """SQL that is true for the stored rows that are gone if a complete reading lacks them."""
    if not reading.incremental:
        return "true"
    key = quoted(table.primary_key[0])
    return f"({' OR '.join(f'o.{key} BETWEEN {a} AND {b}' for a, b in reading.ranges) or 'false'})"


def _matched(table: Table, key: str) -> str:
    return f"n.{quoted(key)} {'IS NOT DISTINCT FROM' if key in table.nullable_key else '='} o.{quoted(key)}"


def _count(batch: pa.RecordBatch) -> Mapping[str, int]:
    """The counts of a batch, by field of `RowCounts`."""
    changes: Any = pc.value_counts(batch.column("_change"))
    was_alive: Any = batch.column("_was_alive")
    return {
        **{entry["values"]: entry["counts"] for entry in changes.to_pylist()},
        "were_alive": was_alive.true_count,
        "are_alive": batch.column(DELETED_AT).null_count,
    }
