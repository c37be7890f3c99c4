"""The ready-made workbooks of a small school, a school without anything, and the semester that they show."""

import re
import shutil
from collections import Counter
from contextlib import closing
from datetime import datetime
from pathlib import Path

import duckdb
import pytest

from exports.board.data import BOARD
from exports.export import Options, export
from exports.library.sheet_library import make_sheet
from exports.library.words import labels
from exports.names import READY
from exports.ready import ready_workbooks
from exports.site.kinds import kinds
from exports.source import Origin, School
from exports.spreadsheet.columns import sheet_columns
from exports.spreadsheet.sheets import LANGUAGES, Language
from exports.tables import table_names, table_workbook
from tests.kits.exports.spreadsheets import EMPTY, about, read_book
from tests.kits.models.builds import Build
from tests.kits.models.publishing import SCHOOL, publish, publish_strictly
from tests.kits.truth.workbook_truth import compare
from warehouse.publish.models.dbt_project import compiled

REFERENCE = Path(__file__).parents[4] / "docs" / "reference"


@pytest.fixture(scope="module")
def published(healthy: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A built file with all that publication adds, with somebody who is warned of."""
    return publish_strictly(healthy, tmp_path_factory.mktemp("published"))


def written(published: Path, folder: Path, school: int, language: Language) -> dict[str, Path]:
    """The workbooks of a school by their names."""
    files = export(published, list(READY), [school], Options(folder, language=language))
    return {file.name: file.path for file in files}  # type: ignore[union-attr]


def test_each_cell_is_what_the_file_says(published: Path, tmp_path: Path) -> None:
    compare(published, SCHOOL, tmp_path)


def test_a_chinese_workbook_is_in_chinese(published: Path, tmp_path: Path) -> None:
    """Down to the codes and reasons in its cells, and nothing is told as "?"."""
    books = {name: read_book(path) for name, path in written(published, tmp_path, SCHOOL, "zh").items()}
    for tabs in books.values():
        for name, tab in tabs.items():
            assert not re.search("[A-Za-z]", str((tab.labels, tab.head[0]))), name
            assert not re.search("[?？]", str((tab.head, tab.labels, tab.rows))), name
    for tabs in books.values():
        overview = tabs["概况"]
        assert len(overview.sheet._charts) == 1 and "较上" in str(overview.head), "figures and a chart"
    warnings = books["early_warning"]["学生"]
    assert {"预警"} <= set(warnings.column("预警等级")) <= {words.zh for words in labels("levels").values()}
    assert "不及格课程1门" in str((warnings.head, warnings.rows))


def test_both_pages_for_readers_name_the_same_sheets_and_charts(published: Path) -> None:
    with closing(duckdb.connect(str(published), read_only=True)) as con:
        made = [workbook for name in READY for workbook in ready_workbooks(con, name, SCHOOL, "en")]
    named = [sheet.name for workbook in made for sheet in workbook.sheets if workbook.for_paper]
    named += [panel.title for panel in BOARD.charts().values()]
    for page, cell in (("exports.md", "| {0.en} {0.zh} |"), ("exports.zh.md", "| {0.zh} {0.en} |")):
        text = (REFERENCE / page).read_text(encoding="utf-8")
        rows = Counter(line[: line.index(" |", 2) + 2] for line in text.splitlines() if line.startswith("| "))
        assert not Counter(cell.format(words) for words in named) - rows, page


def test_every_title_is_in_words(published: Path) -> None:
    """Of each sheet, section of a page and table, in both languages: no name of a column, and none twice."""
    checked = 0
    with closing(duckdb.connect(str(published), read_only=True)) as con:
        origin = Origin(School(SCHOOL, "一中"), "", datetime(2026, 3, 1))
        made = [workbook for name in READY for workbook in ready_workbooks(con, name, SCHOOL, "en")]
        sheets = [sheet for workbook in made for sheet in workbook.sheets]
        sections = [
            section for kind in kinds().values() for section in (kind.heading, *kind.sections.values())
        ]
        sheets += [
            make_sheet(con, section, SCHOOL, language) for section in sections for language in LANGUAGES
        ]
        sheets += [
            table_workbook(con, name).sheets[0]
            for name in table_names(con)
            if name.startswith(("core.", "marts."))
        ]
        for sheet in sheets:
            parameters = origin.parameters(sheet.query)
            zh, en = (sheet_columns(con, sheet, parameters, language) for language in LANGUAGES)
            for language, columns in (("zh", zh), ("en", en)):
                titles = [(column.groups, column.label) for column in columns]
                assert not [
                    title for title in titles if re.search(r"_|\[|\(\d+\)|[^aeiou]ys\b|sss", str(title))
                ]
                assert len({*titles}) == len(titles), (sheet.name, language)
                checked += len(titles)
            # A label of letters alone is a name, a number, or an abbreviation that both languages have.
            same = {
                column.label for column, english in zip(zh, en, strict=True) if column.label == english.label
            }
            assert not [label for label in same if re.search("[a-z]{3}", label)], (sheet.name, same)
    assert checked > 3000


def test_thresholds_are_those_in_force(published: Path, tmp_path: Path) -> None:
    own = Path(shutil.copy(published, tmp_path / "own.duckdb"))
    with closing(duckdb.connect(str(own))) as con:
        con.execute("UPDATE seeds.early_warning_rules SET at_risk = 61.5 WHERE indicator = 'score_rate'")
        con.execute(
            "UPDATE seeds.early_warning_rules SET minimum = 3, minimum_begun = 42 "
            "WHERE indicator = 'score_rate'"
        )
        con.execute("UPDATE seeds.attendance_tiers SET upper_percent = 77 WHERE tier = 'severe'")
    texts = {row[0]: row[2] for row in about(written(own, tmp_path, SCHOOL, "en")["early_warning"])}
    assert texts["Limits: Score rate"].startswith("At risk: below 61.5%; Warning: below ")
    assert texts["Limits: Score rate"].endswith(
        "; only with at least 3 scored courses; "
        "only once 42% of the points of the student's courses have begun."
    )
    assert "minimum" not in str(texts) and "at least 1 " not in texts["Limits: Failed courses"]
    assert texts["Tier: At risk (severe absence)"] == "Attendance rate up to 77%."
    verdicts = {row[0]: row[2] for row in about(written(own, tmp_path, SCHOOL, "zh")["grades"])}
    bounds = ("不低于 0.4", "不低于 0.3 且低于 0.4", "不低于 0.2 且低于 0.3", "低于 0.2")
    for label, bound in zip(("优秀", "良好", "需修改", "较差"), bounds, strict=True):
        assert verdicts[f"区分度评价“{label}”"] == f"题总相关的整个 95% 置信区间（保留两位小数）{bound}。"


def test_a_class_without_a_cohort_has_no_rank(published: Path, tmp_path: Path) -> None:
    own = Path(shutil.copy(published, tmp_path / "own.duckdb"))
    with closing(duckdb.connect(str(own))) as con:
        con.execute("UPDATE marts.grade_class_against_cohort SET cohort_id = NULL, rank = 1")
    classes = read_book(written(own, tmp_path, SCHOOL, "en")["grades"])["Classes"]
    assert classes.common("Class against the others", "Rank") == "No cohort"


def test_each_row_of_a_class_page_says_whose_it_is(published: Path, tmp_path: Path) -> None:
    """A student without a class comes last. Who of two teachers is the head is not guessed."""
    copied = Path(shutil.copy(published, tmp_path / "own.duckdb"))

    def heads() -> list[tuple[str, ...]]:
        students = read_book(written(copied, tmp_path, SCHOOL, "en")["grades"])["Students"]
        return list(dict.fromkeys(row[:3] for row in students.rows))

    with closing(duckdb.connect(str(copied))) as con:
        con.execute(
            "UPDATE marts.grade_student_semester SET admin_class_id = NULL, admin_class_name = NULL "
            "WHERE student_id = 1"
        )
        con.execute(
            "INSERT INTO core.bridge_admin_class_teacher BY NAME SELECT * REPLACE (51 AS teacher_id, "
            "'李老师' AS teacher_name) FROM core.bridge_admin_class_teacher WHERE school_id = 1"
        )
    grade = "Grade 10"
    assert heads() == [(grade, "1班", "陈老师, 李老师"), (grade, "Not known", "Not known")]
    with closing(duckdb.connect(str(copied))) as con:
        con.execute("UPDATE core.bridge_admin_class_teacher SET role = if(teacher_id = 51, 'head', 'deputy')")
    assert heads()[0] == (grade, "1班", "李老师")
    with closing(duckdb.connect(str(copied))) as con:
        con.execute("DELETE FROM core.bridge_admin_class_teacher; DELETE FROM core.cohort_grade_level")
        con.execute("UPDATE core.dim_admin_class SET cohort_name = NULL")
        con.execute("UPDATE marts.grade_student_semester SET grade_level = NULL, cohort_name = NULL")
    assert heads() == [("Not known", "1班", "Not known"), ("Not known", "Not known", "Not known")]


def test_sheets_without_rows_say_so(empty: Build, tmp_path: Path) -> None:
    published = publish(empty, tmp_path)
    with closing(duckdb.connect(str(published))) as con:
        con.execute("INSERT INTO raw.schools BY NAME SELECT 9 AS id, '九中' AS name, 9 AS _school_id")
        con.execute(
            "INSERT INTO core.dim_school BY NAME "
            "SELECT 9 AS school_id, '九中' AS school_name, false AS is_deleted"
        )
    books = written(published, tmp_path, 9, "en")
    assert list(books) == ["attendance", "grades", "early_warning"]
    for path in books.values():
        for name, tab in read_book(path).items():
            assert tab.rows == [], name
            assert EMPTY[0] in [cell.value for row in tab.sheet.iter_rows() for cell in row], name


@pytest.mark.parametrize(
    ("semesters", "shown"),
    [
        ([(1, True, "2025-09-01"), (2, False, "2026-02-01")], [1]),
        ([(1, True, "2025-09-01"), (2, True, "2026-02-01")], [1, 2]),
        ([(1, False, "2025-09-01"), (2, False, "2026-02-01")], [2]),
        ([(1, False, "2025-09-01"), (2, False, None)], [1]),
        # A semester without any data is not shown, current or not.
        ([(1, False, "2025-09-01"), (0, True, "2026-02-01")], [1]),
    ],
)
def test_long_sheets_show_the_current_semester_or_the_last_one_with_data(
    semesters: list[tuple[int, bool, str | None]], shown: list[int]
) -> None:
    with closing(duckdb.connect()) as con:
        con.execute("CREATE SCHEMA core; CREATE SCHEMA marts; CREATE SCHEMA views")
        con.execute(
            "CREATE TABLE core.dim_semester (school_id BIGINT, semester_id BIGINT, semester_name VARCHAR, "
            "is_current BOOLEAN, first_day DATE, last_day DATE, last_year_semester_id BIGINT)"
        )
        con.executemany(
            "INSERT INTO core.dim_semester (school_id, semester_id, semester_name, is_current, first_day) "
            "VALUES (1, ?, 'x', ?, ?)",
            semesters,
        )
        con.execute(
            "CREATE TABLE marts.early_warning AS "
            "SELECT school_id, semester_id FROM core.dim_semester WHERE semester_id > 0"
        )
        view = compiled()["nodes"]["model.campus.shown_semester"]["compiled_code"]
        con.execute("CREATE VIEW views.shown_semester AS " + view.replace('"campus".', ""))
        query = "SELECT semester_id FROM views.shown_semester WHERE school_id = 1 ORDER BY 1"
        result = con.execute(query).fetchall()
    assert [semester for (semester,) in result] == shown


def test_reasons_are_in_a_teachers_words(published: Path) -> None:
    """Neither the rules nor the terms of early warning speak of deviations, but where the term is defined."""
    with closing(duckdb.connect(str(published), read_only=True)) as con:
        reasons = con.execute("SELECT reason_en, reason_zh FROM seeds.early_warning_rules").fetchall()
        [book] = ready_workbooks(con, "early_warning", SCHOOL, "en")
    named = [column.label for sheet in book.sheets for column in sheet.columns.values() if column.label]
    meanings = [term.meaning for term in book.definitions if term.term.en != "Usual spread"]
    said = [text for row in reasons for text in row]
    said += [
        text for words in (*named, *meanings, *labels("indicators").values()) for text in (words.en, words.zh)
    ]
    assert said and not [text for text in said if re.search(r"\bsd\b|deviation|标准差|标准分", text)]


def test_a_share_is_of_the_students_who_are_judged(published: Path, tmp_path: Path) -> None:
    """A level that is not known is neither at risk nor well."""
    own = Path(shutil.copy(published, tmp_path / "own.duckdb"))
    with closing(duckdb.connect(str(own))) as con:
        con.execute("UPDATE marts.early_warning SET level = 'unknown' WHERE level = 'none' OR student_id = 2")
    overview = read_book(written(own, tmp_path, SCHOOL, "en")["early_warning"])["Overview"]
    assert overview.column("Share", "Warning") == [100]
    with closing(duckdb.connect(str(own))) as con:
        con.execute("UPDATE marts.early_warning SET level = 'unknown'")
    overview = read_book(written(own, tmp_path, SCHOOL, "en")["early_warning"])["Overview"]
    assert overview.column("Share", "Warning") == [None]


@pytest.mark.parametrize(
    ("language", "sheet", "left", "reasons"),
    [
        (
            *("en", "Students", "Absences left"),
            "late; absent on Mondays: 6 of 8, class 12.5%; absent from 美术: 3 of 9, class 0%",
        ),
        (
            *("zh", "学生", "距长期缺勤（节）"),
            "迟到；星期一缺勤：8次中6次，班级12.5%；美术缺勤：9次中3次，班级0%",
        ),
    ],
    ids=["en", "zh"],
)
def test_students_have_absences_left_and_patterns(
    published: Path, tmp_path: Path, language: Language, sheet: str, left: str, reasons: str
) -> None:
    own = Path(shutil.copy(published, tmp_path / "own.duckdb"))
    with closing(duckdb.connect(str(own))) as con:
        con.execute("UPDATE marts.attendance_student_semester SET absences_left = 7")
        con.execute(
            "UPDATE marts.early_warning SET level = 'watch', reasons_en = 'late', reasons_zh = '迟到'"
        )
        con.execute("DELETE FROM marts.attendance_student_pattern")
        con.execute("""
            INSERT INTO marts.attendance_student_pattern BY NAME
            SELECT school_id, semester_id, student_id, patterns.* FROM marts.early_warning, (VALUES
                ('course', '美术', '美术', 9, 3, 0, 0.002, true),
                ('weekday', 'Mondays', '星期一', 8, 6, 12.5, 0.001, true),
                ('lesson', 'lesson 1', '第1节', 9, 1, 5, 0.5, false)
            ) AS patterns (
                pattern_type, pattern_en, pattern_zh, recorded, absent, others_absence_rate, p_value,
                is_pattern
            )
        """)
    students = read_book(written(own, tmp_path, SCHOOL, language)["early_warning"])[sheet]
    assert set(students.column(left)) == {7}
    # What all rows have in common is in the head.
    assert reasons in students.head[1]
