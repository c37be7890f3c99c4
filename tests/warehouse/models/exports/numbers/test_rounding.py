"""Percentages of pages, sheets, texts and measures beside quotients that decimal.Decimal rounds once."""

import math
import re
import shutil
from collections import defaultdict
from collections.abc import Mapping
from contextlib import closing
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from exports.export import Options, Written, export
from exports.figures import at_risk_figure, grade_figures, present_figure, rolls_figure
from exports.pages.cells import Links, heading_facts
from exports.pages.sections import Field, Layout
from exports.site.kinds import kinds
from exports.spreadsheet.sheets import Words
from pipelines.measures import measured
from tests.kits.exports.site_pages import Table, pages
from tests.kits.exports.spreadsheets import Tab, read_book
from tests.kits.models.simulated_school import SCHOOL

#: Lessons recorded and attended by week: halves of a hundredth, and quotients just below a half.
WEEKS = {1: (800, 799), 2: (80_000, 12_344), 3: (2_000, 1_737), 4: (20_001, 2_469), 5: (7, 3), 6: (1, 1)}
GRADES = """
    SELECT student_id, grade.semester_id, semester_name, course_class_id, real_score, full_score,
        score_percent, weight, is_passed
    FROM core.fct_grade AS grade JOIN core.dim_semester USING (school_id, semester_id)
    WHERE source = 'class' AND counts_in_statistics
"""
Rows = list[dict[str, Any]]


def rounded(number: Decimal, places: str = "0.01") -> Decimal:
    return number.quantize(Decimal(places), ROUND_HALF_UP)


def percentage(count: Decimal | int, whole: Decimal | int) -> Decimal:
    return rounded(Decimal(100 * count) / Decimal(whole))


def mean(numbers: list[Decimal]) -> Decimal:
    return rounded(sum(numbers, Decimal()) / len(numbers))


@pytest.fixture(scope="module")
def file(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The school with attendance of each cohort and of the whole school by week."""
    file = Path(shutil.copy(published, tmp_path_factory.mktemp("rounded") / "campus.duckdb"))
    with closing(duckdb.connect(str(file))) as con:
        for week, (recorded, present) in WEEKS.items():
            rate = percentage(present, recorded)
            con.execute(
                "INSERT INTO marts.attendance_group_week BY NAME SELECT DISTINCT school_id, semester_id, "
                "semester_name, true AS is_complete, kind AS group_type, if(kind = 'cohort', cohort_id, 0) "
                "AS group_id, cohort_id::VARCHAR AS group_name, $week AS week, $recorded AS recorded, "
                "$present AS present, $rate AS attendance_rate FROM marts.early_warning, "
                "(SELECT unnest(['cohort', 'school']) AS kind) WHERE cohort_id IS NOT NULL",
                {
                    "week": week,
                    "recorded": recorded,
                    "present": present,
                    "rate": rate,
                },
            )
    return file


@pytest.fixture(scope="module")
def site(file: Path) -> Path:
    [end] = export(file, ["site"], [SCHOOL], Options(file.parent, roles=("head",)))
    assert isinstance(end, Written), end
    return end.path


@pytest.fixture(scope="module")
def books(file: Path) -> Mapping[str, Mapping[str, Tab]]:
    ends = export(file, ["grades", "attendance"], [SCHOOL], Options(file.parent, language="en"))
    return {end.name: read_book(end.path) for end in ends if isinstance(end, Written)}


@pytest.fixture(scope="module")
def grades(file: Path) -> Rows:
    with closing(duckdb.connect(str(file), read_only=True)) as con:
        result = con.execute(GRADES)
        names = [name for name, *_ in result.description or ()]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def by(rows: Rows, *columns: str) -> dict[Any, Rows]:
    """The scored grades by these columns."""
    groups = defaultdict[Any, Rows](list)
    for row in rows:
        if row["score_percent"] is not None:
            groups[tuple(row[column] for column in columns)].append(row)
    return groups


def ids(file: Path, query: str) -> dict[tuple[Any, ...], Any]:
    """The last column of a query by the columns before. `shown`: the semesters of the sheets."""
    with closing(duckdb.connect(str(file), read_only=True)) as con:
        rows = con.execute(
            f"WITH shown AS (FROM views.shown_semester WHERE school_id = {SCHOOL}) {query}"
        ).fetchall()
    by_key = {row[:-1]: row[-1] for row in rows}
    assert len(by_key) == len(rows)
    return by_key


def test_score_rates_of_pupils(site: Path, grades: Rows) -> None:
    expected = {
        key: percentage(sum(row["real_score"] for row in group), sum(row["full_score"] for row in group))
        for key, group in by(grades, "student_id", "semester_name").items()
    }
    on_page = {
        (student, row["Semester"]): Decimal(row["Score rate / Student"].removesuffix("%"))
        for student, page in pages(site, "student")
        for row in page["Grades by semester"]
        if row["Score rate / Student"] != "—"
    }
    assert len(on_page) > 30
    assert {key: expected[key] for key in on_page} == on_page


def test_percentages_of_marks(site: Path) -> None:
    rows: Table = [row for _, page in pages(site, "student") for row in page["Courses"]]
    marks = {
        (row["Score (points)"], row["Full score (points)"], row["Percent of the full score"])
        for row in rows
        if row["Percent of the full score"] != "—"
    }
    assert len(marks) > 30
    for score, full, percent in marks:
        assert percent == f"{percentage(Decimal(score), Decimal(full))}%"


def test_means_of_course_classes(
    file: Path, site: Path, books: Mapping[str, Mapping[str, Tab]], grades: Rows
) -> None:
    """On the page, and in the cells of the sheet, which rounds no more."""
    expected = {
        course: mean([row["score_percent"] for row in group])
        for (course,), group in by(grades, "course_class_id").items()
    }
    on_page = {
        course: Decimal(row["Class mean"].removesuffix("%"))
        for course, page in pages(site, "course")
        for row in page["Compared with the cohort"]
    }
    assert on_page and {key: expected[key] for key in on_page} == on_page
    classes = ids(
        file,
        "SELECT course_name, class_name, course_class_id FROM marts.grade_class_against_cohort "
        "JOIN shown USING (school_id, semester_id)",
    )
    tab = books["grades"]["Classes"]
    keys = zip(tab.column("Course"), tab.column("Class"), strict=True)
    in_sheet = dict(zip(keys, tab.column("Class", "Mean"), strict=True))
    assert len(in_sheet) == len(tab.rows) > 5
    assert {key: Decimal(str(cell)) for key, cell in in_sheet.items()} == {
        key: expected[classes[key]] for key in in_sheet
    }


def test_weighted_means_of_pupils(file: Path, books: Mapping[str, Mapping[str, Tab]], grades: Rows) -> None:
    expected = {
        key: rounded(
            sum(row["score_percent"] * row["weight"] for row in group) / sum(row["weight"] for row in group)
        )
        for key, group in by(grades, "student_id", "semester_id").items()
    }
    students = ids(file, "SELECT student_number, student_id FROM core.dim_student")
    semester = ids(file, "SELECT semester_id FROM shown")[()]
    tab = books["grades"]["Students"]
    in_sheet = dict(zip(tab.column("Student number"), tab.column("Weighted mean"), strict=True))
    means = {number: Decimal(str(cell)) for number, cell in in_sheet.items() if cell is not None}
    assert len(means) > 30
    assert means == {number: expected[students[number,], semester] for number in means}


def test_means_of_a_school_in_sheet_and_figure(
    file: Path, books: Mapping[str, Mapping[str, Tab]], grades: Rows
) -> None:
    overview = books["grades"]["Overview"]
    semesters = by(grades, "semester_name")
    for semester, cell in zip(overview.column("Semester"), overview.column("Mean"), strict=True):
        assert Decimal(str(cell)) == mean([row["score_percent"] for row in semesters[semester,]])
    with closing(duckdb.connect(str(file), read_only=True)) as con:
        [figure, *_] = grade_figures(con, SCHOOL)
    assert figure.value.en == f"{overview.rows[0][overview.labels.index(('Mean',))]:.2f}%"


@pytest.mark.parametrize("name", ["pass_rate", "mean_percent", "score_rate"])
def test_measures_by_course_class(file: Path, name: str) -> None:
    with closing(duckdb.connect(str(file), read_only=True)) as con:
        columns, rows = measured(con, name, ["course_class"], {}, [], personal=False)
    places = "0.01" if name == "pass_rate" else "0.0001"
    factor = 1 if name == "mean_percent" else 100
    valued = [row for row in rows if row[columns.index(name)] is not None]
    assert valued
    for row in valued:
        numerator = Decimal(str(row[columns.index("numerator")]))
        expected = rounded(factor * numerator / Decimal(str(row[columns.index("denominator")])), places)
        assert row[columns.index(name)] == expected


def test_attendance_by_week_on_pages_and_sheets(site: Path, books: Mapping[str, Mapping[str, Tab]]) -> None:
    expected = {week: percentage(present, recorded) for week, (recorded, present) in WEEKS.items()}
    for _, page in pages(site, "cohort"):
        on_page = {int(row["Week"]): row for row in page["Attendance by week"]}
        for column in ("Cohort", "School"):
            assert {week: row[column] for week, row in on_page.items()} == {
                week: f"{rate}%" for week, rate in expected.items()
            }
    tab = books["attendance"]["Weeks"]
    in_sheet = zip(tab.column("Week"), tab.column("Attendance rate", "School"), strict=True)
    assert {week: Decimal(str(cell)) for week, cell in in_sheet} == expected
    formats = {cell.number_format for cell in tab.sheet[tab.sheet.max_row]}
    assert {text for text in formats if "%" in text} == {"0.00%"}


def test_no_percentage_of_a_page_has_other_than_two_decimals(site: Path) -> None:
    texts = [path.read_text(encoding="utf-8") for path in site.rglob("*/*.html")]
    numbers = {number for text in texts for number in re.findall(r">([+-]?[\d.]+)%<", text)}
    assert numbers and [number for number in numbers if not re.fullmatch(r"[+-]?\d+\.\d\d", number)] == []


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
def test_a_number_that_is_not_finite_is_not_known(number: float) -> None:
    words = Words("Rate", "比率")
    field = Field("rate", words, None, "percent", 2, False, {}, link=None, is_pair=False, is_wide=False)
    layout = Layout(kinds()["student"].heading, "", (field,), words, "rows")
    [fact] = heading_facts(layout, {"rate": number}, Links({}, ""))
    assert fact["cell"] == "—"


@pytest.mark.parametrize(("count", "whole", "text"), [(1, 800, "0.13"), (5, 800, "0.63"), (2, 3, "66.67")])
def test_figures_round_counts_half_up(count: int, whole: int, text: str) -> None:
    levels = {"at_risk": count, "judged": whole, "unknown": 0, "warning": 0}
    at_risk = at_risk_figure(levels | {"students": whole, "inputs_loaded": True}, None)
    rolls = rolls_figure({"last": {"not_taken": count, "due": whole}}, None)
    for detail in (at_risk.detail, rolls.detail):
        assert f"{text}%" in detail.en and f"{text}%" in detail.zh


def test_a_change_is_the_difference_of_the_figures_shown() -> None:
    rates = {"last": "92.35", "week_before": "91.12", "last_semester": "92.35"}
    counts = {
        period: {"attendance_rate": Decimal(rate), "students": 9, "attended": 9, "date": date(2026, 3, 2)}
        for period, rate in rates.items()
    }
    figure = present_figure(counts, None)
    assert figure.value.en == "92.35%"
    assert [change.text.en for change in figure.changes] == ["▲ 1.23 pp (better)", "no change"]
