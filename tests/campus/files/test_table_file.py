"""Files that people keep: what is read of them, and what is said of those that cannot be."""

import csv
import datetime as dt
import io
import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xlsxwriter
from hypothesis import given
from hypothesis import strategies as st

from campus.files import table_file
from campus.files.table_file import (
    MOST_BYTES,
    MOST_ROWS,
    MOST_UNPACKED,
    FileContent,
    TableError,
    TableFile,
    lines_of,
    named_file,
    table_in,
    table_of,
)

ROWS = [["学号", "name"], ["007", '王"小,明'], ["", ""], ["8", "two\nlines"], ["9", ""]]
READ = [(2, {"学号": "007", "name": '王"小,明'}), (4, {"学号": "8", "name": "two\nlines"})]


def read_table(path: Path) -> TableFile:
    return table_in(named_file(path))


def read_here(path: Path) -> TableFile:
    """Read a file as the process of the reader does, without its start, which takes half a second."""

    def lines(file: FileContent, header: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
        return lines_of(file.path.suffix.lower(), file.content, header)

    with patch.object(table_file, "_lines_by_process", lines):
        return read_table(path)


def cells_of(table: TableFile) -> list[tuple[int, dict[str, str]]]:
    return [(row.line, dict(row.cells)) for row in table.rows]


def read(path: Path) -> list[tuple[int, dict[str, str]]]:
    return cells_of(read_here(path))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_csv_in_the_encodings_of_spreadsheet_programs(
    tmp_path: Path, encoding: str, separator: str
) -> None:
    file = tmp_path / "r.csv"
    with file.open("w", encoding=encoding, newline="") as out:
        csv.writer(out, delimiter=separator).writerows(ROWS)
    # The quoted cell of line 4 goes on in line 5.
    assert read(file) == [*READ, (6, {"学号": "9", "name": ""})]


def test_an_xlsx_gives_numbers_and_dates_as_people_see_them(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    for row in (
        ["usin", "day", "share", "name"],
        [20230101.0, dt.datetime(2026, 11, 23), 0.5, None],
        [None, None, None, None],
        [7, dt.datetime(2026, 11, 23, 8, 5), True, "=1+1"],
    ):
        sheet.append(row)
    book.save(tmp_path / "r.xlsx")
    assert read(tmp_path / "r.xlsx") == [
        (2, {"usin": "20230101", "day": "2026-11-23", "share": "0.5", "name": ""}),
        # A formula that no program has computed has no value.
        (4, {"usin": "7", "day": "2026-11-23 08:05:00", "share": "true", "name": ""}),
    ]


def test_a_parquet_file(tmp_path: Path) -> None:
    table = pa.table({"usin": ["007", None], "day": [dt.date(2026, 11, 23), None], "n": [1, 2]})
    pq.write_table(table, tmp_path / "r.parquet")
    assert read(tmp_path / "r.parquet") == [
        (2, {"usin": "007", "day": "2026-11-23", "n": "1"}),
        (3, {"usin": "", "day": "", "n": "2"}),
    ]


def test_a_cell_in_which_a_spreadsheet_has_an_error_is_told_with_its_row(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (("usin", "name"), ("1", "#N/A"), ("2", "#REF"), ("3", "甲")):
        book.active.append(row)
    book.save(tmp_path / "r.xlsx")
    problems = [row.problem for row in read_here(tmp_path / "r.xlsx").rows]
    assert problems == ["column 2 is #N/A: the spreadsheet has an error there", "", ""]


def test_what_is_no_number_is_an_empty_cell(tmp_path: Path) -> None:
    pq.write_table(pa.table({"usin": ["1", "2"], "n": [float("nan"), 7.0]}), tmp_path / "r.parquet")
    assert read(tmp_path / "r.parquet") == [(2, {"usin": "1", "n": ""}), (3, {"usin": "2", "n": "7"})]


@pytest.mark.parametrize("cut", [1, 40, 10_000])
@pytest.mark.parametrize("part", ["xl/worksheets/sheet1.xml", "xl/workbook.xml", "[Content_Types].xml"])
def test_an_xlsx_with_a_part_that_is_cut_off_is_told(tmp_path: Path, part: str, cut: int) -> None:
    book = openpyxl.Workbook()
    book.active.append(["usin"])
    book.save(tmp_path / "whole.xlsx")
    with zipfile.ZipFile(tmp_path / "whole.xlsx") as whole, zipfile.ZipFile(tmp_path / "r.xlsx", "w") as torn:
        for name in whole.namelist():
            content = whole.read(name)
            torn.writestr(name, content[:-cut] if name == part else content)
    with pytest.raises(TableError, match=r"is damaged, or no \.xlsx file"):
        read_here(tmp_path / "r.xlsx")


@given(st.lists(st.lists(st.text("aé王,;\t\"' \n", max_size=5), min_size=2, max_size=2), max_size=5))
def test_what_a_csv_says_is_what_is_read(rows: list[Any]) -> None:
    out = io.StringIO()
    csv.writer(out).writerows([["a", "b"], *rows])
    # As the process that reads it does: to start one takes too long for so many.
    table = table_of(lines_of(".csv", out.getvalue().encode()), "r.csv")
    said = [[cell.strip() for cell in row] for row in rows]
    assert [list(row.cells.values()) for row in table.rows] == [row for row in said if any(row)]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("r.doc", b"", "expected a file that ends with .csv, .xlsx or .parquet"),
        ("r.csv", b"", "is empty: its first line has to name the columns"),
        ("r.csv", b"a,a\n1,2", "line 1: columns 1 and 2 have the same heading"),
        ("r.csv", b"a,,c\n1,2,3", "line 1: column 2 has no heading"),
        ("r.csv", b"a,b\n1,2,3", "line 2: more cells than the first line has names"),
        ("r.csv", b'a,b\n"1,2', "is damaged, or no .csv file"),
        ("r.csv", b"a\n\xff\xff\xff", "neither UTF-8 nor GB18030"),
        ("r.xlsx", b"PK nonsense", "is damaged, or no .xlsx file"),
        ("r.parquet", b"nonsense", "is damaged, or no .parquet file"),
    ],
)
def test_what_cannot_be_read_is_told_with_what_to_do(
    tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TableError, match=r"r\.\w+.*") as caught:
        read_here(tmp_path / name)
    assert words in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="cannot be read: No such file"):
        read_here(tmp_path / "none.csv")


SHEET = "xl/worksheets/sheet1.xml"


def xlsx_with(path: Path, part: str, replaced: bytes) -> Path:
    """A workbook of one sheet in which one part is another one."""
    book = openpyxl.Workbook()
    book.active.append(["usin", "name"])
    book.active.append(["7", "x"])
    book.save(path.with_suffix(".whole"))
    with (
        zipfile.ZipFile(path.with_suffix(".whole")) as whole,
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out,
    ):
        for name in whole.namelist():
            out.writestr(name, replaced if name == part else whole.read(name))
    return path


def sheet_of(rows: str, dimension: str = "A1:B2") -> bytes:
    kind = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    return (
        f'<worksheet xmlns="{kind}"><dimension ref="{dimension}"/><sheetData>{rows}</sheetData></worksheet>'
    ).encode()


def cell(place: str, text: str) -> str:
    return f'<c r="{place}" t="inlineStr"><is><t>{text}</t></is></c>'


HEADER = f'<row r="1">{cell("A1", "usin")}{cell("B1", "name")}</row>'


def test_a_sheet_that_declares_more_cells_than_it_has_costs_no_more(tmp_path: Path) -> None:
    rows = f'{HEADER}<row r="2">{cell("A2", "7")}{cell("B2", "x")}</row>'
    path = xlsx_with(tmp_path / "r.xlsx", SHEET, sheet_of(rows, "A1:XFD1048576"))
    assert path.stat().st_size < 6000
    before = time.process_time()
    assert read(path) == [(2, {"usin": "7", "name": "x"})]
    # A bound a hundred times what it takes, and a hundredth of what it took.
    assert time.process_time() - before < 20


def test_a_last_row_far_away_is_found_where_it_is(tmp_path: Path) -> None:
    rows = f'{HEADER}<row r="1048576">{cell("A1048576", "7")}</row>'
    path = xlsx_with(tmp_path / "r.xlsx", SHEET, sheet_of(rows))
    assert read(path) == [(1_048_576, {"usin": "7", "name": ""})]


def test_a_cell_in_the_last_column_is_one_too_many(tmp_path: Path) -> None:
    path = xlsx_with(tmp_path / "r.xlsx", SHEET, sheet_of(f'{HEADER}<row r="2">{cell("XFD2", "7")}</row>'))
    with pytest.raises(TableError, match="more than 200 columns"):
        read_here(path)


def test_a_workbook_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    path = xlsx_with(tmp_path / "r.xlsx", SHEET, b" " * (MOST_UNPACKED + 1))
    assert path.stat().st_size < 1_000_000
    with pytest.raises(TableError, match="more than 200 MB when it is unpacked"):
        read_here(path)


def test_entities_of_a_workbook_are_not_multiplied(tmp_path: Path) -> None:
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    bomb = f'<!DOCTYPE w [<!ENTITY l0 "lol">{laughs}]>'.encode() + sheet_of(
        f'{HEADER}<row r="2">{cell("A2", "&l11;")}</row>'
    )
    with pytest.raises(TableError, match="damaged"):
        read_table(xlsx_with(tmp_path / "r.xlsx", SHEET, bomb))


def test_a_parquet_file_of_too_many_rows_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"usin": pa.array([7] * (MOST_ROWS + 1), pa.int8())}), tmp_path / "r.parquet")
    with pytest.raises(TableError, match="more than 200,000 rows"):
        read_here(tmp_path / "r.parquet")


def test_a_csv_of_too_many_rows_columns_or_letters_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "r.csv"
    for content, problem in (
        ("usin\n" + "7\n" * (MOST_ROWS + 1), "more than 200,000 rows"),
        (",".join(map(str, range(201))), "more than 200 columns"),
        ("x" * (MOST_BYTES + 1), "more than 20 MB"),
        ('usin\n"' + "x" * 1_000_000, "is damaged"),
        ("usin\n\0", "is damaged"),
    ):
        file.write_text(content)
        with pytest.raises(TableError, match=problem):
            read_here(file)


def test_a_row_after_the_last_one_is_refused(tmp_path: Path) -> None:
    """The library makes an empty row for each that is missing: a million million of them."""
    rows = f'{HEADER}<row r="999999999999">{cell("A999999999999", "7")}</row>'
    with pytest.raises(TableError, match="more than 1,048,576 lines"):
        read_here(xlsx_with(tmp_path / "r.xlsx", SHEET, sheet_of(rows)))


def test_a_text_that_all_cells_share_counts_for_each(tmp_path: Path) -> None:
    """It is in the file once, and would be in the answer of the reader thousands of times."""
    book = xlsxwriter.Workbook(tmp_path / "r.xlsx")
    sheet = book.add_worksheet()
    for row in range(100):
        for column in range(100):
            sheet.write_string(row, column, f"c{column}" if not row else "x" * 32_000)
    book.close()
    assert (tmp_path / "r.xlsx").stat().st_size < 100_000
    with pytest.raises(TableError, match="more than 200 MB when it is unpacked"):
        read_here(tmp_path / "r.xlsx")


def test_a_table_of_too_many_cells_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte each in the file, and hundreds in memory."""
    monkeypatch.setattr(table_file, "MOST_CELLS", 10_000)
    header = ",".join(f"c{column}" for column in range(200))
    (tmp_path / "r.csv").write_text(f"{header}\n" + ("1" + "," * 199 + "\n") * 60)
    with pytest.raises(TableError, match="more than 10,000 cells"):
        read_here(tmp_path / "r.csv")


def test_process_answers_for_each_end_of_reading(tmp_path: Path) -> None:
    """Rows, a limit, another encoding, damage: each has a status of its own."""
    file = tmp_path / "r.csv"
    file.write_text("usin\n7\n")
    assert cells_of(read_table(file)) == [(2, {"usin": "7"})]
    for content, problem in (
        (",".join(map(str, range(201))).encode(), "more than 200 columns"),
        (b"a\n\xff\xff\xff", "neither UTF-8 nor GB18030"),
        (b"usin\n\0", "is damaged"),
    ):
        file.write_bytes(content)
        with pytest.raises(TableError, match=problem):
            read_table(file)


def test_no_file_takes_the_time_of_the_process_that_asks(tmp_path: Path) -> None:
    """Accents in a wrong order cost the square of their number to put in order, also in a CSV."""
    (tmp_path / "r.csv").write_text("usin\n" + "a" + "\u0301\u0323" * 16_000 + "\n")
    before = time.process_time()
    read_table(tmp_path / "r.csv")
    assert time.process_time() - before < 0.2


def test_a_cell_is_no_longer_than_that_of_a_spreadsheet(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("usin\n" + "x" * 32_768 + "\n")
    with pytest.raises(TableError, match="more than 32,767 letters in a cell"):
        read_here(tmp_path / "r.csv")


def test_the_reader_gets_no_secret_and_leaves_no_dump(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    calls: list[dict[str, Any]] = []
    run = subprocess.run

    def recorded(*args: Any, **options: Any) -> Any:
        calls.append(options)
        return run(*args, **options)

    monkeypatch.setattr(subprocess, "run", recorded)
    (tmp_path / "r.csv").write_text("usin\n7\n")
    read_table(tmp_path / "r.csv")
    assert "hunter2" not in calls[0]["env"].values()
    (tmp_path / "limits.py").write_text(
        "import resource; from campus.files import table_process as p; p.limit_resources();"
        "print(*(resource.getrlimit(r)[1] for r in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE)))"
    )
    shown = run([sys.executable, tmp_path / "limits.py"], capture_output=True, text=True, check=True).stdout
    assert shown.split() == ["0", "0"]


def test_a_file_that_takes_too_long_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_file, "SECONDS", 0.01)
    with pytest.raises(TableError, match="save it as CSV"):
        read_table(xlsx_with(tmp_path / "r.xlsx", SHEET, sheet_of(HEADER)))


def test_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "r.csv")
    with pytest.raises(TableError, match="no regular file"):
        read_here(tmp_path / "r.csv")
