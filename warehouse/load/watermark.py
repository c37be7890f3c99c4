"""The watermark of a slice: the time since which its changes suffice, and a check that all were sent."""

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
    school_filter,
)
from warehouse.load.logs.load_log import SliceStatus
from warehouse.load.slice_reading import KeyRange
from warehouse.load.whole_readings import is_due_whole

#: A filter may leave out rows of the very moment that it names, so an earlier moment is requested.
STRICT = timedelta(seconds=1)
#: No two wall clocks are further apart.
ANY_ZONE = timedelta(days=1)
#: The type of timestamps in polars.
STAMP = pl.Datetime("us")
#: No column has this name, so it is read as null.
NO_COLUMN = "no column"


@dataclass(frozen=True)
class LiveRows:
    """The live rows of a slice."""

    alive: int = 0
    #: The latest update of any row.
    latest: datetime | None = None
    #: Rows without the time of an update.
    undated: int = 0


@dataclass(frozen=True)
class Incremental:
    """The settings for reading only changes."""

    #: Changes are requested from this long before the latest stored change.
    overlap: timedelta = timedelta(hours=1)
    #: Days after which a slice is read in full again.
    whole_days: int = 7
    #: All scores of a current semester are read, even where related rows are unchanged.
    all_scores: bool = True
    #: Days for which transcripts are skipped.
    transcript_days: int = 0


def watermark(
    status: SliceStatus,
    rows: LiveRows,
    settings: Incremental,
    started_at: datetime,
    ahead: float | None = None,
) -> datetime | None:
    """The time since which a slice's changes suffice, by the platform's clock. None: the slice is read in
    full.

    This is the latest stored update, but never past the start of the load that read it: a row that changed
    while that load ran may have been read before.

    Args:
        started_at: Of the load to come.
        ahead: Seconds by which the platform's clock is ahead of ours.
    """
    loaded_at = status.complete_at
    if loaded_at is None or status.quarantined or rows.latest is None or rows.undated:
        return None
    if is_due_whole(status.whole_at, settings.whole_days, started_at):
        return None
    # Where the platform's clock is behind ours, a change after our start may be dated before it.
    loaded_at += min(timedelta(seconds=ahead or 0), timedelta(0))
    # The load has read all rows that were updated long before it began.
    is_long_ago = loaded_at - rows.latest > settings.overlap + ANY_ZONE
    return min(rows.latest, loaded_at) - (STRICT if is_long_ago else max(settings.overlap, STRICT))


def live_rows(
    lake: Lake,
    table: Table,
    slices: Sequence[Slice],
    updated_at: str | None,
    statuses: Mapping[str, SliceStatus] | None = None,
) -> dict[Slice, LiveRows]:
    """The live rows of each slice, by one scan of three columns of their files.

    Args:
        updated_at: The column with a row's last update. None: no row has one.
        statuses: Of the slices (as text). The latest update is then that of the rows which the last complete
            load left. A row that a push named says nothing of the other rows.
    """
    table_state = lake.table_state(table)
    files = [
        (file, number, (statuses or {}).get(str(slice), SliceStatus()).complete_at)
        for number, slice in enumerate(slices)
        for file in lake.readable(table, table_state.files(slice))
    ]
    of_files = pl.LazyFrame(files, {"file": pl.String, "slice": pl.Int64, "known": STAMP}, orient="row")
    mark = pl.col(updated_at or NO_COLUMN)
    columns = dict.fromkeys([SYNCED_AT, DELETED_AT, updated_at or NO_COLUMN], STAMP)
    is_known = pl.col("known").is_null() | (pl.col(SYNCED_AT) <= pl.col("known"))
    counted = (
        scan_files([file for file, *_ in files], columns, path_column="file")
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
    by_number = {number: LiveRows(*facts) for number, *facts in counted.iter_rows()}
    return {slice: by_number.get(number, LiveRows()) for number, slice in enumerate(slices)}


def extra_fields(lake: Lake, table: Table, school_id: int) -> list[str]:
    """The fields of a school's rows that no column of the table holds: a JSON object per row."""
    if not lake.holds(table):
        return []
    mine = school_filter([school_id]) & ~pc.field(EXTRA).is_null()
    return [row[EXTRA] for row in lake.scan(table, lake.open(table), [EXTRA], mine).to_pylist()]


@dataclass(frozen=True)
class MergePreview:
    """A slice as the merge of staged changes would leave it."""

    #: Rows that the lake does not have as they were sent.
    changed: int
    #: Live rows of the lake whose last update is so late that they should have been sent, and were not.
    missing: int
    #: Live rows after the merge.
    alive: int
    #: Live rows among the staged rows, each key once.
    sent_alive: int


def preview_merge(
    lake: Lake,
    table: Table,
    slice: Slice,
    staged: Path,
    since: datetime,
    updated_at: str,
    ranges: Sequence[KeyRange] = (),
) -> MergePreview:
    """Preview the merge of staged changes into a slice, without writing.

    Where parts of the key were not sent, or the loader numbers them, whole rows stand for keys: then `alive`
    is right only if no row has changed. Rows and keys are compared by hashes of 64 bits, so that a slice of
    any size takes a few bytes per row.

    Args:
        since: The changes were requested since then.
        ranges: As `SliceReading` has them.
    """
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
            lake.readable(table, lake.table_state(table).files(slice)),
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
    (alive, gone), (sent_alive, sent_gone) = _alive_and_gone(before), _alive_and_gone(sent)
    alive = alive.filter(~pl.col("read") | pl.col("key").is_in(sent["key"].implode()))
    alive_keys, gone_keys = sent_alive["key"].unique(), sent_gone["key"].unique()
    new_keys = alive_keys.filter(~alive_keys.is_in(alive["key"].implode()))
    deleted_keys = gone_keys.filter(
        ~gone_keys.is_in(alive_keys.implode()) & gone_keys.is_in(alive["key"].implode())
    )
    return MergePreview(
        changed=_count_unmatched(sent_alive["row"], alive["row"])
        + _count_unmatched(sent_gone["row"], gone["row"]),
        missing=_count_unmatched(alive.filter("late")["key"], sent["key"]),
        alive=len(alive) + len(new_keys) - len(deleted_keys),
        sent_alive=len(alive_keys),
    )


def keys_after(lake: Lake, table: Table, slice: Slice, staged: Path) -> list[int]:
    """The live keys of a slice after the merge of a staged file, ascending.

    For tables whose key is one integer and whose rows are never sent as deleted."""
    [key] = table.primary_key
    columns = {key: pl.Int64(), DELETED_AT: STAMP}
    stored = scan_files(lake.readable(table, lake.table_state(table).files(slice)), columns)
    keys = [stored.filter(pl.col(DELETED_AT).is_null()).select(key), pl.scan_parquet(staged).select(key)]
    return pl.concat(keys).unique().sort(key).collect(engine="streaming")[key].to_list()


def _unsent(read: pl.LazyFrame, table: Table) -> set[str]:
    """Parts of the key that some of the rows lack, and may not."""
    parts = [name for name in table.primary_key if name not in (table.numbered, *table.nullable_key)]
    lacking = read.select(pl.col(parts).null_count()).collect(engine="streaming") if parts else pl.DataFrame()
    return {name for name in lacking.columns if lacking[name].item()}


def _alive_and_gone(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    return rows.filter(~pl.col("gone")), rows.filter("gone")


def _count_unmatched(hashes: pl.Series, others: pl.Series) -> int:
    """How many hashes have no match of their own among the others, as SQL's EXCEPT ALL counts."""
    counts = (
        hashes.rename("hash")
        .value_counts(name="own")
        .join(others.rename("hash").value_counts(name="other"), on="hash", how="left")
    )
    unmatched = pl.col("own").cast(pl.Int64) - pl.col("other").fill_null(0).cast(pl.Int64)
    return int(counts.select(unmatched.clip(lower_bound=0).sum()).item())
