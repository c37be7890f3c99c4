"""What must be known of the rows that are held, for a reading to ask only for what changed since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pyarrow.compute as pc

from warehouse.lake.delta import Lake
from warehouse.lake.lazy_frames import scan_files
from warehouse.lake.tables import (
    DELETED_AT,
    EXTRA,
    SYNCED_AT,
    Slice,
    Table,
    file_schema,
    is_of,
)
from warehouse.load.load_log import Standing
from warehouse.load.slice_reading import KeyRange

#: A filter may mean later than, and not so late or later: so much earlier is asked from at least.
STRICT = timedelta(seconds=1)
#: No two wall clocks are further apart.
ANY_ZONE = timedelta(days=1)
#: How polars has a stamp.
STAMP = pl.Datetime("us")
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
    many days a slice is read in full, whatever is known of it. `all_scores`: those of a current semester are
    asked for whatever has moved; `transcript_days`: transcripts are asked for so seldom."""

    overlap: timedelta = timedelta(hours=1)
    whole_days: int = 7
    all_scores: bool = True
    transcript_days: int = 0


def is_due_whole(standing: Standing, settings: Incremental, started_at: datetime) -> bool:
    """Whether a load that starts now has to read all of a slice, whatever has changed."""
    return is_older(standing.whole_at, settings.whole_days, started_at)


def is_older(whole_at: datetime | None, days: int, started_at: datetime) -> bool:
    """Whether a slice was never read in full, or so many days ago when a load starts."""
    return whole_at is None or (started_at.date() - whole_at.date()).days >= days


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
    standings: Mapping[str, Standing] | None = None,
) -> dict[Slice, Held]:
    """What `table` holds of each of `slices`, in one scan of their files and three of their columns.

    `updated_at` names the column of the lake that a row's last update is in; without it all are undated.
    `standings`: of slices (as text); the latest update is then that of the rows which the last complete load
    left, since one that a push named says nothing of the others.
    """
    tip = lake.tip(table)
    files = [
        (file, number, (standings or {}).get(str(slice), Standing()).complete_at)
        for number, slice in enumerate(slices)
        for file in lake.readable(table, tip.files(slice))
    ]
    of_files = pl.LazyFrame(files, {"file": pl.String, "slice": pl.Int64, "known": STAMP}, orient="row")
    mark = pl.col(updated_at or NO_COLUMN)
    columns = dict.fromkeys([SYNCED_AT, DELETED_AT, updated_at or NO_COLUMN], STAMP)
    is_known = pl.col("known").is_null() | (pl.col(SYNCED_AT) <= pl.col("known"))
    counted = (
        scan_files([file for file, *_ in files], columns, named="file")
        .filter(pl.col(DELETED_AT).is_null())
        .join(of_files, on="file")
        .group_by("slice")
        .agg(
            pl.len(),
            mark.filter(is_known).max().alias("latest"),
            mark.is_null().sum().alias("undated"),
        )
        .collect(engine="streaming")
    )
    found = {number: Held(*state) for number, *state in counted.iter_rows()}
    return {slice: found.get(number, Held()) for number, slice in enumerate(slices)}


def kept_beside(lake: Lake, table: Table, school_id: int) -> list[str]:
    """What the platform sent and no column of the table holds, of one school: a JSON object a row."""
    if not lake.holds(table):
        return []
    mine = is_of([school_id]) & ~pc.field(EXTRA).is_null()
    return [row[EXTRA] for row in lake.scan(table, lake.open(table), [EXTRA], mine).to_pylist()]


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
    lake: Lake,
    table: Table,
    slice: Slice,
    staged: Path,
    since: datetime,
    updated_at: str,
    ranges: Sequence[KeyRange] = (),
) -> Merged:
    """What the rows of a staged file, asked for from `since` on, would make of a slice. `ranges`: as
    `SliceReading` has them.

    Where parts of the key were not sent, or are numbered by us, rows are known by all that was sent: then
    `alive` is right where there are no news. Rows and keys are compared by hashes of 64 bits, so that a slice
    of any size takes some bytes a row."""
    read = pl.scan_parquet(staged)
    unsent = _unsent(read, table)
    columns = [name for name in table.row_schema.names if name != table.numbered and name not in unsent]
    known_by = list(table.primary_key) if table.numbered is None and not unsent else columns
    hashes = pl.struct(columns).hash().alias("row"), pl.struct(known_by).hash().alias("key")
    is_gone = pl.col(DELETED_AT).is_not_null().alias("gone")
    sent = read.select(*hashes, is_gone).collect(engine="streaming")
    is_late = (pl.col(updated_at) > since).fill_null(value=False)
    is_read = pl.any_horizontal(
        pl.lit(False), *(pl.col(table.primary_key[0]).is_between(*keys) for keys in ranges)
    )
    before = (
        scan_files(
            lake.readable(table, lake.tip(table).files(slice)),
            pl.DataFrame(file_schema(table).empty_table()).schema,
        )
        .select(
            *hashes,
            is_gone,
            is_late.alias("late"),
            is_read.alias("read"),
        )
        .collect(engine="streaming")
    )
    (alive, gone), (shown, hidden) = _by_fate(before), _by_fate(sent)
    alive = alive.filter(~pl.col("read") | pl.col("key").is_in(sent["key"].implode()))
    come = shown["key"].unique()
    left = hidden["key"].unique()
    left_now = left.filter(~left.is_in(come.implode()) & left.is_in(alive["key"].implode()))
    return Merged(
        news=_beyond(shown["row"], alive["row"]) + _beyond(hidden["row"], gone["row"]),
        lost=_beyond(alive.filter("late")["key"], sent["key"]),
        alive=len(alive) + len(come.filter(~come.is_in(alive["key"].implode()))) - len(left_now),
        shown=len(come),
    )


def keys_after(lake: Lake, table: Table, slice: Slice, staged: Path) -> list[int]:
    """The keys that a slice has alive once the rows of a staged file are merged into it, ascending.

    For tables whose key is one integer, and that are never sent a row as deleted."""
    [key] = table.primary_key
    columns = {key: pl.Int64(), DELETED_AT: STAMP}
    held = scan_files(lake.readable(table, lake.tip(table).files(slice)), columns)
    keys = [held.filter(pl.col(DELETED_AT).is_null()).select(key), pl.scan_parquet(staged).select(key)]
    return pl.concat(keys).unique().sort(key).collect(engine="streaming")[key].to_list()


def _unsent(read: pl.LazyFrame, table: Table) -> set[str]:
    """Parts of the key that some of the rows lack, and may not."""
    parts = [name for name in table.primary_key if name not in (table.numbered, *table.nullable_key)]
    lacking = read.select(pl.col(parts).null_count()).collect(engine="streaming") if parts else pl.DataFrame()
    return {name for name in lacking.columns if lacking[name].item()}


def _by_fate(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Those that are alive, and those that are gone."""
    return rows.filter(~pl.col("gone")), rows.filter("gone")


def _beyond(ours: pl.Series, theirs: pl.Series) -> int:
    """How many of `ours` have no match of their own among `theirs`, as SQL's EXCEPT ALL counts."""
    counts = (
        ours.rename("hash")
        .value_counts(name="ours")
        .join(theirs.rename("hash").value_counts(name="theirs"), on="hash", how="left")
    )
    beyond = pl.col("ours").cast(pl.Int64) - pl.col("theirs").fill_null(0).cast(pl.Int64)
    return int(counts.select(beyond.clip(lower_bound=0).sum()).item())
