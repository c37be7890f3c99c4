"""A read-only view of the lake, limited to some schools and to one snapshot. Shards are filled from it."""

from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from campus.account import BadRow
from tests.kits.lake.small_lake import MARKS, row, sync
from warehouse.lake.delta import Lake
from warehouse.lake.logs.tables import LOAD_LOG, LOGS
from warehouse.lake.school_subset import LakeSnapshot, SchoolSubset
from warehouse.lake.tables import Slice
from warehouse.maintenance.compaction import maintain
from warehouse.publish.fill import build_raw, contents_of, differences

SCHOOLS = (101, 102, 103)
BAD = BadRow((9, "raw"), "score: text in a number", '{"id": 9}')


def load(lake: Lake, night: int, school: int, ids: list[int]) -> None:
    slice = Slice.of(_school_id=school, _semester_id=20)
    sync(lake, night, [row(id) for id in ids], slice=slice, bad=[BAD])


@pytest.fixture
def loaded(lake: Lake) -> Lake:
    """A lake of three schools. The first school has changed once."""
    for school in SCHOOLS:
        load(lake, 0, school, [1, 2])
    load(lake, 1, 101, [1, 3])
    return lake


def shard(lake: Lake, *schools: int, versions: dict[str, int] | None = None) -> SchoolSubset:
    return SchoolSubset(LakeSnapshot(lake, versions), schools)


def filled(lake: Lake, file: Path) -> dict[str, list[tuple[object, ...]]]:
    """Fill a file from a lake. Returns the rows by table, without `finished_at`, which differs each time."""
    build_raw(lake, [MARKS], file)
    with closing(duckdb.connect(str(file), read_only=True)) as con:
        tables = [f"raw.{MARKS.name}", "quality.slices", *(f"quality.{log.name}" for log in LOGS)]
        columns = "COLUMNS(lambda name: name <> 'finished_at')"
        return {t: con.execute(f"SELECT {columns} FROM {t} ORDER BY ALL").fetchall() for t in tables}


def test_a_shard_equals_a_home_with_only_its_schools(loaded: Lake, tmp_path: Path) -> None:
    alone = Lake(str(tmp_path / "alone"))
    alone.ensure([MARKS])
    for night, school, ids in ((0, 101, [1, 2]), (0, 103, [1, 2]), (1, 101, [1, 3])):
        load(alone, night, school, ids)
    assert filled(shard(loaded, 101, 103), tmp_path / "a.duckdb") == filled(alone, tmp_path / "b.duckdb")


def test_all_shards_together_equal_one_file(loaded: Lake, tmp_path: Path) -> None:
    whole = filled(loaded, tmp_path / "one.duckdb")
    first = filled(shard(loaded, 101, 102), tmp_path / "first.duckdb")
    second = filled(shard(loaded, 103), tmp_path / "second.duckdb")
    assert {table: sorted(first[table] + second[table], key=repr) for table in whole} == {
        table: sorted(rows, key=repr) for table, rows in whole.items()
    }


def test_only_own_schools_change_a_shard(loaded: Lake, tmp_path: Path) -> None:
    build_raw(shard(loaded, 101, 102), [MARKS], tmp_path / "first.duckdb")
    before = contents_of(tmp_path / "first.duckdb")

    def changed() -> set[str]:
        return differences(shard(loaded, 101, 102), [MARKS], before, tmp_path)

    assert changed() == set()
    load(loaded, 2, 103, [7])
    assert changed() == {f"quality.{LOAD_LOG.name}"}
    maintain(loaded, [MARKS], tmp_path / "scratch")
    assert changed() <= {f"quality.{LOAD_LOG.name}"}
    load(loaded, 2, 102, [7])
    assert changed() >= {"raw.marks", "quality.slices", "quality.changes"}


def test_a_build_from_earlier_versions_is_reproducible(loaded: Lake, tmp_path: Path) -> None:
    first = shard(loaded, 101)
    before = filled(first, tmp_path / "before.duckdb")
    load(loaded, 2, 101, [8, 9])
    assert filled(shard(loaded, 101), tmp_path / "now.duckdb") != before
    assert filled(shard(loaded, 101, versions=first.used), tmp_path / "again.duckdb") == before


def test_excluded_and_included_semesters_together_equal_the_whole(loaded: Lake, tmp_path: Path) -> None:
    sync(loaded, 2, [row(5)], slice=Slice.of(_school_id=101, _semester_id=21))
    sync(loaded, 2, [row(6)], slice=Slice.of(_school_id=102, _semester_id=21))
    snapshot, semesters = LakeSnapshot(loaded), {MARKS.name: {(101, 20), (102, 21)}}
    whole, without, only = (
        filled(lake, tmp_path / "any.duckdb")
        for lake in (
            SchoolSubset(snapshot, [101, 102]),
            SchoolSubset(snapshot, [101, 102], without=semesters),
            SchoolSubset(snapshot, [101, 102], only=semesters),
        )
    )
    for table in (f"raw.{MARKS.name}", "quality.slices"):
        assert without[table] and only[table]
        assert sorted(without[table] + only[table], key=repr) == sorted(whole[table], key=repr)


def test_excluded_semesters_change_no_contents(loaded: Lake, tmp_path: Path) -> None:
    def contents(**semesters: set[tuple[int, int]]) -> dict[str, str]:
        limits = {name: {MARKS.name: keys} for name, keys in semesters.items()}
        build_raw(SchoolSubset(LakeSnapshot(loaded), [101], **limits), [MARKS], tmp_path / "any.duckdb")
        return contents_of(tmp_path / "any.duckdb")

    sync(loaded, 2, [row(5)], slice=Slice.of(_school_id=101, _semester_id=21))
    without, only = contents(without={(101, 20)}), contents(only={(101, 20)})
    sync(loaded, 3, [row(7)], slice=Slice.of(_school_id=101, _semester_id=21))
    assert contents(only={(101, 20)})["raw.marks"] == only["raw.marks"]
    assert contents(without={(101, 20)})["raw.marks"] != without["raw.marks"]


def test_later_loads_do_not_change_a_snapshot(loaded: Lake, tmp_path: Path) -> None:
    snapshot = LakeSnapshot(loaded)
    before = filled(SchoolSubset(snapshot, [101]), tmp_path / "before.duckdb")
    load(loaded, 2, 101, [8, 9])
    assert filled(SchoolSubset(snapshot, [101]), tmp_path / "after.duckdb") == before
