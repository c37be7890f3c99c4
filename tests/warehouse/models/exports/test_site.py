"""The site: links, least access, numbers, hostile names, and that unchanged pages are not written again."""

import re
import shutil
import zlib
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from typing import get_args
from urllib.parse import unquote, urlsplit

import duckdb
import pytest

from exports.export import Options, Written, export
from exports.library.sheet_library import make_sheet
from exports.library.words import labels
from exports.pages.sections import PageKind
from exports.site.folders import Role
from exports.site.kinds import kinds
from tests.kits.models import worlds
from tests.kits.models.builds import Build, Builder
from tests.kits.models.publishing import SCHOOL, publish_strictly
from tests.kits.servers.browser import BROWSER, DRIVER, ENTER, Page, open_board

ROLES: tuple[Role, ...] = ("head", "class-teacher", "teacher")
HOSTILE = (
    """</script><script>window.hacked = 1</script><img src=x onerror="window.hacked = 1">'"&=1+1\u202etxt"""
    + "长" * 300
)
NEEDS_BROWSER = pytest.mark.skipif(not (DRIVER and BROWSER), reason="needs chromium and chromedriver")


class Parsed(HTMLParser):
    """The addresses, the names of elements and the scripts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.anchors: set[str] = set()
        self.scripts: list[str | None] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = dict(attrs)
        self.addresses += [value for name in ("href", "src") if (value := own.get(name))]
        self.anchors |= {own["id"] or ""} if "id" in own else set()
        if tag == "script":
            self.scripts.append(own.get("src"))


@pytest.fixture(scope="module")
def published(healthy: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return publish_strictly(healthy, tmp_path_factory.mktemp("site"))


def written(published: Path, folder: Path, *roles: Role) -> dict[str, Written]:
    ends = list(export(published, ["site"], [SCHOOL], Options(folder, roles=roles or ROLES)))
    assert all(isinstance(end, Written) for end in ends), ends
    return {end.path.name: end for end in ends if isinstance(end, Written)}


@pytest.fixture(scope="module")
def folder(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sites")
    written(published, folder)
    return folder / f"site_{SCHOOL}"


def test_every_link_leads_to_a_page_of_the_same_site(folder: Path) -> None:
    sites = [folder / "head", *(folder / "class-teacher").glob("*/"), *(folder / "teacher").glob("*/")]
    assert len(sites) >= 3, "a class teacher and a teacher have a site each"
    for site in sites:
        parsed = {path: Parsed(path.read_text()) for path in site.rglob("*.html")}
        assert {path.parent.name for path in parsed} - {site.name}, "there are pages below the index"
        for path, page in parsed.items():
            above = "../" * (path.parent != site)
            scripts = [f"{above}{name}.js" for name in ("age", "workbooks", "page")]
            assert path.name == "board.html" or page.scripts == scripts
            for address in page.addresses:
                parts = urlsplit(address)
                assert not parts.scheme and not parts.netloc, address
                target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
                assert target.is_relative_to(site) and target.is_file(), (path, address)
                if parts.fragment and target.suffix == ".html":
                    # The link of a figure: a list, narrowed to the students of a level.
                    anchor = re.split(r"[.=]", parts.fragment)[0]
                    assert anchor in parsed[target].anchors, (path, address)


def test_head_reaches_every_page_from_the_index(folder: Path) -> None:
    site = folder / "head"
    reached, waiting = set[Path](), [site / "index.html"]
    while waiting:
        path = waiting.pop()
        reached.add(path)
        for address in Parsed(path.read_text()).addresses:
            target = (path.parent / urlsplit(address).path).resolve()
            if target.suffix == ".html" and target not in reached:
                waiting.append(target)
    courses = {path for path in site.glob("course/*.html") if path not in reached}
    assert set(site.rglob("*.html")) - courses == reached
    # Classes of earlier semesters without members are of no student.
    assert all("<tbody></tbody>" not in path.read_text() for path in courses)


def test_teachers_see_only_their_own_students(published: Path, folder: Path) -> None:
    """No file has the name or the number of a student who is not of the reader's classes."""
    with closing(duckdb.connect(str(published), read_only=True)) as con:
        people = con.execute(
            "SELECT student_id, student_name, student_number FROM core.dim_student WHERE school_id = ?",
            [SCHOOL],
        ).fetchall()
        of_class = con.execute(
            "SELECT teacher_id, list(DISTINCT student_id) FROM core.bridge_admin_class_teacher "
            "JOIN marts.early_warning USING (school_id, admin_class_id) WHERE school_id = ? GROUP BY ALL",
            [SCHOOL],
        ).fetchall()
        of_course = con.execute(
            "SELECT teacher_id, list(DISTINCT student_id) FROM core.bridge_class_teacher "
            "JOIN core.bridge_class_student USING (school_id, course_class_id) "
            "WHERE school_id = ? GROUP BY ALL",
            [SCHOOL],
        ).fetchall()
    checked = 0
    for role, readers in (("class-teacher", dict(of_class)), ("teacher", dict(of_course))):
        for site in (folder / role).glob("*/"):
            own = readers[int(site.name)]
            names = {text for id, *texts in people if id in own for text in texts}
            others = {text for id, *texts in people if id not in own for text in texts if text} - names
            for path in (path for path in site.rglob("*") if path.is_file()):
                words = set(re.split(r"[<>\s]", path.read_text()))
                assert not words & others, path
                assert not any(
                    str(id) in path.name for id, *_ in people if id not in own and len(str(id)) > 4
                )
                checked += 1
        assert (folder / role / "manifest.csv").read_text().startswith("role,teacher_id")
    assert checked > 10


def test_guardians_are_shown_only_where_the_school_allows_it(published: Path, tmp_path: Path) -> None:
    """For the head and the class teacher alone, on the page of the student and in the list of who was absent,
    and not once there is none."""

    def pages(*roles: Role, guardians: bool) -> dict[Path, str]:
        folder = tmp_path / f"{roles} {guardians}"
        options = Options(folder, roles=roles, guardians=guardians)
        assert all(isinstance(end, Written) for end in export(file, ["site"], [SCHOOL], options))
        return {path: path.read_text() for path in folder.rglob("*.html")}

    file = tmp_path / "guarded.duckdb"
    file.write_bytes(published.read_bytes())
    file.chmod(0o600)
    assert "家长账号" not in "".join(pages("class-teacher", guardians=True).values()), "none is published"
    with closing(duckdb.connect(str(file))) as con:
        con.execute(
            "INSERT INTO raw.v1_users (_school_id, id, role, name, phone, student_id, guardian_role, "
            "_deleted_at) VALUES ($1, 900, 8, '王<b>母</b>', '13800000000', 1, 2, NULL), "
            "($1, 901, 8, '前监护人', '', 1, 1, now()), (2, 902, 8, '他校家长', '', 1, 1, NULL)",
            [SCHOOL],
        )
        con.execute("UPDATE core.dim_student SET guardians = student_id % 2 WHERE school_id = ?", [SCHOOL])
    allowed = pages("head", "class-teacher", guardians=True)
    naming = {path for path, text in allowed.items() if "王&lt;b&gt;母" in text and "13800000000" in text}
    of_student = {path for path in naming if path.parent.name == "student"}
    assert {(path.parts[-3], path.name) for path in of_student} == {("head", "1.html"), ("50", "1.html")}
    assert all("母亲" in allowed[path] for path in of_student)
    assert {path.name for path in naming - of_student} == {"index.html", "501.html"}
    assert not [path for path, text in allowed.items() if "前监护人" in text or "他校家长" in text]
    forbidden = "".join(pages("class-teacher", guardians=False).values())
    assert "家长账号" not in forbidden and "13800000000" not in forbidden


def test_an_index_is_headed_by_its_reader(published: Path, folder: Path) -> None:
    with closing(duckdb.connect(str(published), read_only=True)) as con:
        names = dict(con.execute("SELECT teacher_id, teacher_name FROM core.dim_teacher").fetchall())
        [(school,)] = con.execute(
            "SELECT school_name FROM core.dim_school WHERE school_id = ?", [SCHOOL]
        ).fetchall()
    sites = [*(folder / "class-teacher").glob("*/"), *(folder / "teacher").glob("*/")]
    for site in sites:
        head = (site / "index.html").read_text().partition("</header>")[0]
        assert f"<h1>{names[int(site.name)]}<small>" in head and school in head
        assert "全校" not in head and "School" not in head
    assert len(sites) >= 2 and f"<h1>{school}<small>" in (folder / "head" / "index.html").read_text()


def test_credits_do_not_claim_a_graduation(folder: Path) -> None:
    """The interface does not say how many credits a graduation needs."""
    text = (folder / "head" / "student" / "1.html").read_text()
    assert "已获学分" in text and not re.search("毕业学分|towards graduation", text)


def test_numbers_are_those_of_the_marts(published: Path, folder: Path) -> None:
    with closing(duckdb.connect(str(published), read_only=True)) as con:
        rows = con.execute(
            "SELECT student_id, attendance_rate, score_rate FROM marts.early_warning "
            "ANTI JOIN (FROM core.dim_student WHERE is_deleted) USING (school_id, student_id) "
            "WHERE school_id = ? AND is_current AND attendance_rate IS NOT NULL",
            [SCHOOL],
        ).fetchall()
    assert rows
    for student_id, attendance, score in rows:
        text = (folder / "head" / "student" / f"{student_id}.html").read_text()
        assert f'<td class="n">{attendance}%</td>' in text
        assert score is None or f'<td class="n">{score}%</td>' in text


def test_rates_of_few_students_are_not_beside_a_student(folder: Path) -> None:
    """The class and the cohort have two students, so a rate would name the other one."""
    text = (folder / "head" / "student" / "1.html").read_text()
    for title in ("每周出勤率", "各学期考勤"):
        table = text.partition(f"{title}</span>")[2].partition("</table>")[0]
        row = re.findall(r"<td.*?>(.*?)</td>", table.partition("<tbody>")[2])
        rate = next(place for place, cell in enumerate(row) if cell.endswith("%"))
        assert row[rate + 1 : rate + 3] == ["—", "—"], title


def test_unchanged_pages_are_not_written_again(published: Path, tmp_path: Path) -> None:
    first = written(published, tmp_path, *ROLES)
    again = written(published, tmp_path, *ROLES)
    assert first["head"].rows["written"] > 10
    assert [end.rows["written"] for end in again.values()] == [0, 0, 0]
    site = tmp_path / f"site_{SCHOOL}"
    changed = tmp_path / "changed.duckdb"
    changed.write_bytes(published.read_bytes())
    changed.chmod(0o600)
    with closing(duckdb.connect(str(changed))) as con:
        [(gone,)] = con.execute(
            "SELECT min(student_id) FROM marts.early_warning WHERE school_id = ?", [SCHOOL]
        ).fetchall()
        con.execute("UPDATE core.dim_student SET is_deleted = true WHERE student_id = ?", [gone])
        [(teacher,)] = con.execute(
            "SELECT min(teacher_id) FROM core.bridge_admin_class_teacher WHERE school_id = ?", [SCHOOL]
        ).fetchall()
        con.execute("DELETE FROM core.bridge_admin_class_teacher WHERE teacher_id = ?", [teacher])
    assert (site / "head" / "student" / f"{gone}.html").exists()
    assert (site / "class-teacher" / str(teacher)).exists()
    written(changed, tmp_path, *ROLES)
    assert not (site / "head" / "student" / f"{gone}.html").exists()
    assert not (site / "class-teacher" / str(teacher)).exists()
    assert str(teacher) not in (site / "class-teacher" / "manifest.csv").read_text()


def test_a_school_without_rows_has_an_index(build: Builder, tmp_path: Path) -> None:
    file = publish_strictly(build("only_schools", {"schools": worlds.HEALTHY["schools"]}), tmp_path)
    [end] = export(file, ["site"], [SCHOOL], Options(tmp_path / "out"))
    assert isinstance(end, Written) and end.rows["index"] == 1, end
    text = (end.path / "index.html").read_text()
    assert "<tbody>" not in text


@pytest.mark.parametrize("kind", get_args(PageKind))
def test_queries_read_only_the_school_and_the_pages(published: Path, kind: PageKind) -> None:
    with closing(duckdb.connect(str(published), read_only=True)) as con:
        for section in kinds()[kind].sections.values():
            query = make_sheet(con, section, SCHOOL, "en").query
            assert "school_id = $school_id" in query
            assert "list_contains($pages" in query


@NEEDS_BROWSER
def test_hostile_names_stay_text_on_every_kind_of_page(published: Path, tmp_path: Path, window: Page) -> None:
    file = tmp_path / "hostile.duckdb"
    file.write_bytes(published.read_bytes())
    file.chmod(0o600)
    with closing(duckdb.connect(str(file))) as con:
        for table, column in (
            ("core.dim_school", "school_name"),
            ("core.dim_student", "student_name"),
            ("core.dim_admin_class", "admin_class_name"),
            ("core.dim_course_class", "course_name"),
            *(("marts.early_warning", name) for name in ("student_name", "admin_class_name", "cohort_name")),
            *(("marts.early_warning", name) for name in ("reasons_zh", "reasons_en")),
        ):
            con.execute(f"UPDATE {table} SET {column} = coalesce({column}, '') || $1", [HOSTILE])
    written(file, tmp_path, "head")
    site = tmp_path / f"site_{SCHOOL}" / "head"
    pages = [
        site / "board.html",
        site / "index.html",
        *(next(site.glob(f"{kind}/*.html")) for kind in ("class", "course", "student")),
    ]
    for width in (0, 360):
        window.resize(width)
        for path in pages:
            window.open(path.as_uri())
            assert window.run("return window.hacked ?? null") is None
            assert window.run("return document.images.length") == 0
            assert HOSTILE in window.run("return document.body.textContent"), path
            assert window.run("return document.documentElement.scrollWidth <= innerWidth"), (path, width)
    window.resize(0)


@NEEDS_BROWSER
def test_a_walk_from_the_board_to_a_student_and_back_by_keyboard(folder: Path, window: Page) -> None:
    open_board(window, folder / "head" / "board.html")
    name = window.run("return document.querySelector('#talks td a').textContent")
    window.type("(//table[@id='talks']//td//a)[1]", ENTER)
    assert "/student/" in window.run("return location.pathname")
    assert window.run("return document.querySelector('h1').firstChild.textContent") == name
    window.type("//nav//a[contains(@href, 'index.html')]", ENTER)
    window.type("//a[@href='board.html']", ENTER)
    window.shows(name)
    window.type("(//table[@id='untaken']//td//a)[1]", ENTER)
    assert "/course/" in window.run("return location.pathname")


@NEEDS_BROWSER
def test_a_walk_from_the_index_to_a_student_and_back_by_keyboard(folder: Path, window: Page) -> None:
    window.open((folder / "head" / "index.html").as_uri())
    name = window.run("return document.querySelector('#students td a[href^=\"student/\"]').textContent")
    window.type("//p[@data-rows='students']//input[@type='search']", name)
    shown = window.run(
        "return [...document.querySelector('#students').tBodies[0].rows].filter(r => !r.hidden)"
        ".map(r => r.cells[0].textContent)"
    )
    assert shown and all(name in text for text in shown)
    window.type(f"//table[@id='students']//td/a[text()='{name}']", ENTER)
    window.shows(name)
    assert window.run("return location.pathname").endswith(".html")
    assert window.run("return document.querySelector('h1').firstChild.textContent") == name
    assert window.run("return document.getElementById('as-of').textContent") != ""
    window.type("//nav//a[contains(@href, 'class/')]", ENTER)
    assert "/class/" in window.run("return location.pathname")
    window.type("//nav//a[contains(@href, 'index.html')]", ENTER)
    assert window.run("return location.pathname").endswith("head/index.html")
    window.click("//button[@id='language']")
    assert window.run("return document.documentElement.lang") == "en"


@NEEDS_BROWSER
def test_a_table_is_found_sorted_and_downloaded(folder: Path, window: Page) -> None:
    """The search knows pinyin, the state stands in the address, and a download has what is visible."""
    window.open((folder / "head" / "index.html").as_uri())
    names = "[...document.querySelector('#students').tBodies[0].rows].filter(r => !r.hidden)"
    window.run(
        "const i = document.querySelector('[data-rows=students] input'); i.value = 'wy';"
        "i.dispatchEvent(new Event('input'))"
    )
    rows = window.run(f"return {names}.map(r => [r.cells[0].textContent, r.dataset.find])")
    assert rows and all("wy" in f"{name} {pinyin}" for name, pinyin in rows)
    assert "students=wy" in window.run("return location.hash")
    window.run("document.querySelector('#students thead button').click()")
    assert (
        window.run("return document.querySelector('#students th').getAttribute('aria-sort')") == "ascending"
    )
    assert "students.sort=1" in window.run("return location.hash")
    address = window.run("return location.href")
    window.open("about:blank")
    window.open(address)
    assert window.run(f"return {names}.map(r => [r.cells[0].textContent, r.dataset.find])") == sorted(rows)
    csv = window.run(
        "const a = document.querySelector('[data-rows=students] a[download]');"
        "a.addEventListener('click', e => e.preventDefault()); a.click(); return decodeURIComponent(a.href)"
    )
    lines = csv.partition(",")[2].removeprefix("\ufeff").split("\r\n")
    assert len(lines) == len(rows) + 2 and rows[0][0] in csv
    # The table follows the address, also in its order, and says that no row matches.
    window.run("location.hash = '#students=nobody'")
    window.shows("没有符合条件的行。")
    order = "return document.querySelector('#students th').getAttribute('aria-sort')"
    assert window.run(order) == "none"
    assert (
        window.run("return document.querySelector('[data-rows=students] [role=status]').textContent")[0]
        == "0"
    )
    window.run("location.hash = ''")
    window.shows("学生")
    assert window.run("return document.querySelector('#section-students .unmatched').hidden")


@NEEDS_BROWSER
def test_a_figure_leads_to_the_students_behind_it(folder: Path, window: Page) -> None:
    path = next(
        path for path in (folder / "head" / "class").glob("*.html") if "#students.level=" in path.read_text()
    )
    window.open(path.as_uri())
    number = window.run("return document.querySelector('.facts a[href^=\"#\"]').textContent")
    window.run("document.querySelector('.facts a[href^=\"#\"]').click()")
    visible = "[...document.querySelector('#students').tBodies[0].rows].filter(r => !r.hidden).length"
    assert str(window.run(f"return {visible}")) == number
    assert window.run("return document.activeElement.id") == "h-students"


@NEEDS_BROWSER
def test_levels_are_sorted_by_their_order(published: Path, tmp_path: Path, window: Page) -> None:
    """By the order of words.yml: the alphabet would put a watch before a warning."""
    file = Path(shutil.copy(published, tmp_path / "campus.duckdb"))
    with closing(duckdb.connect(str(file))) as con:
        con.execute("UPDATE marts.early_warning SET level = 'watch' WHERE student_id % 2 = 1")
    written(file, tmp_path, "head")
    window.open((tmp_path / f"site_{SCHOOL}" / "head" / "index.html").as_uri())
    levels = (
        "const level = document.querySelector('#students [data-column=level]').cellIndex;"
        "return [...document.querySelector('#students').tBodies[0].rows].map(row => "
        "[Number(row.cells[level].dataset.sort), row.cells[level].querySelector('.en').textContent])"
    )
    order = [words.en for words in labels("levels").values()]
    exported = window.run(levels)
    assert len({level for _, level in exported}) > 1
    assert all(order[position] == level for position, level in exported)
    window.run("document.querySelector('#students [data-column=level] button').click()")
    assert window.run(levels) == sorted(exported)


@NEEDS_BROWSER
def test_a_link_of_a_figure_narrows_by_its_column(folder: Path, window: Page) -> None:
    """A level's name elsewhere in a row is no match; the button beside the table shows all rows again."""
    path = next(
        path for path in (folder / "head" / "class").glob("*.html") if "#students.level=" in path.read_text()
    )
    window.open(path.as_uri())
    link = window.run("return decodeURI(document.querySelector('.facts a[href^=\"#\"]').hash)")
    rows = "[...document.querySelector('#students').tBodies[0].rows]"
    window.run(
        "const level = document.querySelector('#students [data-column=level]').cellIndex;"
        f"{rows}.forEach(r => {{ if (r.cells[level].textContent.includes('{link.partition('=')[2]}')) return;"
        f"r.cells[0].textContent = '{link.partition('=')[2]}'; }})"
    )
    window.run("document.querySelector('.facts a[href^=\"#\"]').click()")
    number = window.run("return document.querySelector('.facts a[href^=\"#\"]').textContent")
    assert str(window.run(f"return {rows}.filter(r => !r.hidden).length")) == number
    button = "return document.querySelector('.chosen').textContent"
    label = next(words for words in labels("levels").values() if words.zh == link.partition("=")[2])
    assert label.zh in window.run(button)
    window.click("//button[@id='language']")
    assert label.en in window.run(button) and label.zh not in window.run(button)
    window.click("//button[@class='chosen']")
    assert window.run(f"return {rows}.every(r => !r.hidden)")


@NEEDS_BROWSER
def test_a_printed_student_begins_with_one_sheet(folder: Path, window: Page) -> None:
    window.open((folder / "head" / "student" / "1.html").as_uri())
    window.media("print")
    try:
        assert window.run("return getComputedStyle(document.documentElement).getPropertyValue('--title')")
        breaks = (
            "return [...document.querySelectorAll('main section')].map(s => getComputedStyle(s).breakBefore)"
        )
        assert window.run(breaks).count("page") == 1
    finally:
        window.media("")
    sheets = sheets_of(window)
    assert len(sheets) > 1
    window.run("document.querySelectorAll('section:not(.first)').forEach(section => section.remove())")
    window.run("document.querySelector('footer').remove()")
    first = window.run("return document.querySelectorAll('section.first').length")
    assert first >= 4 and len(sheets_of(window)) == 1


@NEEDS_BROWSER
def test_each_printed_sheet_has_title_and_number(folder: Path, window: Page) -> None:
    """With the margin boxes of the sheets alone, each sheet still has text."""
    window.open((folder / "head" / "student" / "1.html").as_uri())
    window.run("document.body.style.visibility = 'hidden'")
    with_margins = sheets_of(window)
    window.run("document.documentElement.removeAttribute('data-title')")
    without_title = sheets_of(window)
    assert len(with_margins) == len(without_title) > 1
    assert all(letters > fewer > 0 for letters, fewer in zip(with_margins, without_title, strict=True))


def sheets_of(window: Page) -> list[int]:
    """The number of letters on each sheet of the printed page."""
    pdf = window.printed()
    numbers = re.findall(rb"/Type /Page\n.*?/Contents (\d+) 0 R", pdf, re.DOTALL)
    streams = (
        re.search(rb"\n%s 0 obj\n.*?stream\n(.*?)\nendstream" % number, pdf, re.DOTALL) for number in numbers
    )
    return [
        sum(map(len, re.findall(rb"<([0-9A-F]+)> ?Tj", zlib.decompress(stream[1])))) // 4
        for stream in streams
        if stream
    ]


@NEEDS_BROWSER
def test_phones_show_reasons_below_and_the_newest_week_first(folder: Path, window: Page) -> None:
    weeks = "return [...document.querySelectorAll('#weeks tbody tr')].map(row => +row.cells[0].textContent)"
    below = (
        "const cell = document.querySelector('#students tbody .wide'), before = cell.parentElement.cells[1];"
        "return cell.getBoundingClientRect().top >= before.getBoundingClientRect().bottom - 1"
    )
    page = next((folder / "head").glob("class/*.html")).as_uri()
    window.open(page)
    at_desk = window.run(weeks)
    assert at_desk == sorted(at_desk) and not window.run(below)
    window.resize(360)
    try:
        window.open(page)
        window.run("location.reload()")
        assert window.run(weeks) == at_desk[::-1] and window.run(below)
        assert window.run("return document.documentElement.scrollWidth <= innerWidth")
    finally:
        window.resize(0)
