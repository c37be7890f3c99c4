"""What a reading of changes would make of a slice is what plain dicts and counters say."""

import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kits.lake.small_lake import MARKS, SLICE, START, NewLake, home_of, row, sync
from warehouse.lake.delta import Lake
from warehouse.lake.tables import Column, Table
from warehouse.load.slice_reading import KeyRange
from warehouse.load.stage import StageWriter
from warehouse.load.watermark import MergePreview, keys_after, preview_merge

SINCE = START - timedelta(days=6)
rows = st.builds(
    row,
    id=st.integers(1, 4),
    kind=st.sampled_from(["raw", "item"]),
    score=st.sampled_from([None, Decimal(0), Decimal("85.5")]),
    tags=st.sampled_from([None, [], [{"name": "优"}], [{"name": None}]]),
    updated_at=st.sampled_from([None, START - timedelta(days=9), START - timedelta(days=4)]),
    _trashed=st.booleans(),
)
batches = st.lists(rows, max_size=9)


def spooled(
    lake: Lake, table: Table, sent: Iterable[dict[str, Any]], ranges: Sequence[KeyRange] = ()
) -> MergePreview:
    """What `sent` would make of the slice."""
    with StageWriter(table, home_of(lake) / "work", synced_at=START) as spool:
        spool.write(pa.RecordBatch.from_pylist(list(sent), schema=table.staging_schema))
        return preview_merge(lake, table, SLICE, spool.finish().path, SINCE, "updated_at", ranges)


def counted(rows: Iterable[dict[str, Any]], *names: str) -> Counter[str]:
    """Rows by some of their values; 0 and 0.00 are one."""
    plain = ([row[name] for name in names] for row in rows)
    return Counter(
        repr([value.normalize() if isinstance(value, Decimal) else value for value in row]) for row in plain
    )


@settings(max_examples=40, deadline=None)
@given(first=batches, sent=batches)
def test_preview_is_what_a_merge_makes(
    new_lake: NewLake, first: list[dict[str, Any]], sent: list[dict[str, Any]]
) -> None:
    key, content = ("id", "kind"), [name for name in MARKS.row_schema.names if name != "_extra"]
    with tempfile.TemporaryDirectory() as folder:
        lake = new_lake(f"{folder}/lake")
        sync(lake, 0, first)
        stored = lake.read(MARKS, SLICE, alive=False).to_pylist()
        alive = [row for row in stored if row["_deleted_at"] is None]
        gone = [row for row in stored if row["_deleted_at"] is not None]
        shown = [row for row in sent if not row["_trashed"]]
        hidden = [row for row in sent if row["_trashed"]]
        late = [row for row in alive if row["updated_at"] and row["updated_at"] > SINCE]
        changed = counted(shown, *content) - counted(alive, *content)
        changed += counted(hidden, *content) - counted(gone, *content)
        before, come = set(counted(alive, *key)), set(counted(shown, *key))
        leaving = set(counted(hidden, *key)) - come
        assert spooled(lake, MARKS, sent) == MergePreview(
            changed=changed.total(),
            missing=(counted(late, *key) - counted(sent, *key)).total(),
            alive=len((before | come) - leaving),
            sent_alive=len(come),
        )


@settings(max_examples=40, deadline=None)
@given(
    first=batches,
    sent=batches,
    ranges=st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), max_size=2),
)
def test_rows_missing_from_a_range_are_gone(
    new_lake: NewLake, first: list[dict[str, Any]], sent: list[dict[str, Any]], ranges: list[KeyRange]
) -> None:
    """The preview of changes and ranges of keys is what their commit makes of the slice."""
    with tempfile.TemporaryDirectory() as folder:
        lake = new_lake(f"{folder}/lake")
        sync(lake, 0, first)
        before = {(row["id"], row["kind"]) for row in lake.read(MARKS, SLICE).to_pylist()}
        preview = spooled(lake, MARKS, sent, ranges)
        outcome = sync(lake, 1, sent, full=True, incremental=True, ranges=tuple(ranges))
        after = {(row["id"], row["kind"]) for row in lake.read(MARKS, SLICE).to_pylist()}
    shown = {(row["id"], row["kind"]) for row in sent if not row["_trashed"]}
    hidden = {(row["id"], row["kind"]) for row in sent if row["_trashed"]}
    in_ranges = {key for key in before if any(low <= key[0] <= high for low, high in ranges)}
    assert after == shown | (before - hidden - in_ranges)
    assert outcome.counts.vanished == len(in_ranges - shown - hidden)
    assert preview.alive == outcome.counts.are_alive == len(after)


def test_keys_after_changes_are_those_alive(lake: Lake) -> None:
    by_id = replace(MARKS, name="by_id", primary_key=("id",))
    lake.ensure([by_id])
    sync(lake, 0, [row(2), row(5), row(7, _trashed=True)], table=by_id)
    with StageWriter(by_id, home_of(lake) / "work", synced_at=START) as spool:
        spool.write(pa.RecordBatch.from_pylist([row(9), row(5)], schema=by_id.staging_schema))
        assert keys_after(lake, by_id, SLICE, spool.finish().path) == [2, 5, 9]


@pytest.fixture
def lake(tmp_path: Path, new_lake: NewLake) -> Lake:
    return new_lake(tmp_path / "lake")


def test_a_column_that_came_later_is_null_in_older_files(lake: Lake) -> None:
    sync(lake, 0, [row(1), row(2)])
    wider = replace(MARKS, columns=(*MARKS.columns, Column("room", pa.string(), "Room")))
    assert spooled(lake, wider, [{**row(1), "room": None}]) == MergePreview(0, 0, 2, 1)
    assert spooled(lake, wider, [{**row(1), "room": "3"}]) == MergePreview(1, 0, 2, 1)


def test_rows_without_a_part_of_their_key_are_known_by_all_else(lake: Lake) -> None:
    sync(lake, 0, [row(1), row(2, kind="item")])
    loose = replace(MARKS, nullable_key=("kind",))
    assert spooled(lake, loose, [row(1, kind=None)]) == MergePreview(1, 0, 3, 1)
    numbered = replace(MARKS, numbered="id", nullable_key=MARKS.primary_key)
    assert spooled(lake, numbered, [row(9), row(8)]) == MergePreview(1, 0, 2, 1)


def test_nothing_held_and_nothing_sent(lake: Lake) -> None:
    assert spooled(lake, MARKS, []) == MergePreview(0, 0, 0, 0)
    assert spooled(lake, MARKS, [row(1)]) == MergePreview(1, 0, 1, 1)
