"""Real processes on one lake: races, and deaths at the worst moments."""

import multiprocessing
import os
import signal
import time
from collections import defaultdict
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

import pytest

from tests.kits.lake.small_lake import MARKS, SLICE, empty, held, lake_at, row, sync
from tests.kits.waiting import PATIENCE, until
from warehouse.lake.delta import Lake
from warehouse.lake.logs.tables import CHANGES, LOAD_LOG
from warehouse.lake.tables import Slice
from warehouse.load.delta_commit import BLOCK
from warehouse.load.history.change_log import record_changes
from warehouse.load.logs.load_log import committed
from warehouse.load.merge import merge
from warehouse.maintenance.compaction import maintain

SPAWN = multiprocessing.get_context("spawn")
IDS = range(40)


def start(work: Callable[..., None], *args: Any) -> SpawnProcess:
    process = SPAWN.Process(target=work, args=args)
    process.start()
    return process


def ended(process: SpawnProcess) -> int | None:
    process.join(PATIENCE)
    return process.exitcode


def ensure(root: str) -> None:
    lake_at(root).ensure([MARKS])


def commit_own(root: str, slice: Slice, worker: int) -> None:
    for number in range(worker, worker + 5):
        sync(lake_at(root), number, [row(id, number) for id in IDS], slice=slice)


def commit_until_killed(root: str, number: int) -> None:
    while True:
        number += 1
        sync(lake_at(root), number, [row(id, number) for id in IDS])


def die_in(root: str, function: str, number: int) -> None:
    module, _, name = function.rpartition(".")
    patch = pytest.MonkeyPatch()
    patch.setattr(f"{module}.{name}", lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
    sync(lake_at(root), number, [row(id, number) for id in IDS[number:]])


def interrupted(*_said: Any) -> None:
    raise KeyboardInterrupt


def assert_chained(lake: Lake) -> None:
    """Each change of a score starts from where the last one ended, and the last one is what is held."""
    changes = lake.read(CHANGES).sort_by("slice_version").to_pylist()
    assert sum(change["op"] == "loaded" for change in changes) == 1
    chains = defaultdict(list)
    for change in changes:
        if change["field"] == "score":
            chains[change["key"]].append((change["before"], change["after"]))
    for id, score in held(lake):
        chain = chains[f'[{id},"raw"]']
        assert [before for before, _ in chain[1:]] == [after for _, after in chain[:-1]]
        assert Decimal(chain[-1][1]) == score


def test_several_processes_may_make_the_lake(lake: Lake) -> None:
    empty(lake)
    processes = [start(ensure, lake.root) for _ in range(4)]
    assert [ended(process) for process in processes] == [0] * 4
    assert lake.read(MARKS).num_rows == 0


def test_processes_on_slices_of_their_own_and_on_one(lake: Lake) -> None:
    slices = [
        SLICE,
        SLICE,
        Slice.of(_school_id=101, _semester_id=21),
        Slice.of(_school_id=102, _semester_id=20),
    ]
    processes = [start(commit_own, lake.root, slice, worker) for worker, slice in enumerate(slices)]
    assert [ended(process) for process in processes] == [0] * 4
    rows = lake.read(MARKS, columns=["_school_id", "_semester_id", "id"]).to_pylist()
    assert len({tuple(row.values()) for row in rows}) == len(rows) == 3 * len(IDS)
    assert lake.read(LOAD_LOG).num_rows == 4 * 5
    changes = lake.read(CHANGES, columns=["slice", "slice_version"]).to_pylist()
    versions = {row["slice_version"] for row in changes if row["slice"] == str(SLICE)}
    assert versions == set(range(1, lake.open(MARKS).transaction_version(SLICE.counter) + 1))


def wait_for_commits(lake: Lake, number: int) -> None:
    version = lake.version(LOAD_LOG) + number
    until(lambda: lake.version(LOAD_LOG) >= version, f"{number} commits are logged")


@pytest.mark.slow
def test_killed_at_any_moment(lake: Lake) -> None:
    sync(lake, 0, [row(id, 0) for id in IDS])
    for number in range(0, 600, 100):
        process = start(commit_until_killed, lake.root, number)
        wait_for_commits(lake, 2)
        time.sleep(number / 3000)  # A moment of its own for each kill.
        process.kill()
        assert ended(process) == -signal.SIGKILL
        scores = {score for _, score in held(lake)}
        assert len(held(lake)) == len(IDS)
        assert len(scores) == 1
    sync(lake, 1000, [row(id, 1000) for id in IDS])
    assert_chained(lake)


@pytest.mark.parametrize(
    ("function", "landed"),
    [
        ("warehouse.load.delta_commit._commit", False),
        ("warehouse.load.history.change_log.append", True),
        ("warehouse.load.logs.load_log.record_findings", True),
        ("warehouse.load.logs.load_log.record_load", True),
    ],
)
def test_killed_on_the_way(lake: Lake, function: str, landed: bool) -> None:
    sync(lake, 0, [row(id, 0) for id in IDS])
    assert ended(start(die_in, lake.root, function, 1)) == -signal.SIGKILL
    assert {score for _, score in held(lake)} == {Decimal(1 if landed else 0)}
    assert set(committed(lake, "night-1")) == set()
    outcome = sync(lake, 1, [row(id, 1) for id in IDS[1:]])
    assert (outcome.version, outcome.counts.changed, outcome.counts.vanished) == (2, 39, 1)
    assert outcome.counts.unchanged == 0
    assert set(committed(lake, "night-1")) == {("marks", "101:20")}
    assert lake.read(CHANGES).num_rows == 1 + 39 + 1
    assert_chained(lake)


def test_a_commit_between_looking_and_committing_is_logged_first(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync(lake, 0, [row(id, 0) for id in IDS])
    others = [1]

    def merge_late(*said: Any) -> Any:
        # When this one has looked, another one commits and dies before its changes are logged.
        while others:
            other = start(die_in, lake.root, "warehouse.load.history.change_log.append", others.pop())
            assert ended(other) == -signal.SIGKILL
        return merge(*said)

    monkeypatch.setattr("warehouse.load.commit.merge", merge_late)
    sync(lake, 2, [row(id, 2) for id in IDS[1:]])
    assert_chained(lake)
    scores = [change for change in lake.read(CHANGES).to_pylist() if change["field"] == "score"]
    assert {change["slice_version"] for change in scores} == {2, 3}


def test_a_commit_that_another_process_logs_meanwhile_is_logged_once(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sync(lake, 0, [row(id, 0) for id in IDS])
    with monkeypatch.context() as dying:
        dying.setattr("warehouse.load.history.change_log.append", interrupted)
        with pytest.raises(KeyboardInterrupt):
            sync(lake, 1, [row(id, 1) for id in IDS])
    looked, others = lake.table_state, lake_at(lake.root)
    due = [lambda: sync(others, 2, [row(id, 2) for id in IDS])]

    def look_late(*said: Any) -> Any:
        # When the first of the two tables was looked at, the other process logs the commit and makes one.
        table_state = looked(*said)
        while due:
            due.pop()()
        return table_state

    monkeypatch.setattr(lake, "table_state", look_late)
    record_changes(lake, MARKS, SLICE, tmp_path / "work")
    assert lake.read(CHANGES).num_rows == 1 + 2 * len(IDS)
    assert_chained(lake)


def test_maintenance_logs_what_a_death_left_unlogged(lake: Lake, tmp_path: Path) -> None:
    sync(lake, 0, [row(id, 0) for id in IDS])
    assert ended(start(die_in, lake.root, "warehouse.load.history.change_log.append", 1)) == -signal.SIGKILL
    maintain(lake, [MARKS], tmp_path / "work", timedelta(0))
    sync(lake, 2, [row(id, 2) for id in IDS[1:]])
    assert_chained(lake)


def die_in_a_file(root: str) -> None:
    """End while a file of the lake is being written: it has a name that no listing shows."""
    lake = lake_at(root)
    stream = lake.store(MARKS).open_output_stream("part-torn.parquet", buffer_size=2 * BLOCK)
    for _ in range(16):
        stream.write(bytes(BLOCK))
    os.kill(os.getpid(), signal.SIGKILL)


def test_maintenance_deletes_a_file_that_a_death_left_half_written(lake: Lake, tmp_path: Path) -> None:
    sync(lake, 0, [row(id, 0) for id in IDS])
    if lake.is_remote:
        pytest.skip("a store of objects has no file that is half written")
    folder = Path(lake.uri(MARKS))
    before = {path for path in folder.rglob("*") if path.is_file()}
    assert ended(start(die_in_a_file, lake.root)) == -signal.SIGKILL
    assert {path for path in folder.rglob("*") if path.is_file()} - before, "there is such a file"
    maintain(lake, [MARKS], tmp_path / "work")
    assert {path for path in folder.rglob("*") if path.is_file()} - before, "it may still be in the writing"
    maintain(lake, [MARKS], tmp_path / "work", timedelta(0))
    assert {path for path in folder.rglob("part-*") if path.is_file()} <= before
