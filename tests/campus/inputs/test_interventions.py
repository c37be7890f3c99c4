"""A school's log of talks and measures: which lines are read, and why the others are refused."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campus.contracts.inputs import Intervention
from campus.files.table_file import TableError, table_of
from campus.inputs.interventions import (
    LONGEST_TEXT,
    Line,
    Student,
    Students,
    gather,
    line_of,
    lines_of_list,
    read_lines,
)
from campus.sources.gathered import Gathered

TODAY = date(2026, 11, 27)
STUDENTS = Students(
    [
        Student(1, "001", "S-1", "王一", is_deleted=False),
        Student(2, "002", "S-2", "李二", is_deleted=False),
        # Two of one number, and a number that was given again.
        Student(3, "003", "S-3", "张三", is_deleted=False),
        Student(4, "003", "S-4", "赵四", is_deleted=False),
        Student(5, "001", "S-5", "钱五", is_deleted=True),
        Student(6, "006", "S-6", "孙六", is_deleted=True),
        Student(7, None, None, None, is_deleted=False),
    ]
)
FILE = Path("folder/file.csv")
HEADER = ("学号", "姓名", "日期", "类型", "备注")


def read(*lines: Sequence[str], header: Sequence[str] = HEADER) -> Gathered:
    return gather(read_lines(table_of(enumerate([header, *lines], 1), "file"), STUDENTS, TODAY, FILE))


def reason(*line: str, header: Sequence[str] = HEADER) -> str:
    [bad] = read(line, header=header).bad
    assert line_of(bad) == Line("file.csv", 2)
    return bad.reason


def test_line_is_read_with_words_of_either_language() -> None:
    lines = [
        ("001", "王一", "2026-11-12", "谈话", "feels better"),
        ("002", "", "2026年11月2日", "Call Home", ""),
        ("# 001", "example", "tomorrow", "", ""),
        ("006", "", "2026/11/2", "帮扶计划", ""),
    ]
    assert read(*lines).rows == [
        Intervention(1, date(2026, 11, 12), "talk", note="feels better"),
        Intervention(2, date(2026, 11, 2), "call_home"),
        # A student who has left.
        Intervention(6, date(2026, 11, 2), "plan"),
    ]


@pytest.mark.parametrize(
    ("header", "student"),
    [(("student number",), "002"), (("external id",), "S-2"), (("student_id",), "2"), (("学生ID",), "2")],
)
def test_student_is_named_by_any_of_the_ids(header: tuple[str, ...], student: str) -> None:
    [row] = read((student, "2026-11-12", "talk"), header=(*header, "date", "what")).rows
    assert row.student_id == 2


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (("999", "", "2026-11-12", "谈话", ""), "no student of the school has this usin"),
        (("003", "", "2026-11-12", "谈话", ""), "several students have this usin"),
        (("", "王一", "2026-11-12", "谈话", ""), "it names no student"),
        (("001", "李二", "2026-11-12", "谈话", ""), "the student with this usin has another name"),
        (("001", "", "2026-11-28", "谈话", ""), "the date is in the future"),
        (("001", "", "", "谈话", ""), "date is missing"),
        (("001", "", "12 Nov", "谈话", ""), "date is no day"),
        (("001", "", "2026-02-30", "谈话", ""), "date is no day"),
        (("001", "", "2026-11-12", "quarrel", ""), "kind is none of talk (谈话)"),
        (("001", "", "2026-11-12", "谈话", "x" * (LONGEST_TEXT + 1)), "note has more than 2000 letters"),
        (("#N/A", "", "2026-11-12", "谈话", "#N/A"), "column 5 is #N/A"),
    ],
)
def test_line_is_refused_with_its_reason(line: tuple[str, ...], said: str) -> None:
    line = ("001", *line[1:]) if line[0] == "#N/A" else line
    assert said in reason(*line)


def test_refused_line_quotes_no_cell() -> None:
    [bad] = read(("20239999", "王小明", "2026-11-12", "谈话", "说了很多")).bad
    assert bad.raw == '{"file": "file.csv", "line": 2}' and bad.key is None
    assert not any(cell in bad.reason for cell in ("20239999", "王小明", "说了很多"))


def test_two_fields_have_to_name_the_same_student() -> None:
    header = ("usin", "outer_id", "date", "kind")
    [row] = read(("003", "S-4", "2026-11-12", "talk"), header=header).rows
    assert row.student_id == 4
    assert "are not of the same student" in reason("001", "S-2", "2026-11-12", "talk", header=header)


def test_number_that_was_given_again_is_of_who_is_there() -> None:
    assert [row.student_id for row in read(("001", "", "2026-11-12", "谈话", "")).rows] == [1]


def test_lines_of_the_same_student_day_and_kind_are_refused() -> None:
    lines = [("001", "", day, "谈话", text) for day, text in [("2026-11-12", "a"), ("2026-11-12", "b")]]
    gathered = read(*lines, ("001", "", "2026-11-12", "其他", ""))
    assert [row.kind for row in gathered.rows] == ["other"]
    assert {line_of(bad) for bad in gathered.bad} == {Line("file.csv", 2), Line("file.csv", 3)}
    same = "file.csv, line 2 and file.csv, line 3 have the same student, day and kind"
    assert gathered.bad[0].reason.startswith(same)
    assert gathered.bad[0].key == (1, date(2026, 11, 12), "talk")


@pytest.mark.parametrize("text", ["46338", "2026-11-12"])
def test_day_may_be_the_number_that_a_spreadsheet_has_of_it(text: str) -> None:
    assert [row.date for row in read(("001", "", text, "谈话", "")).rows] == [date(2026, 11, 12)]


def test_identity_number_is_withheld() -> None:
    [row] = read(("001", "", "2026-11-12", "谈话", "of 11010519491231002X")).rows
    assert row.note == "of (withheld)"


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (("学号", "日期", "类型", "mood"), "line 1: column 4 has no known heading"),
        (("姓名", "日期", "类型"), "the column student_id or usin or outer_id is missing"),
        (("学号", "类型"), "the column date is missing"),
        (("学号", "usin", "日期", "类型"), "line 1: columns 1 and 2 both mean usin"),
    ],
)
def test_columns_that_make_no_sense_refuse_the_file(header: tuple[str, ...], said: str) -> None:
    with pytest.raises(TableError, match=said):
        read(header=header)


CELLS = st.sampled_from(
    ["", "001", "002", "003", "王一", "2026-11-12", "2026-12-12", "谈话", "plan", "#", "46338"]
)


@given(st.lists(st.tuples(*[CELLS] * len(HEADER)), max_size=12))
def test_each_line_is_read_refused_or_a_comment(lines: list[tuple[str, ...]]) -> None:
    gathered = read(*lines)
    comments = sum(line[0].startswith("#") for line in lines)
    empty = sum(not any(line) for line in lines)
    assert len(gathered.rows) + len(gathered.bad) + comments + empty == len(lines)
    keys = [(row.student_id, row.date, row.kind) for row in gathered.rows]
    assert len({*keys}) == len(keys) and all(row.date <= TODAY for row in gathered.rows)


LIST = ("Admin class", "Student number", "Student", "Level", "Talk on", "Note")


def of_list(
    *rows: Sequence[str], header: Sequence[str] = LIST, log: Sequence[Sequence[str]] = ()
) -> Gathered:
    """The rows of a list whose header is on line 5, and of a log beside it."""
    table = lines_of_list(table_of(enumerate([header, *rows], 5), "list"))
    own = read_lines(table_of(enumerate([HEADER, *log], 1), "file"), STUDENTS, TODAY, FILE)
    return gather(own, read_lines(table, STUDENTS, TODAY, Path("early_warning.xlsx")))


def test_a_day_to_look_again_may_be_in_the_future() -> None:
    header = ("学号", "日期", "类型", "再看日期")
    [row] = read(("001", "2026-11-12", "谈话", "2026-12-24"), header=header).rows
    assert row == Intervention(1, date(2026, 11, 12), "talk", again_on=date(2026, 12, 24))
    header = ("student number", "date", "what", "look again on")
    [row] = read(("001", "2026-11-12", "talk", ""), header=header).rows
    assert row.again_on is None
    assert reason("001", "2026-11-12", "talk", "2026-11-11", header=header) == "again_on is before the date"
    said = "again_on is no day: write it as 2026-09-01"
    assert reason("001", "2026-11-12", "talk", "soon", header=header) == said


def test_notes_of_a_list_are_talks() -> None:
    gathered = of_list(
        ("1", "001", "王一", "At risk", "2026-11-12", "tired"),
        ("1", "002", "李二", "Warning", "", ""),
        ("1", "003", "赵四", "Warning", "46338", ""),
    )
    assert gathered.rows == [Intervention(1, date(2026, 11, 12), "talk", note="tired")]
    [bad] = gathered.bad
    assert line_of(bad) == Line("early_warning.xlsx", 8) and "several students have this usin" in bad.reason


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (("1", "001", "王一", "", "", "tired"), "date is missing"),
        (("1", "001", "李二", "", "2026-11-12", ""), "another name"),
        (("1", "", "王一", "", "2026-11-12", ""), "it names no student"),
    ],
)
def test_note_that_fits_nobody_is_refused(row: tuple[str, ...], said: str) -> None:
    [bad] = of_list(row).bad
    assert said in bad.reason


def test_a_talk_of_several_files_is_one_row_if_alike() -> None:
    row = ("1", "001", "王一", "", "2026-11-12", "tired")
    alike = of_list(row, log=[("001", "", "2026-11-12", "谈话", "tired")])
    assert len(alike.rows) == 1 and alike.bad == []
    other = of_list(row, log=[("001", "", "2026-11-12", "谈话", "well")])
    assert other.rows == [] and len(other.bad) == 2
    assert "file.csv, line 2 and early_warning.xlsx, line 6 have the same" in other.bad[0].reason
