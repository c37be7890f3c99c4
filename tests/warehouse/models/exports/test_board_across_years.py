"""The board in a browser, and pages of cohorts: a cohort beside the same grade a year before."""

import re
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from exports.export import Options, Written, export
from tests.kits.models import school_years
from tests.kits.models.builds import Builder
from tests.kits.models.publishing import publish
from tests.kits.servers.browser import BROWSER, DRIVER, Page, open_board

TEXTS = "return [...document.querySelectorAll('[data-chart=weeks] svg text')].map(t => t.textContent)"
#: The opacity and the dashes of each line.
LINES = """
    return [...document.querySelectorAll('[data-chart=weeks] svg .mark-line path')]
        .map(line => [line.getAttribute('opacity') ?? '1', line.getAttribute('stroke-dasharray')])
"""
LAST_YEAR, IN_ENGLISH = "上一学年高三", "Grade 12 a year before"
#: The label on a page of a cohort, the cohort of the last grade, and the semester a year before.
LABEL = "上一学年同年级"
COHORT = max(school_years.FIRST_DAYS) + 1 - 2000
LAST_SEMESTER = max(school_years.FIRST_DAYS) - 1

pytestmark = pytest.mark.skipif(not (DRIVER and BROWSER), reason="needs chromium and chromedriver")


@pytest.fixture(scope="module")
def file(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return publish(build("board_of_years", school_years.tables()), tmp_path_factory.mktemp("across"))


@pytest.fixture(scope="module")
def pages(file: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    ends = list(export(file, ["board"], None, Options(tmp_path_factory.mktemp("pages"))))
    written = [end.path for end in ends if isinstance(end, Written)]
    return {school: path for school in school_years.NAMES for path in written if f"_{school}_" in path.name}


def picked(page: Page, cohort: str) -> list[str]:
    page.run(f"document.querySelector(`[data-pick='cohort'][data-key='{cohort}']`).click()")
    page.shows("仅看")
    texts: list[str] = page.run(TEXTS)
    return texts


def test_a_cohort_has_a_paler_line_of_its_grade_last_year(window: Page, pages: dict[int, Path]) -> None:
    page = open_board(window, pages[school_years.SENIOR])
    assert LAST_YEAR not in page.run(TEXTS)
    before = page.run(LINES)
    assert {opacity for opacity, _ in before} == {"1"}
    texts = picked(page, str(COHORT))
    assert LAST_YEAR in texts and "上一学年高二" not in texts
    lines = page.run(LINES)
    [(_, dash)] = [line for line in lines if line[0] != "1"]
    assert dash not in {other for opacity, other in lines if opacity == "1"}
    page.click("//button[@id='language']")
    assert page.has("//*[@data-chart='weeks']//*[.='" + IN_ENGLISH + "']", patience=10)


def test_a_school_that_does_not_tell_has_no_such_line(window: Page, pages: dict[int, Path]) -> None:
    page = open_board(window, pages[school_years.SILENT])
    assert not [text for text in picked(page, "27") if "上一学年" in text]
    assert {opacity for opacity, _ in page.run(LINES)} == {"1"}


def test_a_cohorts_page_has_its_grade_last_year(file: Path, tmp_path: Path) -> None:
    """By the same sums as the mart, in the weeks that both years have. A school that does not tell has no
    such column."""
    schools = [school_years.SENIOR, school_years.SILENT]
    ends = list(export(file, ["site"], schools, Options(tmp_path)))
    assert all(isinstance(end, Written) for end in ends), ends
    with closing(duckdb.connect(str(file), read_only=True)) as con:
        rates = con.execute(
            "SELECT week, round(100 * sum(present) / sum(recorded), 2) FROM marts.attendance_group_week "
            "JOIN core.dim_semester USING (school_id, semester_id) WHERE school_id = ? "
            "AND group_type = 'cohort' AND grade_level = 12 AND semester_id = ? GROUP BY week ORDER BY week",
            [school_years.SENIOR, LAST_SEMESTER],
        ).fetchall()
    texts = {
        school: (tmp_path / f"site_{school}" / "head" / "cohort" / f"{COHORT}.html").read_text()
        for school in schools
    }
    table = texts[school_years.SENIOR].partition("每周出勤率</span>")[2].partition("</table>")[0]
    rows = [re.findall(r"<td.*?>(.*?)</td>", row) for row in table.split("<tr>")[2:]]
    assert [(row[0], row[-1]) for row in rows] == [(str(week), f"{rate:.2f}%") for week, rate in rates]
    assert LABEL in table and 'class="line line2"' in table
    assert LABEL not in texts[school_years.SILENT]
