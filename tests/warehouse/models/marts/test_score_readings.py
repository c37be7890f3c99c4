"""The same marks in other rows are the same numbers: one school as each reading shows its scores."""

from dataclasses import replace
from pathlib import Path

import pytest

from simulator.readings import Readings
from tests.kits.models.builds import Build, Builder
from tests.kits.models.raw_tables import create_raw
from tests.kits.models.simulated_school import Rows, fill, simulated

PLAIN = Readings()
#: By the school that shows it.
READINGS = {
    1: PLAIN,
    2: replace(PLAIN, score_rows="raw_on_leaves"),
    3: replace(PLAIN, score_rows="both"),
    4: replace(PLAIN, score_rows="raw"),
    5: replace(PLAIN, score_rows="every_item"),
    6: replace(PLAIN, score_rows="both", raw_scores="avg"),
    7: replace(PLAIN, score_rows="both", raw_scores="sum"),
    8: replace(PLAIN, score_rows="both", raw_scores="last"),
    9: replace(PLAIN, score_rows="both", raw_scores="max"),
    10: replace(PLAIN, score_rows="raw_on_leaves", raw_scores="max"),
    11: replace(PLAIN, score_rows="raw", raw_scores="avg"),
}
#: Where two score an item, the platform says by its own scores what it makes of theirs.
SEVERAL = {6: "avg", 7: "sum", 8: "last", 9: "max", 10: "max", 11: "avg"}
#: A school whose platform has computed half of its item scores yet: the rest are made by the rule of those.
HALF = 12
#: The same of the items that others are below.
HALF_DIMENSIONS = 13
#: What says how scores are known, and not what they are.
TELLS_HOW = "score_source, score_rule, rule_shown_by"


def _half(rows: Rows, *, of_dimensions: bool) -> Rows:
    """Item scores of every other student only: those of the lowest items, or of the others."""
    above = {row["pid"] for row in rows["assessment_items"]}
    scores = [
        row
        for row in rows["scores"]
        if row["type"] == "raw" or row["owner_id"] % 2 or (row["item_id"] in above) != of_dimensions
    ]
    return rows | {"scores": scores}


@pytest.fixture(scope="module")
def schools(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Build:
    """The marts of scores of all these schools."""
    file = tmp_path_factory.mktemp("score readings") / "schools.duckdb"
    create_raw(Path(file), {})
    for school_id, readings in READINGS.items():
        fill(file, school_id, simulated(readings))
    fill(file, HALF, _half(simulated(READINGS[8]), of_dimensions=False))
    fill(file, HALF_DIMENSIONS, _half(simulated(READINGS[5]), of_dimensions=True))
    built = build("score readings", file)
    assert built.problems == {}
    return built


def _differences(build: Build, mart: str, less: str, condition: str = "true") -> list[tuple[object, ...]]:
    """Schools with other rows than the plain one, and how many, but for the columns in `less`."""
    rows = f"select * exclude (school_id, {less}) from marts.{mart} where {condition}"
    return [
        (school_id, count)
        for school_id in (*READINGS, HALF, HALF_DIMENSIONS)
        for ((count,),) in [
            build.rows(
                f"with ours as ({rows} and school_id = {school_id}), plain as ({rows} and school_id = 1)"
                " select count(*) from"
                " ((from ours except all from plain) union all (from plain except all from ours))"
            )
        ]
        if count
    ]


def test_the_school_has_scores_of_every_kind(schools: Build) -> None:
    counts = schools.rows(
        "select count(*), count_if(state = 'partial'), count_if(state = 'complete'), count_if(invalid > 0),"
        " count_if(zeros > 0) from marts.score_completeness where school_id = 1"
    )[0]
    assert min(counts) > 5
    analysed = "select count(discrimination) from marts.score_item_analysis where school_id = 1"
    assert schools.rows(analysed)[0][0] > 20


def test_what_is_given_and_missing_is_the_same(schools: Build) -> None:
    less = f"{TELLS_HOW}, evaluator_id, evaluator_name, first_scored_at"
    assert _differences(schools, "score_completeness", less) == []
    assert _differences(schools, "score_student_semester", "semester_id") == []


def test_items_are_analysed_the_same(schools: Build) -> None:
    assert _differences(schools, "score_item_analysis", "score_source, score_rule") == []


def test_publications_lag_the_same(schools: Build) -> None:
    assert _differences(schools, "grade_publication_lag", "semester_name", "group_type <> 'teacher'") == []


def test_whoever_scored_is_told_unless_several_did(schools: Build) -> None:
    evaluators = schools.rows(
        "select ours.school_id, count(*), count_if(ours.evaluator_id is null), min(len(classes.teacher_ids))"
        " from marts.score_completeness as ours"
        " join marts.score_completeness as plain using (assessment_item_id)"
        " join core.dim_course_class as classes"
        "   on classes.school_id = 1 and classes.course_class_id = ours.course_class_id"
        " where plain.school_id = 1 and ours.evaluator_id is distinct from plain.evaluator_id"
        " group by ours.school_id order by all"
    )
    # Where two teachers of a class both score, the item is that of none; elsewhere it is who it was.
    assert {school_id for school_id, *_ in evaluators} == {*SEVERAL, HALF}
    assert all(count == unknown and teachers == 2 for _, count, unknown, teachers in evaluators)


def test_the_rule_is_the_one_that_the_platforms_own_scores_show(schools: Build) -> None:
    rows = schools.rows(
        "select school_id, score_rule, rule_shown_by, count(*) from marts.score_completeness"
        " where score_rule is not null group by all order by all"
    )
    rules = {(school_id, rule, by) for school_id, rule, by, _ in rows}
    # One raw score is what the item has, by any rule; two of which nothing is made are shared alike.
    assert (2, "avg", "default") in rules
    assert (4, "avg", "default") in rules
    assert (11, "avg", "default") in rules
    assert (10, "max", "assessment") in rules
    assert (HALF, "last", "assessment") in rules
    assert not {school_id for school_id, *_ in rules} & {1, 3, 5, 6, 7, 8, 9}
    shown = schools.rows(
        "select school_id, rule, min(agreed / compared) from core.score_rule"
        " where made_of = 'raw' and scoring_type <> 'addition' and shown_by = 'assessment'"
        " group by all order by all"
    )
    assert {school_id: rule for school_id, rule, _ in shown} == {
        **{school_id: rule for school_id, rule in SEVERAL.items() if school_id != 11},
        HALF: "last",
    }
    assert all(share >= 0.9 for *_, share in shown)


def test_a_rule_that_matters_and_is_shown_by_nothing_is_a_warning(schools: Build) -> None:
    assert schools.statuses["fct_assessment_item_rule_is_shown"] == "warn"
    assert {row[0] for row in schools.rows("from quality.fct_assessment_item_rule_is_shown")} == {11}


def test_dimensions_have_the_scores_of_what_is_below_them(schools: Build) -> None:
    compared = schools.rows(
        "select count(*) > 50, count_if(made.score <> own.score), any_value(made.rule)"
        " from core.fct_item_score as own"
        " join core.dim_assessment_item as items using (school_id, assessment_item_id)"
        " join core.fct_item_score as made"
        "   on made.assessment_item_id = own.assessment_item_id and made.student_id = own.student_id"
        f" where own.school_id = 5 and not items.is_leaf and made.school_id = {HALF_DIMENSIONS}"
        "   and made.score_source = 'items'"
    )
    assert compared == [(True, 0, "sum")]
    made = schools.rows(
        "select school_id, score_source, count(*) > 100 from core.fct_item_score"
        " semi join (from core.dim_assessment_item where not is_leaf) using (school_id, assessment_item_id)"
        " where school_id in (1, 2, 4) and score is not null group by all order by all"
    )
    assert made == [(1, "items", True), (2, "item_score", True), (4, "items", True)]


def test_whatever_rows_show_them_scores_make_the_suggested_ones(schools: Build) -> None:
    compared = schools.rows(
        "select _school_id, sum(compared), sum(disagreeing) from quality.reconciliation"
        " where measure = 'suggest_score' group by all order by all"
    )
    assert [(school_id, wrong) for school_id, _, wrong in compared] == [(n, 0) for n in range(1, 14)]
    assert min(number for _, number, _ in compared) > 0
