"""An administrative class is one class, whatever the years of its students: in measures, sheets, board, site.

All classes have the same name. A student repeats a year, some have no year, and a class has none."""

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import date
from operator import itemgetter
from pathlib import Path
from typing import Any

import duckdb
import pytest

from exports.board.school import chart_rows
from exports.export import Options, Written, export
from exports.library.sheet_library import make_page_sheet
from exports.pages.sections import Section
from exports.site.kinds import kinds
from exports.source import School
from pipelines.measures import Filter, measured
from tests.kits.exports.spreadsheets import read_book
from tests.kits.models import worlds
from tests.kits.models.builds import Builder
from tests.kits.models.publishing import publish_strictly
from warehouse.metrics import catalogue
from warehouse.publish.models.compiled_models import read_project
from warehouse.publish.models.dbt_project import compiled
from warehouse.publish.models.model_runner import run_check
from warehouse.published.reading import records

SCHOOL = 1
#: Terms of the years of graduation.
C2028, C2029, C2027, C2026 = 1, 5, 6, 7
YEARS = {C2028: "2028届", C2029: "2029届", C2027: "2027届", C2026: "2026届"}
NAME = "很长的班级名称" * 40 + "1班"
#: By class: its year, and the years of its students.
CLASS_YEARS: dict[int, tuple[int | None, Sequence[int | None]]] = {
    501: (C2028, [C2028] * 7 + [C2029]),
    502: (C2028, [C2028] * 6 + [None] * 2),
    503: (C2029, [C2029] * 7 + [None]),
    504: (None, [C2029] * 4 + [None] * 2),
    505: (C2028, [C2028] * 2),
    506: (C2027, [C2027] * 8),
    507: (C2027, [C2027] * 3),
    508: (C2026, [C2026] * 8),
    509: (C2029, [C2026] * 3),
}
COHORTS_OF_CLASSES = {id: YEARS[year or C2029] for id, (year, _) in CLASS_YEARS.items()}
#: The pupils of each cohort: a repeater counts in the repeater's own year, a pupil without a year in that of
#: the class.
SIZES = {"2028届": 17, "2029届": 15, "2027届": 11, "2026届": 11}
CLASS_SIZES = {class_id: len(years) for class_id, (_, years) in CLASS_YEARS.items()}
#: The last two classes have lessons on a day of their own.
DAYS = {class_id: date(2026, 3, 2 if class_id < 508 else 3) for class_id in CLASS_YEARS}
FILTERED = ("admin_class_id", "cohort_id", "cohort_name")
MEASURES = [name for name in catalogue().metrics if "class" in catalogue().dimensions_of(name)]


def students_of(class_id: int) -> list[int]:
    return [class_id * 10 + number for number in range(len(CLASS_YEARS[class_id][1]))]


@pytest.fixture(scope="module")
def file(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = build("classes", _tables())
    assert built.problems == {}
    assert not {name for name, failures in built.failures.items() if "_same_" in name and failures}
    return publish_strictly(built, tmp_path_factory.mktemp("classes"))


@pytest.fixture
def con(file: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with closing(duckdb.connect(str(file), read_only=True)) as con:
        yield con


def _tables() -> dict[str, list[dict[str, Any]]]:
    year_of = worlds.HEALTHY["terms"][0]
    terms = [year_of | {"id": id, "name": label[:4], "label": label} for id, label in YEARS.items()]
    tables: dict[str, list[dict[str, Any]]] = {
        "schools": worlds.HEALTHY["schools"][:1],
        "terms": [*worlds.HEALTHY["terms"][1:4], *terms],
        "semesters": worlds.HEALTHY["semesters"][:1],
        "v1_semesters": worlds.HEALTHY["v1_semesters"],
    }

    def add(table: str, **row: Any) -> None:
        tables.setdefault(table, []).append(row)

    for class_id, (year, years) in CLASS_YEARS.items():
        listed = ", ".join(f"{{'id': {student}}}" for student in students_of(class_id))
        add("admin_classes", id=class_id, name=NAME, graduates_in_id=year, students=f"[{listed}]")
        course = {"semester_id": 20, "admin_class_ids": f"[{class_id}]", "subject_id": 4, "name": "数学"}
        add("classes", id=class_id, **course)
        add("assessments", id=class_id, class_id=class_id, semester_id=20, full_score="100")
        add("assessment_items", id=class_id, assessment_id=class_id, pid=0, type="item", full_score="100")
        day = DAYS[class_id].isoformat()
        session: dict[str, Any] = {"date": day, "lesson": 1, "scheduled": True, "normal": len(years)}
        add("attendance_sessions", class_id=class_id, attendance_rate="100", **session)
        for student, year_of_student in zip(students_of(class_id), years, strict=True):
            add(
                "students", id=student, name=f"学生{student}", role="student", graduates_in_id=year_of_student
            )
            add("reflections", id=student, role="student")
            add("class_members", class_id=class_id, type="student", reflection_id=student)
            graded = {"source": "class", "status": "published", "pass_status": "passed", "full_score": "100"}
            graded |= {"score": "60", "real_score": "60", "credit": "1"}
            add("grades", id=student, source_id=class_id, owner_id=student, semester_id=20, **graded)
            scored = dict.fromkeys(("created_at", "updated_at"), "2026-03-05 10:00:00") | {"score": "9"}
            scored |= {"type": "item_score"}
            add("scores", id=student, assessment_id=class_id, item_id=class_id, owner_id=student, **scored)
            seen = dict.fromkeys(("checked_at", "created_date"), day) | {"created_time": "08:05"}
            seen |= {"status": "absent" if student % 10 == 7 else "normal", "absence_label": ""}
            add("attendance_records", id=student, class_id=class_id, student_id=student, lesson=1, **seen)
    return tables


def test_a_student_without_a_year_has_the_cohort_of_the_class(con: duckdb.DuckDBPyConnection) -> None:
    cohorts = con.execute("SELECT cohort_name, count(*) FROM core.dim_student GROUP BY ALL").fetchall()
    assert dict(cohorts) == SIZES


@pytest.mark.parametrize("name", MEASURES)
def test_a_measure_has_a_row_a_class(con: duckdb.DuckDBPyConnection, name: str) -> None:
    by = ["class", *catalogue().metrics[name].needs]
    rows = records(con, f'FROM marts.metric_{name}("by" := {by})', {})
    assert len(rows) == len(CLASS_YEARS)
    assert {row["admin_class_id"]: row["cohort_name"] for row in rows} == COHORTS_OF_CLASSES
    if name in ("attendance_rate", "pass_rate", "missing_rate"):
        assert {row["admin_class_id"]: row["students"] for row in rows} == CLASS_SIZES


def test_a_split_by_class_and_cohort_names_the_students_cohort(con: duckdb.DuckDBPyConnection) -> None:
    query = "FROM marts.metric_attendance_rate(\"by\" := ['class', 'cohort'])"
    rows = records(con, query, {})
    assert all(row["cohort_name"] == YEARS[row["cohort_id"]] for row in rows)
    assert {(row["admin_class_id"], row["cohort_name"]): row["students"] for row in rows} == {
        (501, "2028届"): 7,
        (501, "2029届"): 1,
        (502, "2028届"): 8,
        (503, "2029届"): 8,
    } | {
        (504, "2029届"): 6,
        (505, "2028届"): 2,
        (506, "2027届"): 8,
        (507, "2027届"): 3,
        (508, "2026届"): 8,
        (509, "2026届"): 3,
    }


@pytest.mark.parametrize("by", [["class"], ["class", "cohort"], ["class", "school"], ["cohort"]])
def test_no_group_of_few_students_shows_a_number(con: duckdb.DuckDBPyConnection, by: list[str]) -> None:
    _, rows = measured(con, "attendance_rate", by, {}, [], personal=False)
    visible = [row for row in rows if row[-5] is not None]
    assert visible and all(row[-2] >= 5 for row in visible)
    if by == ["class", "cohort"]:
        assert [row for row in visible if 501 in row] == [], "the repeater would be what is left of the class"


def test_filters_do_not_single_out_the_repeater(con: duckdb.DuckDBPyConnection) -> None:
    """The class alone has eight students, and those of its own year are seven."""
    filters = [Filter("admin_class_id", ("501",)), Filter("cohort_id", (str(C2028),))]
    _, [row] = measured(con, "attendance_rate", ["class"], {}, [], filters, personal=False)
    assert row[-5:-1] == (None,) * 4


@pytest.mark.parametrize("day", sorted(set(DAYS.values())))
def test_no_difference_of_answers_is_a_small_group(con: duckdb.DuckDBPyConnection, day: date) -> None:
    """Of any two answers by class, by cohort and of all, with a filter on the school, a class or a cohort."""
    all_columns = _students(con, ["class", "cohort"], day)
    groups = set()
    for by in ([], ["class"], ["cohort"]):
        students = [wide | row for wide, row in zip(all_columns, _students(con, by, day), strict=True)]
        values = {(column, row[column]) for column in FILTERED for row in students}
        for column, value in [("school_id", SCHOOL), *values]:
            filters = [Filter(column, (str(value),))]
            columns, rows = measured(con, "attendance_rate", by, _only(day), [], filters, personal=False)
            chosen = [student for student in students if student[column] == value]
            groups |= {
                frozenset(
                    student["student_id"]
                    for student in chosen
                    if all(student[name] == key for name, key in zip(columns[:-5], row[:-5], strict=True))
                )
                for row in rows
                if row[-5] is not None
            }
    assert frozenset(student["student_id"] for student in all_columns) in groups
    differences = [larger - smaller for larger in groups for smaller in groups if smaller < larger]
    assert [students for students in differences if len(students) < 5] == []


def _students(con: duckdb.DuckDBPyConnection, by: Sequence[str], day: date) -> list[dict[str, Any]]:
    """The students of a day in the order of their ids, each with the columns of a split."""
    columns, rows = measured(con, "attendance_rate", [*by, "student"], _only(day), [], personal=True)
    return sorted((dict(zip(columns, row, strict=True)) for row in rows), key=itemgetter("student_id"))


def _only(day: date) -> dict[str, date]:
    return {"since": day, "until": day}


def test_the_sheet_of_classes_has_a_row_a_class(file: Path, tmp_path: Path) -> None:
    ends = list(export(file, ["early_warning"], [SCHOOL], Options(tmp_path, language="en")))
    [end] = [end for end in ends if isinstance(end, Written)]
    sheet = read_book(end.path)["Classes"]
    assert Counter(sheet.column("Cohort")) == Counter(COHORTS_OF_CLASSES.values())
    assert sorted(sheet.column("Students")) == sorted(CLASS_SIZES.values())


def test_the_board_places_a_class_in_its_own_cohort(con: duckdb.DuckDBPyConnection) -> None:
    drawn = chart_rows(con, School(SCHOOL, "S"))
    assert {int(group["key"]): group["cohort_name"] for group in drawn["groups"]} == COHORTS_OF_CLASSES
    assert len(drawn["groups"]) == len(CLASS_YEARS)


def test_the_board_has_cohorts_of_students_without_classes(file: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copy(file, tmp_path / "campus.duckdb"))
    with closing(duckdb.connect(str(copy))) as con:
        con.execute("UPDATE core.dim_admin_class SET cohort_id = NULL, cohort_name = NULL")
        drawn = chart_rows(con, School(SCHOOL, "S"))
    assert {cohort["name"] for cohort in drawn["cohorts"]} == SIZES.keys()
    for chart in ("weeks", "lessons", "bands"):
        assert {row["name"] for row in drawn[chart] if row["kind"] == "cohort"} == SIZES.keys()


def test_the_site_shows_a_class_once_and_whole(con: duckdb.DuckDBPyConnection) -> None:
    def rows_of(section: Section) -> list[dict[str, Any]]:
        _, query = make_page_sheet(con, section, SCHOOL, {"page": section.page, "class": "group_id"})
        return records(con, query, {"school_id": SCHOOL, "first": "", "last": "~"})

    index = kinds()["index"].sections["classes"]
    assert {int(row["class"]): row["cohort_name"] for row in rows_of(index)} == COHORTS_OF_CLASSES
    of_cohorts = rows_of(kinds()["cohort"].sections["classes"])
    assert len(of_cohorts) == len(CLASS_YEARS)
    assert {int(row["class"]): row["students"] for row in of_cohorts} == CLASS_SIZES
    headings = rows_of(kinds()["class"].heading)
    assert {int(row["page"]): row["cohort_name"] for row in headings} == COHORTS_OF_CLASSES


def test_a_class_in_two_parts_is_found(file: Path, tmp_path: Path) -> None:
    """A measure by class has two rows for a class that the mart shows once, though both have its value."""
    checks = {check.name: check for check in read_project(compiled()).checks}
    copy = Path(shutil.copy(file, tmp_path / "campus.duckdb"))
    with closing(duckdb.connect(str(copy))) as con:
        con.execute("UPDATE core.fct_attendance SET is_present = true, is_absent = false")
        con.execute("UPDATE marts.attendance_group_week SET attendance_rate = 100")
        by_class = checks["attendance_group_week_same_attendance_by_admin_class"]
        assert run_check(con, by_class).failures == 0
        con.execute(
            "UPDATE marts.attendance_student_semester SET admin_class_name = 'another' "
            "WHERE student_id = 5017"
        )
        assert run_check(con, by_class).failures
