"""The models on two small schools: contents worked out by hand, and a file that stands alone."""

import duckdb
import pytest

from tests.kits.models.builds import PROJECT, Build


def test_everything_passes_unit_tests_included(healthy: Build) -> None:
    assert healthy.problems == {}
    assert set(healthy.statuses.values()) == {"success", "pass"}


def test_the_mart_has_the_numbers_worked_by_hand(healthy: Build) -> None:
    rows = healthy.rows(
        "select school_id, student_name, admin_class_name, cohort_name, courses, failed_courses,"
        "   score_rate::varchar, weighted_mean::varchar, gpa::varchar, gpa_source,"
        "   rank_in_class, class_size, percent_rank_in_class, rank_in_cohort"
        " from marts.grade_student_semester order by all"
    )
    # 王一: (90 + 25) / 150 = 76.6667 %; (90 * 3 + 50 * 1) / 4 = 80; GPA (4 * 3 + 1 * 1) / 4 = 3.25;
    # 25 of 50 is below 60 %, so one course is failed.
    # 张三 has left, so that no class lists him, and no rank is his, with the same 80 as 王一; by the default
    # scale 80 % is 3.0 points. 李二 has zero: second in the cohort.
    assert rows == [
        (1, "张三", None, "2028届", 1, 0, "80.0000", "80.0000", "3.0000", "scale", None, None, None, None),
        (1, "李二", "1班", "2028届", 1, 1, "0.0000", "0.0000", "0.0000", "scale", 2, 2, 1.0, 2),
        (1, "王一", "1班", "2028届", 2, 1, "76.6667", "80.0000", "3.2500", "platform", 1, 2, 0.0, 1),
        (2, "Ann", None, None, 1, 0, None, None, None, None, None, None, None, None),
    ]


def test_facts_hold_live_rows_and_tell_null_from_zero(healthy: Build) -> None:
    scores = healthy.rows("select score_id, score::varchar, is_valid from core.fct_score order by all")
    assert scores == [(1, "9.500000", True), (2, "0.000000", True), (3, None, True), (4, "1.000000", False)]
    grades = healthy.rows(
        "select grade_id, real_score::double, course_class_id, semester_id from core.fct_grade"
        " where school_id = 1 order by all"
    )
    assert grades == [(1, 90, 11, 20), (2, 25, 12, 20), (3, 0, 11, 20), (4, 80, 11, 20)]


def test_what_moved_to_another_semester_is_told_once_and_as_it_is_now(healthy: Build) -> None:
    assert len(healthy.rows("from raw.assessments where _school_id = 1 and id = 7")) == 3
    assessments = healthy.rows(
        "select assessment_id, semester_id, full_score::double, is_deleted from core.dim_assessment"
        " where school_id = 1 order by all"
    )
    assert assessments == [(7, 20, 100, False), (8, 20, 50, False), (9, 20, 4, True)]
    names = healthy.rows("select item_name from core.dim_assessment_item where assessment_item_id = 72")
    assert names == [("作业",)]
    members = healthy.rows(
        "select member_id, is_current, is_class_together, semester_id from core.bridge_class_member"
        " where course_class_id = 11 and member_type = 'student' order by all"
    )
    assert members == [(1, True, None, 20), (2, True, None, 20), (3, False, None, 20)]


def test_dimensions_keep_those_who_have_left(healthy: Build) -> None:
    students = healthy.rows(
        "select student_id, student_number, is_deleted, deleted_at::varchar from core.dim_student"
        " where school_id = 1 order by all"
    )
    assert students == [
        (1, "0001", False, None),
        (2, "0002", False, None),
        (3, "0003", True, "2026-02-01 08:00:00"),
    ]
    ended = healthy.rows(
        "select member_id, is_current from core.bridge_class_member where left_at is not null"
    )
    assert ended == [(3, False)]


def test_names_come_from_the_schools_own_vocabulary(healthy: Build) -> None:
    classes = healthy.rows(
        "select school_id, course_class_id, class_code, subject_name, teacher_ids, teacher_names"
        " from core.dim_course_class order by all"
    )
    assert classes == [
        (1, 11, "M-1", "数学", [50], "陈老师"),
        (1, 12, "A-1", None, None, None),
        (2, 11, "ART", None, None, None),
    ]
    semesters = healthy.rows(
        "select academic_year_name, category_name from core.dim_semester order by school_id"
    )
    assert semesters == [("2025-2026", "第一学期"), (None, None)]
    assert healthy.rows("select semester_id from core.dim_assessment where assessment_id = 8") == [(20,)]


def test_a_renamed_copy_opens_anywhere_and_every_relation_can_be_read(healthy: Build) -> None:
    assert healthy.file.name != "campus.duckdb"
    relations = healthy.rows(
        "select table_schema, table_name from information_schema.tables where table_schema <> 'raw'"
    )
    assert {schema for schema, _ in relations} == {
        "staging",
        "core",
        "marts",
        "views",
        "oneroster",
        "seeds",
        "quality",
    }
    for schema, name in relations:
        healthy.rows(f"select * from {schema}.{name}")


def test_no_phone_number_leaves_raw(healthy: Build) -> None:
    columns = healthy.rows(
        "select distinct table_schema from information_schema.columns where column_name = 'phone' order by 1"
    )
    # views.student_guardian shows those of raw to who may read raw: a view has no rows of its own.
    assert columns == [("oneroster",), ("raw",), ("views",)]
    assert healthy.rows(
        "select distinct table_type from information_schema.tables where table_schema = 'views'"
    ) == [("VIEW",)]
    # The standard has the column.
    assert healthy.rows("select count(phone), count(sms), count(email) from oneroster.users") == [(0, 0, 0)]


def test_every_column_of_core_and_marts_carries_its_description(healthy: Build) -> None:
    bare = healthy.rows(
        "select table_name, column_name from duckdb_columns()"
        " where schema_name in ('core', 'marts') and coalesce(comment, '') = ''"
    )
    assert bare == []


def test_an_empty_first_sync_builds_and_passes(empty: Build) -> None:
    assert empty.problems == {}
    assert set(empty.statuses.values()) == {"success", "pass"}
    assert empty.rows("select count(*) from marts.grade_student_semester") == [(0,)]


def test_the_project_folder_is_left_clean(healthy: Build) -> None:
    written = {path.name for path in PROJECT.iterdir()}
    assert written == {"dbt_project.yml", "metrics.yml", "macros", "models", "seeds", "tests"}


@pytest.mark.parametrize("product", ["credit * gpa * score", "score * score"])
def test_products_of_measures_do_not_overflow(healthy: Build, product: str) -> None:
    facts = "(select credit, grade_points as gpa, score from core.fct_grade)"
    healthy.rows(f"select {product} from {facts}")
    with pytest.raises(duckdb.Error):  # why core has decimal(18, 6) and not raw's decimal(38, 18)
        healthy.rows("select score * score from raw.grades")


def test_who_is_in_an_administrative_class_is_as_the_lists_of_the_present_say(healthy: Build) -> None:
    lists = healthy.rows(
        "select admin_class_id, student_id, in_v3, in_v1, is_member"
        " from core.bridge_admin_class_student order by all"
    )
    assert lists == [(501, 1, True, True, True), (501, 2, True, True, True)]
    classes = healthy.rows("select admin_class_id, teacher_ids, listed_by from core.dim_admin_class")
    assert classes == [(501, [50], "v3")]
    # Student 3 has left: no list names him, and nothing is inferred against a list.
    members = healthy.rows(
        "select semester_id, student_id, admin_class_id, is_inferred"
        " from core.bridge_student_admin_class order by all"
    )
    assert members == [(20, 1, 501, False), (20, 2, 501, False)]
    assert healthy.statuses["admin_class_mismatch_is_empty"] == "pass"
