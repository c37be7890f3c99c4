"""The workbooks of classes: least access in every part of a file, and the numbers of the marts."""

import re
import zipfile
from collections.abc import Mapping
from contextlib import closing
from html import unescape
from pathlib import Path

import duckdb
import openpyxl
import pytest

from exports.export import Options, Written, export
from exports.library.words import labels
from exports.site.folders import READERS, WRITTEN, Role
from tests.kits.models.builds import Build
from tests.kits.models.publishing import SCHOOL, publish_strictly
from tests.kits.servers.browser import BROWSER, DRIVER, Page

ROLES: tuple[Role, ...] = ("class-teacher", "teacher")
#: The students of each class or course class.
MEMBERS: Mapping[Role, str] = {
    "class-teacher": "SELECT admin_class_id::VARCHAR, list(DISTINCT student_id) FROM marts.early_warning "
    "WHERE school_id = ? AND admin_class_id IS NOT NULL GROUP BY ALL",
    "teacher": "SELECT course_class_id::VARCHAR, list(DISTINCT student_id) FROM core.bridge_class_student "
    "WHERE school_id = ? GROUP BY ALL",
}


@pytest.fixture(scope="module")
def published(healthy: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return publish_strictly(healthy, tmp_path_factory.mktemp("published"))


@pytest.fixture(scope="module")
def folder(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workbooks")
    for end in write(published, folder, "workbook"):
        files = list(end.path.glob("*/*/*.xlsx"))
        assert end.rows == {READERS: len(list(end.path.glob("*/"))), WRITTEN: len(files)} and files
    return folder / f"site_{SCHOOL}"


def write(published: Path, folder: Path, *names: str, roles: tuple[Role, ...] = ROLES) -> list[Written]:
    ends = list(export(published, names, [SCHOOL], Options(folder, roles=roles)))
    assert all(isinstance(end, Written) for end in ends), ends
    return [end for end in ends if isinstance(end, Written)]


@pytest.fixture(scope="module")
def keys(published: Path) -> dict[str, str]:
    """The ids of classes and course classes by the name of their workbook."""
    with closing(duckdb.connect(str(published), read_only=True)) as con:
        rows = con.execute(
            "SELECT '高一' || admin_class_name, admin_class_id::VARCHAR FROM core.dim_admin_class "
            "WHERE school_id = $1 UNION ALL "
            "SELECT concat_ws(' ', course_name, class_name), course_class_id::VARCHAR "
            "FROM core.dim_course_class WHERE school_id = $1",
            [SCHOOL],
        ).fetchall()
    return dict(rows)


def words_of(path: Path) -> set[str]:
    """All texts in a workbook: cells, comments, names of sheets, properties."""
    with zipfile.ZipFile(path) as parts:
        texts = [parts.read(name).decode() for name in parts.namelist()]
    return {unescape(word).strip() for text in texts for word in re.split(r"[<>\"]", text)}


def test_a_workbook_names_nobody_of_another_class(
    published: Path, folder: Path, keys: dict[str, str]
) -> None:
    with closing(duckdb.connect(str(published), read_only=True)) as con:
        people = con.execute(
            "SELECT student_id, student_name, student_number FROM core.dim_student WHERE school_id = ?",
            [SCHOOL],
        ).fetchall()
        members = {role: dict(con.execute(query, [SCHOOL]).fetchall()) for role, query in MEMBERS.items()}
    checked, excluded = 0, 0
    for role in ROLES:
        for path in (folder / role).glob("*/*/*.xlsx"):
            own = members[role][keys[path.stem]]
            names = {text for id, *texts in people if id in own for text in texts if text}
            others = {text for id, *texts in people if id not in own for text in texts if text} - names
            words = words_of(path)
            assert words & names, path
            assert not words & others, path
            checked, excluded = checked + 1, excluded + len(others)
    assert checked >= 2 and excluded > 0


def test_a_workbook_has_the_rows_of_the_mart(published: Path, folder: Path, keys: dict[str, str]) -> None:
    with closing(duckdb.connect(str(published), read_only=True)) as con:
        rows = con.execute(
            "SELECT admin_class_id, student_number, attendance_rate / 100 FROM marts.early_warning "
            "ANTI JOIN (FROM core.dim_student WHERE is_deleted) USING (school_id, student_id) "
            "WHERE school_id = ? AND is_current AND admin_class_id IS NOT NULL",
            [SCHOOL],
        ).fetchall()
    checked = 0
    for path in (folder / "class-teacher").glob("*/class/*.xlsx"):
        sheet = openpyxl.load_workbook(path)["学生"]
        header, *cells = list(sheet.iter_rows(values_only=True))
        assert not [label for label in header if not label or label.startswith("_")]
        rate = header.index("出勤率")
        own = {number: share for class_id, number, share in rows if str(class_id) == keys[path.stem]}
        assert {row[0]: row[rate] for row in cells} == pytest.approx(own)
        checked += len(own)
    assert checked > 0


def test_no_workbook_is_older_than_the_pages(published: Path, tmp_path: Path) -> None:
    """Pages of a later publication leave no workbook of an earlier publication beside them."""
    own = tmp_path / "own.duckdb"
    own.write_bytes(published.read_bytes())
    own.chmod(0o600)

    site = tmp_path / f"site_{SCHOOL}"
    archived = site / "class-teacher" / "archive" / "2025" / "class.xlsx"
    archived.parent.mkdir(parents=True)
    archived.touch()

    def workbooks() -> set[Path]:
        return {path for path in site.rglob("*.xlsx") if path != archived}

    write(own, tmp_path, "workbook", "site")
    first = workbooks()
    write(own, tmp_path, "site")
    assert workbooks() == first != set()
    with closing(duckdb.connect(str(own))) as con:
        con.execute("UPDATE quality.publication SET generation = 'next'")
    write(own, tmp_path, "site")
    assert workbooks() == set()
    write(own, tmp_path, "workbook", "site")
    assert workbooks() == first
    assert archived.exists()


def test_a_class_at_a_glance_is_one_page(published: Path, folder: Path, keys: dict[str, str]) -> None:
    """The first sheet of a course is one page, too, and has no warnings."""
    with closing(duckdb.connect(str(published), read_only=True)) as con:
        rows = con.execute(
            """
            WITH talks AS (
                SELECT semester_id, student_id, max(date)::TIMESTAMP AS last_talk
                FROM core.fct_intervention GROUP BY ALL
            )
            SELECT
                warnings.admin_class_id::VARCHAR, warnings.student_number, level,
                warnings.attendance_rate / 100, absences_left, last_talk
            FROM marts.early_warning AS warnings
            JOIN marts.attendance_student_semester AS attended USING (school_id, semester_id, student_id)
            LEFT JOIN talks USING (semester_id, student_id)
            WHERE school_id = ? AND warnings.is_current AND warnings.admin_class_id IS NOT NULL
                AND student_id NOT IN (SELECT student_id FROM core.dim_student WHERE is_deleted)
            """,
            [SCHOOL],
        ).fetchall()
    checked = 0
    for path in folder.glob("*/*/*/*.xlsx"):
        sheet = openpyxl.load_workbook(path).worksheets[1]
        page = sheet.page_setup
        assert sheet.sheet_properties.pageSetUpPr.fitToPage and page.orientation != "landscape"
        assert (int(page.fitToWidth or 1), int(page.fitToHeight or 1)) == (1, 1), page.fitToHeight
        cells = list(sheet.iter_rows(values_only=True))
        [header] = [number for number, row in enumerate(cells) if row[0] == "学号"]
        if path.parent.name == "course":
            assert "预警等级" not in cells[header]
            continue
        assert "请勿张贴或转发到班级群" in str(sheet.oddFooter.left.text)
        own = {number: values for class_id, number, *values in rows if class_id == keys[path.stem]}
        shown = {row[0]: [row[2], row[3], row[4], row[6]] for row in cells[header + 1 :]}
        assert shown == {
            number: [labels("levels")[level].zh, *values] for number, (level, *values) in own.items()
        }
        checked += len(own)
    assert checked > 0


@pytest.mark.skipif(not (DRIVER and BROWSER), reason="needs chromium and chromedriver")
def test_a_table_links_to_the_workbook_beside_it(published: Path, tmp_path: Path, window: Page) -> None:
    """Once the reader has the workbook, and not before. Pages are not written again for that."""
    [site] = write(published, tmp_path, "site", roles=("class-teacher",))
    [page] = [path for path in site.path.glob("*/class/*.html") if path.stem == "501"][:1]
    links = "return [...document.querySelectorAll('a.workbook:not([hidden])')].map(a => a.href)"
    window.open(page.as_uri())
    assert window.run(links) == []
    write(published, tmp_path, "workbook", roles=("class-teacher",))
    window.open(page.as_uri())
    [workbook] = page.parent.glob("*.xlsx")
    assert window.run(links) and set(window.run(links)) == {workbook.as_uri()}
    assert window.run("return document.querySelector('.tools[data-rows=students] a.workbook').innerText")
    [again] = write(published, tmp_path, "site", roles=("class-teacher",))
    assert again.rows[WRITTEN] == 0


def test_workbooks_of_lost_classes_are_deleted(published: Path, tmp_path: Path) -> None:
    write(published, tmp_path, "site", "workbook")
    teachers = tmp_path / f"site_{SCHOOL}" / "class-teacher"
    first = min(teachers.glob("*/class/*.xlsx"))
    assert list(first.parent.glob("*.html"))
    for name in ("site", "workbook"):
        for lost in (first.with_name("98765.xlsx"), teachers / "98765" / "class" / "1.xlsx"):
            lost.parent.mkdir(parents=True, exist_ok=True)
            lost.touch()
        write(published, tmp_path, name, roles=("class-teacher",))
        assert first.exists() and not first.with_name("98765.xlsx").exists()
        assert not (teachers / "98765").exists()
    assert (teachers / "manifest.csv").exists()


def test_english_workbooks_have_english_reasons(published: Path, tmp_path: Path) -> None:
    options = Options(tmp_path, roles=("class-teacher",), language="en")
    [end] = export(published, ["workbook"], [SCHOOL], options)
    assert isinstance(end, Written), end
    for path in end.path.glob("*/*/*.xlsx"):
        book = openpyxl.load_workbook(path)
        assert book.sheetnames[:3] == ["About", "At a glance", "Absent"]
        labels = [cell.value for cell in book["Students"][1]]
        assert "Reasons" in labels and not [label for label in labels if "zh" in label]
