"""A reading that brings what the last one did is known by its name, and not compared."""

import json
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from campus.account import BadRow
from loading.tables import TABLES
from tests.kits.lake.small_lake import MARKS, SLICE, at, held, row, sync
from warehouse.lake.delta import Lake
from warehouse.lake.logs.tables import STANDINGS
from warehouse.lake.tables import Slice
from warehouse.load.delta_commit import rearrange
from warehouse.load.logs.writer import batched, known_states
from warehouse.load.slice_reading import RequestedSince, RetainedRows
from warehouse.load.stage import StageWriter
from warehouse.maintenance.compaction import maintain

ROWS = [row(1, Decimal("85.5")), row(2), row(3, _trashed=True, _trashed_at=datetime(2026, 1, 5))]
BAD = BadRow((9, "raw"), "made up", "{}")


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grows with each comparison by key."""
    calls: list[str] = []
    merge = sync.__globals__["commit"].__globals__["merge"]

    def counted(con: Any, table: Any, *arguments: Any) -> Any:
        calls.append(table.name)
        return merge(con, table, *arguments)

    monkeypatch.setattr("warehouse.load.commit.merge", counted)
    return calls


@pytest.fixture
def loaded(lake: Lake, compared: list[str]) -> Lake:
    sync(lake, 0, ROWS)
    compared.clear()
    return lake


def test_the_same_rows_in_any_order_are_not_compared(loaded: Lake, compared: list[str]) -> None:
    before = loaded.version(MARKS)
    for number in (1, 2):
        outcome = sync(loaded, number, reversed(ROWS))
        assert (outcome.status, outcome.counts.unchanged, outcome.counts.modified) == ("ok", 3, 0)
        assert (outcome.counts.were_alive, outcome.counts.are_alive) == (2, 2)
        assert (outcome.received, outcome.version) == (3, 1)
    assert (compared, loaded.version(MARKS)) == ([], before)


def test_what_a_batch_has_not_written_is_compared_once_more_at_most(
    loaded: Lake, compared: list[str]
) -> None:
    with batched(loaded):
        sync(loaded, 1, ROWS)
        assert compared == []
        sync(loaded, 2, [*ROWS, row(4)])
        sync(loaded, 3, [*ROWS, row(4)])
        assert held(loaded, ["id"]) == [(1,), (2,), (4,)]
    compared.clear()
    assert sync(loaded, 4, [*ROWS, row(4)]).counts.modified == 0
    assert compared == []


@pytest.mark.parametrize(
    "other",
    [
        [ROWS[0], ROWS[1]],
        [*ROWS, row(4)],
        [row(1, Decimal("85.6")), *ROWS[1:]],
        [row(1, Decimal("85.5"), _extra=json.dumps({"a": 1})), *ROWS[1:]],
        [*ROWS[:2], row(3)],
        [*ROWS[:2], row(3, _trashed=True, _trashed_at=datetime(2026, 1, 6))],
    ],
)
def test_other_rows_are_compared(loaded: Lake, compared: list[str], other: list[dict[str, Any]]) -> None:
    sync(loaded, 1, other)
    assert compared == ["marks"]


def test_what_was_there_before_the_last_change_is_a_change(loaded: Lake) -> None:
    sync(loaded, 1, [row(1), row(2)])
    assert sync(loaded, 2, ROWS).counts.changed == 1
    assert held(loaded) == [(1, Decimal("85.5")), (2, None)]


@pytest.mark.parametrize(
    "said",
    [
        {"complete": False},
        {"bad": (BAD,)},
        {"retained": (RetainedRows("class_id", (9,)),)},
        {"requested_since": RequestedSince("updated_at", at(0).date())},
        {"incremental": True},
        {"failures": ("class 9: refused",)},
    ],
)
def test_a_reading_of_a_part_or_with_a_fault_has_no_state(
    lake: Lake, compared: list[str], said: dict[str, Any]
) -> None:
    for number in (0, 1):
        assert sync(lake, number, ROWS, **said).state is None
    assert len(compared) == 1


def test_duplicates_are_compared_since_one_of_them_is_the_better(lake: Lake, compared: list[str]) -> None:
    for number in (0, 1):
        assert sync(lake, number, [*ROWS, row(1, Decimal(1))]).counts.duplicates == 1
    assert len(compared) == 2


def test_files_that_another_commit_has_made_are_compared(loaded: Lake, compared: list[str]) -> None:
    # As a change of keys moves rows between slices, without a load.
    rearrange(
        loaded, MARKS, loaded.table_state(MARKS), [SLICE], [(Slice.of(_school_id=101, _semester_id=21), [])]
    )
    assert held(loaded, ["id"]) == []
    assert sync(loaded, 1, ROWS).counts.new == 3
    assert held(loaded, ["id"]) == [(1,), (2,)]


def test_a_commit_that_comes_between_ours_and_its_name_is_seen(
    loaded: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_rows, theirs = [row(1, Decimal(5))], [row(1, Decimal(7))]
    adopt = sync.__globals__["commit"].__globals__["adopt"]

    def overtaken(*arguments: Any) -> str:
        monkeypatch.undo()
        file: str = adopt(*arguments)
        sync(loaded, 2, theirs)
        return file

    monkeypatch.setattr("warehouse.load.commit.adopt", overtaken)
    sync(loaded, 1, own_rows)
    assert held(loaded) == [(1, Decimal(7))]
    sync(loaded, 3, own_rows)
    assert held(loaded) == [(1, Decimal(5))]


def test_maintenance_has_it_compared_once(loaded: Lake, compared: list[str], tmp_path: Path) -> None:
    loaded.open(MARKS).optimize.z_order(["id"])
    maintain(loaded, [MARKS], tmp_path)
    for number in (1, 2, 3):
        assert sync(loaded, number, ROWS).counts.modified == 0
    assert len(compared) == 1


def test_a_lake_from_before_states_were_kept_gains_them(loaded: Lake, compared: list[str]) -> None:
    state = known_states(loaded, 101).get(("marks", str(SLICE)))
    loaded.open(STANDINGS).update(updates={"state": "NULL"})
    assert state is not None and known_states(loaded, 101).get(("marks", str(SLICE))) is None
    assert sync(loaded, 1, ROWS).state == state
    assert compared == ["marks"]
    assert sync(loaded, 2, ROWS).state == state
    assert compared == ["marks"]


@pytest.mark.parametrize("name", sorted(TABLES))
def test_the_rows_of_each_table_have_a_name(name: str, tmp_path: Path) -> None:
    table, names = TABLES[name], set[str]()
    key = {column: table.staging_schema.field(column).type for column in table.primary_key}
    for number in (1, 1, 2):
        values = {column: f"{number}" if pa.types.is_string(type) else number for column, type in key.items()}
        with StageWriter(table, tmp_path, synced_at=at(0)) as spool:
            rows = [{column: values.get(column) for column in table.staging_schema.names}]
            spool.write(pa.RecordBatch.from_pylist(rows, schema=table.staging_schema))
            staged = spool.finish()
        assert (staged.rows, staged.alive) == (1, 1)
        names.add(staged.content)
    assert len(names) == 2
