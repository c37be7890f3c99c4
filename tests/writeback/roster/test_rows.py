"""What is read of a roster, and which rows of it are refused, with what reason."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from campus.files.table_file import TableError, TableFile, TableRow, named_file, table_in
from tests.kits.writes.rosters import SCHOOL, pupil, table
from writeback.roster.fields import STANDARD
from writeback.roster.rows import Reading, RefusedRow, RosterRow, read_rows

SAMPLE = Path(__file__).parents[3] / "docs" / "how-to" / "roster.csv"
CUSTOM = {"dormRoom", "boarding"}
Read = tuple[list[RosterRow], list[RefusedRow]]


def read(*rows: Mapping[str, str], **reading: Any) -> Read:
    """Read a roster of these rows; reading: what campus.yaml says."""
    return read_rows(table(rows), SCHOOL, CUSTOM, Reading(**reading), "roster")


def values(*rows: Mapping[str, str], **reading: Any) -> Mapping[str, Any]:
    """The values of the first row, where none is refused."""
    good, bad = read(*rows, **reading)
    assert bad == []
    return good[0].values


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"usin": ""}, "usin is missing"),
        ({"name": ""}, "name is missing"),
        ({"role": ""}, "role is missing"),
        ({"outer_id": ""}, "outer_id is missing"),
        ({"name": "长" * 300}, "name has 300 letters; 255 at most"),
        ({"name": "محمد علي"}, "from right to left"),
        ({"name": "王דוד"}, "from right to left"),
        ({"name": "小明😀"}, "emoji or symbols"),
        ({"name": "小🇨🇳明"}, "emoji or symbols"),
        ({"name": '=HYPERLINK("x")'}, "begins like a formula, with '='"),
        ({"name": "+1+1"}, "begins like a formula, with '+'"),
        ({"name": "-2"}, "begins like a formula, with '-'"),
        ({"name": "@SUM(A1)"}, "begins like a formula, with '@'"),
        ({"usin": "=1+1"}, "usin begins like a formula"),
        ({"name": "王\u202e明"}, "nobody sees, U+202E"),
        ({"name": "王\u200b明"}, "nobody sees, U+200B"),
        ({"name": "王\x00明"}, "nobody sees, U+0000"),
        ({"name": "王\n明"}, "nobody sees, U+000A"),
        ({"name": "王\u2028明"}, "nobody sees, U+2028"),
        # Letters of plane 14 repeat ASCII unseen; those of plane 15 are anybody's own.
        ({"name": "王\U000e0041明"}, "nobody sees, U+E0041"),
        ({"name": "王\U000f0000明"}, "nobody sees, U+F0000"),
        ({"role": "校长"}, "role: expected one of 1, 2, 8"),
        ({"gender": "x"}, "gender: expected one of m, f, u"),
        ({"status": "3"}, "status: expected one of 1, 2, 4"),
        ({"graduates_in": "高一"}, "graduates_in: expected a number"),
        ({"graduates_in": "-1"}, "graduates_in: expected a number"),
        # More digits than Python makes a number of.
        ({"graduates_in": "9" * 5_000}, "graduates_in has 5000 digits"),
        ({"entered_at": "2025-02-30"}, "entered_at: expected YYYY-MM-DD"),
        ({"entered_at": "3/6/2025"}, "expected YYYY-MM-DD"),
        ({"dormRoom": "=A1"}, "dormRoom begins like a formula"),
        ({"school_id": "102"}, "it is of another school; this plan is for 101"),
    ],
)
def test_a_bad_row_is_refused_with_line_and_reason_and_the_others_pass(
    changes: Mapping[str, str], reason: str
) -> None:
    good, [bad] = read(pupil(1), pupil(2, **changes), pupil(3))
    assert [row.outer_id for row in good] == ["new-1", "new-3"]
    assert (bad.line, bad.key) == (3, changes.get("outer_id", "new-2"))
    assert reason in bad.reason


@pytest.mark.parametrize(
    "name",
    [
        "欧阳娜娜",
        "Jean-Pierre O'Neil",
        "阿卜杜拉·买买提",
        "𠮷田",
        "\U00031350某",  # newer than Python's tables
        "某〇",
        "José",
        "長" * 255,
        "王明1",
        "A=B",
    ],
)
def test_unusual_names_that_are_names_pass(name: str) -> None:
    assert values(pupil(1, name=name))["name"] == name


@pytest.mark.parametrize("name", ["محمد علي", "小明😀", "=1+1", "-2", "@x"])
def test_what_is_no_ordinary_name_passes_where_a_person_has_said_so(name: str) -> None:
    assert values(pupil(1, name=name), unusual_text="send")["name"] == name


def test_what_nobody_sees_is_refused_even_then() -> None:
    assert "U+202E" in read(pupil(1, name="a\u202eb"), unusual_text="send")[1][0].reason


@pytest.mark.parametrize("password", ["=Zx9!kk", "@Zx9!kk", "-Zx9!kk", "Zx9😀", "Zx9שלום"])
def test_a_password_may_be_of_any_letters_and_no_reason_tells_one(password: str) -> None:
    assert values(pupil(1, password=password))["password"] == password
    for bad in (f"{password}\x07", password * 100):
        [refused] = read(pupil(1, password=bad))[1]
        assert "Zx9" not in refused.reason
        assert refused.reason.startswith("password has")
        assert "U+" not in refused.reason


def test_rows_that_share_an_outer_id_or_a_usin_are_all_refused() -> None:
    good, bad = read(pupil(1), pupil(2), pupil(1, usin="N9"), pupil(3, usin="N000002"), pupil(4))
    assert [row.outer_id for row in good] == ["new-4"]
    assert [(row.line, row.reason) for row in sorted(bad, key=lambda row: row.line)] == [
        (2, "lines 2, 4 have the same outer_id"),
        (3, "lines 3, 5 have the same usin"),
        (4, "lines 2, 4 have the same outer_id"),
        (5, "lines 3, 5 have the same usin"),
    ]


def test_a_row_is_refused_too_whose_outer_id_a_refused_row_has() -> None:
    good, bad = read(pupil(1), pupil(1, name="", usin="N9"))
    assert good == []
    assert {row.line: row.reason for row in bad} == {
        2: "lines 2, 3 have the same outer_id",
        3: "name is missing",
    }


def test_an_outer_id_that_is_refused_itself_is_no_key() -> None:
    # Who is meant by it cannot be told, as where there is none.
    for outer_id in ("new-1\u200b", "=new-1", "x" * 300):
        assert [row.key for row in read(pupil(1, outer_id=outer_id))[1]] == [""]


CHINESE = {
    "外部编号": "a-1",
    "学号": "20250001",
    "姓名": "王小明",
    "角色": "学生",
    "性别": "女",
    "状态": "正常",
    "毕业届": "2028",
    "手机号": "+86 13800000000",
    "入学日期": "2025/9/1",
    "学制": "3",
    "dormRoom": "301",
}
MEANT = {
    "outer_id": "a-1",
    "usin": "20250001",
    "name": "王小明",
    "role": 1,
    "gender": "f",
    "status": 1,
    "graduates_in": 2028,
    "phone": "+86 13800000000",
    "entered_at": "2025-09-01",
    "duration": 3,
    "dormRoom": "301",
}


def test_chinese_headers_and_words() -> None:
    [row], bad = read(CHINESE)
    assert bad == []
    assert row.values == MEANT
    assert row.custom == {"dormRoom": "301"}


@pytest.mark.parametrize("text", ["2025-6-3", "2025/6/3", "2025.06.03", "2025年6月3日", "2025-06-03"])
def test_dates_as_people_write_them(text: str) -> None:
    assert values(pupil(1, entered_at=text))["entered_at"] == "2025-06-03"


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("role", "Student", 1),
        ("role", "1", 1),
        ("gender", "M", "m"),
        ("gender", "f", "f"),
        ("status", "4", 4),
    ],
)
def test_the_platforms_own_words_do_too(name: str, text: str, value: object) -> None:
    assert values(pupil(1, **{name: text}))[name] == value


def test_a_school_names_its_columns_and_words_itself() -> None:
    row = {"Ref": "a-1", "Matrikel": "7", "NAME": "Ann", "Art": "Staff", "m/w": "w"}
    columns = {"Ref": "outer_id", "Matrikel": "usin", "Art": "role", "m/w": "gender"}
    words = {"role": {"Pupil": 1, "Staff": "teacher"}, "gender": {"w": "f"}}
    assert values(row, columns=columns, values=words) == {
        "outer_id": "a-1",
        "usin": "7",
        "name": "Ann",
        "role": 2,
        "gender": "f",
    }


def test_a_default_holds_where_a_cell_says_nothing() -> None:
    said = {"outer_id": "a-1", "usin": "1", "name": "甲", "role": "学生"}
    silent = {"outer_id": "a-2", "usin": "2", "name": "乙", "role": ""}
    good, bad = read(silent, said, defaults={"role": "教师", "status": 1})
    assert bad == []
    assert [(row.values["role"], row.values["status"]) for row in good] == [(2, 1), (1, 1)]


def test_an_empty_cell_keeps_what_is_there_or_clears_it() -> None:
    row = pupil(1, phone="", entered_at="", dormRoom="")
    assert not {"phone", "entered_at", "dormRoom"} & values(row).keys()
    cleared = values(row, empty="clear")
    assert [cleared[name] for name in ("phone", "entered_at", "dormRoom")] == [None] * 3


@pytest.mark.parametrize("name", ["outer_id", "usin", "name", "role"])
def test_what_a_user_must_have_is_never_cleared(name: str) -> None:
    [bad] = read(pupil(1, **{name: ""}), empty="clear")[1]
    assert f"{name} is missing" in bad.reason


def test_gender_and_status_are_not_cleared() -> None:
    """They are one of a few values, and none is not among them."""
    assert not {"gender", "status"} & values(pupil(1, gender="", status=""), empty="clear").keys()


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        (("outer_id", "usin", "role", "nmae"), "column 4 has no known heading; did you mean name?"),
        (("outer_id", "学号", "工号", "role"), "column 3 is the second with usin"),
        (("usin", "name", "role"), "no column is outer_id"),
        (("outer_id", "usin", "name"), "no column is role"),
    ],
)
def test_columns_without_sense_are_told_before_any_row_is_read(
    columns: tuple[str, ...], problem: str
) -> None:
    with pytest.raises(TableError) as raised:
        read_rows(TableFile(columns, ()), SCHOOL, (), Reading(), "r.csv")
    assert problem.split(", did")[0] in str(raised.value)


#: Halves of letters too, which no file has.
ANY_TEXT = st.lists(st.integers(0, 0x10FFFF).map(chr), max_size=5).map("".join)
CELL = st.one_of(st.sampled_from(["", "1", "8", "学生", "new-1", "2025/6/3", "=1", "😀", "٣"]), ANY_TEXT)
COLUMNS = (*STANDARD, "dormRoom", "school_id")
CHANGES = st.dictionaries(st.sampled_from(COLUMNS), CELL, max_size=4)


@example(changes=[{"role": "\ud800"}], empty="keep", unusual="refuse")
@given(
    changes=st.lists(CHANGES, max_size=5),
    empty=st.sampled_from(["keep", "clear"]),
    unusual=st.sampled_from(["refuse", "send"]),
)
def test_any_row_is_either_read_or_refused(changes: list[dict[str, str]], empty: Any, unusual: Any) -> None:
    rows = [{**dict.fromkeys(COLUMNS, ""), **pupil(line, **own)} for line, own in enumerate(changes, 2)]
    lines = tuple(TableRow(line, row) for line, row in enumerate(rows, 2))
    reading = Reading(empty=empty, unusual_text=unusual)
    good, bad = read_rows(TableFile(COLUMNS, lines), SCHOOL, {"dormRoom"}, reading, "roster")
    assert sorted([row.line for row in good] + [row.line for row in bad]) == [row.line for row in lines]
    assert all(row.reason for row in bad)
    msgspec.json.encode(bad)
    msgspec.json.encode([row.values for row in good])
    for name in ("outer_id", "usin"):
        column = [row.values[name] for row in good]
        assert len(column) == len(set(column))


def test_the_sample_of_the_docs_is_a_roster() -> None:
    rows, bad = read_rows(table_in(named_file(SAMPLE)), SCHOOL, set(), Reading(), "the sample")
    assert bad == []
    assert [row.values["role"] for row in rows] == [1, 1, 2, 8]
    assert rows[0].values["entered_at"] == "2026-09-01"
    assert rows[3].values["student_outer_id"] == rows[0].outer_id
