"""Slices of datasets: taken as they are, read incrementally, asked how far they can be relied on."""

import multiprocessing
import os
import signal
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from campus.account import BadRow, Drift
from tests.kits.lake.datasets import SCORE, UPDATED, define, everything, load, segment
from tests.kits.lake.small_lake import at, lake_at, parquet_of
from warehouse.lake.delta import Lake
from warehouse.lake.logs.tables import DIFFERENCES, LOAD_LOG, QUARANTINE
from warehouse.lake.tables import ROW_KEY, Column, Table, dataset_table
from warehouse.load.commit import Guard, VanishedTooMany
from warehouse.load.logs.dataset_plans import DATASET_PLANS, Plan, dataset_tables, read_plans, record_plans
from warehouse.load.logs.load_log import SliceStatus, record_differences, record_failure, slice_statuses
from warehouse.load.schema_evolution import evolve
from warehouse.load.slice_reading import Cause, RequestedRows
from warehouse.load.stage import StagedFile, StageWriter
from warehouse.load.watermark import LiveRows, live_rows
from warehouse.maintenance.compaction import maintain
from warehouse.publish.fill import build_raw

SPAWN = multiprocessing.get_context("spawn")
SCORES = define(SCORE, UPDATED)


def rows(*ids: int, score: int = 1, updated_at: Any = None) -> list[dict[str, Any]]:
    return [{"id": id, "score": Decimal(score), "updated_at": updated_at} for id in ids]


def alive(lake: Lake, table: Table = SCORES) -> list[tuple[int, int, Decimal]]:
    alive_rows = [row for row in everything(lake, evolve(lake, table)) if row["_deleted_at"] is None]
    return sorted((row["_segment"], row["id"], row["score"]) for row in alive_rows)


@pytest.mark.parametrize(
    ("type", "value"), [(pa.string(), "soon"), (pa.date32(), date(2025, 1, 1)), (pa.int64(), 5)]
)
def test_an_updated_at_that_is_no_moment_is_a_field_like_others(
    lake: Lake, type: pa.DataType, value: Any
) -> None:
    table = define(Column("updated_at", type, "Not a moment"))
    read = [{"id": 1, "updated_at": value}, {"id": 2, "updated_at": None}]
    for number in (1, 2):
        tally = load(lake, number, table, read, full=True).counts
        assert tally.loaded == 2
    assert tally.unchanged == 2


def test_the_first_reading_of_a_slice_is_taken_as_it_is(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warehouse.load.delta_commit.BLOCK", 100)
    monkeypatch.setattr("warehouse.lake.parquet.GROUP_ROWS", 250)
    staged, finish = list[bytes](), StageWriter.finish

    def finish_and_copy(spool: StageWriter) -> StagedFile:
        file = finish(spool)
        staged.append(file.path.read_bytes())
        return file

    monkeypatch.setattr(StageWriter, "finish", finish_and_copy)
    outcome = load(lake, 0, SCORES, rows(*range(1000), updated_at=at(-1)))
    assert (outcome.counts.new, outcome.version) == (1000, 1)
    table = evolve(lake, SCORES).table
    [file] = lake.files(table, segment())
    assert Path(file).read_bytes() == staged[0]
    groups = pq.read_metadata(file)
    assert [groups.row_group(n).num_rows for n in range(groups.num_row_groups)] == [300, 300, 300, 100]
    [logged] = lake.read(LOAD_LOG).to_pylist()
    assert (logged["resource"], logged["slice"]) == ("datasets.course_scores", "101:0")
    assert (logged["received"], logged["new"], logged["slice_version"]) == (1000, 1000, 1)
    # What is read again is compared.
    tally = load(lake, 1, SCORES, rows(*range(1, 1001))).counts
    assert (tally.new, tally.changed, tally.vanished) == (1, 999, 1)
    assert len(alive(lake)) == 1000


def test_what_is_read_again_unchanged_is_not_compared_by_key(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("compared by key")

    monkeypatch.setattr("warehouse.lake.parquet.GROUP_ROWS", 300)
    load(lake, 0, SCORES, rows(*range(1000)))
    load(lake, 1, SCORES, [*rows(0, score=2), *rows(*range(1, 1000), updated_at=at(0))])
    version = lake.version(evolve(lake, SCORES).table)
    monkeypatch.setattr("warehouse.lake.parquet.GROUP_ROWS", 700)
    with monkeypatch.context() as patch:
        patch.setattr("warehouse.load.commit.merge", refuse)
        again = [*rows(0, score=2), *rows(*range(1, 1000), updated_at=at(0))]
        tally = load(lake, 2, SCORES, again).counts
        assert (tally.unchanged, tally.were_alive) == (1000, 1000)
        assert lake.version(evolve(lake, SCORES).table) == version
        for other in (again[:-1], [*again, *rows(1000)], [*again[:-1], *rows(999, score=3)]):
            with pytest.raises(AssertionError, match="compared by key"):
                load(lake, 3, SCORES, other)
    # A tombstone that is sent again as it was is alive again.
    load(lake, 4, SCORES, again[:-1])
    assert load(lake, 5, SCORES, again).counts.returned == 1
    assert load(lake, 6, SCORES, again[:-1]).counts.vanished == 1
    assert len(alive(lake)) == 999


def test_every_reader_sees_null_where_a_file_lacks_a_column(tmp_path: Path) -> None:
    # polars takes no path with odd characters
    lake = Lake(str(tmp_path / "lake"))
    lake.ensure([])
    load(lake, 0, SCORES, rows(1, 2))
    later = define(SCORE, UPDATED, replace(SCORE, name="later"))
    table = evolve(lake, later).table
    [file] = lake.files(table)
    assert "later" not in pq.read_schema(file).names
    names = ["id", "later", "_deleted_at", "_synced_at"]
    expected = [(1, None, None, at(0)), (2, None, None, at(0))]
    opened = lake.open(table)
    assert sorted(pl.scan_delta(opened).select(names).collect().rows()) == expected
    dataset = opened.to_pyarrow_dataset().to_table(names).to_pylist()
    assert sorted(tuple(row.values()) for row in dataset) == expected
    plain = duckdb.sql(f"SELECT id, _deleted_at, _synced_at FROM read_parquet('{file}') ORDER BY id")
    assert plain.fetchall() == [(1, None, at(0)), (2, None, at(0))]


def die_in(root: str, function: str) -> None:
    module, _, name = function.rpartition(".")
    patch = pytest.MonkeyPatch()
    patch.setattr(f"{module}.{name}", lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
    load(lake_at(root), 1, SCORES, rows(*range(100)))


@pytest.mark.parametrize(
    ("function", "landed"),
    [
        (
            "warehouse.load.delta_commit._commit",
            False,
        ),
        ("warehouse.load.logs.load_log.record_load", True),
    ],
)
def test_killed_while_a_file_is_taken(lake: Lake, function: str, landed: bool) -> None:
    evolve(lake, SCORES)
    process = SPAWN.Process(target=die_in, args=(lake.root, function))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    assert len(alive(lake)) == (100 if landed else 0)
    outcome = load(lake, 1, SCORES, rows(*range(100)))
    assert (outcome.counts.new, outcome.counts.unchanged, outcome.version) == (100, 0, 1)
    assert len(alive(lake)) == 100


def test_an_incremental_reading_is_whole_and_nothing_vanishes(lake: Lake) -> None:
    bad = BadRow((9,), "score: text in a number", "{}")
    load(lake, 0, SCORES, rows(1, 2, 3), bad=[bad])
    outcome = load(lake, 1, SCORES, rows(2, 4, score=5), incremental=True)
    assert (outcome.status, outcome.message) == ("ok", "")
    assert (outcome.counts.changed, outcome.counts.new, outcome.counts.carried) == (1, 1, 2)
    assert [id for _, id, _ in alive(lake)] == [1, 2, 3, 4]
    assert lake.read(QUARANTINE).num_rows == 1
    assert lake.read(LOAD_LOG).sort_by("started_at")["complete"].to_pylist() == [True, True]
    assert load(lake, 2, SCORES, rows(), incremental=True).version == 2
    assert load(lake, 3, SCORES, [], incremental=True, complete=False).status == "failed"


def test_the_guard_of_a_segment(lake: Lake) -> None:
    for number in (0, 1):
        load(lake, 0, SCORES, rows(*range(100)), slice=segment(number))
    guard = Guard(override="run `campus sync --full`")
    with pytest.raises(VanishedTooMany, match=r"datasets.course_scores, slice 101:1: 21 of 100 rows"):
        load(lake, 1, SCORES, rows(*range(79)), slice=segment(1), guard=guard)
    assert len(alive(lake)) == 200
    load(lake, 1, SCORES, rows(*range(80)), slice=segment(1), guard=guard)
    load(lake, 2, SCORES, [], slice=segment(1), guard=replace(guard, allowed=True))
    assert [number for number, _, _ in alive(lake)] == [0] * 100


def test_what_is_held_of_a_slice(lake: Lake, tmp_path: Path) -> None:
    load(lake, 0, SCORES, [*rows(1, 2, updated_at=at(-2)), *rows(3, updated_at=at(-1)), *rows(4)])
    load(lake, 0, SCORES, rows(9), slice=segment(7))
    load(lake, 0, SCORES, rows(9, updated_at=at(0)), slice=segment(school=102))
    load(lake, 1, SCORES, [*rows(1, 2, updated_at=at(-2)), *rows(4)])
    slices = [segment(), segment(7), segment(8)]
    table = evolve(lake, SCORES).table
    assert live_rows(lake, table, slices, "updated_at") == {
        segment(): LiveRows(3, at(-2), 1),
        segment(7): LiveRows(1, None, 1),
        segment(8): LiveRows(0, None, 0),
    }
    assert live_rows(lake, table, slices, None)[segment()] == LiveRows(3, None, 3)
    assert live_rows(lake, table, [], "updated_at") == {}
    # A row that came alone, as a push named it, says nothing of what else has changed since.
    requested = RequestedRows("id", (2,))
    load(lake, 5, SCORES, rows(2, updated_at=at(4)), requested=requested)
    statuses = slice_statuses(lake, 101)[table.name]
    assert live_rows(lake, table, slices, "updated_at", statuses)[segment()] == LiveRows(3, at(-2), 1)
    assert live_rows(lake, table, slices, "updated_at")[segment()] == LiveRows(3, at(4), 1)


def test_how_far_a_slice_can_be_relied_on(lake: Lake) -> None:
    bad = BadRow(None, "no object", "[]")
    load(lake, 0, SCORES, rows(1))
    load(lake, 3, SCORES, rows(1), complete=False)
    load(lake, 2, SCORES, rows(1), incremental=True)
    load(lake, 1, SCORES, rows(1), slice=segment(1), bad=[bad])
    load(lake, 1, SCORES, rows(1), slice=segment(school=102))
    other = load(lake, 4, define(table="other"), rows(1))
    table = evolve(lake, SCORES).table
    record_failure(lake, table, segment(2), Cause("night", "run", at(5)), "403")
    assert slice_statuses(lake, 101) == {
        table.name: {
            "101:0": SliceStatus(at(2), False, at(0)),
            "101:1": SliceStatus(at(1), True, at(1)),
            "101:2": SliceStatus(failed=True),
        },
        other.table: {"101:0": SliceStatus(at(4), False, at(4))},
    }


def test_differences_of_metadata_outlive_the_loads(lake: Lake) -> None:
    retyped = Drift("field_retyped", "score", "integer -> string")
    added = Drift("field_added", "rank", "integer")
    record_differences(lake, SCORES, 101, [retyped], at(0))
    load(lake, 1, SCORES, rows(1), drift={Drift("unknown_field", "mood"): 1})
    load(lake, 2, SCORES, rows(1))
    record_differences(lake, SCORES, 101, [retyped, added], at(2))
    differences = lake.read(DIFFERENCES).sort_by("kind").to_pylist()
    assert [(row["slice"], row["kind"], row["first_seen"], row["last_seen"]) for row in differences] == [
        ("101", "field_added", at(2), at(2)),
        ("101", "field_retyped", at(0), at(2)),
    ]
    record_differences(lake, SCORES, 101, [], at(3))
    assert lake.read(DIFFERENCES).num_rows == 0


def plan(dataset: str, table: str, school_id: int = 101, **said: Any) -> Plan:
    facts = {
        "path": "/v3/uds/datasets/x/records",
        "mode": "segments",
        "key": ("id",),
        "width": 250_000,
        "segments": (0, 3),
    }
    defined = {"definition": "{}", "signature": "s", "valid_since": at(0)}
    return Plan(**{"school_id": school_id, "dataset": dataset, "table": table} | facts | defined | said)


def test_plans_stay_while_rows_do(lake: Lake) -> None:
    assert read_plans(lake) == []
    plans = [plan("course scores", "course_scores"), plan("空", "空", key=(), width=None, segments=())]
    record_plans(lake, 101, plans)
    record_plans(lake, 102, [plan("course scores", "course_scores", 102)])
    assert read_plans(lake, 101) == plans
    load(lake, 0, SCORES, rows(1))
    record_plans(lake, 101, [])
    record_plans(lake, 102, [])
    [retired_plan] = read_plans(lake)
    assert replace(retired_plan, retired_since=None) == plans[0]
    assert retired_plan.retired_since is not None
    record_plans(lake, 101, [])
    assert read_plans(lake) == [retired_plan]
    record_plans(lake, 101, plans[:1])
    assert read_plans(lake) == plans[:1]


def test_tables_of_datasets_are_kept_clean(lake: Lake, tmp_path: Path) -> None:
    named = define(SCORE, UPDATED, table="成绩")
    record_plans(lake, 101, [plan("成绩", "成绩"), plan("never loaded", "never_loaded")])
    for number in range(3):
        load(lake, number, named, rows(1, 2, score=number))
    [table] = dataset_tables(lake)
    assert (table.name, [column.name for column in table.columns]) == (
        "datasets.成绩",
        ["id", "score", "updated_at"],
    )
    assert table.folder.isascii()
    maintain(lake, [table], tmp_path / "work", retention=at(0) - at(0))
    assert len(parquet_of(lake, table)) == 1
    assert len(parquet_of(lake, DATASET_PLANS)) == 1
    assert [score for _, _, score in alive(lake, named)] == [2, 2]


def test_rows_without_a_key_of_their_own(lake: Lake, tmp_path: Path) -> None:
    table = dataset_table("log", (ROW_KEY, SCORE), (ROW_KEY.name,), "")
    load(lake, 0, table, [{"_row": name, "score": None} for name in ("b/1", "a/1", "a/2")])
    tally = load(lake, 1, table, [{"_row": name, "score": None} for name in ("a/1", "b/1")]).counts
    assert (tally.unchanged, tally.vanished) == (2, 1)
    build_raw(lake, [], tmp_path / "campus.duckdb", defined=[table])
    with duckdb.connect(str(tmp_path / "campus.duckdb")) as con:
        columns = [name for name, *_ in con.execute("DESCRIBE datasets.log").fetchall()]
        assert columns == ["score", "_school_id", "_synced_at", "_deleted_at", "_extra"]
        assert con.execute("SELECT count(*) FROM datasets.log").fetchall() == [(3,)]
