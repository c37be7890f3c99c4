"""Rows that are held move to another key and to other segments: none is lost, doubled or told as deleted."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.kits.lake.datasets import everything, load, segment
from tests.kits.lake.small_lake import NewLake, at, home_of
from warehouse.lake.delta import Lake
from warehouse.lake.tables import ROW_KEY, SCHOOL_ID, Column, Table, dataset_table
from warehouse.load.commit import Guard
from warehouse.load.schema_evolution import evolve
from warehouse.maintenance.rekey import rekey

TEXT, INTEGER = pa.string(), pa.int64()
STRICT = Guard()


def table_of(type: pa.DataType, key: tuple[str, ...] = ("id",), name: str = "scores") -> Table:
    """A dataset whose id and term have this type."""
    columns = [Column("id", type, "Key"), Column("term", type, "Term"), Column("note", TEXT, "Note")]
    return dataset_table(name, [ROW_KEY, *columns] if key == (ROW_KEY.name,) else columns, key, "Scores")


def rows(ids: Sequence[Any], type: Any = str) -> list[dict[str, Any]]:
    return [{"id": type(id), "term": type(1), "note": f"n{id}"} for id in ids]


class Names:
    """Names rows by their types and values, each of several alike by its number."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def column(self, batch: pa.RecordBatch) -> Any:
        return pa.array([self._name(repr(sorted(row.items()))) for row in batch.to_pylist()], TEXT)

    def _name(self, text: str) -> str:
        self._seen[text] = self._seen.get(text, 0) + 1
        return f"{text}/{self._seen[text]}"


def move(lake: Lake, wanted: Table, width: int | None, school_id: int = 101) -> set[int]:
    return rekey(lake, wanted, school_id, width, Names, home_of(lake) / "work")


def held(lake: Lake, wanted: Table, school_id: int = 101) -> list[tuple[Any, ...]]:
    evolved = evolve(lake, wanted)
    names = ["_segment", evolved.columns["id"], "note", "_deleted_at"]
    stored = [row for row in everything(lake, evolved) if row[SCHOOL_ID.name] == school_id]
    return sorted((tuple(row[name] for name in names) for row in stored), key=repr)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ids=st.sets(st.integers(-30, 30), min_size=1, max_size=12), width=st.integers(1, 12))
def test_every_row_is_in_its_segment_and_the_next_load_finds_nothing_new(
    tmp_path_factory: pytest.TempPathFactory, new_lake: NewLake, ids: set[int], width: int
) -> None:
    lake = new_lake(tmp_path_factory.mktemp("rekeyed") / "lake")
    load(lake, 1, table_of(TEXT), rows(sorted(ids)))
    wanted = table_of(INTEGER)
    assert move(lake, wanted, width) == {id // width for id in ids}
    assert held(lake, wanted) == sorted(((i // width, i, f"n{i}", None) for i in ids), key=repr)
    version = lake.version(wanted)
    assert move(lake, wanted, width) == {id // width for id in ids}
    assert lake.version(wanted) == version, "nothing is written where all is in its place"
    for number in sorted({id // width for id in ids}):
        mine = sorted(id for id in ids if id // width == number)
        outcome = load(lake, 2, wanted, rows(mine, int), slice=segment(number), guard=STRICT)
        assert (outcome.counts.new, outcome.counts.vanished) == (0, 0)


def test_tombstones_move_too_and_other_schools_stay(lake: Lake) -> None:
    for school in (101, 102):
        load(lake, 1, table_of(TEXT), rows([1, 2, 1500]), slice=segment(0, school))
    load(lake, 2, table_of(TEXT), rows([1, 1500]))
    wanted = table_of(INTEGER)
    assert move(lake, wanted, 1000) == {0, 1}
    assert held(lake, wanted) == [(0, 1, "n1", None), (0, 2, "n2", at(2)), (1, 1500, "n1500", None)]
    assert {row[:2] for row in held(lake, wanted, 102)} == {(0, None)}, "the other school's own discovery"


@pytest.mark.parametrize("odd", ["007", "A-7", "1.7", " 7", "9223372036854775808"])
def test_what_is_no_integer_stays_where_it_is(lake: Lake, odd: str) -> None:
    load(lake, 1, table_of(TEXT), rows(["5", odd]))
    wanted = table_of(INTEGER)
    assert move(lake, wanted, 2) == {0, 2}
    assert held(lake, wanted) == sorted([(2, 5, "n5", None), (0, None, f"n{odd}", None)], key=repr)
    texts = {row["id"] for row in everything(lake, evolve(lake, wanted))}
    assert texts == {None, odd}, "it keeps its text"


def test_back_to_pages_and_text(lake: Lake) -> None:
    load(lake, 1, table_of(INTEGER), rows([1, 2], int))
    load(lake, 1, table_of(INTEGER), rows([1500], int), slice=segment(1))
    wanted = table_of(TEXT)
    assert move(lake, wanted, None) == {0}
    assert held(lake, wanted) == [(0, "1", "n1", None), (0, "1500", "n1500", None), (0, "2", "n2", None)]
    assert load(lake, 2, wanted, rows(["1", "1500", "2"]), guard=STRICT).counts.vanished == 0


def test_a_key_of_several_fields(lake: Lake) -> None:
    both = ("term", "id")
    load(lake, 1, table_of(TEXT, both), rows([1, 2]))
    wanted = table_of(INTEGER, both)
    assert move(lake, wanted, None) == {0}
    tally = load(lake, 2, wanted, rows([1, 2], int), guard=STRICT).counts
    assert (tally.new, tally.vanished, tally.loaded) == (0, 0, 2)


def test_rows_without_a_key_are_known_by_what_they_hold_as_it_is_typed_now(lake: Lake) -> None:
    keyless = (ROW_KEY.name,)

    def named(type: pa.DataType, read: list[dict[str, Any]]) -> list[dict[str, Any]]:
        schema = table_of(type, keyless).row_schema
        batch = pa.RecordBatch.from_pylist(read, schema=schema.remove(schema.get_field_index(ROW_KEY.name)))
        names = Names().column(batch).to_pylist()
        return [{ROW_KEY.name: name, **row} for name, row in zip(names, read, strict=True)]

    load(lake, 1, table_of(TEXT, keyless), named(TEXT, rows([1, 1, 2, 3])))
    load(lake, 2, table_of(TEXT, keyless), named(TEXT, rows([1, 1, 2])))
    wanted = table_of(INTEGER, keyless)
    assert move(lake, wanted, None) == {0}
    tally = load(lake, 3, wanted, named(INTEGER, rows([1, 1, 2], int)), guard=STRICT).counts
    assert (tally.new, tally.vanished, tally.loaded) == (0, 0, 3)
    assert len(everything(lake, evolve(lake, wanted))) == 4, "the one that is gone stays a tombstone"


def test_nothing_is_held_yet(lake: Lake) -> None:
    assert move(lake, table_of(INTEGER), 10) == set()
