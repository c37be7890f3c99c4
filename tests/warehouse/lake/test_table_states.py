"""Commits that replace slices on a table state: what stands in their way, and what the log has of them."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import obstore
import pyarrow as pa
import pytest
from deltalake import DeltaTable, TableFeatures
from deltalake.exceptions import CommitFailedError, DeltaError, DeltaProtocolError, TableNotFoundError
from deltalake.table import TableAlterer

from tests.kits.lake.small_lake import MARKS, SLICE, empty, held, lake_at, names_in, row, sync
from warehouse.lake import delta_log
from warehouse.lake.delta import Lake
from warehouse.lake.table_state import FAR
from warehouse.lake.tables import Column, Slice, file_schema
from warehouse.load import delta_commit
from warehouse.load.delta_commit import note, rearrange

OTHER = Slice.of(_school_id=101, _semester_id=21)
WIDER = replace(MARKS, columns=(*MARKS.columns, Column("hint", pa.string(), "Hint")))


def put(lake: Lake, table_state: Any, slice: Slice = SLICE, name: str = "mine") -> None:
    """Commit a row of its own in the place of what a table state has of a slice."""
    batch = pa.RecordBatch.from_pylist([{"id": 99, "kind": "raw"}], schema=file_schema(MARKS))
    delta_commit.replace(lake, MARKS, slice, table_state, [batch], {name: 1}, {})


def log_of(lake: Lake) -> list[str]:
    return sorted(name for name in names_in(lake, "marks/_delta_log") if name.endswith(".json"))


def last_checkpoint(lake: Lake) -> int:
    checkpoint = json.loads(bytes(obstore.get(lake.objects, "marks/_delta_log/_last_checkpoint").bytes()))
    return int(checkpoint["version"])


def commits(lake: Lake, number: int) -> None:
    for _ in range(number):
        note(lake, MARKS, lake.table_state(MARKS), {})


def delete_rows(lake: Lake) -> None:
    DeltaTable(lake.uri(MARKS), storage_options=lake.storage_options).delete(SLICE.predicate)


OTHERS: dict[str, tuple[Callable[[Lake], Any], bool]] = {
    "a load of the slice": (lambda lake: sync(lake, 1, [row(1, 2)]), True),
    "a load of another slice": (lambda lake: sync(lake, 1, [row(1, 2)], slice=OTHER), False),
    "the same transaction": (lambda lake: note(lake, MARKS, lake.table_state(MARKS), {"mine": 1}), True),
    "another transaction": (lambda lake: note(lake, MARKS, lake.table_state(MARKS), {"theirs": 1}), False),
    "many commits": (lambda lake: commits(lake, FAR + 5), False),
    "a new column": (lambda lake: lake.ensure([WIDER]), True),
    "files gone by other hands": (delete_rows, True),
    "a move": (lambda lake: rearrange(lake, MARKS, lake.table_state(MARKS), [SLICE], []), True),
    "files gone from another slice": (
        lambda lake: rearrange(lake, MARKS, lake.table_state(MARKS), [OTHER], []),
        False,
    ),
}


@pytest.mark.parametrize("other", OTHERS)
def test_what_stands_in_the_way_of_a_commit(lake: Lake, other: str) -> None:
    between, in_the_way = OTHERS[other]
    sync(lake, 0, [row(1, 1)])
    table_state = lake.table_state(MARKS)
    between(lake_at(lake.root))
    version = lake.version(MARKS)
    if in_the_way:
        with pytest.raises(CommitFailedError):
            put(lake, table_state)
    else:
        put(lake, table_state)
    assert lake.version(MARKS) == version + (not in_the_way)
    put(lake, lake.table_state(MARKS), name="again")
    assert held(lake, ["id"]) == [(99,)]


def test_a_load_of_a_slice_that_rows_have_moved_to_is_in_the_way(lake: Lake) -> None:
    sync(lake, 0, [row(1, 1)])
    table_state = lake.table_state(MARKS)
    moved = pa.RecordBatch.from_pylist([{"id": 1, "kind": "raw"}], schema=file_schema(MARKS))
    rearrange(lake, MARKS, lake.table_state(MARKS), [SLICE], [(OTHER, [moved])])
    with pytest.raises(CommitFailedError):
        put(lake, table_state, OTHER, OTHER.counter)
    assert lake.read(MARKS, columns=["id"], alive=False).to_pylist() == [{"id": 1}]


def test_deltalake_heeds_our_commits(lake: Lake) -> None:
    sync(lake, 0, [row(1, 1)])
    opened = lake.open(MARKS)
    sync(lake, 1, [row(1, 2)])
    with pytest.raises(CommitFailedError):
        opened.update({"score": "3"}, predicate=SLICE.predicate)
    assert [score for _, score in held(lake)] == [2]


def test_nothing_is_committed_to_a_table_that_is_gone_or_another_one(lake: Lake) -> None:
    sync(lake, 0, [row(1, 1)])
    contents = {name: bytes(obstore.get(lake.objects, name).bytes()) for name in names_in(lake)}
    sync(lake, 1, [row(1, 2)])
    table_state = lake.table_state(MARKS)
    empty(lake)
    with pytest.raises(CommitFailedError, match="was replaced"):
        put(lake, table_state)
    with pytest.raises(TableNotFoundError):
        lake.table_state(MARKS)
    for name, content in contents.items():
        obstore.put(lake.objects, name, content)
    sync(lake, 2, [row(1, 3)])
    with pytest.raises(CommitFailedError, match="was replaced"):
        put(lake, table_state)
    assert lake.read(MARKS, SLICE).num_rows == 1


def test_a_commit_that_others_are_always_before_gives_up(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    sync(lake, 0, [row(1, 1)])
    monkeypatch.setattr(delta_log, "write", lambda *_: False)
    with pytest.raises(CommitFailedError, match="other commits came first 20 times"):
        put(lake, lake.table_state(MARKS))


def test_a_large_commit_takes_no_other_ones_place(lake: Lake) -> None:
    actions = [{"commitInfo": {"about": "x" * (6 << 20)}}]
    assert [delta_log.write(lake.objects, "marks", 1, actions) for _ in range(2)] == [True, False]


def test_a_damaged_commit_is_named(lake: Lake) -> None:
    sync(lake, 0, [row(1, 1)])
    obstore.put(lake.objects, "marks/_delta_log/00000000000000000002.json", b"no commit")
    with pytest.raises(DeltaError, match=r"marks/_delta_log/0+2\.json is damaged"):
        sync(lake, 1, [row(1, 2)])


def test_a_tip_stays_as_it_was(lake: Lake) -> None:
    sync(lake, 0, [row(1, 1)])
    table_state = lake.table_state(MARKS)
    files, counted = table_state.files(SLICE), table_state.transactions.get(SLICE.counter)
    sync(lake, 1, [row(1, 2)])
    assert lake.table_state(MARKS).files(SLICE) != files
    assert (table_state.files(SLICE), table_state.transactions.get(SLICE.counter)) == (files, counted)


def test_a_table_is_not_opened_again_for_each_commit(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    sync(lake, 0, [row(1, 1)])
    lake.table_state(MARKS)
    sync(lake_at(lake.root), 1, [row(1, 2)])
    monkeypatch.setattr(lake, "open", None)
    assert lake.table_state(MARKS).transactions[SLICE.counter] == 2
    put(lake, lake.table_state(MARKS))
    assert lake.table_state(MARKS).transactions["mine"] == 1


def test_commits_that_expired_before_the_log_says_so_are_made_up_for(lake: Lake) -> None:
    sync(lake, 0, [row(1, 1)])
    commits(lake, 30)
    # Of two processes the slower one had the last word of which checkpoint is the last.
    path = "marks/_delta_log/_last_checkpoint"
    behind = bytes(obstore.get(lake.objects, path).bytes()).replace(b'"version":29', b'"version":19')
    obstore.put(lake.objects, path, behind)
    obstore.delete(lake.objects, [f"marks/_delta_log/{number:020}.json" for number in range(29)])
    table_state = lake_at(lake.root).table_state(MARKS)
    assert (table_state.version, table_state.transactions[SLICE.counter], last_checkpoint(lake)) == (
        31,
        1,
        31,
    )
    assert table_state == lake.table_state(MARKS)


@pytest.mark.parametrize(("slices", "expected"), [(5000, [9, 19, 29]), (1, [19])])
def test_checkpoints_are_rarer_where_a_table_has_many_slices(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, slices: int, expected: list[int]
) -> None:
    monkeypatch.setattr(delta_commit, "SLICES", slices)
    checkpoints = set()
    for number in range(2):
        sync(lake, number, [row(1, number)])
    sync(lake, 0, [row(1, 1)], slice=OTHER)
    commits(lake, 7 - lake.version(MARKS))
    for _ in range(24):
        commits(lake, 1)
        if any("checkpoint.parquet" in name for name in names_in(lake, "marks/_delta_log")):
            checkpoints.add(last_checkpoint(lake))
    assert sorted(checkpoints) == expected
    assert DeltaTable(lake.uri(MARKS), storage_options=lake.storage_options).version() == 31


def test_old_commits_go_with_a_checkpoint(lake: Lake) -> None:
    lake.open(MARKS).alter.set_table_properties({"delta.logRetentionDuration": "interval 0 seconds"})
    sync(lake, 0, [row(1, 1)])
    commits(lake, 29 - lake.version(MARKS))
    assert len(log_of(lake)) == 1
    # A table that stays open has no part in commits that are gone.
    assert lake.open(MARKS).transaction_version(SLICE.counter) == 1
    assert [mark["score"] for mark in lake.read(MARKS, SLICE).to_pylist()] == [1]
    assert sync(lake, 1, [row(1, 1)]).counts.unchanged == 1


def test_threads_share_a_lake(lake: Lake) -> None:
    slices = [Slice.of(_school_id=school, _semester_id=20) for school in range(200, 206)]

    def load(slice: Slice) -> None:
        for number in range(3):
            sync(lake, number, [row(1, number)], slice=slice)

    with ThreadPoolExecutor(len(slices)) as pool:
        list(pool.map(load, slices))
    rows = lake.read(MARKS, columns=["_school_id", "score"]).to_pylist()
    assert sorted((mark["_school_id"], mark["score"]) for mark in rows) == [(s.school_id, 2) for s in slices]
    assert [lake.table_state(MARKS).transactions.get(slice_.counter) for slice_ in slices] == [3] * len(
        slices
    )
    assert lake.table_state(MARKS) == lake_at(lake.root).table_state(MARKS)


@pytest.mark.parametrize(
    ("demand", "named"),
    [
        (lambda alter: alter.add_feature(TableFeatures.ChangeDataFeed), "changeDataFeed"),
        (lambda alter: alter.set_table_properties({"delta.appendOnly": "true"}), "delta.appendOnly"),
    ],
)
def test_a_table_with_demands_that_we_do_not_know_is_left_alone(
    lake: Lake, demand: Callable[[TableAlterer], None], named: str
) -> None:
    sync(lake, 0, [row(1, 1)])
    demand(lake.open(MARKS).alter)
    version = lake.version(MARKS)
    with pytest.raises(DeltaProtocolError, match=f"another program added {named}, which"):
        sync(lake, 1, [row(1, 2)])
    assert lake.version(MARKS) == version


def test_history_tells_who_committed_what(lake: Lake) -> None:
    sync(lake, 0, [row(1, 1)])
    [commit, *_] = lake.open(MARKS).history(1)
    assert (commit["operation"], commit["engineInfo"]) == ("WRITE", "campus-warehouse")
    assert (commit["slice"], commit["sync_id"], commit["balance"]["new"]) == (str(SLICE), "night-0", 1)


def test_a_store_that_refuses_is_an_error_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "marks").touch()
    with pytest.raises(OSError, match=r"\A.+\Z") as refused:
        delta_log.write(obstore.store.LocalStore(tmp_path), "marks", 1, [])
    assert "Debug" not in str(refused.value)
