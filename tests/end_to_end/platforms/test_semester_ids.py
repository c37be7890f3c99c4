"""Semesters that v1 and v3 know by other ids, or that only one of them shows: all load, and join in core."""

from collections.abc import Callable
from datetime import date
from typing import Any

import duckdb
import pytest

from assets.shared.partitions import SCHOOL_SEMESTERS, V1_SEMESTERS
from loading.partition_keys import partition_key
from loading.semesters import read_semesters
from pipelines.settings.options import SemesterOptions, SemesterPair
from simulator.readings import Readings
from simulator.resources import scopes
from tests.kits.cases import the_rest_slow
from tests.kits.worlds.world import EARLY, World

SCHOOL = 101
AUTUMN, SPRING = 10101, 10102
OTHER = 7_000_000
V1 = 'group:"v1"'
ATTENDED = " or ".join(
    (V1, 'group:"attendance"', *(f'key:"raw/{name}"' for name in ("students", "classes", "class_members")))
)
EVERYTHING = f'{ATTENDED} or group:"base_data"'
OF_SEMESTERS = 'key:"raw/classes" or key:"raw/v1_classes" or key:"raw/timetable_days"'


def keys(world: World, kind: Any) -> list[str]:
    return list(world.instance.get_dynamic_partitions(kind.name or ""))


def filed(world: World, name: str) -> set[tuple[int, int]]:
    """Of a table of v1 the semesters that its rows say, and the slices in which they are."""
    return {(row["semester_id"], row["_semester_id"]) for row in world.held(name)}


@pytest.mark.parametrize(
    ("readings", "by"),
    the_rest_slow(
        1,
        [
            (
                {
                    "v1_semester_ids": "other",
                    "v1_semester_days": "fewer",
                    "v1_semester_outer_id": "present",
                },
                ["outer_id", "overlap"],
            ),
            (
                {"v1_semester_ids": "shifted", "v1_semester_days": "absent", "v1_semester_names": "other"},
                ["name", "name"],
            ),
        ],
    ),
    ids=lambda value: " ".join(value.values()) if isinstance(value, dict) else "",
)
def test_v1_is_asked_by_its_own_ids_and_joins_v3(
    make_world: Callable[..., World], readings: dict[str, str], by: list[str]
) -> None:
    world = make_world("two_semesters", students=8, today=EARLY, **readings)
    shift = OTHER if readings["v1_semester_ids"] == "other" else 1
    assert world.load(select=ATTENDED).problems == []
    assert keys(world, SCHOOL_SEMESTERS) == [partition_key(SCHOOL, value) for value in (AUTUMN, SPRING)]
    own = [AUTUMN + shift, SPRING + shift]
    assert keys(world, V1_SEMESTERS) == [partition_key(SCHOOL, value) for value in own]
    for name in ("v1_classes", "timetable_days", "timetable_lessons", "attendance_sessions"):
        assert filed(world, name) == {(value, value) for value in own}, name
    pairs = read_semesters(world.lake, SCHOOL, {}).pairs
    assert [(pairs[value].v3, pairs[value].matched_by) for value in own] == [
        (AUTUMN, by[0]),
        (SPRING, by[1]),
    ]
    stored_ids = {row["id"] for row in world.held("attendance_records")}
    classes = {entry["key"] for entry in world.platform.rows("classes", SCHOOL) if not entry["trashed"]}
    true = {
        entry["key"]
        for entry in world.platform.rows("attendance_records", SCHOOL)
        if not entry["trashed"] and entry["row"]["class_id"] in classes
    }
    assert stored_ids == true, "the first days and the last ones, too"


@pytest.fixture(scope="module")
def published(make_world: Callable[..., World]) -> World:
    """Both interfaces with other ids, published: v1's 10102 is v3's 10101."""
    world = make_world("two_semesters", students=8, today=EARLY, v1_semester_ids="shifted")
    assert world.load(select=EVERYTHING).problems == []
    assert world.publish().problem is None
    return world


def rows(world: World, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(world.settings.published), read_only=True) as connection:
        return connection.execute(query).fetchall()


def test_core_has_the_ids_of_v3_and_tells_what_told_so(published: World) -> None:
    assert rows(published, "from core.bridge_v1_semester order by v1_semester_id") == [
        (
            SCHOOL,
            AUTUMN + 1,
            AUTUMN,
            "dates",
            "2024-2025学年上学期",
            date(2024, 9, 1),
            date(2025, 1, 20),
            False,
        ),
        (
            SCHOOL,
            SPRING + 1,
            SPRING,
            "dates",
            "2024-2025学年下学期",
            date(2025, 2, 17),
            date(2025, 7, 6),
            False,
        ),
    ]
    for table in ("dim_teaching_class", "fct_class_session", "fct_attendance", "dim_lesson", "fct_timetable"):
        assert rows(published, f"select distinct semester_id from core.{table} order by all") == [
            (AUTUMN,),
            (SPRING,),
        ], table
    assert rows(published, "select distinct semester_id from core.fct_transcript_course order by 1") == [
        (AUTUMN,),
        (SPRING,),
    ]
    assert rows(published, "from core.unmatched_v1") == []
    # The class of a session is of the semester in which it was.
    assert rows(
        published,
        "select count(*) from core.fct_class_session join core.dim_semester using (school_id, semester_id)"
        " where date not between first_day and last_day or teaching_weekdays is null",
    ) == [(0,)]
    [(both,)] = rows(
        published,
        "select count(*) from marts.early_warning where attendance_rate is not null and semester_id = 10102",
    )
    assert both


@pytest.mark.slow
def test_v1_loads_without_the_semesters_of_v3(make_world: Callable[..., World]) -> None:
    world = make_world(
        "two_semesters",
        students=8,
        today=EARLY,
        scopes=sorted(scopes(Readings()) - {"semester.read"}),
        v1_semester_ids="other",
        v1_scopes="each",
    )
    load = world.load(select=ATTENDED)
    assert {end.job: bool(end.problem) for end in load.ends} == {
        "discovery": True,
        "base_data": True,
        "v1": False,
        "attendance": False,
    }
    assert "semester.read" in load.problems[0]
    own = [AUTUMN + OTHER, SPRING + OTHER]
    assert keys(world, V1_SEMESTERS) == [partition_key(SCHOOL, semester_id) for semester_id in own]
    for name in ("v1_classes", "v1_class_students", "timetable_days", "attendance_records", "transcripts"):
        assert world.held(name), name
    assert world.held("students"), "what of v3 has no semesters"
    assert world.publish().problem is None
    assert rows(world, "select semester_id, is_current, week_count from core.dim_semester order by 1") == [
        (own[0], False, 22),
        (own[1], True, 20),
    ]
    assert rows(world, "select distinct semester_id from marts.attendance_student_semester order by 1") == [
        (own[0],),
        (own[1],),
    ]


def test_v3_loads_without_v1(make_world: Callable[..., World]) -> None:
    world = make_world(
        "two_semesters",
        students=8,
        today=EARLY,
        scopes=sorted(scopes(Readings()) - {"user.read"}),
        v1_scopes="user.read",
    )
    assert world.load().problems == [], "base data alone does not need v1"
    load = world.load(select=EVERYTHING)
    assert any("user.read" in problem for problem in load.problems)
    assert world.held("grades") and not world.held("v1_classes")
    assert keys(world, V1_SEMESTERS) == keys(world, SCHOOL_SEMESTERS)


def test_a_semester_whose_pair_is_not_clear_is_named_with_what_to_do(
    make_world: Callable[..., World],
) -> None:
    world = make_world("two_semesters", students=8, v1_semester_ids="other")
    # Two of either interface have the same days, and no name tells which is which.
    other = world.platform.insert(
        "semesters",
        SCHOOL,
        name="初中",
        start_at="2024-09-01 00:00:00",
        end_at="2025-01-20 00:00:00",
        outer_id=None,
        is_current=False,
    )["key"]
    for key, name in ((AUTUMN, "甲"), (other, "乙")):
        world.platform.update("v1_semesters", key, name=name)
    load = world.load(select=OF_SEMESTERS)
    assert load.problems
    message = "\n".join(load.problems)
    assert str(AUTUMN + OTHER) in message and "semesters.pairs" in message and "campus.yaml" in message
    pairs = (
        SemesterPair(school=SCHOOL, v1=AUTUMN + OTHER, v3=AUTUMN),
        SemesterPair(school=SCHOOL, v1=other + OTHER, v3=other),
    )
    options = world.settings.options.model_copy(update={"semesters": SemesterOptions(pairs=pairs)})
    assert world.load(select=OF_SEMESTERS, options=options).problems == []
    semesters = read_semesters(world.lake, SCHOOL, options.semesters.v3_ids)
    assert semesters.pairs[AUTUMN + OTHER].matched_by == "setting"
