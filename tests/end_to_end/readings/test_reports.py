"""Whatever the platform made of what the specification leaves open: reports are read as they are, or the
reading says that they are not."""

import dataclasses
from typing import Any

import pytest

from campus.reports.selection import ReportSelection
from tests.kits.platforms.in_process import platform
from tests.kits.readings.choices import Reading, name_of
from tests.kits.readings.pairs import readings_of_pairs
from tests.kits.readings.reports import Found, Rows, in_order, linked, read_reports, true_rows

SIZE = {"schools": 1, "students": 12, "semesters": 2}
FIRST, CURRENT = 20241, 20242
# What concerns all lists, and several at once.
NASTY: list[Reading] = [
    *({"ignored": [name]} for name in ("paginated", "page", "per_page")),
    {"unlisted": "422"},
    {"pagination_headers": "absent"},
    {"pagination_headers": "absent", "unpaged": "refused", "max_per_page": 10, "page_past_end": "last"},
    {"unpaged": "ignored", "per_page": "refused", "report_fields_on": "first_page"},
    {"unpaged": "refused", "max_per_page": 7, "report_nulls": "omitted"},
    {"decimals": "number", "extra_fields": "some", "error_body": "empty", "report_keys": "strict"},
    {"v3_prefix": "/api/v3", "report_ids": "own", "token_lifetime": 1, "report_unknown": "400"},
]
# What else a platform may choose changes the figures in its reports.
OF_REPORTS = ("report_", "v3_prefix", "unpaged", "pagination_headers", "unlisted", "error_body", "ignored")
PAIRS = [
    {name: choice for name, choice in reading.items() if name.startswith(OF_REPORTS)}
    for reading in readings_of_pairs()
]
SELECTIONS = [
    ReportSelection("student_summary", parameters={"semester": "20241", "grade": 2025}),
    ReportSelection("成绩透视表", queries=("年级成绩", "班级成绩"), matrix={"semester": (FIRST, CURRENT)}),
    ReportSelection("certificates", parameters={"kind": (1, "2"), "period": ("2024-09-01", "2025-03-31")}),
    ReportSelection("field_kinds", queries=("各类字段",), parameters={"group": "01"}),
    ReportSelection("score_details"),
    ReportSelection("attendance_days", parameters={"class": 1015001}),
]
# The same in the words of a plain platform: its query and parameters.
PLAIN: dict[tuple[str, str, str], tuple[int, Any]] = {
    ("student_summary", "学生明细", ""): (501, {"semester": FIRST, "grade": ["2025"]}),
    ("student_summary", "班级汇总", ""): (502, {"semester": FIRST, "grade": ["2025"]}),
    ("成绩透视表", "班级成绩", f"semester={FIRST}"): (511, {"semester": FIRST}),
    ("成绩透视表", "班级成绩", f"semester={CURRENT}"): (511, {"semester": CURRENT}),
    ("成绩透视表", "年级成绩", f"semester={FIRST}"): (512, {"semester": FIRST}),
    ("成绩透视表", "年级成绩", f"semester={CURRENT}"): (512, {"semester": CURRENT}),
    ("certificates", "证书", ""): (521, {"kind": [1, 2], "period": ["2024-09-01", "2025-03-31"]}),
    ("field_kinds", "各类字段", ""): (531, {"group": "01"}),
    ("score_details", "全部得分", ""): (541, {}),
    ("attendance_days", "按班级和日期", ""): (551, {"class": "1015001"}),
}


@pytest.fixture(scope="module")
def truth() -> dict[tuple[str, str, str], Rows]:
    """The rows of each question, by report, label of the query, and combination."""
    with platform(**SIZE) as (_, session):
        return {key: true_rows(session, key[0], *plain) for key, plain in PLAIN.items()}


def read(**options: Any) -> dict[tuple[str, str, str], Found]:
    """What is read of a platform with these options."""
    form = options.get("report_date_range", "array")
    with platform(**SIZE, **options):
        readings = read_reports([dataclasses.replace(entry, date_ranges=form) for entry in SELECTIONS])
    errors = {report: words for report, words in readings.items() if isinstance(words, str)}
    assert errors == {}
    return {
        (report, *key): entry
        for report, questions in readings.items()
        if not isinstance(questions, str)
        for key, entry in questions.items()
    }


def as_they_are(rows: Rows) -> list[str]:
    """Rows that can be compared whatever their order is and however attachments are sent."""
    return in_order([row | {"file": linked(row["file"])} if "file" in row else row for row in rows])


@pytest.mark.parametrize("options", [{}, *NASTY], ids=name_of)
def test_every_report_is_read_as_it_is(options: Reading, truth: dict[tuple[str, str, str], Rows]) -> None:
    _read_and_compare(options, truth)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(PAIRS)))
def test_pairs_of_choices_change_no_row(number: int, truth: dict[tuple[str, str, str], Rows]) -> None:
    _read_and_compare(PAIRS[number], truth)


def _read_and_compare(options: Reading, truth: dict[tuple[str, str, str], Rows]) -> None:
    readings = read(**options)
    assert readings.keys() == truth.keys()
    assert {key: reading.told for key, reading in readings.items() if reading.told} == {}
    assert [
        key for key, reading in readings.items() if as_they_are(reading.rows) != as_they_are(truth[key])
    ] == []
    assert sum(reading.bad for reading in readings.values()) == 0


def one(selection: ReportSelection, **options: Any) -> dict[tuple[str, str], Found] | str:
    """What is read of one report, or why it cannot be asked for."""
    with platform(**SIZE, **options):
        return read_reports([selection])[selection.report]


@pytest.mark.parametrize("status", ["404", "422", "400"])
def test_a_report_that_is_not_there_is_told_with_its_school(status: str) -> None:
    message = one(ReportSelection("student summary"), report_unknown=status, v3_prefix="/api/v3")
    assert isinstance(message, str)
    assert message.startswith("school 101 has no report 'student summary'")
    assert "campus.yaml" in message and ("no such report" in message) == (status != "404")


@pytest.mark.parametrize("options", [{}, {"report_empty_fields": "empty", "report_empty_rows": "null"}])
def test_a_query_without_rows_is_read_and_fails_nothing(options: Reading) -> None:
    answers = one(ReportSelection("certificates", parameters={"kind": (4,)}), **options)
    assert not isinstance(answers, str)
    reading = answers["证书", ""]
    assert (reading.rows, reading.told, reading.bad) == ([], "", 0)
    assert ("file" in [row["name"] for row in reading.fields]) == (not options)


def test_the_fields_of_a_pivot_are_those_of_its_data() -> None:
    answers = one(
        ReportSelection(
            "成绩透视表", queries=(511,), matrix={"semester": (FIRST, CURRENT), "subject": (101006,)}
        )
    )
    assert not isinstance(answers, str)
    first, current = (
        answers["班级成绩", f"semester={key}&subject=101006"].fields for key in (FIRST, CURRENT)
    )
    paths = {tuple(row["label_in_path"]) for row in current if row["is_dynamic"]}
    assert {path[0] for path in paths} == {"语文"} and ("语文", "期中考试", "平均分") in paths
    gone = {tuple(row["label_in_path"]) for row in first if row["is_dynamic"]} - paths
    assert gone and {path[1] for path in gone} == {"期末考试"}
    assert {row["params"] for row in first} == {f"semester={FIRST}&subject=101006"}


def test_a_platform_that_shuffles_its_pages_is_told() -> None:
    answers = one(SELECTIONS[0], report_order="shuffled", unpaged="refused", max_per_page=7)
    assert not isinstance(answers, str)
    assert "no two of 6 passes over the pages show the same rows" in answers["学生明细", ""].told


def test_dates_in_a_form_that_the_platform_does_not_take_are_told_with_what_was_sent() -> None:
    period = {"period": ("2024-09-01", "2025-03-31")}
    answers = one(ReportSelection("certificates", parameters=period), report_date_range="text")
    assert not isinstance(answers, str)
    message = answers["证书", ""].told
    assert "two dates YYYY-MM-DD with a comma between them" in message
    assert '{"period":["2024-09-01","2025-03-31"]}' in message
