"""No message quotes a cell or a heading of a file that is refused, or of a refused line."""

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campus.files.table_file import ERRORS, TableError, TableFile, lines_of, table_of
from campus.inputs.interventions import HEADINGS, Student, Students, lines_of_list, read_lines
from campus.inputs.readers import HEADINGS as READER_HEADINGS
from campus.inputs.readers import read_addresses
from warehouse.publish.models.compiled_models import read_project
from warehouse.publish.models.dbt_project import compiled
from warehouse.publish.models.thresholds import ThresholdsWrong, read_own
from writeback.attendance.marks import FIELDS as MARK_FIELDS
from writeback.attendance.marks import ClassIndex, plan_marks
from writeback.attendance.swipes import FIELDS as SWIPE_FIELDS
from writeback.attendance.swipes import plan_swipes
from writeback.bindings import CARDS, DEVICES, bindings_of, sound
from writeback.roster.fields import STANDARD
from writeback.roster.rows import Reading, read_rows

SECRET = "hunter2"
TODAY = date(2026, 11, 12)


def of_log(table: TableFile) -> Iterator[str]:
    students = Students([Student(1, "001", None, "甲", is_deleted=False)])
    lines = read_lines(table, students, TODAY, Path("file.csv"))
    yield from (f"{bad.reason} {bad.raw} {bad.key}" for bad in lines.bad)


def of_list(table: TableFile) -> Iterator[str]:
    yield from of_log(lines_of_list(table))


def of_readers(table: TableFile) -> Iterator[str]:
    yield from (reason for _, reason in read_addresses(table, ["001"], "file.csv").refused)


def of_marks(table: TableFile) -> Iterator[str]:
    index = ClassIndex(101, TODAY, {}, [{"id": 1, "csin": "1", "_semester_id": 1}])
    yield from (f"{row.key} {row.words}" for row in plan_marks(table, index, "file.csv").refused)


def of_swipes(table: TableFile) -> Iterator[str]:
    _, outcomes = plan_swipes(table, 101, "file.csv", "source")
    yield from (f"{row.key} {row.words}" for row in outcomes if row.outcome == "refused")


def of_bindings(table: TableFile) -> Iterator[str]:
    for kind in (CARDS, DEVICES):
        try:
            _, refused = sound(kind, bindings_of(table, kind, "file.csv"))
            yield from (f"{row.key} {row.words}" for row in refused)
        except TableError as error:
            yield str(error)


def of_roster(table: TableFile) -> Iterator[str]:
    _, refused = read_rows(table, 101, (), Reading(), "file.csv")
    yield from (f"{row.reason} {row.chinese}" for row in refused)


READERS: dict[Callable[[TableFile], Iterator[str]], Sequence[str]] = {
    of_log: tuple(HEADINGS),
    of_list: ("学号", "谈话日期", "谈话备注"),
    of_readers: tuple(READER_HEADINGS),
    of_marks: MARK_FIELDS,
    of_swipes: SWIPE_FIELDS,
    of_bindings: (*CARDS.fields, *DEVICES.fields),
    of_roster: tuple(STANDARD),
}
CELLS = st.sampled_from(
    ["", "1", "001", "2026-11-12", f"{SECRET}@school.example", SECRET, *sorted(ERRORS)[:2]]
)


def content_of(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows([headings, *rows])
    return text.getvalue().encode()


@given(st.data(), st.sampled_from(list(READERS)))
def test_no_reader_of_tables_quotes_a_file(
    data: st.DataObject, reader: Callable[[TableFile], Iterator[str]]
) -> None:
    expected = READERS[reader]
    headings = data.draw(
        st.one_of(
            st.permutations(expected),
            st.lists(st.sampled_from([*expected, SECRET, f"{SECRET}2", ""]), min_size=1, max_size=5),
        )
    )
    rows = data.draw(st.lists(st.lists(CELLS, min_size=1, max_size=len(headings) + 1), max_size=4))
    try:
        messages = list(reader(table_of(lines_of(".csv", content_of(headings, rows)), "file.csv")))
    except TableError as error:
        messages = [str(error)]
    assert [message for message in messages if SECRET in message] == []


@pytest.mark.parametrize(
    "text",
    [
        SECRET,
        f"{SECRET},20230101\n{SECRET},1\n",
        f"indicator,warning\n{SECRET},{SECRET}\n",
        f"school_id,indicator,warning\n{SECRET},lateness_rate,1\n",
        f"indicator,warning\nlateness_rate,{SECRET},1\n",
        f'indicator,warning\n"{SECRET}',
        f"indicator,warning\n\0{SECRET}",
        f"indicator{f',{SECRET}' * 300_000}\n",
        "indicator,warning\n" + f"{SECRET},1\n" * 100_000,
        f"indicator,warning\n{SECRET * 200_000},1\n",
    ],
)
def test_no_file_of_thresholds_is_quoted(tmp_path: Path, text: str) -> None:
    (tmp_path / "thresholds").mkdir()
    (tmp_path / "thresholds" / "early_warning_rules.csv").write_text(text)
    with pytest.raises(ThresholdsWrong) as raised:
        read_own(tmp_path, read_project(compiled()))
    assert SECRET not in str(raised.value) and len(raised.value.problems) <= 21
