"""What must be known of the rows that are held, for a reading to ask only for what changed since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa

from warehouse.identifiers import listed, quoted
from warehouse.lake.delta import Lake, scan
from warehouse.lake.sql import connect, view
from warehouse.lake.tables import (
    DELETED_AT,
    EXTRA,
    SCHOOL_ID,
    SYNCED_AT,
    TIMESTAMP,
    TRASHED,
    Slice,
    Table,
    file_schema,
)
from warehouse.load.load_log import Standing

#: A filter may mean later than, and not so late or later: so much earlier is asked from at least.
STRICT = timedelta(seconds=1)
#: No two wall clocks are further apart.
ANY_ZONE = timedelta(days=1)
#: No column has this name, so it is read as null.
NO_COLUMN = "no column"


@dataclass(frozen=True)
class Held:
    """The rows of a slice that are alive: how many, the latest update of any, and how many have no update."""

    alive: int = 0
    latest: datetime | None = None
    undated: int = 0


@dataclass(frozen=True)
class Incremental:
    """How changes alone are read. `overlap`: how far before the last known change; `whole_days`: after so
    many days a slice is read in full, whatever is known of it."""

    overlap: timedelta = timedelta(hours=1)
    whole_days: int = 7


def is_due_whole(standing: Standing, settings: Incremental, started_at: datetime) -> bool:
    """Whether a load that starts now has to read all of a slice, whatever has changed."""
    whole = standing.whole_at
    return whole is None or (started_at.date() - whole.date()).days >= settings.whole_days


def watermark(
    standing: Standing,
    state: Held,
    settings: Incremental,
    started_at: datetime,
    ahead: float | None = None,
) -> datetime | None:
    """From when on a slice's changes suffice, by the platform's clock; None: it is read in full.

    The latest update that is held, but never past the start of the load that read it: what was updated while
    that ran may have been read before. `started_at`: of the load to come; `ahead`: seconds that the
    platform's clock is ahead of ours, which those starts are told by."""
    known = standing.complete_at
    if known is None or standing.quarantined or state.latest is None or state.undated:
        return None
    if is_due_whole(standing, settings, started_at):
        return None
    # Where their clock is behind ours, what changes after our start may be dated before it.
    known += min(timedelta(seconds=ahead or 0), timedelta(0))
    # What was updated long before that load began was there for it to read.
    is_long_ago = known - state.latest > settings.overlap + ANY_ZONE
    return min(state.latest, known) - (STRICT if is_long_ago else max(settings.overlap, STRICT))


def held(
    lake: Lake,
    table: Table,
    slices: Sequence[Slice],
    updated_at: str | None,
    scratch: Path,
    standings: Mapping[str, Standing] | None = None,
) -> dict[Slice, Held]:
    """What `table` holds of each of `slices`, in one scan of their files and three of their columns.

    `updated_at` names the column of the lake that a row's last update is in; without it all are undated.
    `standings`: of slices (as text); the latest update is then that of the rows which the last complete load
    left, since one that a push named says nothing of the others.
    """
    opened = lake.open(table)
    files = [file for slice in slices for file in lake.files_of(table, opened, slice)]
    parts = [pa.field(name, pa.int64()) for name in table.slice_columns]
    schema = pa.schema(
        [
            *parts,
            pa.field(SYNCED_AT, TIMESTAMP),
            pa.field(DELETED_AT, TIMESTAMP),
            pa.field(updated_at or NO_COLUMN, TIMESTAMP),
        ]
    )
    mark = quoted(schema.names[-1])
    known = [
        {**dict(slice.values), "known": standing.complete_at}
        for slice in slices
        for standing in [(standings or {}).get(str(slice), Standing())]
        if standing.complete_at
    ]
    with closing(connect(scratch=scratch)) as con:
        view(con, "rows", files, schema, hive=True)
        con.register("known", pa.Table.from_pylist(known, pa.schema([*parts, pa.field("known", TIMESTAMP)])))
        found = con.execute(f"""
            SELECT
                {listed(table.slice_columns)},
                count(*),
                max({mark}) FILTER (known IS NULL OR {SYNCED_AT} <= known),
                count(*) - count({mark})
            FROM rows
            LEFT JOIN known USING ({listed(table.slice_columns)})
            WHERE {DELETED_AT} IS NULL
            GROUP BY ALL
        """).fetchall()
    width = len(table.slice_columns)
    counted = {
        Slice.of(**dict(zip(table.slice_columns, row[:width], strict=True))): Held(*row[width:])
        for row in found
    }
    return {slice: counted.get(slice, Held()) for slice in slices}


def kept_beside(lake: Lake, table: Table, school_id: int) -> list[str]:
    """What the platform sent and no column of the table holds, of one school: a JSON object a row."""
    mine = f"{SCHOOL_ID.name} = {school_id} AND {EXTRA} IS NOT NULL"
    rows = scan(table, lake.open(table), [EXTRA], mine).to_pylist() if lake.holds(table) else []
    return [row[EXTRA] for row in rows]


@dataclass(frozen=True)
class Merged:
    """What a reading of changes would make of a slice. `news`: rows that it does not hold as they were sent;
    `lost`: rows that it holds alive with an update so late that they should have been sent, and were not;
    `alive`: rows alive after it; `shown`: rows that it shows alive, each once."""

    news: int
    lost: int
    alive: int
    shown: int


def foresee(
    lake: Lake, table: Table, slice: Slice, spool: Path, since: datetime, updated_at: str, scratch: Path
) -> Merged:
    """What the rows of a finished spool, asked for from `since` on, would make of a slice.

    Where parts of the key were not sent, or are numbered by us, rows are known by all that was sent: then
    `alive` is right where there are no news."""
    with closing(connect(scratch=scratch)) as con:
        view(con, "held", lake.files(table, slice), file_schema(table))
        rows = con.read_parquet(str(spool))
        shown = rows if table.shows_deleted else rows.select(f"*, false AS {TRASHED}")
        shown.create_view("sent")
        parts = [name for name in table.primary_key if name not in (table.numbered, *table.nullable_key)]
        counts = ", ".join(f"count({quoted(name)})" for name in parts)
        [(total, *sent_parts)] = con.execute(f"SELECT count(*), {counts} FROM sent").fetchall()
        unsent = {name for name, n in zip(parts, sent_parts, strict=True) if n < total} - {
            *table.nullable_key
        }
        columns = [n for n in table.row_schema.names if n != table.numbered and n not in unsent]
        known_by = table.primary_key if table.numbered is None and not unsent else columns
        row, key = listed(columns), listed(known_by)
        near = f"WHERE {quoted(known_by[0])} IN (SELECT {quoted(known_by[0])} FROM sent)"
        found = con.execute(
            f"""
            WITH alive AS (FROM held WHERE {DELETED_AT} IS NULL),
            gone AS (FROM held WHERE {DELETED_AT} IS NOT NULL),
            shown AS (FROM sent WHERE NOT {TRASHED}),
            trashed AS (FROM sent WHERE {TRASHED}),
            news AS (
                (SELECT {row} FROM shown EXCEPT ALL SELECT {row} FROM alive {near})
                UNION ALL
                (SELECT {row} FROM trashed EXCEPT ALL SELECT {row} FROM gone {near})
            ),
            lost AS (
                SELECT {key} FROM alive WHERE {quoted(updated_at)} > $since
                EXCEPT ALL
                SELECT {key} FROM sent
            ),
            come AS (SELECT {key} FROM shown EXCEPT SELECT {key} FROM alive),
            left_now AS (
                (SELECT {key} FROM trashed EXCEPT SELECT {key} FROM shown)
                INTERSECT
                SELECT {key} FROM alive
            )
            SELECT
                (SELECT count(*) FROM news),
                (SELECT count(*) FROM lost),
                (SELECT count(*) FROM alive) + (SELECT count(*) FROM come) - (SELECT count(*) FROM left_now),
                (SELECT count(*) FROM (SELECT DISTINCT {key} FROM shown))
            """,
            {"since": since},
        ).fetchall()
    return Merged(*found[0])
