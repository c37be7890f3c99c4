"""Students who have left a school whose platform hides their attendance: expected nowhere, ranked nowhere."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import duckdb
import pytest

from campus.registry import RESOURCES
from tests.kits.worlds.world import World

SCHOOL = 101
LOADED = 'group:"base_data" or group:"v1" or group:"attendance"'


@pytest.fixture(scope="module")
def school(make_world: Callable[..., World]) -> World:
    world = make_world("small", left_attendance="hidden", deleted_at="all")
    for entry in world.platform.rows("students", SCHOOL)[:2]:
        for resource in ("students", "reflections"):
            world.platform.delete(resource, entry["key"])
    assert not world.load(select=LOADED).problems
    assert not world.publish().problem
    return world


@pytest.fixture(scope="module")
def whole(make_world: Callable[..., World]) -> Counter[int]:
    """Records of attendance by student, of a school that somebody has left."""
    return _loaded(_left_by_one(make_world))


@pytest.mark.parametrize("refused", ["students", "class_members"])
def test_their_attendance_is_read_where_nobody_tells_who_left(
    make_world: Callable[..., World], whole: Counter[int], refused: str
) -> None:
    """The first load of students, or of members, fails: sessions show who left."""
    world = _left_by_one(make_world)
    world.platform.set_faults({"kind": "status", "status": 403, "path": RESOURCES[refused].path})
    records = _loaded(world)
    assert {row["resource"] for row in world.log("load_log") if row["status"] == "failed"} == {refused}
    assert records == whole


def _left_by_one(make_world: Callable[..., World]) -> World:
    world = make_world("new_term")
    [entry, *_] = world.platform.rows("students", SCHOOL)
    for resource in ("students", "reflections"):
        world.platform.delete(resource, entry["key"])
    return world


def _loaded(world: World) -> Counter[int]:
    world.load(select=LOADED)
    return Counter(row["student_id"] for row in world.held("attendance_records"))


def rows(world: World, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(world.settings.published), read_only=True) as connection:
        return connection.execute(query).fetchall()


def test_nothing_is_expected_of_them(school: World) -> None:
    left = {entry["key"] for entry in school.platform.rows("students", SCHOOL) if entry["trashed"]}
    assert len(left) >= 2
    classes = "SELECT DISTINCT student_id, is_expected FROM core.bridge_class_student"
    assert {student for student, is_expected in rows(school, classes) if not is_expected} == left
    students = "SELECT student_id, expected FROM marts.attendance_student_semester WHERE expected > 0"
    expected = dict(rows(school, students))
    assert expected
    assert not left & expected.keys()


def test_who_stayed_is_ranked_among_those_who_stayed(school: World) -> None:
    graded = rows(
        school,
        "SELECT has_left, population, rank_in_cohort IS NULL, z_score_in_cohort IS NULL, count(*)"
        " FROM marts.grade_student_semester WHERE weighted_mean IS NOT NULL GROUP BY ALL ORDER BY ALL",
    )
    assert [row[:4] for row in graded] == [
        (False, "current", False, False),
        (True, "current", True, True),
    ]
    sizes = rows(
        school,
        "SELECT cohort_size, count(*) FILTER (WHERE NOT has_left) FROM marts.grade_student_semester"
        " WHERE weighted_mean IS NOT NULL GROUP BY semester_id, cohort_id, cohort_size",
    )
    assert all(size == ranked for size, ranked in sizes)
