"""Publications beside each other, and beside their readers."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import duckdb
import msgspec
import obstore
import pytest

from tests.kits.exports.published_shards import numbers, publish
from warehouse.publish.shards.publication import carried_frozen, deal, note_shard
from warehouse.published.manifest import FrozenFile, Manifest, Shard, ShardFile, decoded, encoded, with_file
from warehouse.published.reading import opened
from warehouse.published.shards import MANIFEST, PublicationBroken, Shards, change, clean, put, read_manifest

NO_AGE = timedelta(0)


def test_readers_during_twenty_swaps_see_one_generation_each(shards: Shards, tmp_path: Path) -> None:
    deal(shards, range(1, 5), 2)
    for name in ("0001", "0002"):
        publish(shards, name, 0, tmp_path)
    over, seen = threading.Event(), list[tuple[tuple[int, int], ...]]()

    def read() -> None:
        while not over.is_set():
            with opened(shards) as con:
                looks = {
                    tuple(con.execute("SELECT school_id, number FROM marts.told ORDER BY ALL").fetchall())
                    for _ in range(3)
                }
            assert len(looks) == 1
            seen.extend(looks)

    with ThreadPoolExecutor(3) as readers:
        reading = [readers.submit(read) for _ in range(3)]
        for number in range(1, 21):
            publish(shards, "0001" if number % 2 else "0002", number, tmp_path)
            clean(shards, NO_AGE)
        over.set()
        for reader in reading:
            reader.result()
    # After each swap one shard is a step ahead of the other, and no reader has met anything else.
    for (_, first), (_, same), (_, other), (_, alike) in seen:
        assert (first, other) == (same, alike) and (first == other == 0 or abs(first - other) == 1)
    assert numbers(shards) == [(1, 19), (2, 19), (3, 20), (4, 20)]


def _publish_many(root: str, cache: str, name: str) -> None:
    shards = Shards(root, Path(cache))
    for number in range(1, 8):
        note_shard(shards, name, f"{name} {number}")


def test_processes_that_publish_different_shards_at_once_both_land(shards: Shards) -> None:
    deal(shards, range(1, 4), 1)
    spawn, names = get_context("spawn"), ["0001", "0002", "0003"]
    writers = [
        spawn.Process(target=_publish_many, args=(shards.root, str(shards.cache), name)) for name in names
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    assert {shard.name: shard.problem for shard in read_manifest(shards).shards} == {
        n: f"{n} 7" for n in names
    }


def test_a_lost_race_is_changed_again_on_what_won(shards: Shards) -> None:
    deal(shards, {1, 2}, 1)
    interruptions = iter([partial(note_shard, shards, "0001", "first")])

    def second(manifest: Manifest) -> Manifest:
        interrupt: Callable[[], None] = next(interruptions, lambda: None)
        interrupt()
        return with_file(manifest, "0002", ShardFile("1", "shards/0002/1.duckdb", (2,), "m", 1))

    change(shards, second, clock=datetime.now)
    manifest = read_manifest(shards)
    assert (manifest.shard("0001").problem, manifest.files) == ("first", ("shards/0002/1.duckdb",))


def test_files_that_no_kept_manifest_names_go_and_young_ones_stay(shards: Shards, tmp_path: Path) -> None:
    deal(shards, {1}, 1)
    for number in range(4):
        publish(shards, "0001", number, tmp_path)
    assert clean(shards) == []
    assert sorted(clean(shards, NO_AGE)) == ["shards/0001/0000.duckdb", "shards/0001/0001.duckdb"]
    assert numbers(shards) == [(1, 3)]


@pytest.mark.parametrize("content", [b"{", b""])
def test_a_manifest_that_is_none_says_what_to_do(shards: Shards, content: bytes) -> None:
    assert not shards.exists()
    deal(shards, {1}, 1)
    obstore.put(shards.objects, MANIFEST, content)
    with pytest.raises(
        PublicationBroken, match=r"manifest.json is not a manifest of this version .*campus build"
    ):
        read_manifest(shards)


def test_a_frozen_file_is_read_with_its_shard_and_stays_as_long(shards: Shards, tmp_path: Path) -> None:
    deal(shards, [1], 1)
    publish(shards, "0001", 0, tmp_path)
    file, name = tmp_path / "frozen.duckdb", "shards/0001/0000.frozen.duckdb"
    with duckdb.connect(str(file)) as con:
        con.execute("CREATE SCHEMA marts; CREATE SCHEMA quality")
        con.execute("CREATE TABLE marts.told AS SELECT 1 AS school_id, -1 AS number")
        con.execute("CREATE TABLE quality.divided AS SELECT 'marts.seen' AS name, '' AS state")
    put(shards, file, name)

    def freeze(manifest: Manifest) -> Manifest:
        published = manifest.shard("0001").published
        assert published
        frozen = FrozenFile("0000", name, 1)
        return with_file(manifest, "0001", msgspec.structs.replace(published, frozen=frozen))

    change(shards, freeze, clock=datetime.now)
    assert numbers(shards) == [(1, -1), (1, 0)]
    with opened(shards) as con:
        tables = con.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
    assert tables == [("told",)]
    assert clean(shards, NO_AGE) == []
    assert decoded(encoded(read_manifest(shards))) == read_manifest(shards)
    for number in (1, 2):
        publish(shards, "0001", number, tmp_path)
    assert name in clean(shards, NO_AGE)
    assert numbers(shards) == [(1, 2)]


@pytest.mark.parametrize("content", [b"", b"no database", None])
def test_frozen_semesters_whose_file_is_damaged_or_gone_are_made_anew(
    shards: Shards, tmp_path: Path, content: bytes | None
) -> None:
    name = "shards/0001/0001.frozen.duckdb"
    if content is not None:
        (tmp_path / "damaged").write_bytes(content)
        put(shards, tmp_path / "damaged", name)
    frozen = FrozenFile("0001", name, 1)
    published = ShardFile("0001", "shards/0001/0001.duckdb", (1,), "models", 1, frozen=frozen)
    assert carried_frozen(shards, Shard("0001", (1,), published), "models") is None
