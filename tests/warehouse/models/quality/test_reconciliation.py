"""What the platform says of itself beside what we make of its rows: a healthy school agrees, and of a school
with wrong figures just these are found."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simulator.readings import Readings
from tests.kits.models.builds import Build, Builder
from tests.kits.models.raw_tables import create_raw
from tests.kits.models.simulated_school import Rows, fill, simulated

HEALTHY, WRONG, SCALED = 1, 2, 3
#: Of each measure that these schools can show, how many figures are compared, and no other.
FIGURES = """
    select measure, sum(compared) > 0, sum(disagreeing), string_agg(distinct reason)
    from quality.reconciliation
    where
        _school_id = ?
        and measure not like 'attendance%'
        and measure not in ('rows', 'admin_class_students')
    group by measure order by measure
"""


def first(rows: Rows, table: str, which: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The first row of a table of which a condition holds, put anew so that no other school shares it."""
    place = next(place for place, row in enumerate(rows[table]) if which(row))
    rows[table][place] = dict(rows[table][place])
    return rows[table][place]


def tampered(rows: Rows) -> tuple[Rows, set[tuple[str, str]]]:
    """The rows with wrong figures among them, and each measure and key where one is."""
    rows = {table: list(some) for table, some in rows.items()}
    wrong = set()
    grade = first(rows, "grades", lambda row: row["real_score"] is not None)
    grade["real_score"] = str(float(grade["real_score"]) + 1)
    wrong.add(("real_score", str(grade["id"])))

    score = first(
        rows,
        "scores",
        lambda row: row["score"] is not None and row["valid"] and row["type"] == "item_score",
    )
    score["score"] = str(float(score["score"]) + 7)
    of_score = (score["assessment_id"], score["owner_id"])
    [touched] = [row for row in rows["grades"] if (row["source_id"], row["owner_id"]) == of_score]
    wrong.add(("suggest_score", str(touched["id"])))

    assessment = first(rows, "assessments", lambda row: row["item_num"] > 0)
    assessment["item_num"] += 1
    wrong.add(("assessment_items", str(assessment["id"])))

    semester = first(rows, "transcript_semesters", lambda row: row["grade_point_average"] > 0)
    semester["grade_point_average"] += 0.5
    semester["total_credit"] += 1
    student = str(semester["student_id"])
    wrong |= {("transcript_gpa", student), ("transcript_credits", student)}
    return rows, wrong


def scaled(rows: Rows) -> Rows:
    """The same by a platform whose GPAs are of 100."""
    tables = ("transcripts", "transcript_semesters")
    return rows | {
        table: [row | {"grade_point_average": row["grade_point_average"] * 25} for row in rows[table]]
        for table in tables
    }


@pytest.fixture(scope="module")
def schools(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> tuple[Build, set[tuple[str, str]]]:
    """Three schools of the same rows but for what is wrong, and what that is."""
    file = Path(tmp_path_factory.mktemp("reconciliation")) / "schools.duckdb"
    create_raw(file, {})
    rows = simulated(Readings(), transcripts=True)
    changed, wrong = tampered(rows)
    for school_id, some in ((HEALTHY, rows), (WRONG, changed), (SCALED, scaled(rows))):
        fill(file, school_id, some)
    built = build("reconciliation", file)
    assert built.problems == {}
    return built, wrong


def figures(build: Build, school_id: int) -> dict[str, tuple[bool, int, str | None]]:
    rows = build.rows(FIGURES.replace("?", str(school_id)))
    return {measure: (compared, int(disagreeing), reason) for measure, compared, disagreeing, reason in rows}


def test_a_healthy_school_agrees_in_every_figure(schools: tuple[Build, set[tuple[str, str]]]) -> None:
    result = figures(schools[0], HEALTHY)
    assert result.keys() == {
        *("assessment_items", "real_score", "suggest_score", "grade_rank", "grade_rank_base"),
        *("transcript_credits", "transcript_cumulative_gpa", "transcript_gained_credits", "transcript_gpa"),
    }
    assert {measure: (compared, wrong) for measure, (compared, wrong, _) in result.items()} == dict.fromkeys(
        result, (True, 0)
    )


def test_of_a_school_with_wrong_figures_just_these_are_found(
    schools: tuple[Build, set[tuple[str, str]]],
) -> None:
    build, wrong = schools
    flagged = build.rows(
        f"select measure, key from quality.reconciliation where _school_id = {WRONG} and key is not null"
    )
    assert set(flagged) == wrong
    assert {build.statuses[f"reconciliation_{check}"] for check in ("grades_agree", "lists_agree")} == {
        "warn"
    }
    assert build.statuses["reconciliation_transcripts_agree"] == "warn"
    listed = build.rows("select key from quality.reconciliation_grades_agree")
    assert {key for (key,) in listed} == {key for measure, key in wrong if measure.endswith("_score")}


def test_another_scale_is_said_once_and_flags_nobody(schools: tuple[Build, set[tuple[str, str]]]) -> None:
    result = figures(schools[0], SCALED)
    for measure in ("transcript_gpa", "transcript_cumulative_gpa"):
        compared, wrong, reasons = result[measure]
        assert (compared, wrong) == (False, 0)
        assert reasons is not None and "other_rule" in reasons
    assert result["transcript_credits"][:2] == (True, 0)
