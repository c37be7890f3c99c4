"""Each check catches what it is there for, and only structural failures block a publication."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.kits.models.builds import Build, broken_by
from warehouse.publish.models.dbt_project import compiled

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
    "fct_grade_one_a_student": 1,
    "fct_grade_has_semester": 2,
    "raw_transcript_courses_fit_measure": 1,
    "raw_attendance_records_name_a_session_and_a_student": 1,
    "dim_attendance_status_is_decided": 2,
    "fct_attendance_has_semester": 2,
}


def checks(schema: str) -> Iterator[Mapping[str, Any]]:
    """The checks of the models of a schema."""
    nodes = compiled()["nodes"]
    for node in nodes.values():
        model = nodes.get(node.get("attached_node"))
        if node["resource_type"] == "test" and model and model["schema"] == schema:
            yield node


@pytest.mark.parametrize(("check", "rows"), BLOCKING.items())
def test_structural_failures_block(broken: Build, check: str, rows: int) -> None:
    assert broken.problems
    assert (broken.statuses[check], broken.failures[check]) == ("fail", rows)


@pytest.mark.parametrize(("check", "rows"), WARNING.items())
def test_breaches_of_the_platform_warn_and_keep_their_rows(broken: Build, check: str, rows: int) -> None:
    assert (broken.statuses[check], broken.failures[check]) == ("warn", rows)
    assert broken.rows(f"select count(*) from quality.{check}") == [(rows,)]


def test_every_unknown_value_is_seen(broken: Build) -> None:
    watching = {check["name"] for check in checks("core") if check["test_metadata"]["name"] == "known_values"}
    assert {check: broken.statuses[check] for check in watching} == dict.fromkeys(watching, "warn")


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


def test_lists_of_classes_that_disagree_are_a_warning_and_a_table(broken: Build) -> None:
    assert broken.statuses["admin_class_mismatch_is_empty"] == "warn"
    assert broken.rows(
        "select admin_class_id, student_id, kind from core.admin_class_mismatch order by all"
    ) == [
        (501, 1, "several_classes"),
        (502, 1, "several_classes"),
    ]


def test_each_mart_says_what_breaks_its_checks() -> None:
    checked = {
        f"{schema}.{check['attached_node'].split('.')[2]}"
        for schema in ("marts", "quality")
        for check in checks(schema)
    }
    said = {model for model, statements in broken_by().items() if statements}
    assert checked - said == set(), (
        "say it under config.meta.broken_by of its yml, see docs/how-to/extending.md"
    )


def test_every_check_of_a_mart_and_every_check_that_blocks_catches_what_it_is_there_for(
    tampered: Build,
) -> None:
    blocking = (
        check
        for check in checks("core")
        if check["config"]["severity"].lower() == "error"
        or check["test_metadata"]["name"] in ("related", "references")
    )
    due = {check["name"] for check in (*checks("marts"), *checks("quality"), *blocking)}
    caught = {check for check, status in tampered.statuses.items() if status in ("fail", "warn")}
    assert due - caught == set(), "broken_by in the yml of these checks' models breaks nothing of theirs"
    assert caught - due == set()
