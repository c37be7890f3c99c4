"""Each check catches what it is there for, and only structural failures block a publication."""

import pytest
from conftest import Build

# The file cannot be trusted: nothing is published.
BLOCKING = {
    "dim_teacher_key": 2,
    "fct_score_school_id_related": 1,
    "fct_grade_school_id_related": 1,
    "fct_attendance_school_id_related": 1,
    "fct_class_session_school_id_related": 1,
    "fct_transcript_course_school_id_related": 1,
}

# The platform's own data is wrong or new: shown, with its rows, and published.
WARNING = {
    "raw_assessment_items_fit_measure": 1,
    "raw_scores_fit_measure": 1,
    "raw_grades_fit_measure": 1,
    "dim_assessment_item_tree_depth": 1,
    "fct_grade_real_score_rule": 3,
    "fct_grade_one_a_student": 1,
    "fct_grade_has_semester": 2,
    "raw_transcript_courses_fit_measure": 1,
    "raw_attendance_records_name_a_session_and_a_student": 1,
    "dim_attendance_status_is_decided": 2,
    "fct_attendance_has_semester": 2,
}


@pytest.mark.parametrize(("check", "rows"), BLOCKING.items())
def test_structural_failures_block(broken: Build, check: str, rows: int) -> None:
    assert broken.exit_code == 1
    assert (broken.statuses[check], broken.failures[check]) == ("fail", rows)


@pytest.mark.parametrize(("check", "rows"), WARNING.items())
def test_breaches_of_the_platform_warn_and_keep_their_rows(broken: Build, check: str, rows: int) -> None:
    assert (broken.statuses[check], broken.failures[check]) == ("warn", rows)
    assert broken.rows(f"select count(*) from quality.{check}") == [(rows,)]


def test_every_orphan_and_every_unknown_value_is_seen(broken: Build) -> None:
    watched = {
        check: status
        for check, status in broken.statuses.items()
        # Marts stand on facts of known schools, so theirs pass here; tampering with them is tested below.
        if check.endswith(("_related", "_known")) and check not in BLOCKING and check[:11] != "attendance_"
    }
    assert len(watched) > 30
    assert set(watched.values()) == {"warn"}, watched


def test_an_orphan_is_one_row_a_missing_key_with_its_count(broken: Build) -> None:
    missing = broken.rows("from quality.fct_grade_student_id_related")
    assert missing == [(1, 999, 2)]
    unknown = broken.rows("from quality.fct_grade_source_known")
    assert unknown == [(1, "tombola", 1)]


def test_what_only_one_interface_has_is_a_warning_and_a_table(broken: Build) -> None:
    assert broken.statuses["unmatched_v1_is_empty"] == "warn"
    assert broken.rows(
        "select id, missing_in from core.unmatched_v1 where kind = 'class' and school_id = 1"
    ) == [(12, "v3")]


def test_every_check_of_a_mart_and_every_check_that_blocks_catches_what_it_is_there_for(
    tampered: Build,
) -> None:
    caught = {check for check, status in tampered.statuses.items() if status in ("fail", "warn")}
    assert len(caught) > 130
    assert tampered.statuses.keys() - caught == {"campus-on-run-end-0"}, tampered.output
