"""Sheets that are tables of Excel: names, labels and cells that Excel opens without a repair."""

import re
import string
from pathlib import Path

import duckdb
import openpyxl
import xlsxwriter
from hypothesis import given
from hypothesis import strategies as st

from exports.spreadsheet.excel_table import add_table
from exports.spreadsheet.sheets import Column, Sheet, Words, Workbook
from exports.spreadsheet.writer import write_workbook
from tests.kits.exports.published_file import ANY, ORIGIN, write

#: As Excel has it, and no reference to a cell.
NAME = re.compile(r"[^\W\d]\w{0,254}")


def test_rows_are_a_table_with_the_labels_of_its_header(tmp_path: Path) -> None:
    sheet = write(tmp_path, "SELECT n AS a, 'x' || n AS b FROM range(3) t (n)", for_paper=True)
    [table] = sheet.tables.values()
    assert table.name == "t_any_any"
    [header, *rows] = sheet[table.ref]
    assert [cell.value for cell in header] == [column.name for column in table.tableColumns] == ["A", "B"]
    assert [[cell.value for cell in row] for row in rows] == [[0, "x0"], [1, "x1"], [2, "x2"]]
    assert sheet.auto_filter.ref is None, "Excel refuses a filter of the sheet within a table"
    assert table.autoFilter.ref == table.ref


def test_labels_that_repeat_make_no_table(tmp_path: Path) -> None:
    columns = {name: Column(label=Words("Share", "占比"), groups=(Words(name, name),)) for name in ("a", "b")}
    sheet = write(tmp_path, "SELECT 1 AS a, 2 AS b", columns=columns)
    assert not sheet.tables and sheet.auto_filter.ref == "A2:B3"


def test_tables_of_a_file_have_distinct_names(tmp_path: Path) -> None:
    sheets = tuple(
        Sheet(Words(name, name), ANY, "SELECT 1 AS a", columns={"a": Column(ANY)})
        for name in ("a b", "A-B", "1", "学生", "")
    )
    with duckdb.connect() as con:
        write_workbook(con, Workbook("any", ANY, ANY, sheets), ORIGIN, tmp_path / "w.xlsx", "en")
    book = openpyxl.load_workbook(tmp_path / "w.xlsx")
    names = [name for sheet in book for name in sheet.tables]
    assert names == ["t_any_a_b", "t_any_a_b_2", "t_any_1", "t_any_学生", "t_any"]


LABELS = st.text(string.printable + "学生é\u202e", min_size=1, max_size=8)


@given(st.text(max_size=300), st.lists(LABELS, min_size=1, max_size=4), st.integers(2, 3))
def test_names_and_labels_of_any_text(name: str, labels: list[str], times: int) -> None:
    worksheet, taken = xlsxwriter.Workbook().add_worksheet(), set[str]()
    is_distinct = len({label.casefold() for label in labels}) == len(labels)
    for _ in range(times):
        added = add_table(worksheet, name, labels, (0, 5), taken)
        assert added == (is_distinct and "\n" not in "".join(labels))
    assert len(taken) == len(worksheet.tables) == times * added
    assert all(NAME.fullmatch(table["name"]) for table in worksheet.tables)
