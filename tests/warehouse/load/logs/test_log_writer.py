"""Logs are written together: whoever reads in the meantime knows, and a death believes nothing."""

import multiprocessing
import os
import signal
from collections import Counter
from datetime import datetime

import pytest

from campus.account import BadRow, Drift
from tests.kits.lake.small_lake import MARKS, SLICE, at, lake_at, parquet_of, row, sync
from tests.kits.waiting import PATIENCE
from warehouse.lake.delta import Lake
from warehouse.lake.logs.tables import (
    DIFFERENCES,
    LOAD_LOG,
    MONTH,
    QUARANTINE,
    RECONCILIATION,
    STANDINGS,
)
from warehouse.lake.tables import Slice
from warehouse.load.logs import writer
from warehouse.load.logs.drift import record_drift
from warehouse.load.logs.load_log import (
    SliceStatus,
    committed,
    held_back,
    last_load,
    loads_of,
    now,
    quarantined,
    record_load,
    resources_loaded,
    slice_statuses,
    unreadable_fields,
)
from warehouse.load.logs.writer import batched, settled, write
from warehouse.load.slice_reading import Measure
from warehouse.load.whole_readings import slices_due_whole

SPAWN = multiprocessing.get_context("spawn")
WRITTEN = (LOAD_LOG, STANDINGS, QUARANTINE, DIFFERENCES, RECONCILIATION)
OTHER = Slice.of(_school_id=102, _semester_id=20)
BAD = BadRow((9, "raw"), "score: text in a number", '{"id": 9}')
FOUND = {
    "bad": (BAD,),
    "drift": {Drift("unreadable_value", "score", "ten"): 1},
    "measures": (Measure("server total", 2, 1),),
}


def versions(lake: Lake) -> list[int]:
    return [lake.version(log) for log in WRITTEN]


def answers(lake: Lake) -> list[object]:
    """All that anybody asks the logs."""
    return [
        [committed(lake, f"night-{number}", [101, 102]) for number in range(5)],
        [slice_statuses(lake, school) for school in (101, 102)],
        [quarantined(lake, MARKS, school) for school in (101, 102)],
        [unreadable_fields(lake, MARKS, school) for school in (101, 102)],
        (slices_due_whole(lake, {"marks"}, 7, at(0)), held_back(lake, {"marks"})),
        (last_load(lake), resources_loaded(lake)),
    ]


def three_loads(lake: Lake) -> None:
    """One that finds something, one of another school, and one that takes back a part of it."""
    sync(lake, 0, [row(1)], **FOUND)
    sync(lake, 0, [row(1)], slice=OTHER, bad=[BAD])
    sync(lake, 1, [row(1)], slice=OTHER)


def test_a_batch_is_one_commit_a_log_and_known_before(lake: Lake) -> None:
    before = versions(lake)
    with batched(lake):
        three_loads(lake)
        assert versions(lake) == before
        expected = answers(lake)
        assert quarantined(lake, MARKS, 101) == ['{"id": 9}'] and quarantined(lake, MARKS, 102) == []
        assert unreadable_fields(lake, MARKS, 101) == {"score"}
        assert slice_statuses(lake, 101) == {"marks": {"101:20": SliceStatus(at(0), True, at(0))}}
        assert [
            difference.field for difference in record_drift(lake, {("marks", 101)}, "night-0", at(0))
        ] == ["score"]
    assert versions(lake) == [version + 1 for version in before]
    assert answers(lake) == expected
    assert len(lake.files(QUARANTINE)) == len(lake.files(LOAD_LOG)) == 1
    assert answers(lake_at(lake.root)) == expected


@pytest.mark.parametrize("end", [ValueError, KeyboardInterrupt])
def test_a_batch_is_written_however_it_ends(lake: Lake, end: type[BaseException]) -> None:
    with pytest.raises(end), batched(lake), batched(lake):
        sync(lake, 0, [row(1)])
        raise end
    assert set(committed(lake_at(lake.root), "night-0")) == {("marks", "101:20")}


def test_the_outermost_batch_writes(lake: Lake) -> None:
    with batched(lake):
        with batched(lake):
            sync(lake, 0, [row(1)])
        assert lake.read(LOAD_LOG).num_rows == 0
        write(lake)
        assert lake.read(LOAD_LOG).num_rows == 1
    assert lake.read(LOAD_LOG).num_rows == 1


@pytest.mark.parametrize("limit", ["ROWS", "SECONDS"])
def test_a_batch_does_not_wait_for_ever(lake: Lake, limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, limit, 0)
    with batched(lake):
        sync(lake, 0, [row(1)])
        assert set(committed(lake_at(lake.root), "night-0")) == {("marks", "101:20")}


def test_what_changed_nothing_waits_longer(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    sync(lake, 0, [row(1)])
    monkeypatch.setattr(writer, "SECONDS", 0)
    with batched(lake):
        sync(lake, 1, [row(1)])
        assert committed(lake_at(lake.root), "night-1") == {}
        sync(lake, 1, [row(2)], slice=OTHER)
        assert set(committed(lake_at(lake.root), "night-1")) == {("marks", "101:20"), ("marks", "102:20")}
        monkeypatch.setattr(writer, "QUIET_SECONDS", 0)
        sync(lake, 2, [row(1)])
        assert set(committed(lake_at(lake.root), "night-2")) == {("marks", "101:20")}


def die_in_a_batch(root: str) -> None:
    lake = lake_at(root)
    with batched(lake):
        sync(lake, 0, [row(1)], **FOUND)
        os.kill(os.getpid(), signal.SIGKILL)


def test_what_a_death_left_unwritten_is_read_again(lake: Lake) -> None:
    process = SPAWN.Process(target=die_in_a_batch, args=(lake.root,))
    process.start()
    process.join(PATIENCE)
    assert process.exitcode == -signal.SIGKILL
    assert lake.read(MARKS).num_rows == 1
    assert (committed(lake, "night-0"), slice_statuses(lake, 101)) == ({}, {})
    outcome = sync(lake, 0, [row(1)], **FOUND)
    assert (outcome.version, outcome.counts.new, outcome.counts.unchanged) == (1, 1, 0)
    assert quarantined(lake, MARKS, 101) == ['{"id": 9}']


def test_what_could_not_be_written_is_tried_again(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with batched(lake):
        sync(lake, 0, [row(1)], bad=[BAD])
        with monkeypatch.context() as patch:
            patch.setattr(writer, "_settle", full)
            with pytest.raises(OSError, match="No space"):
                write(lake)
        sync(lake, 1, [row(1)], slice=OTHER)
    assert lake.read(LOAD_LOG).num_rows == 2
    assert set(slice_statuses(lake, 101)["marks"]) == {"101:20"} and committed(lake, "night-1")


def test_a_load_that_is_written_late_says_nothing_more(lake: Lake) -> None:
    entry = {"run_id": "r", "started_at": at(2), "status": "ok", "complete": True}
    record_load(lake, MARKS, SLICE, {**entry, "sync_id": "night-2", "finished_at": at(4)})
    record_load(lake, MARKS, SLICE, {**entry, "sync_id": "night-1", "finished_at": at(3)})
    assert (set(committed(lake, "night-1")), len(committed(lake, "night-2"))) == (set(), 1)


def sync_in_batches(root: str, school: int, worker: int) -> None:
    lake, slice = lake_at(root), Slice.of(_school_id=school, _semester_id=worker)
    for number in range(4):
        with batched(lake):
            sync(lake, number, [row(1, number)], slice=slice, **FOUND)


@pytest.mark.slow
def test_processes_on_one_school_and_on_others(lake: Lake) -> None:
    workers = [(101, 1), (101, 2), (102, 3), (103, 4)]
    processes = [SPAWN.Process(target=sync_in_batches, args=(lake.root, *pair)) for pair in workers]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
    assert [process.exitcode for process in processes] == [0] * 4
    slices = {f"{school}:{worker}" for school, worker in workers}
    assert lake.read(LOAD_LOG).num_rows == 4 * 4
    for log in (STANDINGS, QUARANTINE, DIFFERENCES, RECONCILIATION):
        assert Counter(lake.read(log, columns=["slice"])["slice"].to_pylist()) == Counter(slices)
    for school, worker in workers:
        standing = slice_statuses(lake, school)["marks"][f"{school}:{worker}"]
        assert standing == SliceStatus(at(3), True, at(3))


def test_the_load_log_is_filed_by_month(lake: Lake) -> None:
    months = [datetime(2026, 2, 28), datetime(2026, 3, 1), datetime(2026, 3, 2)]
    for number, day in enumerate(months):
        entry = {"sync_id": f"night-{number}", "status": "ok", "finished_at": day}
        record_load(lake, MARKS, SLICE, entry)
    parts = [dict(part) for part in lake.open(LOAD_LOG).partitions()]
    assert {part[MONTH] for part in parts} == {"2026-02", "2026-03"}
    assert [row["sync_id"] for row in loads_of(lake, "night-2", months[1])] == ["night-2"]
    assert loads_of(lake, "night-0", months[1]) == []


def test_logs_stay_small_by_themselves(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "LOOSE_FILES", 5)
    monkeypatch.setattr(writer, "RETENTION_HOURS", 0)
    for number in range(30):
        sync(lake, number, [row(1)], bad=[BAD])
    assert lake.read(LOAD_LOG).num_rows == 30
    for log in WRITTEN:
        assert len(parquet_of(lake, log)) < 20, log.name
    assert len(lake.files(LOAD_LOG)) <= 6


def test_the_standings_are_what_the_load_log_says(lake: Lake) -> None:
    three_loads(lake)
    sync(lake, 2, [], retires=True)
    # The log does not say which files a load left: the next one compares with what is held.
    columns = [name for name in STANDINGS.lake_schema.names if name != "state"]
    stand = lake.read(STANDINGS).to_pylist()
    by_log = settled([], lake.read(LOAD_LOG).sort_by("finished_at").to_pylist())
    assert [{name: row[name] for name in columns} for row in by_log] == [
        {name: row[name] for name in columns} for row in stand
    ]
    assert {row[MONTH] for row in lake.read(LOAD_LOG).to_pylist()} == {f"{now():%Y-%m}"}
