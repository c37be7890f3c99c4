"""A platform that misbehaves: the tables are exactly right, or the sync says which slice is not and why."""

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import pytest

from tests.kits.cases import the_rest_slow
from tests.kits.worlds.world import Load, World, differences

PAUSE = 0.02  # seconds, so that a whole sync of slow answers is still a short one
# Two kinds a sync, each told in the platform's log by its status and kind.
FAULTS: list[list[dict[str, Any]]] = [
    [{"kind": "status", "status": 500}, {"kind": "status", "status": 429, "retry_after": PAUSE}],
    [{"kind": "status", "status": 503, "retry_after": 0, "retry_after_form": "date"}, {"kind": "html"}],
    [{"kind": "reset"}, {"kind": "truncated"}],
    # Three tokens in a row, revoked before their first use, are told as a refusal: that has to be rare here.
    [{"kind": "slow", "seconds": PAUSE}, {"kind": "revoked", "probability": 0.02}],
]
MOVES = ("shrink", "grow", "balanced")


def _name(fault: dict[str, Any]) -> str:
    return str(fault.get("status", fault["kind"]))


@pytest.fixture(scope="module")
def paged(make_world: Callable[..., World]) -> World:
    """A platform that lists everything in small pages, synced once."""
    world = make_world(datasets=False, unpaged="refused", max_per_page=20, students=12)
    assert world.load().problems == []
    return world


def something_new(world: World) -> None:
    """Let the platform change in all the ways that a sync must see."""
    students = [entry["key"] for entry in world.platform.rows("students", 101) if not entry["trashed"]]
    scores = [entry["key"] for entry in world.platform.rows("scores", 101) if not entry["trashed"]]
    world.platform.insert("students", 101)
    world.platform.destroy("students", students[0])
    world.platform.update("scores", scores[0], review=f"seen {world.platform.rows('schools', 0)[0]['key']}")
    world.platform.destroy("scores", scores[1])


@pytest.mark.parametrize(
    "faults", the_rest_slow(2, FAULTS), ids=lambda faults: " and ".join(map(_name, faults))
)
def test_a_moderate_rate_of_faults_changes_nothing(paged: World, faults: list[dict[str, Any]]) -> None:
    something_new(paged)
    paged.platform.clear_log()
    paged.platform.set_faults(*({"probability": 0.05, **fault} for fault in faults))
    load = paged.load()
    paged.platform.set_faults()
    struck = {entry["fault"] for entry in paged.platform.log()}
    assert struck >= {fault["kind"] for fault in faults}, "a fault has not been tried"
    assert load.problems == []
    assert differences(paged) == {}


def moving(world: World, **fault: Any) -> Load:
    """A load while rows of one list come and go on pages already sent."""
    world.platform.clear_log()
    everywhere = {"kind": "moving", "path": "/api/v3/reflection/reflections"}
    world.platform.set_faults(*({**everywhere, "change": change, **fault} for change in MOVES))
    load = world.load()
    world.platform.set_faults()
    assert [entry for entry in world.platform.log() if entry["fault"]], "nothing has moved"
    return load


def test_rows_that_move_and_stand_still_again(paged: World) -> None:
    assert moving(paged, probability=0.4, times=1).problems == []
    assert differences(paged) == {}


def test_rows_that_never_stand_still_are_told_and_right_after_the_next_sync(paged: World) -> None:
    [problem] = moving(paged, change="grow").problems
    assert "reflections 101" in problem and "sync again" in problem
    assert paged.load().problems == []
    assert differences(paged) == {}


def test_a_class_that_always_fails_is_named_and_keeps_its_rows(paged: World) -> None:
    something_new(paged)
    score = next(entry for entry in paged.platform.rows("scores", 101) if not entry["trashed"])
    before = paged.row("scores", score["key"])
    paged.platform.update("scores", score["key"], review="not to be read")
    path = f"/api/v3/class-assessment/items/{score['parent']}/scores"
    paged.platform.set_faults({"kind": "status", "status": 500, "path": path})
    load = paged.load()
    paged.platform.set_faults()
    [problem] = load.problems
    assert "scores 101" in problem and str(score["parent"]) in problem
    assert paged.row("scores", score["key"]) == before
    assert differences(paged).keys() == {"scores"}, "students and grades are loaded all the same"

    assert paged.load().problems == []
    assert differences(paged) == {}


@pytest.mark.parametrize("seconds", the_rest_slow(1, [-3600, 3600]), ids=["behind", "ahead"])
def test_nights_of_a_platform_whose_clock_is_an_hour_off(
    make_world: Callable[..., World], seconds: int
) -> None:
    """Rows are asked for by the moment of their last change, which is the platform's."""
    world = make_world(
        datasets=False, students=8, today=date.today() - timedelta(days=2), clock_ahead=seconds
    )
    assert world.load().problems == []
    for review in ("first", "second"):
        something_new(world)
        changed = next(entry for entry in world.platform.rows("grades", 101) if not entry["trashed"])
        world.platform.update("grades", changed["key"], review=review)
        load = world.load()
        assert load.problems == [] and differences(world) == {}
    assert not load.entry("grades")["whole"], "it is asked for by its changes"
