"""The files of an export: one school's rows only, whole or not at all, never silently empty or stale."""

import csv
import io
import multiprocessing
import os
import re
import signal
from dataclasses import replace
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import duckdb
import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exports.export import Failed, Options, Unknown, Written, export
from exports.flat import write_csv
from exports.pages.render import bundle
from exports.source import distinct_names
from exports.spreadsheet.sheets import Column, Format, Sheet, Words
from tests.kits.exports.published_file import ANY, ORIGIN, exported, publish
from tests.kits.waiting import PATIENCE, until
from warehouse.csv_cells import safe_cell
from warehouse.files import UNFINISHED, workspace

SPAWN = multiprocessing.get_context("spawn")
FORMATS: tuple[Format, ...] = ("xlsx", "csv", "parquet")
MARKS = """
    CREATE TABLE marts.marks AS
    SELECT * REPLACE (attendance_rate::DECIMAL(9, 2) AS attendance_rate) FROM (VALUES
        (101, 2, '000113', '=1+1', 97.5, DATE '2026-02-27', true),
        (101, 1, '000112', '赵', NULL, NULL, NULL),
        (102, 3, '000114', '=cmd', 50, DATE '1899-01-01', false)
    ) marks (school_id, student_id, student_number, student_name, attendance_rate, "date", is_late)
"""
NONE_OF_101 = "CREATE TABLE marts.awards AS SELECT 102 AS school_id, 'gold' AS award"
SURVEY = """
    CREATE TABLE datasets."家长 问卷" AS SELECT * FROM (VALUES
        (101, 1, '好', NULL), (101, 2, '走了', TIMESTAMP '2026-01-01 00:00:00'), (102, 3, '不好', NULL)
    ) survey (_school_id, school_id, answer, _deleted_at)
"""
UNTRANSLATED = "UPDATE quality.dictionary SET label_zh = NULL WHERE "


@pytest.fixture
def published(tmp_path: Path) -> Path:
    return publish(tmp_path / "campus.duckdb", [MARKS, NONE_OF_101, SURVEY], {"attendance_rate": "percent"})


def read(path: Path) -> list[tuple[Any, ...]]:
    """The table of a file, header first, as its program reads it."""
    if path.suffix == ".xlsx":
        book = openpyxl.load_workbook(path)
        return [row for name in book.sheetnames[1:] for row in book[name].iter_rows(values_only=True)]
    if path.suffix == ".csv":
        return [tuple(row) for row in csv.reader(io.StringIO(path.read_bytes().decode("utf-8-sig")))]
    with duckdb.connect() as con:
        result = con.execute("FROM read_parquet(?)", [str(path)])
        return [tuple(column[0] for column in result.description or ()), *result.fetchall()]


@pytest.mark.parametrize("format", FORMATS)
def test_a_school_sees_its_own_rows_only(format: Format, published: Path, tmp_path: Path) -> None:
    files = exported(published, "marts.marks", folder=tmp_path / "out", format=format)
    assert [file.path.name for file in files] == [
        f"marts.marks_101_2026-03-01.{format}",
        f"marts.marks_102_2026-02-28.{format}",
    ]
    numbers = [{row[2] for row in read(file.path)[1:]} for file in files]
    assert numbers == [{"000112", "000113"}, {"000114"}]
    assert [sum(file.rows.values()) for file in files] == [2, 1]
    assert [file.bytes for file in files] == [file.path.stat().st_size for file in files]
    # A school that the platform has no more gets none; nothing else is left in the folder.
    assert len(list((tmp_path / "out").iterdir())) == 2


def test_csv_is_for_excel_and_by_the_standard(published: Path, tmp_path: Path) -> None:
    [file] = exported(published, "marts.marks", schools=[101], folder=tmp_path, format="csv", language="en")
    assert file.path.read_bytes().decode("utf-8").split("\r\n") == [
        "\ufeffSchool ID,Student ID,Student number,Student,Attendance rate (%),Date,Is late",
        "101,1,000112,赵,,,",
        "101,2,000113,'=1+1,97.50,2026-02-27,true",
        "",
    ]


def test_parquet_is_for_programs(published: Path, tmp_path: Path) -> None:
    [file] = exported(published, "marts.marks", schools=[101], folder=tmp_path, format="parquet")
    with duckdb.connect() as con:
        written = con.execute("FROM read_parquet(?)", [str(file.path)])
        types = {column[0]: str(column[1]) for column in written.description or ()}
        said = dict(con.execute("SELECT key, value FROM parquet_kv_metadata(?)", [str(file.path)]).fetchall())
    assert types["attendance_rate"] == "DECIMAL(9,2)" and types["date"] == "DATE"
    assert said[b"generation"] == b"20260301T020000" and said[b"school_id"] == b"101"


@pytest.mark.parametrize("format", FORMATS)
def test_no_rows_make_a_file_that_says_so(format: Format, published: Path, tmp_path: Path) -> None:
    [file] = exported(published, "marts.awards", schools=[101], folder=tmp_path, format=format)
    header, *rows = read(file.path)
    assert header
    assert sum(file.rows.values()) == 0
    if format != "parquet":
        assert [row[0] for row in rows] == [row[0] for row in rows if str(row[0]).startswith("无数据")] != []


def test_what_the_platform_deleted_is_left_out_and_said(published: Path, tmp_path: Path) -> None:
    [file] = exported(published, "datasets.家长 问卷", schools=[101], folder=tmp_path, language="en")
    # By the warehouse's own column, not the dataset's of the same name.
    assert read(file.path) == [("School ID (warehouse)", "School ID", "Answer"), (101, 1, "好")]
    about = openpyxl.load_workbook(file.path)["About"]
    said = {row[0]: row[1] for row in about.iter_rows(values_only=True)}
    assert said["Left out"] == "Rows that the platform has deleted"


def test_a_report_keeps_its_order(tmp_path: Path) -> None:
    rows = "(101, 2, 'b', 'z'), (101, 1, 'b', 'y'), (101, 9, 'a', 'x')"
    report = f"""CREATE TABLE reports.ranks__1 AS SELECT *, NULL::TIMESTAMP AS _deleted_at
        FROM (VALUES {rows}) ranks (_school_id, _row_number, _params, name)"""
    file = publish(tmp_path / "campus.duckdb", [report])
    [written] = exported(file, "reports.ranks__1", schools=[101], folder=tmp_path, format="parquet")
    assert read(written.path) == [
        ("_school_id", "_params", "name"), (101, "a", "x"), (101, "b", "y"), (101, "b", "z")
    ]  # fmt: skip


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_many_rows_keep_their_order(format: Format, tmp_path: Path) -> None:
    report = """CREATE TABLE reports.ranks__1 AS
        SELECT 101 AS _school_id, range AS _row_number, format('{}', range) AS name, '' AS remark,
            NULL::TIMESTAMP AS _deleted_at
        FROM range(130000) ORDER BY hash(range)"""
    file = publish(tmp_path / "campus.duckdb", [report])
    [written] = exported(file, "reports.ranks__1", schools=[101], folder=tmp_path, format=format)
    _, *rows = read(written.path)
    assert [row[1] for row in rows] == [str(number) for number in range(130000)]


def test_the_first_sheet_says_what_this_is(published: Path, tmp_path: Path) -> None:
    [file] = exported(published, "marts.marks", schools=[101], folder=tmp_path)
    rows = list(openpyxl.load_workbook(file.path)["说明"].iter_rows(values_only=True))
    said = {row[0]: row[1] for row in rows}
    assert said["学校"] == "启明实验学校 (101)"
    assert said["数据截至"] == "2026-03-01 01:30" and said["发布时间"] == "2026-03-01 02:00"
    assert said["文件版本"] == "20260301T020000"
    assert said["表"] == 2, "rows of the sheet"


def test_a_table_goes_over_several_sheets(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exports.spreadsheet.writer.MAX_ROWS", 11)
    numbers = "CREATE TABLE marts.numbers AS SELECT 101 AS school_id, n FROM range({}) t (n)"
    publish(published, [numbers.format(25)])
    [file] = exported(published, "marts.numbers", schools=[101], folder=tmp_path, language="en")
    assert dict(file.rows) == {"Numbers": 10, "Numbers (2)": 10, "Numbers (3)": 5}
    book = openpyxl.load_workbook(file.path)
    values = [row[1] for name in file.rows for row in book[name].iter_rows(min_row=2, values_only=True)]
    assert values == list(range(25))
    assert all(book[name]["B1"].value == "N" and book[name].tables for name in file.rows)

    publish(published, [numbers.format(40)])
    assert len(exported(published, "marts.numbers", schools=[101], folder=tmp_path)[0].rows) == 4
    publish(published, [numbers.format(41)])
    before = file.path.read_bytes()
    [end] = export(published, ["marts.numbers"], [101], Options(tmp_path, language="en"))
    assert isinstance(end, Failed) and "--format csv" in end.problem
    assert file.path.read_bytes() == before
    assert len(list(tmp_path.glob("marts.numbers*"))) == 1


def test_a_table_that_is_too_wide_is_refused(tmp_path: Path) -> None:
    columns = ", ".join(f"{place} AS c{place}" for place in range(16_384))
    file = publish(
        tmp_path / "campus.duckdb", [f"CREATE VIEW marts.wide AS SELECT 101 AS school_id, {columns}"]
    )
    [end] = export(file, ["marts.wide"], [101], Options(tmp_path / "out"))
    assert isinstance(end, Failed) and "--format csv" in end.problem
    assert re.search("has .*16,384 columns.*, which is too much for a spreadsheet: ", end.problem)


def test_a_failure_leaves_the_old_file_and_the_other_schools_go_on(published: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    old = [file.path for file in exported(published, "marts.marks", folder=out)]
    before = [(path.read_bytes(), path.stat().st_mtime_ns) for path in old]
    # The first school's rows cannot be written any more.
    broken = (
        "CREATE VIEW marts.marks AS "
        "SELECT * REPLACE (if(school_id = 101, error('broken'), 1) AS student_id) FROM m"
    )
    with duckdb.connect(str(published)) as con:
        con.execute(MARKS.replace("marts.marks", "m").replace("CREATE", "CREATE OR REPLACE"))
        con.execute("DROP TABLE marts.marks")
        con.execute(broken)
        moment = "TIMESTAMP '2026-03-02 01:30:00'"
        con.execute(f"UPDATE quality.load_log SET started_at = {moment}, finished_at = {moment}")
    failed, written = export(published, ["marts.marks"], None, Options(out))
    assert isinstance(failed, Failed) and failed.subject == "marts.marks of school 101"
    assert "broken" in failed.problem
    assert isinstance(written, Written) and written.path.name == "marts.marks_102_2026-03-02.xlsx"
    assert [(path.read_bytes(), path.stat().st_mtime_ns) for path in old] == before
    assert sorted(path.name for path in out.iterdir()) == sorted(
        [*(path.name for path in old), written.path.name]
    )


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            "DELETE FROM quality.dictionary WHERE column_name = 'is_late'",
            "column is_late has no label in",
        ),
        (UNTRANSLATED + "column_name = 'is_late'", "column is_late has no label in"),
        (UNTRANSLATED + "table_name = 'marks' AND column_name IS NULL", "table marts.marks has no label in"),
    ],
)
def test_a_missing_label_stops_one_file_only(
    change: str, problem: str, published: Path, tmp_path: Path
) -> None:
    with duckdb.connect(str(published)) as con:
        con.execute(change)
        con.execute(UNTRANSLATED + "schema_name = 'datasets' AND NOT starts_with(column_name, '_')")
    names = ["marts.marks", "datasets.家长 问卷"]
    ends = list(export(published, names, None, Options(tmp_path / "out")))
    assert [type(end) for end in ends] == [Failed, Written] * 2
    assert {end.problem.partition(problem)[0] for end in ends if isinstance(end, Failed)} == {""}
    assert len(list((tmp_path / "out").iterdir())) == 2


def test_a_resource_without_a_label_stops_no_export(published: Path, tmp_path: Path) -> None:
    """Pages name resources that were not loaded."""
    with duckdb.connect(str(published)) as con:
        con.execute(
            "INSERT INTO quality.dictionary BY NAME "
            "SELECT 'raw' AS schema_name, 'grades' AS table_name, 'Grades' AS label_en"
        )
    ends = list(export(published, ["site"], None, Options(tmp_path / "out")))
    problem = "table raw.grades has no label in both languages in the dictionary"
    assert ends == [Failed(f"site of school {id}", problem) for id in (101, 102)]


def test_what_is_unknown_is_told_and_the_rest_is_written(published: Path, tmp_path: Path) -> None:
    names = ["marts.mark", "quality.load_log", "marts.marks"]
    wrong, never, missing, written = export(published, names, [104, 101], Options(tmp_path / "out"))
    assert isinstance(wrong, Unknown) and "did you mean marts.marks?" in wrong.problem
    assert isinstance(never, Unknown) and "early_warning" in never.problem
    assert isinstance(missing, Failed) and (missing.subject, "101, 102" in missing.problem) == (
        "school 104",
        True,
    )
    assert isinstance(written, Written)
    groups = dict(line.strip().split(": ") for line in wrong.problem.splitlines()[1:])
    assert "board" in groups["ready-made"] and "marks" in groups["marts"]


def test_a_mart_goes_by_its_own_name(published: Path, tmp_path: Path) -> None:
    [marks] = export(published, ["marks"], [101], Options(tmp_path))
    assert isinstance(marks, Written) and marks.path.name == "marts.marks_101_2026-03-01.xlsx"


@pytest.mark.parametrize("keep", [1, 2, None])
def test_old_dates_are_deleted(keep: int | None, published: Path, tmp_path: Path) -> None:
    others = ["marts.marks_1011_2020-01-01.xlsx", "marts.marks_101_2020-01-01.csv", "notes.xlsx"]
    dated = [f"marts.marks_101_2026-01-0{day}.xlsx" for day in range(1, 4)]
    for name in others + dated:
        (tmp_path / name).touch()
    exported(published, "marts.marks", schools=[101], folder=tmp_path, keep=keep)
    left = sorted(path.name for path in tmp_path.glob("marts.marks_101_*.xlsx"))
    everything = [*dated, "marts.marks_101_2026-03-01.xlsx"]
    assert left == (everything if keep is None else everything[-keep:])
    assert all((tmp_path / name).exists() for name in others)


def hang(folder: str, ready: Event) -> None:
    with workspace(Path(folder)) as scratch:
        (scratch / "unfinished.xlsx").write_text("half")
        ready.set()
        signal.pause()


def test_what_a_killed_export_left_goes_with_the_next_one(published: Path, tmp_path: Path) -> None:
    ready = SPAWN.Event()
    process = SPAWN.Process(target=hang, args=(str(tmp_path), ready), daemon=True)
    process.start()
    assert ready.wait(PATIENCE)
    assert list(tmp_path.glob(f"{UNFINISHED}*"))
    os.kill(process.pid or 0, signal.SIGKILL)
    process.join()
    exported(published, "marts.marks", schools=[101], folder=tmp_path)
    assert not list(tmp_path.glob(f"{UNFINISHED}*"))
    assert list(tmp_path.glob("*.xlsx"))


def blocked_locks() -> str:
    """The locks of files that processes wait for."""
    return "".join(line for line in Path("/proc/locks").open() if "->" in line)


def test_exports_into_one_folder_wait_for_each_other(published: Path, tmp_path: Path) -> None:
    ready = SPAWN.Event()
    process = SPAWN.Process(target=hang, args=(str(tmp_path), ready), daemon=True)
    process.start()
    assert ready.wait(PATIENCE)
    [unfinished] = tmp_path.glob(f"{UNFINISHED}*")
    waiting = SPAWN.Process(target=exported, args=(published, "marts.marks"), kwargs={"folder": tmp_path})
    waiting.start()
    until(
        lambda: f" {waiting.pid} " in blocked_locks() or not waiting.is_alive(),
        "the second export waits for the lock",
    )
    # Nobody sweeps away what another one is working on.
    assert unfinished.exists() and waiting.is_alive() and not list(tmp_path.glob("*.xlsx"))
    process.kill()
    process.join()
    waiting.join(PATIENCE)
    assert waiting.exitcode == 0 and list(tmp_path.glob("*.xlsx"))


def test_the_published_file_may_be_replaced_meanwhile(published: Path, tmp_path: Path) -> None:
    ends = export(published, ["marts.marks"], None, Options(tmp_path / "out"))
    first = next(ends)
    publish(tmp_path / "new.duckdb").replace(published)
    second = next(ends)
    assert isinstance(first, Written) and isinstance(second, Written)
    assert read(second.path)[1][2] == "000114"


SIGNS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
#: What a spreadsheet program may drop, or split at, before it looks for the sign of a formula.
DROPPED = ' \t\r\n\x01\x7f\xa0\u200b\u202e\u2060\u3000\ufeff"|;%'
FIELDS = st.one_of(
    st.none(),
    st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8),
    st.tuples(
        st.text(DROPPED, max_size=3),
        st.sampled_from([*SIGNS, "'"]),
        st.text(st.characters(codec="utf-8", exclude_characters="\x00")),
    ).map("".join),
    st.sampled_from(['a,"b"', "line\nbreak", "line\r\nbreak", " spaced ", "''", "000113", '"']),
)


def test_csv_has_the_digits_that_a_number_has(tmp_path: Path) -> None:
    numbers = ["88.5", "90", "-0.125", "1200", "0.000000000000000001"]
    values = ", ".join(f"({place}, {number}::DECIMAL(38, 18))" for place, number in enumerate(numbers))
    query = f"SELECT score FROM (VALUES {values}) AS given (place, score) ORDER BY place"
    sheet = Sheet(ANY, ANY, query, columns={"score": Column(Words("Score", "得分"))})
    with duckdb.connect() as con:
        con.execute("CREATE SCHEMA quality")
        assert write_csv(con, sheet, ORIGIN, tmp_path / "given.csv", "en") == len(numbers)
        doubles = replace(sheet, query="SELECT unnest([1.5e300, 0.25, 1e20, 100]) AS score")
        write_csv(con, doubles, ORIGIN, tmp_path / "doubles.csv", "en")
    assert (tmp_path / "given.csv").read_text("utf-8-sig").split() == ["Score", *numbers]
    written = (tmp_path / "doubles.csv").read_text("utf-8-sig").split()[1:]
    assert [float(number) for number in written] == [1.5e300, 0.25, 1e20, 100]


@settings(max_examples=40, deadline=None)
@given(rows=st.lists(st.tuples(FIELDS, st.integers(-(2**63), 2**63 - 1)), min_size=1, max_size=20))
def test_csv_gives_every_value_back_and_starts_no_formula(
    rows: list[tuple[str | None, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    with duckdb.connect() as con:
        con.execute("CREATE TABLE given (place INTEGER, value VARCHAR, number BIGINT)")
        con.executemany("INSERT INTO given VALUES (?, ?, ?)", [(n, *row) for n, row in enumerate(rows)])
        columns = {"value": Column(Words("=value", "=值")), "number": Column(Words("Number", "数"))}
        sheet = Sheet(ANY, ANY, "SELECT value, number FROM given ORDER BY place", columns=columns)
        target = tmp_path_factory.mktemp("csv") / "given.csv"
        assert write_csv(con, sheet, ORIGIN, target, "en") == len(rows)
    content = target.read_bytes().decode("utf-8")
    assert content.startswith("\ufeff'=value,Number\r\n") and content.endswith("\r\n")
    lines = list(csv.reader(io.StringIO(content.removeprefix("\ufeff"), newline="")))[1:]
    fields = [line[0] for line in lines]
    assert not [field for field in fields if field.lstrip(DROPPED).startswith(SIGNS)]
    assert fields == [safe_cell(value or "") for value, _ in rows]
    assert [field.removeprefix("'") for field in fields] == [value or "" for value, _ in rows]
    assert [int(line[1]) for line in lines] == [number for _, number in rows]
    # What is missing is told from an empty text.
    assert content.count('""') >= sum(value == "" for value, _ in rows)


def test_a_school_without_a_name_is_called_by_its_id(published: Path, tmp_path: Path) -> None:
    with duckdb.connect(str(published)) as con:
        con.execute("UPDATE core.dim_school SET school_name = NULL")
    [file] = exported(published, "marts.marks", schools=[101], folder=tmp_path / "out", language="en")
    about = openpyxl.load_workbook(file.path)["About"].iter_rows(max_col=2, values_only=True)
    assert dict(about)["School"] == "101 (101)"


def test_those_of_one_name_are_told_apart_by_their_keys() -> None:
    named = {"1": "一中", "2": "二中", "3": "一中"}
    assert distinct_names(named) == {"1": "一中 (1)", "2": "二中", "3": "一中 (3)"}


def test_a_disk_that_may_only_be_read_has_the_script_of_the_board_made_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("exports.pages.render.write_text", refused)
    monkeypatch.setattr("exports.pages.render._bundle", lambda: "/* made */")
    assert bundle(tmp_path / "cache") == "/* made */"
