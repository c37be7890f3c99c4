"""What a slice held before its last commits, and where nobody can know that any more."""

import shutil
from collections.abc import Callable
from datetime import timedelta

import obstore
import pytest
from deltalake.exceptions import DeltaError

from tests.kits.lake.small_lake import MARKS, SLICE, home_of, parquet_of, row, sync
from warehouse.lake.delta import Lake
from warehouse.lake.tables import Slice
from warehouse.load.history.earlier_rows import earlier_rows
from warehouse.maintenance.compaction import maintain

OTHER = Slice.of(_school_id=102, _semester_id=20)


def scores(lake: Lake) -> list[list[tuple[int, int | None]]]:
    """The ids and scores of each earlier state."""
    states = [rows.to_pylist() for rows in earlier_rows(lake, MARKS, SLICE, ["id", "score"])]
    return [sorted((row["id"], row["score"]) for row in rows) for rows in states]


def grow(lake: Lake) -> None:
    """Three nights of two slices, whose commits take turns."""
    for night in (1, 2, 3):
        rows = [row(id, night) for id in range(1, night + 1)]
        for slice in (SLICE, OTHER):
            sync(lake, night, rows, slice=slice)


def forget_copies(lake: Lake) -> None:
    if lake.copies is not None:
        shutil.rmtree(lake.copies.folder)


def test_states_come_newest_first(lake: Lake) -> None:
    grow(lake)
    assert scores(lake) == [[(1, 2), (2, 2)], [(1, 1)], []]


def test_states_are_read_one_commit_each(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """No version of the table is opened for it."""
    grow(lake)
    lake.table_state(MARKS)

    def refused(*_: object) -> None:
        raise AssertionError("the table was opened")

    monkeypatch.setattr(Lake, "open", refused)
    assert len(scores(lake)) == 3


def test_removed_files_end_the_walk(lake: Lake) -> None:
    grow(lake)
    maintain(lake, [MARKS], home_of(lake) / "work", timedelta(0))
    forget_copies(lake)
    assert scores(lake) == []


def test_removed_commits_end_the_walk(lake: Lake) -> None:
    grow(lake)
    lake.open(MARKS).create_checkpoint()
    version = lake.version(MARKS)
    names = [f"{MARKS.folder}/_delta_log/{number:020}.json" for number in range(version - 1)]
    obstore.delete(lake.objects, names)
    assert scores(lake) == [[(1, 2), (2, 2)]]


def _cut_file(lake: Lake) -> str:
    current = {f"{MARKS.folder}/{name}" for name in lake.table_state(MARKS).files(SLICE)}
    return min(name for name in parquet_of(lake, MARKS) - current if f"/{SLICE.folder}/" in name)


def _cut_commit(lake: Lake) -> str:
    return f"{MARKS.folder}/_delta_log/{lake.version(MARKS) - 1:020}.json"


@pytest.mark.parametrize("chosen", [_cut_file, _cut_commit])
def test_damage_is_no_removal(lake: Lake, chosen: Callable[[Lake], str]) -> None:
    grow(lake)
    lake.table_state(MARKS)
    name = chosen(lake)
    content = bytes(obstore.get(lake.objects, name).bytes())
    obstore.put(lake.objects, name, content[: len(content) // 2])
    forget_copies(lake)
    with pytest.raises(DeltaError):
        scores(lake)
