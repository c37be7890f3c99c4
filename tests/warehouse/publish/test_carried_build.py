"""A build goes on from the published file: only what the lake holds otherwise is filled anew."""

from contextlib import closing
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import pytest

from campus.account import BadRow
from tests.kits.lake.small_lake import MARKS, row, sync
from warehouse.lake.delta import Lake
from warehouse.lake.tables import Slice
from warehouse.maintenance.compaction import maintain
from warehouse.publish.build import carried_by
from warehouse.publish.fill import build_raw, contents_of, days_have_moved, days_of, differences
from warehouse.publish.publish import publish

OTHER = replace(MARKS, name="other")
VERSION = "the models as they are"


@pytest.fixture
def home(lake: Lake, tmp_path: Path) -> Path:
    """A home whose file is published, of two tables."""
    lake.ensure([OTHER])
    sync(lake, 0, [row(1), row(2)])
    sync(lake, 0, [row(3)], table=OTHER)
    build(lake, tmp_path, [MARKS, OTHER])
    return tmp_path


def build(lake: Lake, home: Path, tables: list[Any]) -> set[str]:
    """One night's build and publication; what had changed, which is known before."""
    previous = carried_by(home / "campus.duckdb", VERSION)
    foreseen = differences(lake, tables, contents_of(previous), home / "spill") if previous else None
    changed = build_raw(lake, tables, home / "build" / "campus.duckdb", previous=previous)
    assert foreseen in (changed, None)
    publish(home / "build" / "campus.duckdb", home, models_version=VERSION)
    return changed


def ids(home: Path, table: str) -> list[int]:
    with closing(duckdb.connect(str(home / "campus.duckdb"), read_only=True)) as con:
        return [id for (id,) in con.execute(f"SELECT id FROM raw.{table} ORDER BY id").fetchall()]


def test_nothing_changed_is_nothing_filled(lake: Lake, home: Path) -> None:
    assert build(lake, home, [MARKS, OTHER]) == set()
    assert (ids(home, "marks"), ids(home, "other")) == ([1, 2], [3])


def test_a_night_that_found_the_same_has_only_its_log(lake: Lake, home: Path) -> None:
    sync(lake, 1, [row(1), row(2)])
    assert build(lake, home, [MARKS, OTHER]) == {"quality.load_log"}


def test_another_day_at_the_platform_is_news(lake: Lake, home: Path) -> None:
    for number, day in ((1, 5), (2, 6)):
        sync(lake, number, [row(1), row(2)], platform_day=date(2026, 3, day))
        assert days_have_moved(lake, days_of(home / "campus.duckdb"))
        assert build(lake, home, [MARKS, OTHER]) == {"quality.load_log"}
        assert not days_have_moved(lake, days_of(home / "campus.duckdb"))
    sync(lake, 3, [row(1), row(2)], platform_day=date(2026, 3, 6))
    assert not days_have_moved(lake, days_of(home / "campus.duckdb"))


def test_one_table_changed_is_one_table_filled(lake: Lake, home: Path) -> None:
    sync(lake, 1, [row(1), row(2), row(4)])
    changed = {"raw.marks", "quality.slices", "quality.changes", "quality.load_log"}
    assert build(lake, home, [MARKS, OTHER]) == changed
    assert (ids(home, "marks"), ids(home, "other")) == ([1, 2, 4], [3])


def test_the_rows_of_each_slice_are_counted_as_its_table_is_filled(lake: Lake, home: Path) -> None:
    sync(lake, 1, [row(2)])
    sync(lake, 1, [row(1)], slice=Slice.of(_school_id=102, _semester_id=21))
    build(lake, home, [MARKS, OTHER])
    with closing(duckdb.connect(str(home / "campus.duckdb"), read_only=True)) as con:
        counted = con.execute("FROM quality.slices ORDER BY ALL").fetchall()
    assert counted == [
        ("marks", 101, "101:20", 1, 1),
        ("marks", 102, "102:21", 1, 0),
        ("other", 101, "101:20", 1, 0),
    ]


def test_a_new_row_in_quarantine_is_a_change_and_the_same_one_again_is_none(lake: Lake, home: Path) -> None:
    bad = BadRow((9, "raw"), "score: text in a number", '{"id": 9}')
    sync(lake, 1, [row(1), row(2)], bad=[bad])
    assert build(lake, home, [MARKS, OTHER]) == {"quality.quarantine", "quality.load_log"}
    sync(lake, 2, [row(1), row(2)], bad=[bad])
    assert build(lake, home, [MARKS, OTHER]) == {"quality.load_log"}


def test_maintenance_is_no_change(lake: Lake, home: Path, tmp_path: Path) -> None:
    for school in (101, 102, 103):
        sync(lake, 1, [row(1)], slice=Slice.of(_school_id=school, _semester_id=21))
    build(lake, home, [MARKS, OTHER])
    before = lake.version(MARKS)
    maintain(lake, [MARKS, OTHER], tmp_path / "scratch")
    lake.open(MARKS).optimize.z_order(["id"])
    assert lake.version(MARKS) > before
    assert build(lake, home, [MARKS, OTHER]) == set()


def test_other_words_about_a_table_are_a_change(lake: Lake, home: Path) -> None:
    assert build(lake, home, [MARKS, replace(OTHER, comment="Said better")]) == {
        "raw.other",
        "quality.slices",
    }


def test_a_table_that_is_no_longer_wanted_goes(lake: Lake, home: Path) -> None:
    assert build(lake, home, [MARKS]) == {"raw.other", "quality.slices"}
    with pytest.raises(duckdb.CatalogException):
        ids(home, "other")


def test_a_lake_begun_anew_is_read_anew(home: Path, tmp_path: Path) -> None:
    other = Lake(str(tmp_path / "another lake"))
    other.ensure([MARKS, OTHER])
    sync(other, 0, [row(7)])
    assert {"raw.marks", "raw.other"} <= build(other, home, [MARKS, OTHER])
    assert (ids(home, "marks"), ids(home, "other")) == ([7], [])


def test_a_file_of_other_models_is_not_carried(home: Path) -> None:
    assert carried_by(home / "campus.duckdb", VERSION) is not None
    assert carried_by(home / "campus.duckdb", "the models of tomorrow") is None
    assert carried_by(home / "nowhere.duckdb", VERSION) is None
    (home / "cut off.duckdb").write_bytes((home / "campus.duckdb").read_bytes()[:5000])
    assert carried_by(home / "cut off.duckdb", VERSION) is None


def test_a_file_that_is_mostly_room_is_not_carried(home: Path) -> None:
    file = home / "campus.duckdb"
    file.chmod(0o644)
    with closing(duckdb.connect(str(file))) as con:
        con.execute("CREATE TABLE much AS SELECT hash(i) AS a, hash(i + 1) AS b FROM range(500000) AS t(i)")
        con.execute("CHECKPOINT")
        con.execute("DROP TABLE much")
        con.execute("CHECKPOINT")
    assert carried_by(file, VERSION) is None
