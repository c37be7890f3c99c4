"""A lake in a store of objects: copies of its files, outages, and stores that are not fit for one."""

import multiprocessing
import os
import shutil
import time
from pathlib import Path

import obstore
import pytest
from obstore.exceptions import BaseError

from tests.kits.lake.small_lake import MARKS, SLICE, held, home_of, lake_at, row, sync
from tests.kits.servers.object_store import BUCKET, ObjectStore
from tests.kits.waiting import PATIENCE
from warehouse.lake import copies
from warehouse.lake.copies import Copies
from warehouse.lake.delta import Lake
from warehouse.lake.tables import Slice
from warehouse.stores import checked

SPAWN = multiprocessing.get_context("spawn")


@pytest.fixture
def remote(request: pytest.FixtureRequest, s3: ObjectStore, tmp_path: Path) -> Lake:
    lake = lake_at(f"s3://{BUCKET}{tmp_path}/lake")
    for name, content in request.getfixturevalue("made_lake").items():
        obstore.put(lake.objects, name, content)
    return lake


def copied(lake: Lake) -> list[Path]:
    return sorted((home_of(lake) / "copies").rglob("*.parquet"))


def test_a_file_is_fetched_once_and_as_a_whole(
    remote: Lake, s3: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "PIECE", 500)
    sync(remote, 0, [row(id, id) for id in range(200)])
    [path] = remote.files(MARKS, SLICE)
    name = str(Path(path).relative_to(home_of(remote) / "copies"))
    assert name.startswith("marks/_school_id=101/_semester_id=20/part-")
    assert Path(path).read_bytes() == bytes(obstore.get(remote.objects, name).bytes())
    s3.requests()
    assert remote.readable(MARKS, [name.removeprefix("marks/")]) == [path]
    assert s3.requests() == {}


def test_a_copy_that_tears_is_none(remote: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "PIECE", 500)
    sync(remote, 0, [row(id, id) for id in range(200)])
    shutil.rmtree(home_of(remote) / "copies")
    with monkeypatch.context() as torn:
        torn.setattr(copies.obstore, "get_range", lambda *_, **__: b"short")  # type: ignore[attr-defined]
        with pytest.raises(OSError, match=r"received .* bytes"):
            remote.files(MARKS)
    assert copied(remote) == []
    assert len(remote.files(MARKS)) == 1
    assert sync(remote, 1, [row(id, 1) for id in range(200)]).counts.changed == 199


def test_a_store_that_stays_away_is_told_as_a_fault_of_storage(
    remote: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync(remote, 0, [row(1, 1)])
    shutil.rmtree(home_of(remote) / "copies")

    def away(*_: object, **__: object) -> None:
        raise BaseError("Error performing GET in 180s, after 9 retries\nDebug source: nobody reads that")

    with monkeypatch.context() as outage:
        outage.setattr(copies.obstore, "get", away)  # type: ignore[attr-defined]
        with pytest.raises(OSError, match=r"after 9 retries$"):
            remote.files(MARKS)
    assert len(remote.files(MARKS)) == 1


def test_copies_are_bounded_by_what_was_asked_for_longest_ago(tmp_path: Path) -> None:
    objects = obstore.store.LocalStore(tmp_path / "objects", mkdir=True)
    cache = Copies(tmp_path / "copies", limit=100)
    for number in range(6):
        obstore.put(objects, f"t/{number}.parquet", bytes(30))
        path = Path(*cache.fetched(objects, [f"t/{number}.parquet"]))
        if number < 4:
            os.utime(path, (number, number))
    (tmp_path / "copies" / "t" / ".left").touch()
    os.utime(tmp_path / "copies" / "t" / ".left", (0, 0))
    cache.fetched(objects, ["t/2.parquet"])
    cache.fetched(objects, ["t/0.parquet"])
    names = sorted(path.name for path in (tmp_path / "copies" / "t").iterdir())
    # 2 was asked for again before there was too much, and 0 once more; what is in use stays.
    assert names == ["0.parquet", "2.parquet", "4.parquet", "5.parquet"]


def write_own(root: str, worker: int) -> None:
    for number in range(4):
        sync(lake_at(root), number, [row(1, number)], slice=Slice.of(_school_id=worker, _semester_id=20))


@pytest.mark.slow
def test_four_writers_of_one_table_lose_nothing(remote: Lake) -> None:
    processes = [SPAWN.Process(target=write_own, args=(remote.root, worker)) for worker in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(PATIENCE)
    assert [process.exitcode for process in processes] == [0] * 4
    rows = remote.read(MARKS, columns=["_school_id", "score"]).to_pylist()
    assert sorted((row["_school_id"], row["score"]) for row in rows) == [(worker, 3) for worker in range(4)]
    opened = remote.open(MARKS)
    counters = [Slice.of(_school_id=worker, _semester_id=20).counter for worker in range(4)]
    assert [opened.transaction_version(counter) for counter in counters] == [4] * 4


def test_an_outage_is_ridden_out(remote: Lake, s3: ObjectStore) -> None:
    sync(remote, 0, [row(1, 1)])
    s3.fail(4)
    began = time.monotonic()
    sync(remote, 1, [row(1, 2)])
    assert time.monotonic() - began >= 4
    assert [score for _, score in held(remote)] == [2]
    assert remote.open(MARKS).transaction_version(SLICE.counter) == 2


@pytest.mark.parametrize(
    ("root", "expected"),
    [
        ("gs://bucket/lake", "no other kind"),
        ("s3://bucket", "s3://bucket/prefix"),
        ("s3://bucket/la ke", "s3://bucket/prefix"),
        ("s3://key:secret@bucket/lake", "s3://bucket/prefix"),
    ],
)
def test_a_place_that_is_none_is_said(root: str, expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        checked(root)


def test_a_place_is_a_folder_or_a_prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert checked("s3://bucket/a/b_c.d/") == "s3://bucket/a/b_c.d"
    assert checked("lake") == str(tmp_path / "lake")
