"""The board in a browser: what is drawn, narrowed, printed and said, and that nothing is asked for."""

import json
import re
import shutil
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import Any

import duckdb
import pytest

from exports.board.charts import ChartRows
from exports.board.data import BOARD
from exports.board.school import chart_rows
from exports.export import Options, Written, export
from exports.figures import WHOLE, figures, figures_by_group
from exports.library.view_rows import ViewRows, read_rows
from exports.source import School
from exports.spreadsheet.sheets import Figure
from tests.kits.models.builds import Build
from tests.kits.models.publishing import SCHOOL, publish_strictly
from tests.kits.servers.browser import BROWSER, DRIVER, ENTER, Page, open_board

HOSTILE = """</script><script>window.hacked = 1</script><img src=x onerror="window.hacked = 1">'"&=1+1"""
SCHOOLS = (SCHOOL, 2)
NAMED, EMPTY = "九中", 9
TALKS, ROLLS = BOARD.lists["talks"].most, BOARD.lists["untaken"].most
#: Classes of the second school, each of a cohort of its own, all called the same.
MANY = 24
#: How many shapes each chart has, and what one shows as text.
DRAWN = """
    return [...document.querySelectorAll('.drawing')].map(
        place => [place.dataset.chart, place.querySelectorAll('svg path').length])
"""
TEXTS = "return [...document.querySelectorAll('#section-{} svg text')].map(t => t.textContent)"

pytestmark = pytest.mark.skipif(not (DRIVER and BROWSER), reason="needs chromium and chromedriver")


@pytest.fixture(scope="module")
def published(healthy: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A school of two classes, one of many, and one without anything; names of the first are such as nobody
    should have."""
    file = publish_strictly(healthy, tmp_path_factory.mktemp("board"))
    with closing(duckdb.connect(str(file))) as con:
        con.execute("UPDATE core.dim_school SET school_name = ? WHERE school_id = ?", [HOSTILE, SCHOOL])
        for column in ("student_name", "admin_class_name", "reasons_zh"):
            con.execute(f"UPDATE marts.early_warning SET {column} = {column} || $1", [HOSTILE])
        con.execute(
            "UPDATE marts.early_warning SET admin_class_id = 502, cohort_id = 2, cohort_name = '2027' "
            "WHERE school_id = $1 AND student_id = 2",
            [SCHOOL],
        )
        con.execute(
            "INSERT INTO marts.early_warning BY NAME SELECT * EXCLUDE (n) REPLACE (100 + n AS student_id, "
            "600 + n AS admin_class_id, '1班' AS admin_class_name, n AS cohort_id, "
            "(2000 + n)::VARCHAR AS cohort_name, 'warning' AS level, true AS inputs_loaded) "
            f"FROM marts.early_warning, range(1, {MANY + 1}) classes (n) WHERE school_id = 2"
        )
        con.execute(
            "INSERT INTO core.dim_admin_class BY NAME SELECT DISTINCT school_id, admin_class_id, cohort_id, "
            "cohort_name FROM marts.early_warning WHERE admin_class_id > 501"
        )
        con.execute(
            "INSERT INTO core.dim_school BY NAME "
            "SELECT $1 AS school_id, $2 AS school_name, false AS is_deleted",
            [EMPTY, NAMED],
        )
    return file


@pytest.fixture(scope="module")
def pages(published: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The pages by whose they are."""
    folder = tmp_path_factory.mktemp("pages")
    ends = list(export(published, ["board"], None, Options(folder, previews=True)))
    assert all(isinstance(end, Written) for end in ends), ends
    written = {end.path.name.split("_")[1]: end for end in ends if isinstance(end, Written)}
    assert written.keys() == {*map(str, (*SCHOOLS, EMPTY)), "all"}
    assert "高风险学生" in written[str(SCHOOL)].preview and HOSTILE not in written[str(SCHOOL)].preview
    return {whose: end.path for whose, end in written.items()}


def test_charts_are_drawn_and_nothing_is_asked_for(window: Page, pages: dict[str, Path]) -> None:
    page = open_board(window, pages[str(SCHOOL)])
    assert all(marks > 0 for _, marks in page.run(DRAWN)) and page.run(DRAWN)
    assert page.run("return performance.getEntriesByType('resource').length") == 0
    text = pages[str(SCHOOL)].read_text(encoding="utf-8")
    assert "default-src 'none'" in text and "unsafe-eval" not in text
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", text)


def test_a_figure_leads_to_the_list_behind_it(window: Page, pages: dict[str, Path]) -> None:
    """The class that is picked stays."""
    page = open_board(window, pages[str(SCHOOL)])
    key = page.run("return document.querySelector('#pick').options[1].value")
    page.run(f"location.hash = '#pick=class+{key}'")
    page.shows("仅看")
    for figure, section in (("present", "absent"), ("at_risk", "talks"), ("rolls", "untaken")):
        page.click(f"//article[@data-figure='{figure}']//h2/a")
        assert page.run(
            f"return document.querySelector(':target') === document.getElementById('h-{section}')"
        )
        assert page.run("return document.querySelector('#pick').value") == key


def test_a_year_before_of_an_unknown_grade_has_the_name(window: Page, pages: dict[str, Path]) -> None:
    page = open_board(window, pages[str(SCHOOL)])
    drawn = page.run(
        "const spec = JSON.parse(document.getElementById('data').textContent).specs.zh.weeks;"
        "const group = {kind: 'cohort', key: '1', cohort: '1'};"
        "const row = {name: '2028级', order: 1, week: 1, is_complete: true, rate: 90, last_year: 80};"
        "spec.datasets = {rows: [{...group, ...row, grade_level: 99}]};"
        "spec.params.forEach(param => { param.value = group[param.name]; });"
        "const {view} = await vegaEmbed(document.createElement('div'), spec, {ast: true, actions: false});"
        "return view.toSVG()"
    )
    assert "上一学年2028级" in drawn and "undefined" not in drawn


def test_names_that_look_like_markup_stay_text(window: Page, pages: dict[str, Path]) -> None:
    for whose in (str(SCHOOL), "all"):
        page = open_board(window, pages[whose])
        assert page.run("return window.hacked ?? null") is None
        assert HOSTILE in page.run("return document.body.textContent")
        assert page.run("return document.images.length") == 0


def test_a_class_narrows_the_other_charts_by_mouse_and_keyboard(
    window: Page, pages: dict[str, Path], published: Path
) -> None:
    page = open_board(window, pages[str(SCHOOL)])
    [key, name] = page.run("const o = document.querySelector('#pick').options[1]; return [o.value, o.text]")
    before = page.run(TEXTS.format("lessons"))
    page.run(
        f"const s = document.querySelector('#pick'); s.value = {json.dumps(key)};"
        "s.dispatchEvent(new Event('change'))"
    )
    page.shows("仅看")
    with duckdb.connect(str(published), read_only=True) as con:
        drawn = chart_rows(con, School(SCHOOL, "S"))
    rates = {f"{row['rate']:.1f}" for row in drawn["lessons"] if (row["kind"], row["key"]) == ("class", key)}
    after = page.run(TEXTS.format("lessons"))
    assert rates <= set(after) and name == next(
        group["name"] for group in drawn["groups"] if group["key"] == key
    )
    page.click("//button[@data-pick='school']")
    assert page.run("return document.querySelector('#picked').textContent") == ""
    assert page.run(TEXTS.format("lessons")) == before
    # By the chart itself, as by a click on it.
    page.run(
        "const bar = document.querySelector('#section-levels svg .mark-rect path');"
        "const at = bar.getBoundingClientRect();"
        "const where = {bubbles: true, clientX: at.x + at.width / 2, clientY: at.y + at.height / 2};"
        "for (const kind of ['mousedown', 'mouseup', 'click']) bar.dispatchEvent(new MouseEvent(kind, where))"
    )
    page.shows("仅看")


def test_tiles_and_lists_follow_a_class(window: Page, pages: dict[str, Path], published: Path) -> None:
    with duckdb.connect(str(published), read_only=True) as con:
        said = figures_by_group(con, SCHOOL)
        drawn = chart_rows(con, School(SCHOOL, "S"))
    groups = [group for group in said if group[0] == "class"]
    assert len(groups) > 1 and len({said[group] for group in groups}) > 1
    page = open_board(window, pages[str(SCHOOL)])
    assert _tiles(page) == _shown(said[WHOLE])
    for kind, key in (*groups, ("cohort", drawn["groups"][0]["cohort"])):
        page.run(f"document.querySelector(`[data-pick='{kind}'][data-key='{key}']`)?.click()")
        if kind == "class":
            page.run(
                f"const s = document.querySelector('#pick'); s.value = '{key}';"
                "s.dispatchEvent(new Event('change'))"
            )
        assert _tiles(page) == _shown(said[kind, key])
        talks = [
            row for row in talks_of(published) if key in map(str, (row["admin_class_id"], row["cohort_id"]))
        ]
        assert _seen(page, "talks") == [row["student"] for row in talks][:TALKS]
        taught = [
            row
            for row in rolls_of(published)
            if key in (*(row["admin_class_keys"] or ()), *(row["cohort_keys"] or ()))
        ]
        assert len(_seen(page, "untaken")) == min(len(taught), ROLLS)


def talks_of(published: Path) -> list[dict[str, Any]]:
    """The students to talk to, in the order of the board."""
    view = ViewRows(
        view="student_standing",
        condition="is_shown AND level IN ('at_risk', 'warning')",
        order=("is_old", "attention_order", "student_id"),
    )
    with duckdb.connect(str(published), read_only=True) as con:
        return read_rows(con, view, [SCHOOL])


def rolls_of(published: Path) -> list[dict[str, Any]]:
    with duckdb.connect(str(published), read_only=True) as con:
        return read_rows(con, ViewRows(view="roll_to_take"), [SCHOOL])


def _tiles(page: Page) -> list[list[str]]:
    tiles: list[list[str]] = page.run(
        "return [...document.querySelectorAll('.figure')].map(figure => "
        "[...figure.querySelectorAll('.value, .detail, .change')].map(one => one.innerText.trim()))"
    )
    return tiles


def _shown(figures: tuple[Figure, ...]) -> list[list[str]]:
    return [
        [
            figure.value.zh,
            figure.detail.zh,
            *(f"{change.since.zh} {change.text.zh}" for change in figure.changes),
        ]
        for figure in figures
    ]


def _seen(page: Page, section: str) -> list[str]:
    """The names that a list shows."""
    names: list[str] = page.run(
        f"return [...document.querySelectorAll('#{section} tbody tr')].filter(row => !row.hidden)"
        ".map(row => row.cells[0].innerText.trim())"
    )
    return names


def test_a_student_is_named_with_the_cohort_and_the_class(
    window: Page, pages: dict[str, Path], published: Path
) -> None:
    """As the charts name classes: "1班" alone may be of any cohort."""
    with duckdb.connect(str(published), read_only=True) as con:
        drawn = chart_rows(con, School(SCHOOL, "S"))
    names = {group["key"]: group["name"] for group in drawn["groups"]}
    page = open_board(window, pages[str(SCHOOL)])
    of = page.run("return [...document.querySelectorAll('#talks tbody tr')].map(r => r.cells[1].textContent)")
    assert of == [names[str(row["admin_class_id"])] for row in talks_of(published)]
    assert all(group["cohort_name"] and group["cohort_name"] in group["name"] for group in drawn["groups"])


def test_rolls_not_taken_name_who_has_to_take_them(published: Path, tmp_path: Path) -> None:
    """As many lessons as the tile says, each with its teacher; without names if a setting says so."""
    with duckdb.connect(str(published), read_only=True) as con:
        [rolls] = [figure for figure in figures(con, SCHOOL) if figure.name == "rolls"]
        by_group = figures_by_group(con, SCHOOL)
    untaken = rolls_of(published)
    assert sum(len(row["lessons"]) for row in untaken) == rolls.number > 0
    teachers = {row["teacher_names"] for row in untaken} - {None}
    for names in (True, False):
        [end] = export(published, ["board"], [SCHOOL], Options(tmp_path, names=names))
        assert isinstance(end, Written)
        page = end.path.read_text(encoding="utf-8")
        assert all((teacher in page) == names for teacher in teachers)
    of_classes = {group: tiles[2].number for group, tiles in by_group.items() if group[0] == "class"}
    for (_, key), number in of_classes.items():
        assert number == sum(len(row["lessons"]) for row in untaken if key in (row["admin_class_keys"] or ()))
    # DuckDB's threads decide nothing: two boards of the same rows are the same.
    assert [*by_group] == [WHOLE, *sorted(by_group.keys() - {WHOLE})]
    classes = [row["admin_class_keys"] for row in untaken if row["admin_class_keys"]]
    assert classes and all(keys == sorted(keys) for keys in classes)


def test_rolls_of_a_cohort_and_of_nobody_say_so(window: Page, published: Path, tmp_path: Path) -> None:
    """Two classes of a teacher may have the same name, each in a cohort of its own."""
    file = Path(shutil.copy(published, tmp_path / "campus.duckdb"))
    with closing(duckdb.connect(str(file))) as con:
        con.execute("UPDATE marts.attendance_class_session SET teacher_names = NULL")
    with duckdb.connect(str(file), read_only=True) as con:
        cohorts = {row["key"]: row["name"] for row in chart_rows(con, School(SCHOOL, "S"))["cohorts"]}
    starts = [", ".join(sorted(cohorts[key] for key in row["cohort_keys"] or ())) for row in rolls_of(file)]
    assert any(starts)
    for names in (True, False):
        [end] = export(file, ["board"], [SCHOOL], Options(tmp_path, names=names))
        assert isinstance(end, Written)
        page = open_board(window, end.path)
        assert set(_seen(page, "untaken")) == {"任课教师未知"}
        cells = "[...document.querySelectorAll('#untaken tbody tr')].map(row => row.cells[1].innerText)"
        classes = page.run(f"return {cells}")
        assert len(classes) == len(starts)
        # In both languages lessons sort by the date: an English text begins with the weekday.
        lessons = page.run(
            "return [...document.querySelectorAll('#untaken tbody tr')].map(row => row.cells[2])"
            ".map(cell => [Number(cell.dataset.sort), cell.querySelector('.zh').textContent])"
        )
        texts = [text for _, text in sorted(lessons)]
        assert texts == sorted(texts, key=lambda text: [int(number) for number in re.findall(r"\d+", text)])
        assert all(any(text.startswith(start) for text in classes) for start in starts)


def test_the_absent_are_listed_by_class_without_phones(window: Page, published: Path, tmp_path: Path) -> None:
    """With names only where a setting allows them, narrowed by class, and nobody where nobody was absent."""
    file = Path(shutil.copy(published, tmp_path / "campus.duckdb"))
    view = ViewRows(view="absence", condition="is_shown", order=("-date", "class_title", "student_id"))
    with closing(duckdb.connect(str(file))) as con:
        con.execute("UPDATE core.fct_attendance SET is_absent = true WHERE school_id = $1", [SCHOOL])
        absent = read_rows(con, view, [SCHOOL])
        phones = {row["phones"] for row in absent} - {None}
    assert absent
    for names in (True, False):
        [end] = export(file, ["board"], [SCHOOL], Options(tmp_path, names=names))
        assert isinstance(end, Written)
        page = open_board(window, end.path)
        students = page.run(
            "return [...document.querySelectorAll('#absent tbody tr')].map(row => row.cells[1].innerText)"
        )
        expected = {row["student"] for row in absent} if names else {"学生1"}
        assert len(students) == len(absent) and expected <= set(students)
        text = end.path.read_text(encoding="utf-8")
        assert not [phone for phone in phones if phone in text]
    group = absent[0]["admin_class_id"]
    page.run(
        f"const s = document.querySelector('#pick'); s.value = '{group}';s.dispatchEvent(new Event('change'))"
    )
    of_class = [row for row in absent if row["admin_class_id"] == group]
    assert len(_seen(page, "absent")) == len(of_class)
    with closing(duckdb.connect(str(file))) as con:
        con.execute("UPDATE core.fct_attendance SET is_absent = false, is_late = false")
    [end] = export(file, ["board"], [SCHOOL], Options(tmp_path))
    assert isinstance(end, Written)
    page = open_board(window, end.path)
    assert page.run(NOTHING.format("absent")) == "最近一个上课日及此后没有学生缺勤或迟到。"


def test_a_change_is_of_the_number_above_it(published: Path) -> None:
    """Early warnings of earlier days are not kept, so there is no change of them."""
    with duckdb.connect(str(published), read_only=True) as con:
        for tiles in figures_by_group(con, SCHOOL).values():
            assert {figure.name: bool(figure.changes) for figure in tiles}["at_risk"] is False


def test_each_class_has_its_label_on_a_telephone(window: Page, pages: dict[str, Path]) -> None:
    try:
        for width in (320, 390, 1280):
            window.resize(width)
            page = open_board(window, pages["2"])
            names = page.run(
                "return [...document.querySelector('#pick').options].slice(1).map(one => one.text)"
            )
            drawn = page.run(
                "return [...document.querySelectorAll('#section-levels .role-axis-label text')]"
                ".filter(one => one.getBoundingClientRect().width && getComputedStyle(one).opacity > 0)"
                ".map(one => one.textContent)"
            )
            assert len(names) == MANY and set(names) <= set(drawn)
            assert page.run("return document.documentElement.scrollWidth <= innerWidth")
            # What is drawn is inside of its picture.
            assert page.run(
                "return [...document.querySelectorAll('.drawing svg text')].every(one => {"
                "const svg = one.ownerSVGElement.getBoundingClientRect(), at = one.getBoundingClientRect();"
                "return at.left >= svg.left - 1 && at.right <= svg.right + 1; })"
            )
    finally:
        window.resize(0)


def test_it_is_in_both_languages_and_two_pages_on_paper(window: Page, pages: dict[str, Path]) -> None:
    page = open_board(window, pages["2"])
    assert len(re.findall(rb"/Type\s*/Page\b", page.printed())) <= 2
    page.click("//button[@id='language']")
    page.shows("Students at risk", "Teaching week")
    assert page.run("return document.documentElement.lang") == "en"
    shown = page.run("return document.querySelector('.figures').innerText")
    assert not re.search("[\u4e00-\u9fff]", shown)


def test_a_school_without_anything_says_so(window: Page, pages: dict[str, Path]) -> None:
    page = open_board(window, pages[str(EMPTY)])
    page.shows("暂无数据", "暂无可显示的数据。")
    shown = page.run("return document.body.innerText")
    assert "目前没有" not in shown and "均已点名" not in shown, "nothing is known, which is not nobody"


@pytest.fixture(scope="module")
def begun(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A semester that has begun. The first school has nobody at risk, and a class without lessons or levels.
    Scores of the second school were never loaded."""
    file = Path(shutil.copy(published, tmp_path_factory.mktemp("begun") / "campus.duckdb"))
    with closing(duckdb.connect(str(file))) as con:
        con.execute(
            "UPDATE marts.early_warning SET level = 'none', inputs_loaded = true WHERE school_id = $1",
            [SCHOOL],
        )
        con.execute(
            "INSERT INTO marts.early_warning BY NAME SELECT * REPLACE (103 AS student_id, "
            "503 AS admin_class_id, '3班' AS admin_class_name, 'unknown' AS level) FROM marts.early_warning "
            "WHERE school_id = $1 AND student_id = 1",
            [SCHOOL],
        )
        con.execute(
            "UPDATE marts.attendance_class_session SET state = 'recorded' WHERE school_id = $1", [SCHOOL]
        )
        con.execute("UPDATE marts.early_warning SET inputs_loaded = false WHERE school_id = 2")
        con.execute(
            "INSERT INTO core.never_loaded BY NAME SELECT 2 AS school_id, 20 AS semester_id, "
            "'scores' AS resource"
        )
    return file


COUNT = "return document.querySelector('[data-rows=talks] [role=status]').innerText"
NOTHING = "return document.querySelector('#section-{} .nothing').innerText.trim()"


def test_empty_lists_speak_of_the_group_that_is_picked(window: Page, begun: Path, tmp_path: Path) -> None:
    [end] = export(begun, ["board"], [SCHOOL], Options(tmp_path))
    assert isinstance(end, Written)
    page = open_board(window, end.path)
    assert _tiles(page)[1:] == [
        ["0人", "占2人的0.00% · 另有0人预警 · 1人无法判断"],
        ["0节", "占应点名2节的0.00%", "较一周前 持平", "较上学期同周 暂无数据"],
    ]
    assert page.run(NOTHING.format("talks")) == "可判断的学生中，目前没有高风险或预警学生。"
    assert page.run(NOTHING.format("untaken")) == "近7天的课节均已点名。"
    page.run(
        "const s = document.querySelector('#pick'); s.value = '503'; s.dispatchEvent(new Event('change'))"
    )
    assert _tiles(page)[1:] == [["未知", "记录尚少，暂时无法判断"], ["暂无数据", ""]]
    assert page.run(NOTHING.format("talks")) == "记录尚少，暂时无法判断"
    assert page.run(NOTHING.format("untaken")) == "暂无可显示的数据。"
    page.click("//button[@id='language']")
    page.shows("too little recorded to tell yet", "There is nothing to show yet.")
    page.click("//button[@data-pick='school']")
    page.shows("None of the students who can be judged", "All rolls of the last 7 days were taken.")


def test_a_search_without_rows_does_not_say_nobody(window: Page, pages: dict[str, Path]) -> None:
    """Somebody of the group is in the list, though the search hides the row."""
    page = open_board(window, pages[str(SCHOOL)])
    page.type("//p[@data-rows='talks']//input", "xyzzy")
    texts = "document.querySelectorAll('#section-talks > :is(.nothing, .unmatched)')"
    hidden = f"return [...{texts}].map(text => text.hidden)"
    assert page.run(hidden) == [False, True], "no row matches, which is not nobody"
    assert page.run(COUNT).startswith("0 / ")


def test_the_picked_class_follows_the_address(window: Page, pages: dict[str, Path]) -> None:
    page = open_board(window, pages[str(SCHOOL)])
    key = page.run("return document.querySelector('#pick').options[1].value")
    page.run(f"location.hash = '#pick=class+{key}&talks.sort=1'")
    page.shows("仅看")
    assert page.run("return document.querySelector('#pick').value") == key
    page.run("location.hash = '#talks=x'")
    assert page.has("//p[@id='picked'][not(text())]", 10)
    assert page.run("return document.querySelector('#talks th').getAttribute('aria-sort')") == "none"


def test_a_long_list_shows_all_on_demand(window: Page, begun: Path, tmp_path: Path) -> None:
    """Also where scores were never loaded, so that there may be others."""
    [end] = export(begun, ["board"], [2], Options(tmp_path))
    assert isinstance(end, Written)
    page = open_board(window, end.path)
    assert len(_seen(page, "talks")) == TALKS
    assert page.run(COUNT) == f"{TALKS} / {MANY}"
    # A download and paper have all rows.
    csv = page.run(
        "const a = document.querySelector('[data-rows=talks] a[download]');"
        "a.addEventListener('click', e => e.preventDefault()); a.click(); return decodeURIComponent(a.href)"
    )
    assert csv.count("\r\n") == MANY + 1
    page.run("dispatchEvent(new Event('beforeprint'))")
    assert len(_seen(page, "talks")) == MANY
    page.run("dispatchEvent(new Event('afterprint'))")
    assert len(_seen(page, "talks")) == TALKS
    page.shows("名单可能不完整")
    page.type("//section[@id='section-talks']//button[@class='all']", ENTER)
    assert len(_seen(page, "talks")) == MANY
    focused = f"return document.activeElement === document.querySelectorAll('#talks tbody tr')[{TALKS}]"
    assert page.run(focused), "the first student that was hidden"
    assert page.run("return document.querySelector('[data-rows=talks] .all').hidden")
    page.run(
        "const s = document.querySelector('#pick'); s.value = '601'; s.dispatchEvent(new Event('change'))"
    )
    assert page.run(COUNT) == ""


def test_a_class_without_rows_says_why(window: Page, begun: Path, tmp_path: Path) -> None:
    """Attendance was never loaded; students of the class have left."""
    file = Path(shutil.copy(begun, tmp_path / "campus.duckdb"))
    with closing(duckdb.connect(str(file))) as con:
        con.execute(
            "INSERT INTO core.dim_student BY NAME SELECT * REPLACE (103 AS student_id, true AS is_deleted) "
            "FROM core.dim_student WHERE school_id = $1 AND student_id = 1",
            [SCHOOL],
        )
        con.execute(
            "INSERT INTO core.never_loaded BY NAME SELECT $1 AS school_id, 20 AS semester_id, "
            "'attendance_records' AS resource",
            [SCHOOL],
        )
    [end] = export(file, ["board"], [SCHOOL], Options(tmp_path))
    assert isinstance(end, Written)
    page = open_board(window, end.path)
    page.run(
        "const s = document.querySelector('#pick'); s.value = '503'; s.dispatchEvent(new Event('change'))"
    )
    reason = "尚未完整加载：考勤记录"
    assert _tiles(page) == [["未知", reason]] * 3
    assert page.run(NOTHING.format("untaken")) == reason


def test_three_hundred_flagged_students_stay_usable(window: Page, published: Path, tmp_path: Path) -> None:
    """Twenty are shown; then all, once somebody asks; then those of a class."""
    flagged, classes = 300, 10
    file = Path(shutil.copy(published, tmp_path / "campus.duckdb"))
    with closing(duckdb.connect(str(file))) as con:
        con.execute("DELETE FROM marts.early_warning WHERE school_id = 2 AND student_id > 100")
        con.execute(
            "INSERT INTO marts.early_warning BY NAME SELECT * EXCLUDE (n) REPLACE (1000 + n AS student_id, "
            f"'学生' || n AS student_name, 700 + n % {classes} AS admin_class_id, "
            f"(1 + n % {classes}) || '班' AS admin_class_name, 1 AS cohort_id, '2028' AS cohort_name, "
            "'warning' AS level, true AS inputs_loaded) "
            f"FROM marts.early_warning, range({flagged}) students (n) WHERE school_id = 2 AND student_id = 1"
        )
    [end] = export(file, ["board"], [2], Options(tmp_path))
    assert isinstance(end, Written)
    page = open_board(window, end.path)
    height = page.run("return document.querySelector('#talks').offsetHeight")
    assert len(_seen(page, "talks")) == TALKS and height < 2000
    page.click("//section[@id='section-talks']//button[@class='all']")
    assert len(_seen(page, "talks")) == flagged
    assert page.run("return document.documentElement.scrollWidth <= innerWidth")
    page.run(
        "const s = document.querySelector('#pick'); s.value = '703'; s.dispatchEvent(new Event('change'))"
    )
    assert len(_seen(page, "talks")) == flagged / classes


def test_levels_that_nobody_has_yet_are_not_known(published: Path, tmp_path: Path) -> None:
    """In the first days of a semester too little is recorded: no student is at risk, and none is well."""
    file = Path(shutil.copy(published, tmp_path / "campus.duckdb"))
    with closing(duckdb.connect(str(file))) as con:
        con.execute("UPDATE marts.early_warning SET level = 'unknown', inputs_loaded = true")
        con.execute("DELETE FROM core.never_loaded")
        for tiles in figures_by_group(con, SCHOOL).values():
            [at_risk] = [figure for figure in tiles if figure.name == "at_risk"]
            assert (at_risk.value.en, at_risk.number) == ("not known", None)
            assert at_risk.detail.en == "too little recorded to tell yet"
    ends = list(export(file, ["board"], None, Options(tmp_path / "pages", previews=True)))
    pages = {end.path.name.split("_")[1]: end for end in ends if isinstance(end, Written)}
    assert "**未知** (记录尚少，暂时无法判断)" in pages[str(SCHOOL)].preview
    own, together = (pages[whose].path.read_text(encoding="utf-8") for whose in (str(SCHOOL), "all"))
    assert "目前没有" not in own
    [talks] = re.findall(r'id="section-talks".*?</section>', own, re.DOTALL)
    assert re.search(r'class="nothing">.*记录尚少，暂时无法判断', talks)
    [levels] = re.findall(r'id="section-levels".*?</section>', together, re.DOTALL)
    assert "数据暂缺：" in levels and NAMED not in levels
    assert together.count('<td><span class="zh" lang="zh">未知</span>') >= len(SCHOOLS)


def test_all_schools_together_name_no_student(pages: dict[str, Path], published: Path) -> None:
    text = pages["all"].read_text(encoding="utf-8")
    with duckdb.connect(str(published), read_only=True) as con:
        names = con.execute("SELECT student_name FROM core.dim_student WHERE student_name <> ''").fetchall()
        low = con.execute(
            "SELECT count(*) FROM marts.early_warning WHERE level = 'at_risk' AND school_id = 2"
        ).fetchall()
    assert names and not [name for (name,) in names if name in text]
    assert low[0][0] >= 5 or "&lt; 5" in text or not low[0][0]


def test_a_setting_leaves_names_out_and_the_script_is_made_once(published: Path, tmp_path: Path) -> None:
    cache = published.parent / "cache"
    cache.mkdir(exist_ok=True)
    script = cache / f"vega-{version('vl-convert-python')}.js"
    script.write_text("/* kept */", encoding="utf-8")
    [end] = export(published, ["board"], [SCHOOL], Options(tmp_path, names=False))
    assert isinstance(end, Written)
    text = end.path.read_text(encoding="utf-8")
    with duckdb.connect(str(published), read_only=True) as con:
        names = con.execute("SELECT student_name FROM core.dim_student WHERE student_name <> ''").fetchall()
    script.unlink()
    assert "/* kept */" in text and len(text) < 500_000
    assert "学生1" in text and not [name for (name,) in names if name in text]


def test_what_is_counted_here_makes_up_what_the_marts_say(published: Path) -> None:
    """Lessons of cohorts and bands of cohorts are those of the school."""
    with duckdb.connect(str(published), read_only=True) as con:
        drawn = chart_rows(con, School(SCHOOL, "S"))
        assert drawn["moved"] is not None and len(figures(con, SCHOOL)) == 3
    lessons, bands = drawn["lessons"], drawn["bands"]

    def total(records: ChartRows, kind: str, value: str) -> int:
        return sum(row[value] for row in records if row["kind"] == kind)

    assert total(lessons, "cohort", "recorded") == total(lessons, "school", "recorded") > 0
    assert total(bands, "cohort", "grades") == total(bands, "school", "grades") > 0


def test_all_schools_say_whose_charts_are_not_known(pages: dict[str, Path], published: Path) -> None:
    """A school without a bar may have nobody at risk, or levels that are not known. Attendance of the second
    school was never loaded."""
    text = pages["all"].read_text(encoding="utf-8")
    with duckdb.connect(str(published), read_only=True) as con:
        [[name]] = con.execute("SELECT school_name FROM core.dim_school WHERE school_id = 2").fetchall()
    for chart, place in (("weeks", "hint"), ("levels", "nothing")):
        [section] = re.findall(rf'id="section-{chart}".*?</section>', text, re.DOTALL)
        *_, said = re.findall(rf'class="{place}">(.*?)</p>', section, re.DOTALL)
        assert f"数据暂缺：{name}。" in said and f"Not known: {name}." in said
