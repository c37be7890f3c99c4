"""What a value becomes in a cell: itself, or text where a cell cannot hold it; never something else."""

from datetime import date, datetime, time
from decimal import Decimal
from math import isclose
from pathlib import Path
from typing import Any

import duckdb
import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl.utils.escape import unescape

from exports.library.words import texts
from exports.spreadsheet.sheets import Column, Sheet, Words, Workbook
from exports.spreadsheet.writer import write_workbook
from tests.kits.exports.published_file import ANY, ORIGIN, cells, write
from tests.kits.exports.spreadsheets import filtered
from warehouse.identifiers import literal

DANGEROUS = ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "＝1", "=cmd|'/c calc'!A0", "{=1}", "#REF!")
ODD = (
    "", " ", "000113", "1e5", "TRUE", "2026-03-01", "'quoted", "http://example.org", "internal:Any!A1",
    "<r>x</r>", "<r><t>x</t></r>", "</r>", "a & b < c", "_x000D_", "a_x0041_b", "\x01\x0b\x1f", "\n", "\r\n",
    "\x00", "\x7f\x85", "\ufffe", "\uffff", "😀", "汉字", "é", "\u202eabc", "]]>", '"', "%s {0}",
)  # fmt: skip
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.sampled_from(DANGEROUS + ODD),
    st.tuples(st.sampled_from("=+-@\t\r'"), st.text(st.characters(codec="utf-8"), max_size=5)).map("".join),
)


def as_read(text: str) -> str:
    """What Excel shows of a text: the two characters that no XML holds are replaced."""
    return text.replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")


def write_texts(folder: Path, texts: list[str], **column: Any) -> list[Any]:
    """Write a column of texts; the cells as openpyxl has them."""
    rows = ", ".join(f"({number}, {literal(text)})" for number, text in enumerate(texts))
    query = f"SELECT * FROM (VALUES {rows}) texts (n, value) ORDER BY n"
    sheet = write(folder, query, columns={"value": Column(**column)})
    return [row[1] for row in sheet.iter_rows(min_row=2)]


@settings(max_examples=40, deadline=None)
@given(texts=st.lists(TEXTS, min_size=1, max_size=30))
def test_text_stays_the_text_that_it_is(texts: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    written = write_texts(tmp_path_factory.mktemp("book"), texts)
    for text, cell in zip(texts, written, strict=True):
        assert cell.data_type in ("s", "inlineStr")
        # openpyxl does not resolve Excel's escapes of control characters by itself.
        assert unescape(cell.value) == as_read(text)
        assert cell.hyperlink is None


def test_every_odd_text_is_written_as_text(tmp_path: Path) -> None:
    texts = [text for text in DANGEROUS + ODD if text]
    written = write_texts(tmp_path, texts)
    assert [unescape(cell.value) for cell in written] == [as_read(text) for text in texts]
    assert {cell.data_type for cell in written} <= {"s", "inlineStr"}
    # Text cells are formatted as text, so that editing one does not make a number of 000113.
    assert {cell.number_format for cell in written} == {"@"}


@pytest.mark.parametrize("text", ["x" * 32_767, "😀" * 16_383 + "x"])
def test_the_longest_text_is_whole(text: str, tmp_path: Path) -> None:
    assert write_texts(tmp_path, [text])[0].value == text


@pytest.mark.parametrize("text", ["x" * 32_768, "汉" * 40_000, "😀" * 20_000, "x" + "😀" * 20_000])
def test_a_longer_text_is_cut_visibly_and_told(text: str, tmp_path: Path) -> None:
    [cell] = write_texts(tmp_path, [text])
    end = texts("spreadsheet")["cut_end"].en
    assert cell.value.endswith(end) and text.startswith(cell.value.removesuffix(end))
    assert 32_760 < len(cell.value.encode("utf-16-le")) // 2 <= 32_767
    about = openpyxl.load_workbook(tmp_path / "written.xlsx")["About"]
    said = [[row[0].value, row[1].value] for row in about.iter_rows()]
    assert ["Cut texts", "1 longer than a cell may be; CSV and Parquet have them whole"] in said


@pytest.mark.parametrize(
    ("value", "cell", "format"),
    [
        ("42", 42, "0"),
        ("-7::TINYINT", -7, "0"),
        ("999999999999999", 999_999_999_999_999, "0"),
        ("1000000000000000", "1000000000000000", "0"),
        ("(-9223372036854775808)::BIGINT", "-9223372036854775808", "0"),
        ("18446744073709551615::UBIGINT", "18446744073709551615", "0"),
        ("170141183460469231731687303715884105727::HUGEINT", "170141183460469231731687303715884105727", "0"),
        ("1.10::DECIMAL(5, 2)", 1.1, "#,##0.00"),
        ("1.1::DECIMAL(38, 18)", 1.1, "General"),
        ("1234567890.12345678::DECIMAL(38, 8)", "1234567890.12345678", "#,##0.00"),
        ("7::DECIMAL(9, 0)", 7, "0"),
        ("0.1::FLOAT", 0.1, "General"),
        ("'nan'::DOUBLE", "nan", "General"),
        ("'-infinity'::DOUBLE", "-inf", "General"),
        ("DATE '2026-02-28'", datetime(2026, 2, 28), "yyyy-mm-dd"),
        ("DATE '1900-03-01'", datetime(1900, 3, 1), "yyyy-mm-dd"),
        ("DATE '1900-02-28'", "1900-02-28", "yyyy-mm-dd"),
        ("DATE '1899-12-31'", "1899-12-31", "yyyy-mm-dd"),
        ("DATE '12000-01-01'", "12000-01-01", "yyyy-mm-dd"),
        ("DATE 'infinity'", "infinity", "yyyy-mm-dd"),
        ("TIMESTAMP '2026-02-28 23:59:59'", datetime(2026, 2, 28, 23, 59, 59), "yyyy-mm-dd hh:mm:ss"),
        ("TIMESTAMP '1800-01-01 00:00:00'", "1800-01-01 00:00:00", "yyyy-mm-dd hh:mm:ss"),
        ("TIMESTAMP 'infinity'", "infinity", "yyyy-mm-dd hh:mm:ss"),
        ("TIME '08:05:00'", time(8, 5), "hh:mm:ss"),
        ("TIME '24:00:00'", "24:00:00", "hh:mm:ss"),
        ("true", True, '"TRUE";;"FALSE"'),
        ("['a', 'b']", '["a","b"]', "@"),
        ("{'a': 1, 'b': DATE '2026-01-01'}", '{"a":1,"b":"2026-01-01"}', "@"),
        ("'{\"a\": \"é\"}'::JSON", '{"a": "é"}', "@"),
        ("TIMESTAMPTZ '2026-01-01 00:00:00+00'", "2026-01-01 00:00:00+00", "@"),
        ("'=1+1'::ENUM ('=1+1')", "=1+1", "@"),
    ],
)  # fmt: skip
def test_values_by_type(value: str, cell: Any, format: str, tmp_path: Path) -> None:
    [[written]] = write(tmp_path, f"SELECT {value} AS value").iter_rows(min_row=2)
    assert written.value == cell
    assert type(written.value) is type(cell)
    assert written.number_format == format


def test_percentages_are_real_ones(tmp_path: Path) -> None:
    values = ("97.53::DECIMAL(9, 2)", "12.5::DOUBLE", "7", "33.3::FLOAT", "0.1::DECIMAL(38, 18)")
    query = "SELECT " + ", ".join(f"{value} AS {name}" for value, name in zip(values, "abcde", strict=True))
    percent = {name: Column(kind="percent") for name in "abcde"}
    [row] = write(tmp_path, query, columns=percent).iter_rows(min_row=2)
    assert [cell.value for cell in row] == [0.9753, 0.125, 0.07, 0.333, 0.001]
    assert [cell.number_format for cell in row] == ["0.00%", "0.00%", "0%", "0.00%", "0.00%"]


def test_counts_have_thousands_and_ids_have_none(tmp_path: Path) -> None:
    columns = {"present": Column(unit="records"), "score": Column(unit="points")}
    sheet = write(tmp_path, "SELECT 101000113 AS student_id, 1234 AS present, 1.5 AS score", columns=columns)
    header, row = sheet.iter_rows()
    assert [cell.value for cell in header] == ["Student ID", "Present", "Score (points)"]
    assert [cell.number_format for cell in row] == ["0", "#,##0", "#,##0.0"]


NUMBERS = st.one_of(
    st.integers(-(2**63), 2**63 - 1).map(lambda n: (n, f"({n})::BIGINT")),
    st.decimals(-(10**9), 10**9, places=4).map(lambda d: (d, f"({d:f})::DECIMAL(18, 4)")),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda f: (f, f"('{f!r}')::DOUBLE")),
)


@settings(max_examples=40, deadline=None)
@given(values=st.lists(NUMBERS, min_size=1, max_size=20))
def test_a_number_is_itself_or_its_digits(
    values: list[tuple[Any, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    query = "SELECT " + ", ".join(f"{sql} AS c{n}" for n, (_, sql) in enumerate(values))
    [row] = cells(write(tmp_path_factory.mktemp("book"), query))
    for (value, _), cell in zip(values, row, strict=True):
        if isinstance(value, float):
            # xlsxwriter writes 16 digits, one more than Excel shows.
            assert isclose(float(cell), value, rel_tol=1e-15)
            # The largest and least are no numbers to Excel.
            assert isinstance(cell, float | int) or not 2.3e-308 < abs(value) < 9.9e307
        elif isinstance(cell, str):
            # Of whole numbers those before a row of zeros count as well.
            assert Decimal(cell) == value
            assert len(value_digits(value)) > 15 or abs(value) >= 10**15
        else:
            assert Decimal(repr(cell)) == value


def value_digits(value: Any) -> str:
    """The significant digits of a number."""
    return f"{Decimal(value):f}".replace(".", "").replace("-", "").strip("0")


@settings(max_examples=30, deadline=None)
@given(days=st.lists(st.dates(date(1, 1, 1), date(9999, 12, 31)), min_size=1, max_size=20))
def test_a_date_is_itself_or_its_text(days: list[date], tmp_path_factory: pytest.TempPathFactory) -> None:
    query = "SELECT " + ", ".join(f"DATE '{day.isoformat()}' AS c{n}" for n, day in enumerate(days))
    [row] = cells(write(tmp_path_factory.mktemp("book"), query))
    for day, cell in zip(days, row, strict=True):
        assert cell == (datetime.combine(day, time()) if day >= date(1900, 3, 1) else day.isoformat())


def test_links_are_for_addresses_only(tmp_path: Path) -> None:
    address = "https://files.example.org/证明.pdf?a=1&b=2"
    texts = [
        address,
        "file:///etc/passwd",
        "javascript:alert(1)",
        "=HYPERLINK(1)",
        "https://x.org/" + "y" * 3000,
    ]
    written = write_texts(tmp_path, texts, kind="link")
    assert [cell.value for cell in written] == texts
    assert [bool(cell.hyperlink) for cell in written] == [True, False, False, False, False]
    assert written[0].hyperlink.target.startswith("https://files.example.org/")


def test_links_beyond_what_a_sheet_takes_stay_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exports.spreadsheet.writer.MAX_LINKS", 2)
    written = write_texts(tmp_path, [f"https://example.org/{number}" for number in range(4)], kind="link")
    assert [bool(cell.hyperlink) for cell in written] == [True, True, False, False]
    assert written[3].value == "https://example.org/3"


def test_codes_are_shown_in_words(tmp_path: Path) -> None:
    texts = ["late", "early", "=x"]
    words = {"late": Words("came late", "迟到"), "=x": Words("=1+1", "=1+1")}
    written = write_texts(tmp_path, texts, words=words)
    assert [cell.value for cell in written] == ["came late", "early", "=1+1"]
    assert {cell.data_type for cell in written} <= {"s", "inlineStr"}


def test_nothing_is_an_empty_cell(tmp_path: Path) -> None:
    sheet = write(tmp_path, "SELECT 1 AS a, NULL::BIGINT AS b, NULL::VARCHAR AS c, NULL::DATE AS d")
    assert cells(sheet) == [(1, None, None, None)]


def test_text_that_is_no_unicode_cannot_come_from_the_file() -> None:
    # Lone surrogates, which no XML holds, are no UTF-8 and so no text of DuckDB's.
    with duckdb.connect() as con, pytest.raises((duckdb.Error, UnicodeEncodeError)):
        con.execute("SELECT ?", ["\ud800"]).fetchall()


def test_a_workbook_without_rows_says_so(tmp_path: Path) -> None:
    sheet = write(tmp_path, "SELECT 1 AS a, 'x' AS b WHERE false")
    assert cells(sheet)[0][0].startswith("No rows")
    assert filtered(sheet) and sheet.freeze_panes == "A2"


@pytest.mark.parametrize(
    ("labels", "distinct"),
    [
        (["Name", "Name"], ["Name", "Name (2)"]),
        (["A", "A (2)", "A"], ["A", "A (2)", "A (3)"]),
        (["A", "A", "A (2)"], ["A", "A (2)", "A (2) (2)"]),
        (["Name", "NAME"], ["Name", "NAME (2)"]),
    ],
)
def test_repeated_labels_are_numbered(labels: list[str], distinct: list[str], tmp_path: Path) -> None:
    columns = {
        name: Column(label=Words(label, label))
        for name, label in zip("abc"[: len(labels)], labels, strict=True)
    }
    query = f"SELECT {', '.join(f'1 AS {name}' for name in columns)}"
    sheet = write(tmp_path, query, columns=columns)
    assert [cell.value for cell in next(sheet.iter_rows())] == distinct
    assert sheet.tables


def test_headers_are_text_too(tmp_path: Path) -> None:
    odd = Words("=1+1", "=1+1"), Words("<r>x</r>", "<r>x</r>"), Words("@x", "@x")
    columns = {
        name: Column(label=words, groups=(odd[0], words)) for name, words in zip("abc", odd, strict=True)
    }
    sheet = write(tmp_path, "SELECT 1 AS a, 2 AS b, 3 AS c", columns=columns)
    top, middle, labels, _ = sheet.iter_rows()
    assert [cell.value for cell in top] == ["=1+1", None, None]
    assert [str(merged) for merged in sheet.merged_cells.ranges] == ["A1:C1"]
    assert [cell.value for cell in (*middle, *labels)] == ["=1+1", "<r>x</r>", "@x"] * 2
    assert {cell.data_type for cell in (top[0], *middle, *labels)} <= {"s", "inlineStr"}
    assert filtered(sheet) == "A3:C4" and sheet.freeze_panes == "A4"


def test_tabs_have_names_that_excel_allows(tmp_path: Path) -> None:
    names = ["a/b:c*d?e[f]g\\h", "x" * 40, "X" * 40, "'", "", "About"]
    sheets = tuple(
        Sheet(Words(name, name), ANY, "SELECT 1 AS a", columns={"a": Column(ANY)}) for name in names
    )
    with duckdb.connect() as con:
        write_workbook(con, Workbook("any", ANY, ANY, sheets), ORIGIN, tmp_path / "w.xlsx", "en")
    book = openpyxl.load_workbook(tmp_path / "w.xlsx")
    assert book.sheetnames == [
        "About", "a b c d e f g h", "x" * 31, "X" * 27 + " (2)", "-", "- (2)", "About (2)"
    ]  # fmt: skip
    targets = [cell.hyperlink.location for row in book["About"].iter_rows() for cell in row if cell.hyperlink]
    assert targets == [f"'{name}'!A1" for name in book.sheetnames[1:]]
