"""Sheets as data: what a file may say, and the sheet that is made of it."""

from pathlib import Path
from typing import Any

import duckdb
import pytest
from pydantic import ValidationError

from exports.library.sheet_library import SheetData, make_page_sheet, make_sheet, sheets_of
from exports.library.words import HERE, labels, phrase
from exports.spreadsheet.sheets import Language, Words

SCHOOL = 101
NAME = {"en": "Marks", "zh": "成绩"}


@pytest.fixture
def con() -> duckdb.DuckDBPyConnection:
    """A view of two schools: a row a class and week; the last week is not shown."""
    con = duckdb.connect()
    con.execute("create schema views")
    con.execute(
        "create view views.class_week as select * from (values"
        " (101, 'A', 2, 'two', '二', 90.0, null, true), (101, 'A', 10, 'ten', '十', 80.0, null, true),"
        " (101, 'B', 10, 'ten', '十', 70.0, null, true), (101, 'B', 11, 'eleven', '十一', 60.0, null, false),"
        " (102, 'C', 3, 'three', '三', 50.0, 'x', true)"
        ") as rows (school_id, class, week, week_en, week_zh, rate, remark, is_shown)"
    )
    return con


def rows(con: duckdb.DuckDBPyConnection, data: dict[str, object], language: Language = "en") -> list[Any]:
    sheet = make_sheet(
        con, SheetData.model_validate({"name": NAME, "view": "class_week"} | data), SCHOOL, language
    )
    parameters = {"school_id": SCHOOL} | ({"pages": ["A"]} if "$pages" in sheet.query else {})
    return con.execute(sheet.query, parameters).fetchall()


def test_rows_are_of_the_school_and_shown_semester(con: duckdb.DuckDBPyConnection) -> None:
    data = {"columns": ["class", "week"], "order": ["-week", "class"]}
    assert rows(con, data) == [("A", 10), ("B", 10), ("A", 2)]
    assert rows(con, data | {"semesters": "all"})[0] == ("B", 11)
    assert rows(con, data | {"condition": "rate > 75"}) == [("A", 10), ("A", 2)]


def test_a_pivot_has_a_column_for_each_key_in_order(con: duckdb.DuckDBPyConnection) -> None:
    data = SheetData.model_validate(
        {
            "name": NAME,
            "view": "class_week",
            "order": ["class"],
            "columns": [
                "class",
                {"heading": NAME, "columns": [{"pivot": {"key": "week", "value": "rate", "empty": "0"}}]},
            ],
            "scales": [{"columns": ["rate"], "order": "more is better"}],
        }
    )
    sheet = make_sheet(con, data, SCHOOL, "zh")
    assert con.execute(sheet.query, {"school_id": SCHOOL}).fetchall() == [("A", 90, 80), ("B", 0, 70)]
    assert list(sheet.columns) == ["class", "rate 2", "rate 10"]
    assert sheet.columns["rate 10"].label == Words("ten", "十")
    assert sheet.columns["rate 10"].groups == (Words("Marks", "成绩"),)
    assert sheet.scales[0].columns == ("rate 2", "rate 10")


@pytest.mark.parametrize(("language", "text"), [("en", "two"), ("zh", "二")])
def test_a_pair_of_texts_is_one_column(con: duckdb.DuckDBPyConnection, language: Language, text: str) -> None:
    data = {"columns": [{"week": {"is_pair": True}}], "condition": "week = 2"}
    assert rows(con, data, language) == [(text,)]


def test_a_column_without_values_is_left_out(con: duckdb.DuckDBPyConnection) -> None:
    data = {"columns": ["class", {"remark": {"is_optional": True}}], "condition": "week = 2"}
    assert rows(con, data) == [("A",)]


def test_a_sheet_of_pages_has_their_rows(con: duckdb.DuckDBPyConnection) -> None:
    assert rows(con, {"columns": ["week"], "page": "class", "order": ["week"]}) == [(2,), (10,)]


def test_rows_of_all_pages_have_their_keys(con: duckdb.DuckDBPyConnection) -> None:
    """Page by page, with texts in both languages."""
    columns = [{"week": {"is_pair": True}}]
    data = SheetData.model_validate(
        {"name": NAME, "view": "class_week", "columns": columns, "order": ["-week"]}
    )
    _, query = make_page_sheet(con, data, SCHOOL, {"page": "class", "_week": "week"})
    assert con.execute(query, {"school_id": SCHOOL, "first": "A", "last": "B"}).fetchall() == [
        ("A", "10", "ten", "十"),
        ("A", "2", "two", "二"),
        ("B", "10", "ten", "十"),
    ]
    assert len(con.execute(query, {"school_id": SCHOOL, "first": "B", "last": "B"}).fetchall()) == 1


def test_a_tick_stands_where_the_value_is_so(con: duckdb.DuckDBPyConnection) -> None:
    data = {"columns": [{"is_shown": {"tick": False}}], "semesters": "all", "order": ["week"]}
    assert rows(con, data) == [(None,), (None,), (None,), ("✓",)]


@pytest.mark.parametrize(
    "data",
    [
        {"columns": ["class"], "colums": []},
        {"columns": [{"class": {"lable": NAME}}]},
        {"columns": ["class"], "scales": [{"columns": ["class"], "order": "better"}]},
    ],
)
def test_a_misspelled_name_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        SheetData.model_validate({"name": NAME, "view": "class_week"} | data)


@pytest.mark.parametrize("path", sorted(HERE.glob("*.yml")), ids=lambda path: path.stem)
def test_each_file_is_read(path: Path) -> None:
    if "\nsheets:" in path.read_text(encoding="utf-8"):
        assert sheets_of(path.stem)


def test_phrases_are_those_of_the_file_or_of_measures() -> None:
    assert phrase("rank") == Words("Rank", "名次")
    assert phrase("pass_rate").zh == "及格率"
    assert list(labels("levels")) == ["at_risk", "warning", "watch", "none", "unknown"]
    with pytest.raises(KeyError):
        phrase("no such phrase")
