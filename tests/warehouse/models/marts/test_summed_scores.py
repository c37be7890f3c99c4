"""Where a platform sums items a missing score is a zero: early warning's areas, computed a second time."""

from collections import Counter, defaultdict
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from simulator.readings import Readings
from tests.kits.models.builds import Build, Builder
from tests.kits.models.raw_tables import create_raw
from tests.kits.models.simulated_school import Rows, fill, simulated

SHARES, SUMS, DEDUCTIONS = 1, 2, 3
SEMESTER = 10101
#: So many students lack every second score of the semester.
WITHOUT_SCORES = 4
#: The full score of additions where these begin with no points.
MOST_ADDED = Decimal(2)
AREAS = {
    **dict.fromkeys(("attendance_rate", "attendance_drop"), "attendance"),
    "lateness_rate": "behaviour",
    **dict.fromkeys(("score_rate", "score_drop", "failed_courses"), "grades"),
}
SUFFICIENT = {"attendance_rate", "failed_courses"}
RAISED = {"at_risk", "warning"}

Student = tuple[int, int]


def _rows(rule: str) -> Rows:
    """A school by a rule of suggested scores, in which a few students lack scores."""
    rows = simulated(replace(Readings(), suggested_scores=rule))
    assessments = {row["id"]: row for row in rows["assessments"] if row["semester_id"] == SEMESTER}
    fulls = {row["id"]: Decimal(row["full_score"] or 0) for row in rows["assessment_items"]}
    without = sorted({row["owner_id"] for row in rows["scores"]})[:WITHOUT_SCORES]
    item_points: dict[Student, list[tuple[Decimal, Decimal]]] = defaultdict(list)
    scores = []
    for row in rows["scores"]:
        is_theirs = row["owner_id"] in without and row["assessment_id"] in assessments
        if is_theirs and row["type"] == "item_score":
            row = row | ({"score": None} if row["item_id"] % 2 else {})
            if row["score"] is not None and row["valid"]:
                points = Decimal(row["score"]), fulls[row["item_id"]]
                item_points[row["assessment_id"], row["owner_id"]].append(points)
        scores.append(row)
    grades = [
        row | _suggested(rule, item_points[row["source_id"], row["owner_id"]])
        if row["owner_id"] in without and row["source_id"] in assessments
        else row
        for row in rows["grades"]
    ]
    return rows | {"scores": scores, "grades": grades}


def _suggested(rule: str, item_points: list[tuple[Decimal, Decimal]]) -> dict[str, Any]:
    points, full = sum(gained for gained, _ in item_points), sum(full for _, full in item_points)
    score = str(points if rule == "sum" else round(100 * points / full, 2)) if full else None
    return {"score": None, "suggest_score": score, "real_score": score}


def _item_sums(scores: list[dict[str, Any]]) -> dict[Student, Decimal]:
    """By item and student, the sum of the additions and deductions, up to the full score."""
    sums: dict[Student, Decimal] = defaultdict(Decimal)
    for row in scores:
        if row["type"] == "raw":
            sums[row["item_id"], row["owner_id"]] += Decimal(row["score"])
    return {key: min(points, MOST_ADDED) for key, points in sums.items()}


def _deductions() -> Rows:
    """A school that sums; its additions begin with no points, and the platform makes no score of them."""
    rows = simulated(replace(Readings(), suggested_scores="sum"))
    items = {row["id"]: row["assessment_id"] for row in rows["assessment_items"]}
    additions = {row["id"] for row in rows["assessment_items"] if row["scoring_type"] == "addition"}
    scores = [row for row in rows["scores"] if row["type"] == "raw" or row["item_id"] not in additions]
    item_points: dict[Student, list[tuple[Decimal, Decimal]]] = defaultdict(list)
    for row in scores:
        if row["type"] == "item_score" and row["score"] is not None and row["valid"]:
            item_points[row["assessment_id"], row["owner_id"]].append((Decimal(row["score"]), Decimal(1)))
    for (item, owner), points in _item_sums(scores).items():
        item_points[items[item], owner].append((points, Decimal(1)))
    return rows | {
        "assessment_items": [
            row | ({"initial_score": None, "full_score": str(MOST_ADDED)} if row["id"] in additions else {})
            for row in rows["assessment_items"]
        ],
        "scores": scores,
        "grades": [
            row | _suggested("sum", item_points[row["source_id"], row["owner_id"]]) for row in rows["grades"]
        ],
    }


@pytest.fixture(scope="module")
def rows() -> dict[int, Rows]:
    return {SHARES: _rows("share"), SUMS: _rows("sum"), DEDUCTIONS: _deductions()}


@pytest.fixture(scope="module")
def schools(build: Builder, tmp_path_factory: pytest.TempPathFactory, rows: dict[int, Rows]) -> Build:
    file = tmp_path_factory.mktemp("sums") / "schools.duckdb"
    create_raw(file, {})
    for school_id, own in rows.items():
        fill(file, school_id, own)
    built = build("sums", file)
    assert built.problems == {}
    return built


def test_the_platforms_own_scores_show_that_it_sums(schools: Build) -> None:
    shown = schools.rows(
        "select school_id, left(rule, 3), count_if(not is_as_suggested) from core.fct_grade_by_items"
        " group by all order by all"
    )
    assert shown == [(SHARES, "sha", 0), (SUMS, "sum", 0), (DEDUCTIONS, "sum", 0)]


def test_deductions_without_initial_points_are_negative(schools: Build, rows: dict[int, Rows]) -> None:
    sums = _item_sums(rows[DEDUCTIONS]["scores"])
    assert min(sums.values()) < 0 < max(sums.values()) == MOST_ADDED
    made = schools.rows(
        "select assessment_item_id, student_id, score from core.fct_item_score"
        f" where school_id = {DEDUCTIONS} and score_source = 'raw'"
    )
    assert {(item, student): score for item, student, score in made} == sums


def test_missing_scores_are_zeros_of_sums_alone(schools: Build, rows: dict[int, Rows]) -> None:
    mart = schools.rows(
        "select school_id, semester_id, student_id, missing, missing_as_zero"
        " from marts.score_student_semester"
    )
    for school_id, own in rows.items():
        missing = _missing(own)
        mine = {
            (semester, student): counts for school, semester, student, *counts in mart if school == school_id
        }
        assert missing.keys() <= mine.keys()
        as_zero = missing if school_id != SHARES else Counter[Student]()
        assert mine == {key: [missing[key], as_zero[key]] for key in mine}


def test_areas_that_share_their_cause_are_one(schools: Build, rows: dict[int, Rows]) -> None:
    mart = schools.rows(
        "select school_id, semester_id, student_id, level, warning_areas from marts.early_warning"
    )
    marts = {tuple(row[:3]): tuple(row[3:]) for row in mart}
    raised = _raised(schools)
    computed = {key: _level(levels, _zeros(rows, *key)) for key, levels in raised.items()}
    assert {key: marts[key] for key in computed} == computed
    assert not any(areas for key, (_, areas) in marts.items() if key not in computed)
    # One cause, which would be two areas: so it is where the platform takes shares.
    both = {key for key, levels in raised.items() if {"missing_rate", "score_rate"} <= levels.keys()}
    assert any(key[0] == SUMS and computed[key][1] == 1 for key in both)


def test_what_decides_is_decided_by_the_same_areas(schools: Build, rows: dict[int, Rows]) -> None:
    decided: Counter[tuple[int, int, str, str]] = Counter()
    left = {
        tuple(row)
        for row in schools.rows(
            "select school_id, semester_id, student_id from marts.early_warning where has_left"
        )
    }
    for key, levels in _raised(schools).items():
        zeros = _zeros(rows, *key)
        if key in left or _level(levels, zeros)[0] not in RAISED:
            continue
        for indicator, level in levels.items():
            others = {name: other_level for name, other_level in levels.items() if name != indicator}
            if _level(others, zeros)[0] not in RAISED:
                decided[key[0], key[1], indicator, level] += 1
    rule_counts = schools.rows(
        "select school_id, semester_id, indicator, level, deciding from marts.early_warning_rule_counts"
        " where level in ('at_risk', 'warning')"
    )
    assert {tuple(row[:4]): row[4] for row in rule_counts} == {
        tuple(row[:4]): decided[tuple(row[:4])] for row in rule_counts
    }


def _raised(schools: Build) -> dict[tuple[int, int, int], dict[str, str]]:
    """The indicators of each student that raise a level."""
    raised: dict[tuple[int, int, int], dict[str, str]] = defaultdict(dict)
    for school_id, semester_id, student_id, indicator, level in schools.rows(
        "select school_id, semester_id, student_id, indicator, level from marts.early_warning_indicator"
        " where level in ('at_risk', 'warning')"
    ):
        raised[school_id, semester_id, student_id][indicator] = level
    return raised


def _level(levels: dict[str, str], zeros: int) -> tuple[str, int]:
    """The level that some raised indicators make, and of how many areas they are."""
    areas = {AREAS.get(name, "grades" if zeros else "behaviour") for name in levels}
    if "at_risk" in levels.values():
        return "at_risk", len(areas)
    is_warning = len(areas) > 1 or not SUFFICIENT.isdisjoint(levels)
    return "warning" if is_warning else "watch", len(areas)


def _zeros(rows: dict[int, Rows], school_id: int, semester_id: int, student_id: int) -> int:
    return _missing(rows[school_id])[semester_id, student_id] if school_id != SHARES else 0


def _missing(rows: Rows) -> Counter[Student]:
    """By semester and student the items that have begun of which a member of the class has no score. Items of
    additions are left out: nobody has to be given any."""
    items = rows["assessment_items"]
    out = {row["pid"] for row in items} | {row["id"] for row in items if row["scoring_type"] == "addition"}
    assessments = {row["id"]: row for row in rows["assessments"]}
    members = {
        (row["class_id"], row["reflection_id"])
        for row in rows["class_members"]
        if row["type"] == "student" and row["deleted_at"] is None
    }
    own = [row for row in rows["scores"] if row["type"] == "item_score" and row["item_id"] not in out]
    begun = {row["item_id"] for row in own if row["score"] is not None}
    missing: Counter[Student] = Counter()
    for row in own:
        assessment = assessments[row["assessment_id"]]
        is_missing = row["score"] is None and row["valid"] and row["item_id"] in begun
        if is_missing and (assessment["class_id"], row["owner_id"]) in members:
            missing[assessment["semester_id"], row["owner_id"]] += 1
    return missing
