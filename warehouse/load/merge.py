"""What a reading makes of the slice that the lake holds: every row's fate, decided in DuckDB.

A row is known by its key. The fates, `_fate` in the merged file:

    new        not held before (also where the platform shows it as deleted already)
    changed    held, and any field or `_extra` differs, or the platform deleted a tombstone at another time
    unchanged  held and the same; keeps its `_synced_at`
    returned   a tombstone that is alive again
    deleted    was alive, and the platform shows it as deleted
    vanished   was alive, and a complete reading lacks it: a tombstone from now on
    carried    was alive, and the reading lacks it but proves nothing: kept as it was
    kept       a tombstone that the reading lacks, or a row that was not asked for: they stay
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from warehouse.identifiers import listed, literal, quoted
from warehouse.lake.sql import BATCH_ROWS, key_ranges, show_files, view
from warehouse.lake.tables import DELETED_AT, SYNCED_AT, TRASHED, TRASHED_AT, Table, file_schema
from warehouse.load.reading import Reading

#: Fates of rows that the reading holds, and those that change the slice.
READ = ("new", "changed", "unchanged", "returned", "deleted")
MOVING = ("new", "changed", "returned", "deleted", "vanished")
UPDATED_AT = "updated_at"

_AS_PARQUET = f"(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {BATCH_ROWS})"


@dataclass(frozen=True)
class RowCounts:
    """How many rows met which fate.

    A row of `duplicates` was beaten by a better one of its key; `were_alive` rows the slice held alive
    before, and `are_alive` with this reading.
    """

    new: int = 0
    changed: int = 0
    unchanged: int = 0
    returned: int = 0
    deleted: int = 0
    vanished: int = 0
    carried: int = 0
    kept: int = 0
    duplicates: int = 0
    were_alive: int = 0
    are_alive: int = 0

    @property
    def loaded(self) -> int:
        return self.new + self.changed + self.unchanged + self.returned + self.deleted

    @property
    def moved(self) -> int:
        """Rows that the commit would write differently; 0: there is nothing to commit."""
        return self.new + self.changed + self.returned + self.deleted + self.vanished


def merge(
    con: duckdb.DuckDBPyConnection, table: Table, previous: Sequence[str], reading: Reading, folder: Path
) -> tuple[RowCounts, list[Path]]:
    """Write the slice as it shall be to files in `folder`; `previous` are its files as the lake holds it.

    The files have the lake's columns without the slice's own, and `_fate` and `_was_alive`.
    """
    _show_reading(con, table, reading)
    duplicates = _duplicates(con, table, reading)
    best = partial(_best, table, distinct=not duplicates)
    values: dict[str, Any] = {"started_at": reading.started_at}
    views: dict[str, Sequence[str]] = {"reading": [str(reading.spool)]}
    fates = partial(_first_fates, table, best)
    if previous or table.retired:
        view(con, "previous", previous, file_schema(table))
        views["previous"] = previous
        _spare(con, table, reading)
        values["complete"] = reading.complete and not _has_hole(reading)
        if reading.since:
            values["first"] = reading.since.first
        fates = partial(_fates, table, reading, best, _mates(con, table))
    merged: list[Path] = []
    for within, bounds in key_ranges(con, views, table.primary_key[0]):
        part = folder / f"merged-{len(merged):05}.parquet"
        con.execute(f"COPY ({fates(within)}) TO {literal(str(part))} {_AS_PARQUET}", values | bounds)
        merged.append(part)
    return _count(con, merged, duplicates), merged


def count_all(reading: Reading, fate: str) -> RowCounts:
    """The counts of a reading of distinct keys whose rows all meet one fate: `new` or `unchanged`."""
    rows = reading.content.rows if reading.content else pq.read_metadata(reading.spool).num_rows
    alive = reading.content.alive if reading.content else rows
    return RowCounts(
        **{fate: rows},
        were_alive=alive if fate == "unchanged" else 0,
        are_alive=alive,
    )


def _has_hole(reading: Reading) -> bool:
    """A row without a readable key may be any row, so none of the missing ones is proven gone."""
    return any(bad.key is None for bad in reading.quarantined)


def _show_reading(con: duckdb.DuckDBPyConnection, table: Table, reading: Reading) -> None:
    """Show the reading's rows as a view, with what the platform says of deletions, if anything."""
    shown = f"{listed(table.row_schema.names)}, file_row_number"
    if table.shows_deleted:
        shown += f", {TRASHED}, {TRASHED_AT}"
    else:
        shown += f", false AS {TRASHED}, NULL::TIMESTAMP AS {TRASHED_AT}"
    show_files(con, "reading", [str(reading.spool)], shown)


def _spare(con: duckdb.DuckDBPyConnection, table: Table, reading: Reading) -> None:
    """Show the keys and values whose rows may not vanish, and those that may, as tables."""
    keys = {bad.key for bad in reading.quarantined if bad.key is not None}
    schema = pa.schema([table.row_schema.field(name) for name in table.primary_key])
    rows = [dict(zip(table.primary_key, key, strict=True)) for key in keys]
    con.register("spared_keys", pa.Table.from_pylist(rows, schema=schema))
    for number, keep in enumerate(reading.keep):
        type = table.row_schema.field(keep.column).type
        con.register(f"spared_values_{number}", pa.table({"value": pa.array(keep.values, type)}))
    if reading.asked:
        type = table.row_schema.field(reading.asked.column).type
        con.register("asked_values", pa.table({"value": pa.array(reading.asked.values, type)}))


def _mates(con: duckdb.DuckDBPyConnection, table: Table) -> str:
    """SQL that is true for those held rows that a reading is compared with: one of each key.

    All of them, but where the table once had another key: tombstones of then may share one of now."""
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


def _duplicates(con: duckdb.DuckDBPyConnection, table: Table, reading: Reading) -> int:
    """How many rows of the reading another one of the same key beats."""
    keys = listed(table.primary_key)
    [(distinct,)] = con.execute(f"SELECT count(*) FROM (SELECT DISTINCT {keys} FROM reading)").fetchall()
    return pq.read_metadata(reading.spool).num_rows - int(distinct)


def _is_dated(table: Table) -> bool:
    """Whether rows say when they were updated. A dataset may call anything so."""
    schema = table.row_schema
    return UPDATED_AT in schema.names and pa.types.is_timestamp(schema.field(UPDATED_AT).type)


def _updated(table: Table) -> str:
    return UPDATED_AT if _is_dated(table) else "NULL::TIMESTAMP"


def _rank(table: Table) -> str:
    """Of several rows of a key: alive before deleted, then the latest updated_at, then the last received."""
    return f"row(NOT {TRASHED}, coalesce({_updated(table)}, '-infinity'::TIMESTAMP), file_row_number)"


def _best(table: Table, within: str, *, distinct: bool) -> str:
    """The reading's rows of the keys `within` a range, the best one of each key. `distinct`: there is no
    other."""
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


def _first_fates(table: Table, best: Callable[[str], str], within: str) -> str:
    """What `_fates` comes to where the slice holds nothing: a first load is many small slices."""
    return f"""
        SELECT
            {listed(table.row_schema.names)},
            'new' AS _fate,
            false AS _was_alive,
            $started_at AS {SYNCED_AT},
            CASE WHEN {TRASHED} THEN coalesce({TRASHED_AT}, $started_at) END AS {DELETED_AT}
        {best(within)}
        ORDER BY {listed(table.primary_key)}
    """


def _fates(table: Table, reading: Reading, best: Callable[[str], str], mates: str, within: str) -> str:
    """Reading (n) and slice as held (o), side by side by key, of the keys `within` a range, in their order.

    A tombstone keeps its time unless the platform gives another. What moves is stamped with the sync's start,
    or with that of a later sync that ended before: what was known when goes by the stamps.
    """
    keys = listed(table.primary_key)
    columns = [quoted(name) for name in table.row_schema.names]
    chosen = ",\n".join(
        [
            *(f"CASE WHEN n._seen THEN n.{c} ELSE o.{c} END AS {c}" for c in columns),
            *(f"o.{quoted(column.name)}" for column in table.retired),
        ]
    )
    differs = "\nOR ".join(f"n.{c} IS DISTINCT FROM o.{c}" for c in columns)
    matched = " AND ".join(_matched(table, key) for key in table.primary_key)
    spared = [f"({keys}) IN (FROM spared_keys)"]
    asked = f"{quoted(reading.since.column)} >= $first" if reading.since else "true"
    for number, keep in enumerate(reading.keep):
        is_kept = f"coalesce({quoted(keep.column)} IN (FROM spared_values_{number}), false)"
        if keep.failed:
            spared.append(is_kept)
        else:
            asked += f" AND NOT {is_kept}"
    if reading.asked:
        asked += f" AND {quoted(reading.asked.column)} IN (FROM asked_values)"
    moving = ", ".join(f"'{fate}'" for fate in MOVING)
    proves = _proves(table, reading)
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
                coalesce({asked}, false) AS _asked
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
                WHEN n._seen THEN 'unchanged'
                WHEN o._deleted_at IS NOT NULL OR NOT o._asked THEN 'kept'
                WHEN $complete AND {proves} AND NOT o._spared THEN 'vanished'
                ELSE 'carried'
            END AS _fate,
            coalesce(o._held AND o._deleted_at IS NULL, false) AS _was_alive,
            CASE WHEN _fate IN ({moving}) THEN greatest($started_at, o._synced_at) ELSE o._synced_at END
                AS {SYNCED_AT},
            CASE WHEN _fate = 'vanished' THEN $started_at ELSE _since END AS {DELETED_AT}
        FROM n FULL JOIN o ON {matched} AND o._mate
        ORDER BY {keys}
    """


def _proves(table: Table, reading: Reading) -> str:
    """SQL that is true for those held rows that are gone where a complete reading lacks them."""
    if not reading.incremental:
        return "true"
    key = quoted(table.primary_key[0])
    return f"({' OR '.join(f'o.{key} BETWEEN {a} AND {b}' for a, b in reading.ranges) or 'false'})"


def _matched(table: Table, key: str) -> str:
    if key == table.numbered:
        return f"n.{quoted(key)} = coalesce(o.{quoted(key)}, 1)"
    return f"n.{quoted(key)} {'IS NOT DISTINCT FROM' if key in table.nullable_key else '='} o.{quoted(key)}"


def _count(con: duckdb.DuckDBPyConnection, merged: Sequence[Path], duplicates: int) -> RowCounts:
    show_files(con, "merged", [str(path) for path in merged])
    counts = con.execute(f"""
        SELECT
            _fate,
            count(*),
            count(*) FILTER (_was_alive),
            count(*) FILTER ({DELETED_AT} IS NULL)
        FROM merged
        GROUP BY _fate
    """).fetchall()
    return RowCounts(
        **{fate: rows for fate, rows, *_ in counts},
        duplicates=duplicates,
        were_alive=sum(before for _, _, before, _ in counts),
        are_alive=sum(after for _, _, _, after in counts),
    )
