"""The made-up school holds together, whatever its size and seed."""

from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.resources import SOURCES
from simulator.school.calendar import semesters
from simulator.school.points import min_ranks, ratio, text
from simulator.school.rows import KEYS, Row
from simulator.settings import Size
from simulator.store.store import Store

SCHOOL = 101
sizes = st.builds(
    Size,
    schools=st.just(2),
    students=st.integers(1, 90),
    semesters=st.integers(1, 3),
    seed=st.integers(0, 2**31),
    today=st.dates(date(2023, 1, 1), date(2026, 12, 31)),
)


def rows(store: Store, resource: str, school: int = SCHOOL) -> list[Row]:
    return [row for parent in store.parents(resource, school) for row in store.rows(resource, parent)]


def values(store: Store, resource: str) -> list[dict[str, Any]]:
    return [row.values for row in rows(store, resource)]


def ids(store: Store, resource: str) -> set[int]:
    return {row.key for row in rows(store, resource)}


@settings(max_examples=12, deadline=None)
@given(sizes)
def test_every_reference_leads_somewhere(size: Size) -> None:
    store = Store(SOURCES, size)
    people, terms, structures = (ids(store, r) for r in ("reflections", "terms", "structures"))
    classes, semester_ids = ids(store, "classes"), ids(store, "semesters")
    students, teachers = ids(store, "students"), ids(store, "teachers")
    admin_classes, assessments = ids(store, "admin_classes"), ids(store, "assessments")
    assert students | teachers < people
    for semester in values(store, "semesters"):
        assert {semester["academic_year_id"], semester["category_id"]} <= terms
    for term in values(store, "terms"):
        assert term["parent_id"] in terms | {0}
    for structure in values(store, "structures"):
        assert structure["graduates_in_id"] in terms | {None}
        path = [int(part) for part in structure["path"].split("/")]
        assert set(path) <= structures
        assert len(path) == structure["depth"]
        assert path[-2:] == [p for p in (structure["parent_id"], structure["id"]) if p]
    for admin_class in values(store, "admin_classes"):
        assert set(admin_class["teacher_ids"]) <= teachers
    for klass in values(store, "classes"):
        assert klass["semester_id"] in semester_ids
        assert set(klass["teachers"]) <= teachers
        assert set(klass["students"]) <= students
        assert set(klass["admin_class_ids"]) <= admin_classes
    for assessment in values(store, "assessments"):
        assert assessment["scope_id"] in classes
    for item in values(store, "assessment_items"):
        assert item["assessment_id"] in assessments
    for grade in values(store, "grades"):
        assert grade["source_id"] in assessments
        assert grade["owner_id"] in students


@settings(max_examples=8, deadline=None)
@given(sizes)
def test_ids_are_unique_and_schools_apart(size: Size) -> None:
    store = Store(SOURCES, size)
    for resource, source in SOURCES.items():
        if source.keys.parent == "platform":
            continue
        # What nobody changed is made anew whenever it is asked for, so once.
        below = {parent: store.rows(resource, parent) for parent in store.parents(resource, SCHOOL)}
        school_keys = [row.key for child_rows in below.values() for row in child_rows]
        there = [row.key for row in rows(store, resource, 102)]
        assert len(school_keys) == len(set(school_keys))
        assert not set(school_keys) & set(there)
        for parent, child_rows in below.items():
            assert all(source.keys.parent_of(row.key) == parent for row in child_rows)
            if source.sends_id:
                assert all(row.key == row.values["id"] for row in child_rows)


@settings(max_examples=8, deadline=None)
@given(sizes)
def test_nothing_happens_after_today_or_before_it_began(size: Size) -> None:
    store = Store(SOURCES, size)
    now = f"{size.today} 20:00:00"
    for resource in SOURCES:
        for row in rows(store, resource):
            assert row.updated_at < now
            created, updated = row.values.get("created_at"), row.values.get("updated_at")
            assert updated in (None, row.updated_at)
            assert created is None or created <= row.updated_at
            assert row.deleted_at is None or (created or "") <= row.deleted_at <= row.updated_at


@settings(max_examples=8, deadline=None)
@given(sizes)
def test_a_class_shows_its_live_members(size: Size) -> None:
    store = Store(SOURCES, size)
    for klass in rows(store, "classes"):
        live = [m for m in store.rows("class_members", klass.key) if m.deleted_at is None]
        assert [m.values["reflection_id"] for m in live if m.values["type"] == "student"] == klass.values[
            "students"
        ]
        assert klass.deleted_at is None or not live
        assert {g.values["owner_id"] for g in store.rows("grades", klass.key)} <= set(
            klass.values["students"]
        )


@settings(max_examples=8, deadline=None)
@given(sizes)
def test_people_are_the_same_wherever_they_stand(size: Size) -> None:
    store = Store(SOURCES, size)
    reflections = {row.key: row for row in rows(store, "reflections")}
    for row in rows(store, "students") + rows(store, "teachers"):
        reflection = reflections[row.key]
        assert row.deleted_at == reflection.deleted_at == reflection.values["deleted_at"]
        assert row.updated_at == reflection.updated_at
        for name in row.values.keys() & reflection.values.keys():
            assert row.values[name] == reflection.values[name]


@settings(max_examples=8, deadline=None)
@given(sizes)
def test_items_are_a_tree_of_one_to_three_levels(size: Size) -> None:
    store = Store(SOURCES, size)
    for assessment in rows(store, "assessments"):
        klass = KEYS["assessments"].parent_of(assessment.key)
        parents = {row.key: row.values["pid"] for row in store.rows("assessment_items", klass)}
        assert assessment.values["item_num"] == len(parents)
        for key in parents:
            depth = 1
            while parents[key]:
                key, depth = parents[key], depth + 1
            assert depth <= 3


@settings(max_examples=8, deadline=None)
@given(sizes)
def test_grades_follow_from_the_scores(size: Size) -> None:
    """The rules of the specification, computed here with decimals from what the platform would send."""
    store = Store(SOURCES, size)
    for klass in store.class_ids(store.semester_ids(SCHOOL)):
        items = {row.key: row.values for row in store.rows("assessment_items", klass)}
        scores = [
            s.values for key in items for s in store.rows("scores", key) if s.values["type"] == "item_score"
        ]
        for grade in (row.values for row in store.rows("grades", klass)):
            own = [
                s
                for s in scores
                if s["owner_id"] == grade["owner_id"] and s["valid"] and s["score"] is not None
            ]
            published = [s for s in own if items[s["item_id"]]["published_at"]]
            assert grade["suggest_score"] == percentage(own, items)
            assert grade["gained_score"] == percentage(published, items)
            assert grade["real_score"] == (grade["score"] or grade["suggest_score"])
            if grade["status"] == "published":
                assert grade["pass_status"] == ("passed" if Decimal(grade["real_score"]) >= 60 else "failed")
            assert (grade["published_at"] is None) == (grade["status"] in ("pending", "delayed"))


def percentage(scores: list[dict[str, Any]], items: dict[int, dict[str, Any]]) -> str | None:
    full = sum(Decimal(items[s["item_id"]]["full_score"]) for s in scores)
    if not full:
        return None
    share = sum(Decimal(s["score"]) for s in scores) / full * 100
    return f"{share.quantize(Decimal('0.01'), ROUND_HALF_UP).normalize():f}"


def test_scores_are_null_and_zero_and_decimal_and_invalid() -> None:
    store = Store(SOURCES, Size(students=240, schools=1))
    scores = values(store, "scores")
    texts = {score["score"] for score in scores}
    assert {None, "0"} <= texts
    assert any("." in t for t in texts if t)
    invalid = [score for score in scores if not score["valid"]]
    assert invalid
    assert all(score["invalid_reason"] for score in invalid)
    assert not any(score["invalid_reason"] for score in scores if score["valid"])
    assert {score["type"] for score in scores} == {"raw", "item_score"}
    assert all(score["evaluator_id"] is None for score in scores if score["type"] == "raw")
    assert any(score["review"] for score in scores)
    grades = values(store, "grades")
    assert {None, ""} < {grade["score"] for grade in grades}
    assert {grade["status"] for grade in grades} == {"pending", "published", "delayed", "passed"}


def test_a_big_school_has_what_a_school_has() -> None:
    store = Store(SOURCES, Size(schools=1, students=2000))
    members = len(rows(store, "class_members"))
    classes = len(rows(store, "classes"))
    assert 800 <= classes <= 1000
    assert 33 <= members / classes <= 45
    for resource in ("students", "teachers", "classes", "class_members"):
        assert any(row.deleted_at for row in rows(store, resource)), resource
    assert len(rows(store, "assessments")) < classes
    assert any(len(klass["admin_class_ids"]) > 1 for klass in values(store, "classes"))
    assert {s["type"] for s in values(store, "structures")} == {
        "headquarters",
        "campus",
        "school_level",
        "grade",
        "subject_group",
    }
    assert {t["type"] for t in values(store, "terms")} == {
        "system.graduates_in",
        "system.academic_year",
        "system.semester_category",
        "course.subject",
        "course.domain",
    }


@given(st.dates(date(2000, 1, 1), date(2099, 12, 31)), st.integers(1, 8))
def test_semesters_follow_each_other_up_to_today(today: date, count: int) -> None:
    terms = semesters(today, count)
    assert len(terms) == count
    assert [term.current for term in terms] == [False] * (count - 1) + [True]
    assert terms[-1].start <= today
    assert (today - terms[-1].start).days < 200
    assert all(previous.end < next_.start for previous, next_ in pairwise(terms))


@pytest.mark.parametrize(
    ("points", "expected"),
    [(None, None), (0, "0"), (850, "8.5"), (805, "8.05"), (-100, "-1"), (10_000, "100")],
)
def test_points_are_written_without_needless_zeros(points: int | None, expected: str | None) -> None:
    assert text(points) == expected


def test_ratio_rounds_halves_up_and_ranks_share_the_best_place() -> None:
    assert ratio(1, 8, 100) == 13  # 12.5
    assert ratio(1, 3, 100) == 33
    assert min_ranks([70, None, 90, 70, 10]) == [2, None, 1, 2, 4]
