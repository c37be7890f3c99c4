"""Reports as workbooks: the platform's own headers, types and order, and addresses that open."""

from pathlib import Path

import openpyxl
import pytest

from exports.export import Failed, Options, Written, export
from tests.kits.exports.published_file import exported, publish
from tests.kits.exports.spreadsheets import Tab, about, read_book

PATHS = {
    "学号": None,
    "次数": ["上学期", "语文", "次数"],
    "平均": ["上学期", "语文", "平均"],
    "总评": ["上学期", "数学", "总评"],
    "日期": ["日期"],
    "材料": None,
}
KINDS = ("string", "int", "decimal", "decimal", "date", "attachment")
FILES = (
    '{"name": "奖状 1.pdf", "url": "https://files.example/1?a=1&b=2"}',
    "https://files.example/2 号.pdf",
    '[{"name": "甲", "url": "https://files.example/3"}, {"name": "乙", "url": "https://files.example/4"}]',
    '[{"name": "丙", "url": "https://files.example/5"}]',
    '{"name": "无址"}',
    "javascript:alert(1)",
    None,
)
AS_SHOWN = (
    ("奖状 1.pdf", "https://files.example/1?a=1&b=2"),
    (None, "https://files.example/2 号.pdf"),
    ("甲\n乙", "https://files.example/3\nhttps://files.example/4"),
    ("丙", "https://files.example/5"),
    ("无址", '{"name": "无址"}'),
    (None, "javascript:alert(1)"),
    (None, None),
)


def text(value: str | None) -> str:
    return "NULL" if value is None else "'" + value + "'"


def field(position: int, name: str, path: list[str] | None, params: str) -> str:
    """A row of raw.report_fields; the column of the table is not called as the field."""
    headers = "NULL" if path is None else str(path)
    return (
        f"(101, '综合 素质', 7, '{params}', '{name}', 'c{position}', '综合_素质__7', '{KINDS[position]}', "
        f"{10 * position}, '{name}', {headers}, NULL, TIMESTAMP '2026-03-01')"
    )


def row(number: int, file: str | None, params: str) -> str:
    """A row of the report as a select list."""
    varied = f"'{params}' AS _params, " if params else ""
    return (
        f"{varied}{number} AS _row_number, '00{number}' AS c0, {number} AS c1, {number}.125 AS c2, 88 AS c3, "
        f"DATE '2026-01-02' AS c4, {text(file)} AS c5, 101 AS _school_id"
    )


def report(*params: str) -> list[str]:
    """Statements that make a report's tables, of a matrix if there are several values. Its rows are written
    last first."""
    fields = [field(place, *header, value) for value in params for place, header in enumerate(PATHS.items())]
    rows = [row(number, file, value) for value in params for number, file in enumerate(FILES, 1)]
    return [
        "CREATE SCHEMA raw",
        "CREATE TABLE raw.report_queries (_school_id BIGINT, report VARCHAR, id BIGINT, label VARCHAR)",
        "INSERT INTO raw.report_queries VALUES (101, '综合 素质', 7, '学期成绩透视')",
        "CREATE TABLE raw.report_fields (_school_id BIGINT, report VARCHAR, query_id BIGINT, "
        "params VARCHAR, name VARCHAR, column_name VARCHAR, table_name VARCHAR, kind VARCHAR, "
        "position BIGINT, label VARCHAR, label_in_path VARCHAR[], _deleted_at TIMESTAMP, "
        "_synced_at TIMESTAMP)",
        f"INSERT INTO raw.report_fields VALUES {', '.join(fields)}",
        f"CREATE TABLE reports.综合_素质__7 ({'_params VARCHAR, ' if any(params) else ''}_row_number BIGINT, "
        "c0 VARCHAR, c1 BIGINT, c2 DECIMAL(38, 18), c3 DECIMAL(38, 18), c4 DATE, c5 VARCHAR, "
        "_school_id BIGINT)",
        *(f"INSERT INTO reports.综合_素质__7 BY NAME SELECT {select_list}" for select_list in reversed(rows)),
        "INSERT INTO reports.综合_素质__7 BY NAME SELECT 1 AS _row_number, 'other' AS c0, 102 AS _school_id",
    ]


@pytest.fixture
def tab(tmp_path: Path) -> Tab:
    file = publish(tmp_path / "campus.duckdb", report(""))
    [written] = exported(file, "reports", folder=tmp_path / "exports")
    assert written.path.name == "综合_素质__7_101_2026-03-01.xlsx"
    return read_book(written.path)["学期成绩透视"]


def test_headers_are_those_of_the_report(tab: Tab) -> None:
    assert tab.labels == [
        ("学号",),
        ("上学期", "语文", "次数"),
        ("上学期", "语文", "平均"),
        ("上学期", "数学", "总评"),
        ("日期",),
        ("材料", "文件"),
        ("材料", "链接"),
    ]
    assert sorted(map(str, tab.sheet.merged_cells.ranges)) == ["B1:D1", "B2:C2", "F1:G1"]


def test_rows_keep_their_order_and_values_their_types(tab: Tab) -> None:
    assert tab.column("学号") == [f"00{number}" for number in range(1, 8)]
    assert tab.column("上学期", "语文", "次数") == list(range(1, 8))
    assert tab.column("上学期", "语文", "平均") == [number + 0.125 for number in range(1, 8)]
    assert {value.date().isoformat() for value in tab.column("日期")} == {"2026-01-02"}


def test_an_attachment_is_its_name_and_an_address_that_opens(tab: Tab) -> None:
    shown = zip(tab.column("材料", "文件"), tab.column("材料", "链接"), strict=True)
    assert tuple(shown) == AS_SHOWN
    cells = [row[-1] for row in tab.sheet.iter_rows(min_row=4)]
    linked = [cell.hyperlink.target if cell.hyperlink else None for cell in cells]
    # What is no single address is text, and so is what a browser would run.
    addresses = (url or "" for _, url in AS_SHOWN)
    opens = [
        url.replace(" ", "%20") if url.startswith("https:") and "\n" not in url else None for url in addresses
    ]
    assert linked == opens


def test_a_matrix_of_parameters_is_a_column(tmp_path: Path) -> None:
    file = publish(tmp_path / "campus.duckdb", report("semester=20", "semester=21"))
    [written] = exported(file, "reports", folder=tmp_path / "exports", language="en")
    tab = read_book(written.path)["学期成绩透视"]
    assert tab.labels[0] == ("Parameters",)
    assert tab.column("Parameters") == ["semester=20"] * 7 + ["semester=21"] * 7
    assert len(tab.labels) == 8
    assert any("综合 素质" in str(row[0]) for row in about(written.path))


def test_a_pivot_whose_columns_differ_has_a_sheet_for_each_combination(tmp_path: Path) -> None:
    statements = [
        *report("semester=20", "semester=21"),
        "DELETE FROM raw.report_fields WHERE params = 'semester=21' AND name = '平均'",
        "DELETE FROM reports.综合_素质__7 WHERE _params = 'semester=21' AND _row_number > 2",
    ]
    file = publish(tmp_path / "campus.duckdb", statements)
    [written] = exported(file, "reports", folder=tmp_path / "exports")
    book = read_book(written.path)
    assert len(book["semester=20"].labels) == 7
    assert book["semester=20"].column("学号") == [f"00{number}" for number in range(1, 8)]
    assert ("上学期", "语文", "平均") not in book["semester=21"].labels
    assert book["semester=21"].column("学号") == ["001", "002"]
    assert written.rows == {"semester=20": 7, "semester=21": 2}


def test_a_school_without_reports_has_no_workbook_of_them(tmp_path: Path) -> None:
    file = publish(tmp_path / "campus.duckdb", report(""))
    assert exported(file, "reports", schools=[102], folder=tmp_path / "exports") == []


def test_fields_that_no_column_can_hold_are_left_out(tmp_path: Path) -> None:
    odd = "UPDATE raw.report_fields SET column_name = NULL WHERE "
    file = publish(tmp_path / "campus.duckdb", [*report(""), odd + "name = '次数'"])
    [written] = exported(file, "reports", folder=tmp_path / "exports")
    assert ("上学期", "语文", "次数") not in read_book(written.path)["学期成绩透视"].labels
    file = publish(tmp_path / "campus.duckdb", [*report(""), odd + "true"])
    [written] = exported(file, "reports", folder=tmp_path / "exports")
    assert read_book(written.path)["学期成绩透视"].column("行号") == list(range(1, 8))


def test_a_report_that_cannot_be_written_holds_no_other_up(tmp_path: Path) -> None:
    """Its name is too long for a file's."""
    long = "表" * 90
    other = [
        statement.replace("CREATE SCHEMA raw", "").replace("综合_素质__7", long)
        for statement in report("")
        if not statement.startswith(("CREATE SCHEMA", "CREATE TABLE raw", "INSERT INTO raw.report_queries"))
    ]
    file = publish(tmp_path / "campus.duckdb", [*report(""), *other])
    ends = list(export(file, ["reports"], [101], Options(tmp_path / "exports")))
    assert [type(end) for end in ends] == [Failed, Written] or [type(end) for end in ends] == [
        Written,
        Failed,
    ]
    [failed] = [end for end in ends if isinstance(end, Failed)]
    assert long in failed.subject


def test_a_report_without_rows_says_so(tmp_path: Path) -> None:
    file = publish(tmp_path / "campus.duckdb", [*report(""), "DELETE FROM reports.综合_素质__7"])
    [written] = exported(file, "reports", folder=tmp_path / "exports")
    assert read_book(written.path)["学期成绩透视"].rows == []
    assert openpyxl.load_workbook(written.path).sheetnames == ["说明", "学期成绩透视"]
