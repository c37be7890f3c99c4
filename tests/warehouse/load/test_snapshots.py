"""Reports in the lake and in the file: each reading takes the place of the one before, as a whole."""

from contextlib import closing
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campus.account import BadRow
from tests.kits.lake.datasets import load
from tests.kits.lake.small_lake import NewLake, at, home_of
from warehouse.lake.delta import Lake
from warehouse.lake.tables import PARAMS, Column, Slice, Table, report_table
from warehouse.load.commit import Guard, Outcome, Unproven
from warehouse.publish.fill import build_raw

NAME = Column("name", pa.string(), "Student")
TOTAL = Column("total", pa.int64(), "Total")


def define(*columns: Column) -> Table:
    return report_table("ranks__501", columns, "Ranks")


def of(partition: str = "ranks.501", school: int = 101) -> Slice:
    return Slice.of(_school_id=school, _partition=partition)


def take(
    lake: Lake,
    number: int,
    table: Table,
    *rows: dict[str, Any],
    slice: Slice | None = None,
    **said: Any,
) -> Outcome:
    """Commit a reading of these rows, in their order."""
    numbered = [{"_row_number": place, **row} for place, row in enumerate(rows, start=1)]
    return load(lake, number, table, numbered, slice=slice or of(), **said)


def published(lake: Lake, *definitions: Table, query: str) -> list[tuple[Any, ...]]:
    file = home_of(lake) / "campus.duckdb"
    build_raw(lake, [], file, defined=definitions)
    with closing(duckdb.connect(str(file), read_only=True)) as con:
        return con.execute(query).fetchall()


def columns(lake: Lake, *definitions: Table) -> list[str]:
    return [name for name, *_ in published(lake, *definitions, query="DESCRIBE reports.ranks__501")]


def test_a_reading_takes_the_place_of_the_one_before_and_keeps_the_order(lake: Lake) -> None:
    table = define(NAME, TOTAL)
    li, wang, zhao = {"name": "李", "total": 3}, {"name": "王", "total": 2}, {"name": "赵", "total": None}
    first = take(lake, 0, table, li, wang, wang, zhao)
    assert (first.counts.new, first.counts.loaded, first.version) == (4, 4, 1)
    same = take(lake, 1, table, li, wang, wang, zhao)
    assert (same.counts.unchanged, same.counts.modified, same.version) == (4, 0, 1), "nothing is written"
    moved = take(lake, 2, table, wang, li, wang, {"name": "赵", "total": 1})
    counts = moved.counts
    assert (counts.new, counts.changed, counts.unchanged, counts.vanished) == (1, 2, 1, 1)
    rows = published(lake, table, query="SELECT * EXCLUDE (_extra) FROM reports.ranks__501 ORDER BY ALL")
    assert rows == [
        (1, "王", 2, 101, at(2), None),
        (2, "李", 3, 101, at(2), None),
        (3, "王", 2, 101, at(2), None),
        (4, "赵", 1, 101, at(2), None),
    ]


def test_columns_of_a_pivot_come_and_go(lake: Lake) -> None:
    old = define(NAME, Column("s20", pa.int64(), "Semester 20"))
    new = define(NAME, Column("s21", pa.float64(), "Semester 21"))
    take(lake, 0, old, {"name": "李", "s20": 7})
    gone = take(lake, 1, define(NAME), {"name": "李"})
    assert (gone.counts.new, gone.counts.vanished) == (1, 1), "its values have gone with the column"
    take(lake, 2, new, {"name": "李", "s21": 1.5})
    assert columns(lake, new) == ["_row_number", "name", "s21", "_school_id", *OURS]
    rows = published(lake, new, old, query="SELECT name, s21, s20 FROM reports.ranks__501")
    assert rows == [("李", 1.5, None)]


OURS = ["_synced_at", "_deleted_at", "_extra"]


def test_each_partition_has_columns_of_its_own(lake: Lake) -> None:
    first, second = (define(PARAMS, NAME, Column(name, pa.int64(), name)) for name in ("maths", "art"))
    take(lake, 0, first, {"_params": "semester=20", "name": "李", "maths": 1}, slice=of("ranks.501.20"))
    take(lake, 0, second, {"_params": "semester=21", "name": "李", "art": 2}, slice=of("ranks.501.21"))
    query = "SELECT _params, maths, art FROM reports.ranks__501 ORDER BY ALL"
    assert published(lake, second, first, query=query) == [("semester=20", 1, None), ("semester=21", None, 2)]
    take(lake, 1, first, slice=of("ranks.501.20"))
    assert published(lake, second, first, query=query) == [("semester=21", None, 2)]
    names = columns(lake, second, first)
    assert names[:5] == ["_row_number", "_params", "name", "art", "maths"]


def test_a_field_of_another_type_is_one_column_where_it_fits(lake: Lake) -> None:
    whole, exact = define(TOTAL), define(Column("total", pa.decimal128(38, 18), "Total"))
    take(lake, 0, whole, {"total": 5}, slice=of("ranks.501", 102))
    take(lake, 1, whole, {"total": 6})
    take(lake, 2, exact, {"total": 7})
    query = "SELECT _school_id, total FROM reports.ranks__501 ORDER BY ALL"
    assert published(lake, exact, whole, query=query) == [(101, 7), (102, 5)]


def test_tables_that_duckdb_knows_by_one_name_are_one(lake: Lake) -> None:
    old, new = report_table("Ranks__501", [NAME], "Ranks"), define(NAME)
    take(lake, 0, old, {"name": "李"})
    take(lake, 1, new, {"name": "王"})
    assert published(lake, new, old, query="SELECT name FROM reports.ranks__501") == [("王",)]


def test_what_is_not_proven_whole_leaves_the_last_one(lake: Lake) -> None:
    table = define(TOTAL)
    take(lake, 0, table, {"total": 1})
    with pytest.raises(Unproven, match=r"^it counts 3; the list kept changing .* nothing was committed"):
        take(lake, 1, table, {"total": 2}, complete=False, failures=("it counts 3",))
    assert published(lake, table, query="SELECT total FROM reports.ranks__501") == [(1,)]


def test_rows_in_quarantine_are_left_out_and_the_others_replaced(lake: Lake) -> None:
    table = define(TOTAL)
    take(lake, 0, table, {"total": 1}, {"total": 2})
    bad = BadRow(None, "total: expected a whole number", '{"total": 1.7}')
    outcome = take(lake, 1, table, {"total": 3}, bad=[bad], guard=Guard(allowed=True))
    assert (outcome.status, outcome.message) == (
        "failed",
        "1 of 2 rows are in quality.quarantine (campus quarantine list)",
    )
    assert published(lake, table, query="SELECT total FROM reports.ranks__501") == [(3,)]


def test_a_note_is_told_and_is_no_failure(lake: Lake) -> None:
    outcome = take(lake, 0, define(TOTAL), notes=("no rows",))
    assert (outcome.status, outcome.message, outcome.version) == ("ok", "no rows", 0)
    assert columns(lake, define(TOTAL)) == ["_row_number", "total", "_school_id", *OURS]


ROWS = st.lists(
    st.fixed_dictionaries({"total": st.none() | st.integers(0, 2), "name": st.sampled_from("ab")})
)


@settings(max_examples=12, deadline=None)
@given(readings=st.lists(ROWS, min_size=1, max_size=4))
def test_the_last_reading_is_all_there_is(
    readings: list[list[dict[str, Any]]], tmp_path_factory: pytest.TempPathFactory, new_lake: NewLake
) -> None:
    lake, before = new_lake(tmp_path_factory.mktemp("home") / "lake"), list[tuple[Any, ...]]()
    for number, rows in enumerate(readings):
        counts = take(lake, number, define(NAME, TOTAL), *rows).counts
        now = [(row["name"], row["total"]) for row in rows]
        assert counts.unchanged == sum(old == new for old, new in zip(before, now, strict=False))
        assert counts.unchanged + counts.changed == len(now) - counts.new == len(before) - counts.vanished
        before = now
    query = "SELECT name, total FROM reports.ranks__501 ORDER BY _row_number"
    assert published(lake, define(NAME, TOTAL), query=query) == before
