"""Rows are written as Parquet once in a first load and twice in a merge, and no reader can tell which."""

import tempfile
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kits.lake.readings import reading_of
from tests.kits.lake.small_lake import MARKS, SLICE, START, at, parquet_of, row, sync
from warehouse.forgetting.columns import V3
from warehouse.forgetting.forgotten import TOKEN, Forgotten, matcher, with_person
from warehouse.forgetting.scrub import rewriter
from warehouse.lake.delta import Lake
from warehouse.lake.sql import pooled
from warehouse.lake.tables import Column, Table, dataset_table, file_schema
from warehouse.load.commit import Guard, VanishedTooMany, commit
from warehouse.load.merge import merge
from warehouse.load.slice_reading import SliceReading
from warehouse.load.stage import StageWriter

LOOSE = replace(MARKS, nullable_key=("kind",))
UNLOGGED = replace(MARKS, tracks_changes=False)

rows = st.builds(
    row,
    id=st.integers(1, 9),
    kind=st.sampled_from(["raw", "item", None]),
    score=st.sampled_from([None, Decimal(0), Decimal("85.5")]),
    tags=st.sampled_from([None, [], [{"name": "优"}], [{"name": None}]]),
    _trashed=st.sampled_from([True, False, None]),
    _trashed_at=st.sampled_from([None, START - timedelta(days=9)]),
)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows with the rows of each row group that is written."""
    groups: list[int] = []
    write_table = pq.ParquetWriter.write_table

    def counted(writer: pq.ParquetWriter, group: pa.Table, *options: Any) -> None:
        groups.append(group.num_rows)
        write_table(writer, group, *options)

    monkeypatch.setattr(pq.ParquetWriter, "write_table", counted)
    return groups


def stage(spool: StageWriter, table: Table, sent: Iterable[dict[str, Any]], batch_rows: int) -> SliceReading:
    sent = list(sent)
    for start in range(0, len(sent), batch_rows):
        batch = sent[start : start + batch_rows]
        spool.write(pa.RecordBatch.from_pylist(batch, schema=table.staging_schema))
    return reading_of(spool.finish(), at(0))


@settings(max_examples=60, deadline=None)
@given(
    sent=st.lists(rows, max_size=12), batch_rows=st.integers(1, 5), group_bytes=st.sampled_from([1, 1 << 20])
)
def test_a_staged_file_is_what_a_merge_writes(
    sent: list[dict[str, Any]], batch_rows: int, group_bytes: int
) -> None:
    """Unless a merge is needed, since keys come twice, or in no order in several row groups."""
    keys = [(row["id"], row["kind"]) for row in sent]
    in_order = sorted(keys, key=lambda key: (key[0], key[1] is None, key[1] or ""))
    fits = len(sent) <= batch_rows or group_bytes > 1
    with tempfile.TemporaryDirectory() as folder:
        merged = Path(folder) / "merged.parquet"
        with StageWriter(LOOSE, Path(folder), synced_at=at(0), group_bytes=group_bytes) as spool:
            reading = stage(spool, LOOSE, sent, batch_rows)
            with pooled(Path(folder)) as con:
                counts = merge(con, LOOSE, [], reading, merged)
            staged, made = pq.ParquetFile(reading.staged.path), pq.ParquetFile(merged)
            assert (counts.new, counts.duplicates) == (len(set(keys)), len(keys) - len(set(keys)))
            assert reading.staged.ascends == (len(set(keys)) == len(keys) and (fits or keys == in_order))
            assert staged.schema_arrow == made.schema_arrow == file_schema(LOOSE)
            if reading.staged.ascends:
                assert staged.read() == made.read()
                assert reading.staged.alive == counts.are_alive


def test_first_load_writes_rows_once(lake: Lake, written: list[int]) -> None:
    outcome = sync(lake, 0, map(row, reversed(range(40))), table=UNLOGGED)
    assert (outcome.counts.new, written) == (40, [40])
    [file] = lake.files(MARKS, SLICE)
    ids = pq.read_metadata(file).row_group(0).column(0).statistics
    assert (ids.min, ids.max) == (0, 39)
    assert pq.read_table(file)["id"].to_pylist() == list(range(40))


def test_merge_writes_rows_twice(lake: Lake, written: list[int]) -> None:
    sync(lake, 0, map(row, range(40)), table=UNLOGGED)
    written.clear()
    outcome = sync(lake, 1, [row(id, Decimal(1)) for id in range(20, 50)], table=UNLOGGED)
    assert (outcome.counts.changed, outcome.counts.new, outcome.counts.vanished) == (20, 10, 20)
    assert written == [30, 50]
    [file] = lake.files(MARKS, SLICE)
    assert pq.read_table(file)["id"].to_pylist() == list(range(50))


def test_large_unordered_first_load_is_sorted(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("warehouse.lake.parquet.GROUP_ROWS", 10)
    with StageWriter(MARKS, tmp_path, synced_at=at(0)) as spool:
        reading = stage(spool, MARKS, map(row, reversed(range(40))), 5)
        assert not reading.staged.ascends
        assert commit(lake, MARKS, SLICE, reading, Guard(), tmp_path).counts.new == 40
    [file] = lake.files(MARKS, SLICE)
    assert pq.read_table(file)["id"].to_pylist() == list(range(40))


@pytest.mark.parametrize("sent", [range(5), range(40)])
def test_no_file_stays_of_what_is_not_committed(lake: Lake, sent: range) -> None:
    sync(lake, 0, map(row, range(40)))
    files = parquet_of(lake, MARKS)
    if len(sent) == 40:
        assert sync(lake, 1, map(row, sent), full=True).counts.modified == 0
    else:
        with pytest.raises(VanishedTooMany):
            sync(lake, 1, map(row, sent), guard=Guard())
    assert parquet_of(lake, MARKS) == files


def test_copied_rows_are_as_if_staged_at_once(tmp_path: Path) -> None:
    """Changes are staged, copied beside the rows of ranges, and scrubbed of the forgotten both times."""
    forgotten, _ = with_person(
        Forgotten(), 101, "student", [(V3, "7"), (TOKEN, "s-20231")], since="", choices={}
    )
    person_matcher = matcher(forgotten, 101)
    assert person_matcher is not None
    columns = (
        Column("id", pa.int64(), ""),
        Column("student_id", pa.int64(), ""),
        Column("remark", pa.string(), ""),
    )
    table = dataset_table("remarks", columns, ("id",), "")
    sent = [
        {"id": 1, "student_id": 7, "remark": "late"},
        {"id": 2, "student_id": None, "remark": "S-20231"},
        {"id": 3, "student_id": 8, "remark": "sits beside S-20231"},
        {"id": 4, "student_id": 9, "remark": "late"},
    ]
    batches = [pa.RecordBatch.from_pylist(rows, schema=table.staging_schema) for rows in (sent[:3], sent[3:])]
    write = partial(StageWriter, table, tmp_path, synced_at=at(0), rewrite=rewriter(table, person_matcher))
    with write() as at_once, write() as changes, write() as both:
        for batch in batches:
            at_once.write(batch)
        changes.write(batches[0])
        both.copy(changes.finish())
        both.write(batches[1])
        expected, copied = at_once.finish(), both.finish()
        assert pq.read_table(copied.path) == pq.read_table(expected.path)
        assert replace(copied, path=expected.path) == expected
        assert "7" not in pq.read_table(copied.path)["student_id"].cast(pa.string()).to_pylist()
