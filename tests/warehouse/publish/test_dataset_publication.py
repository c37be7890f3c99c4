"""The schema `datasets` of the published file."""

from contextlib import closing
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa

from campus.account import BadRow
from tests.kits.lake.datasets import ID, SCORE, define, load, segment
from tests.kits.lake.small_lake import at, home_of
from warehouse.lake.delta import Lake
from warehouse.lake.tables import Column, Table
from warehouse.publish.fill import build_raw

BOOKKEEPING = ["_school_id", "_synced_at", "_deleted_at", "_extra"]


class Published:
    """A build of the datasets as they are defined, the newest definition first."""

    def __init__(self, lake: Lake, *definitions: Table) -> None:
        self._file = home_of(lake) / "campus.duckdb"
        build_raw(lake, [], self._file, defined=definitions)

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        with closing(duckdb.connect(str(self._file), read_only=True)) as con:
            return con.execute(query).fetchall()

    def columns(self, table: str) -> dict[str, tuple[str, str]]:
        """Type and comment of each column, in order."""
        query = f"""
            SELECT column_name, data_type, comment FROM duckdb_columns()
            WHERE schema_name = 'datasets' AND table_name = '{table}' ORDER BY column_index
        """
        return {name: (type, comment) for name, type, comment in self.ask(query)}


def test_a_dataset_is_one_table_over_all_schools(lake: Lake) -> None:
    old = define(Column("gone", pa.string(), "Dropped"), SCORE)
    new = define(
        Column("rank", pa.int64(), 'The teacher\'s "own" rank'), replace(SCORE, comment="Points (of 100)")
    )
    extra = '{"mood": "good"}'
    load(lake, 0, old, [{"id": 1, "gone": "a", "score": Decimal("1.10"), "_extra": extra}])
    load(lake, 0, old, [{"id": 1, "gone": "b", "score": None}], slice=segment(3, 102))
    load(lake, 1, new, [{"id": 2, "rank": 7, "score": Decimal(2)}])
    published = Published(lake, new, old)
    columns = published.columns("course_scores")
    assert list(columns) == ["id", "rank", "score", "gone", *BOOKKEEPING]
    assert columns["rank"] == ("BIGINT", 'The teacher\'s "own" rank')
    assert columns["score"] == ("DECIMAL(8,2)", "Points (of 100)")
    assert columns["_extra"][0] == "JSON"
    rows = published.ask("SELECT * FROM datasets.course_scores ORDER BY _school_id, id")
    assert rows == [
        (1, None, Decimal("1.10"), "a", 101, at(1), at(1), extra),
        (2, 7, Decimal(2), None, 101, at(1), None, None),
        (1, None, None, "b", 102, at(0), None, None),
    ]
    [(comment,)] = published.ask("SELECT comment FROM duckdb_tables() WHERE table_name = 'course_scores'")
    assert comment == "Scores of courses"
    # What no school names any more is still there, and says so.
    gone = Published(lake, new).columns("course_scores")
    assert list(gone) == list(columns)
    assert gone["gone"][1] == "Dropped (no longer part of the dataset)"


def test_older_values_join_the_newest_type_where_all_are_exact(lake: Lake) -> None:
    text, whole = Column("level", pa.string(), "Level"), Column("level", pa.int64(), "Level")
    for school, values in ((101, ["7", "-12"]), (102, ["8"])):
        rows = [{"id": id, "level": value} for id, value in enumerate(values)]
        load(lake, 0, define(text), rows, slice=segment(school=school))
    load(lake, 1, define(whole), [{"id": 5, "level": 9}], incremental=True)
    published = Published(lake, define(whole), define(text))
    assert published.columns("course_scores")["level"] == ("BIGINT", "Level")
    assert "level__string" not in published.columns("course_scores")
    assert sorted(published.ask("SELECT level FROM datasets.course_scores")) == [(-12,), (7,), (8,), (9,)]
    # One value that is no number, or would be another text, and all the texts stand beside.
    for number, value in enumerate(("absent", "07", "99999999999999999999"), start=2):
        load(lake, number, define(text), [{"id": 0, "level": value}], slice=segment(school=102))
        published = Published(lake, define(whole), define(text))
        columns = published.columns("course_scores")
        assert list(columns) == ["id", "level", "level__string", *BOOKKEEPING]
        assert columns["level__string"] == ("VARCHAR", "level, of rows from before its type changed")
        shown = published.ask("SELECT level, level__string FROM datasets.course_scores")
        assert sorted(shown, key=repr) == sorted(
            [(9, None), (None, "-12"), (None, "7"), (None, value)], key=repr
        )


def test_a_relation_that_grew_and_one_that_was_a_text(lake: Lake) -> None:
    def teacher(*names: str) -> Column:
        return Column("teacher", pa.struct([(name, pa.string()) for name in names]), "Teacher")

    load(lake, 0, define(teacher("name")), [{"id": 1, "teacher": {"name": "王"}}])
    grown = define(teacher("name", "title"))
    load(lake, 1, grown, [{"id": 2, "teacher": {"name": "李", "title": None}}], incremental=True)
    published = Published(lake, grown)
    assert published.ask(
        "SELECT id, teacher.name, teacher.title FROM datasets.course_scores ORDER BY id"
    ) == [
        (1, "王", None),
        (2, "李", None),
    ]
    text = define(Column("teacher", pa.string(), "Teacher"))
    load(lake, 2, text, [{"id": 3, "teacher": "张"}], incremental=True)
    published = Published(lake, text)
    columns = [name for name in published.columns("course_scores") if name.startswith("teacher")]
    assert len(columns) == 3
    shown = published.ask("SELECT COLUMNS('teacher.*') FROM datasets.course_scores ORDER BY id")
    assert [sum(value is not None for value in row) for row in shown] == [1, 1, 1]


def test_names_in_any_script_and_tables_without_rows(lake: Lake) -> None:
    marks = define(Column("成绩", pa.date32(), "Points"), table="课程_成绩")
    empty = define(Column("order", pa.bool_(), "A word of SQL"), table="select")
    never = define(SCORE, table="never_loaded")
    bad = BadRow((2,), "成绩: no date", "{}")
    load(lake, 0, marks, [{"id": 1, "成绩": date(2026, 3, 2)}], bad=[bad])
    load(lake, 0, empty, [])
    published = Published(lake, marks, empty, never)
    assert published.ask('SELECT id, "成绩" FROM datasets."课程_成绩"') == [(1, date(2026, 3, 2))]
    assert published.ask("SELECT resource, slice FROM quality.quarantine") == [
        ("datasets.课程_成绩", "101:0")
    ]
    assert list(published.columns("select")) == ["id", "order", *BOOKKEEPING]
    assert list(published.columns("never_loaded")) == ["id", "score", *BOOKKEEPING]
    assert published.columns("never_loaded")["score"] == ("DECIMAL(8,2)", "Points")
    assert published.ask('SELECT count(*) FROM datasets."select"') == [(0,)]


def test_a_key_that_changed_its_type(lake: Lake) -> None:
    load(lake, 0, define(), [{"id": 1}])
    named = replace(define(), columns=(replace(ID, type=pa.string()),))
    load(lake, 1, named, [{"id": "a"}])
    published = Published(lake, named)
    rows = published.ask("SELECT id, _deleted_at FROM datasets.course_scores ORDER BY id")
    assert rows == [("1", at(1)), ("a", None)]
