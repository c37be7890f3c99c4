"""The page of many schools: in a browser, and against the figures of each school."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest

from exports.board.comparison import facts_of
from exports.board.data import BOARD
from exports.board.data import SCHOOLS as SCHOOLS_DATA
from exports.board.school import write_board
from exports.board.schools import write_board_of_all
from exports.figures import figures
from exports.source import origins, schools
from tests.kits.exports import many_schools
from tests.kits.exports.many_schools import add_schools
from tests.kits.models.builds import Build
from tests.kits.models.publishing import publish_strictly
from tests.kits.servers.browser import BROWSER, DRIVER, Page, open_board
from warehouse.privacy import SMALL_GROUP

#: Two are of the published file, without loads in the last nights.
MANY, STUDENTS = 30, 200
SCHOOLS = SCHOOLS_DATA.most
PHONE = 360
ROWS = "return [...document.querySelectorAll('#schools tbody tr')].filter(row => !row.hidden).length"
SHOWN = "return document.querySelector('#section-schools [role=status]').innerText"
NEEDS_BROWSER = pytest.mark.skipif(not (DRIVER and BROWSER), reason="needs chromium and chromedriver")


@pytest.fixture(scope="module")
def file(healthy: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    published = publish_strictly(healthy, tmp_path_factory.mktemp("many"))
    add_schools(published, MANY - 2, STUDENTS)
    return published


@pytest.fixture
def con(file: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with closing(duckdb.connect(str(file), read_only=True)) as connection:
        yield connection


class Counting:
    """A connection that counts its queries."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self.con, self.queries = con, 0

    def execute(self, *arguments: Any) -> duckdb.DuckDBPyConnection:
        self.queries += 1
        return self.con.execute(*arguments)


def write(con: Any, target: Path, most: int = MANY) -> Path:
    """Write the page of the first schools."""
    missing = target.with_name("no_such_file")
    sources = origins(con, missing, schools(con)[:most]).values()
    whole = [source.made_of(BOARD.sources) for source in sources]
    write_board_of_all(con, whole, target, "zh", target.parent)
    return target


@pytest.fixture(scope="module")
def path(file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    with closing(duckdb.connect(str(file), read_only=True)) as con:
        return write(con, tmp_path_factory.mktemp("page") / "board.html")


def test_the_figures_are_those_of_each_school(con: duckdb.DuckDBPyConnection) -> None:
    """Changes since earlier days are left out."""
    ids = [school.id for school in schools(con)]
    facts = facts_of(con, ids)
    assert len(facts) == MANY
    for id, own in facts.items():
        assert [(figure.value, figure.detail, figure.number) for figure in own.figures] == [
            (figure.value, figure.detail, figure.number) for figure in figures(con, id)
        ]


def test_the_number_of_queries_is_that_of_few_schools(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    of_two, of_many = Counting(con), Counting(con)
    write(of_two, tmp_path / "two.html", 2)
    write(of_many, tmp_path / "many.html")
    assert of_many.queries == of_two.queries < MANY


def test_the_age_and_the_alarms_need_no_script(
    con: duckdb.DuckDBPyConnection, path: Path, tmp_path: Path
) -> None:
    """A viewer of a mail program runs none."""
    sources = origins(con, tmp_path / "no_such_file", schools(con))
    [source] = [source for source in sources.values() if source.school.id == many_schools.FAILED]
    write_board(con, source.made_of(BOARD.sources), tmp_path / "board.html", "zh", tmp_path, names=True)
    for file, alarms in ((path, 0), (tmp_path / "board.html", 1)):
        text = re.sub("<script.*?</script>", "", file.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert '<b id="as-of">2026-03-1' in text
        assert len(re.findall('<p class="alarm">.*?未能加载', text)) == alarms


def test_hidden_numbers_are_not_on_the_page(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    [row] = re.findall(rf'<tr data-key="{many_schools.SMALL}".*?</tr>', text, re.DOTALL)
    assert ">&lt; 5</td>" in row and "3人" not in row


@pytest.mark.parametrize("view", ["school_tier", "school_absence_reason"])
def test_no_bar_is_of_few_students(con: duckdb.DuckDBPyConnection, view: str) -> None:
    [(bars, fewest)] = con.execute(
        f"SELECT count(DISTINCT school_id), min(students) FROM views.{view}"
    ).fetchall()
    assert bars >= MANY - 4, "two schools of the published file and two of the others have no attendance"
    assert fewest >= SMALL_GROUP


def test_tiers_of_few_students_are_joined(con: duckdb.DuckDBPyConnection) -> None:
    """The rows of a school have all students whom its tiers have."""
    students = dict(
        con.execute(
            "SELECT school_id, sum(tier_students) FROM views.attendance_tier "
            "WHERE is_school AND is_shown GROUP BY ALL HAVING sum(tier_students) >= $few",
            {"few": SMALL_GROUP},
        ).fetchall()
    )
    visible = con.execute("SELECT school_id, sum(students) FROM views.school_tier GROUP BY ALL").fetchall()
    assert dict(visible) == students
    joined = con.execute(
        "SELECT DISTINCT school_id, tier, last_tier FROM views.school_tier WHERE tier <> last_tier"
    ).fetchall()
    assert (many_schools.SMALL, "severe", "chronic") in joined


def test_reasons_are_those_of_each_missed_lesson(con: duckdb.DuckDBPyConnection) -> None:
    """Computed a second time, from the lessons, without the reasons of few students."""
    pages = set(
        con.execute(
            "SELECT school_id, semester_id, student_id FROM marts.early_warning "
            "SEMI JOIN views.shown_semester USING (school_id, semester_id)"
        ).fetchall()
    )
    students, lessons = defaultdict[tuple[int, str], set[int]](set), Counter[tuple[int, str]]()
    for school, semester, student, is_leave, label in con.execute(
        "SELECT school_id, semester_id, student_id, is_leave, absence_label FROM core.fct_attendance "
        "WHERE is_absent AND counts_in_denominator"
    ).fetchall():
        if (school, semester, student) in pages:
            reason = (label or "leave") if is_leave else "unexcused"
            students[school, reason].add(student)
            lessons[school, reason] += 1
    assert 0 < len(students[many_schools.SMALL, "病假"]) < SMALL_GROUP
    rows = con.execute(
        "SELECT school_id, reason, students, lessons FROM views.school_absence_reason"
    ).fetchall()
    assert sorted(rows) == sorted(
        (school, reason, len(absent), lessons[school, reason])
        for (school, reason), absent in students.items()
        if len(absent) >= SMALL_GROUP
    )


@NEEDS_BROWSER
def test_the_schools_that_need_a_look_come_first(window: Page, path: Path) -> None:
    page = open_board(window, path)
    # The two schools of the published file were loaded before the others. The second lacks attendance.
    page.shows(f"{MANY}所学校中21所正常。", "1所：从未加载", "3所：数据早于2026-03-15 23:00")
    page.shows("1所：有数据未能加载", "1所：有数据尚未完整加载", "3所：有指标暂缺")
    page.shows(
        "1所：出勤率远低于其他学校", "1所：高风险学生占比远高于其他学校", "2所：未点名课节占比远高于其他学校"
    )
    assert page.run(ROWS) == SCHOOLS
    assert page.run(SHOWN) == f"{SCHOOLS} / {MANY}"
    page.click("//button[@data-reason='at_risk']")
    keys = (
        "return [...document.querySelectorAll('#schools tr:not([hidden])[data-key]')].map(r => r.dataset.key)"
    )
    assert page.run(keys) == [str(many_schools.AT_RISK)]
    page.click("//button[@data-reason='at_risk']")
    page.click("//section[@id='section-schools']//button[@class='all']")
    assert page.run(ROWS) == MANY
    assert page.run(
        f"return document.activeElement === document.querySelectorAll('#schools tbody tr')[{SCHOOLS}]"
    )


def draws(page: Page, chart: str, mark: str, number: int) -> bool:
    """Whether a chart comes to have so many shapes of a mark."""
    shapes = f".//*[contains(@class, '{mark}')]//*[name() = 'path']"
    return page.has(f"//*[@id='section-{chart}'][count({shapes}) = {number}]", patience=20)


@NEEDS_BROWSER
def test_charts_show_quartiles_and_the_selected_school(window: Page, path: Path) -> None:
    page = open_board(window, path)
    assert draws(page, "weeks", "mark-area", 1)
    assert draws(page, "weeks", "mark-line", 1), "the median alone"
    assert draws(page, "quartiles", "mark-symbol", 0)
    # The table has the first of these schools among its 20, and adds the last.
    last = many_schools.FIRST + MANY - 3
    for school, levels, rows in ((many_schools.SMALL, 1, SCHOOLS), (last, 2, SCHOOLS + 1)):
        page.run(
            f"const s = document.querySelector('#pick'); s.value = '{school}';"
            "s.dispatchEvent(new Event('change'))"
        )
        page.shows(f"已选：第{school}中学")
        assert draws(page, "weeks", "mark-line", 2)
        assert draws(page, "quartiles", "mark-symbol", levels), "a small number has no point"
        assert page.run(ROWS) == rows


@NEEDS_BROWSER
def test_a_download_separates_reasons_of_a_school(window: Page, path: Path) -> None:
    """All schools are in the download, also those below the first twenty."""
    page = open_board(window, path)
    reasons = page.run(
        "return [...document.querySelectorAll('#schools tbody tr')]"
        ".map(row => [...row.querySelectorAll('.reason .zh')].map(reason => reason.textContent).join('；'))"
    )
    csv = page.run(
        "const a = document.querySelector('[data-rows=schools] a[download]');"
        "a.addEventListener('click', e => e.preventDefault()); a.click(); return decodeURIComponent(a.href)"
    )
    assert csv.count("\r\n") == MANY + 1
    assert any("；" in text for text in reasons) and all(text in csv for text in reasons)


@NEEDS_BROWSER
def test_the_page_of_many_schools_is_two_pages_on_paper(window: Page, path: Path) -> None:
    assert len(re.findall(rb"/Type\s*/Page\b", open_board(window, path).printed())) == 2


@NEEDS_BROWSER
def test_axe_finds_nothing_on_the_page_of_many_schools(window: Page, path: Path) -> None:
    try:
        for width in (0, PHONE):
            window.resize(width)
            page = open_board(window, path)
            page.click("//button[@data-reason='old']")
            assert page.violations() == []
            page.click("//button[@id='language']")
            page.shows("21 of 30 schools are fine.", "3 schools: data from before 2026-03-15 23:00")
            assert page.violations() == []
            assert page.run("return document.documentElement.scrollWidth <= innerWidth")
    finally:
        window.resize(0)
