"""Scores of a semester that is over are asked for where a grade, an item or an assessment has moved."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.kits.worlds.world import World, differences

NAMES = ("classes", "assessments", "assessment_items", "scores", "grades")
SELECTED = " or ".join(f'key:"raw/{name}"' for name in NAMES)
OVER, CURRENT = 10101, 10102


@pytest.fixture(scope="module")
def loaded(load_world: Callable[..., World]) -> World:
    """A school of two semesters that has been loaded once."""
    return load_world("two_semesters", select=SELECTED)


def night(world: World, **options: Any) -> dict[int, set[int]]:
    """Load again; the items of either semester whose scores were asked for."""
    world.platform.clear_log()
    load = world.load(select=SELECTED, **options)
    assert load.problems == []
    assert {row["status"] for row in load.log} == {"ok"}, [row["message"] for row in load.log]
    paths = (entry["path"].split("/") for entry in world.platform.log())
    item_ids = {int(parts[-2]) for parts in paths if parts[-3:-2] == ["items"] and parts[-1] == "scores"}
    return {semester: item_ids & items(world, semester) for semester in (OVER, CURRENT)}


def items(world: World, semester: int) -> set[int]:
    rows = world.platform.rows("assessment_items", 101, semester_id=semester)
    return {entry["key"] for entry in rows if not entry["trashed"]}


def scores(world: World, semester: int) -> list[dict[str, Any]]:
    return world.platform.rows("scores", 101, semester_id=semester)


def grade_of(world: World, score: dict[str, Any], semester: int = OVER) -> int:
    """The grade that a score is part of."""
    [grade] = [
        entry["key"]
        for entry in world.platform.rows("grades", 101, semester_id=semester)
        if entry["row"]["source_id"] == score["row"]["assessment_id"]
        and entry["row"]["owner_id"] == score["row"]["owner_id"]
    ]
    return int(grade)


def of_assessment(world: World, score: dict[str, Any], semester: int = OVER) -> set[int]:
    rows = world.platform.rows("assessment_items", 101, semester_id=semester)
    return {entry["key"] for entry in rows if entry["row"]["assessment_id"] == score["row"]["assessment_id"]}


def differing(world: World) -> set[str]:
    return {name for name in differences(world) if name in NAMES}


def test_what_has_not_moved_is_not_asked_for(loaded: World) -> None:
    requested = night(loaded)
    assert (requested[OVER], requested[CURRENT]) == (set(), items(loaded, CURRENT))
    assert differing(loaded) == set()


def test_a_score_that_moves_its_grade_is_read_with_its_assessment(loaded: World) -> None:
    changed, gone = scores(loaded, OVER)[:2]
    loaded.platform.update("scores", changed["key"], score="1")
    loaded.platform.destroy("scores", gone["key"])
    for score in (changed, gone):
        loaded.platform.update("grades", grade_of(loaded, score), suggest_score="1")
    requested = night(loaded)
    assert requested[OVER] == of_assessment(loaded, changed) | of_assessment(loaded, gone)
    assert differing(loaded) == set()


def test_the_scores_of_an_item_that_is_gone_are_gone(loaded: World) -> None:
    last = scores(loaded, OVER)[-1]
    loaded.platform.destroy("assessment_items", last["row"]["item_id"])
    requested = night(loaded)
    assert requested[OVER] == of_assessment(loaded, last)
    assert differing(loaded) == set()


def test_what_moves_no_grade_shows_when_all_is_read(loaded: World) -> None:
    quiet = scores(loaded, OVER)[len(scores(loaded, OVER)) // 2]
    loaded.platform.update("scores", quiet["key"], review="补记")
    current = scores(loaded, CURRENT)[0]
    loaded.platform.update("scores", current["key"], review="补记")
    night(loaded)
    assert differing(loaded) == {"scores"}
    assert night(loaded, full=True)[OVER] == items(loaded, OVER)
    assert differing(loaded) == set()
    assert night(loaded)[OVER] == set()


def test_an_assessment_without_a_grade_is_read_each_night(loaded: World) -> None:
    first = scores(loaded, OVER)[0]
    for entry in loaded.platform.rows("grades", 101, semester_id=OVER):
        if entry["row"]["source_id"] == first["row"]["assessment_id"]:
            loaded.platform.destroy("grades", entry["key"])
    night(loaded)
    loaded.platform.update("scores", first["key"], review="再补")
    assert night(loaded)[OVER] >= of_assessment(loaded, first)
    assert differing(loaded) == set()


def test_scores_of_the_current_semester_are_asked_for_by_moves_where_that_is_set(loaded: World) -> None:
    incremental = loaded.settings.options.incremental.model_copy(update={"current_scores": "where_moved"})
    options = loaded.settings.options.model_copy(update={"incremental": incremental})
    night(loaded)
    assert night(loaded, options=options)[CURRENT] == set()
    changed, quiet = scores(loaded, CURRENT)[0], scores(loaded, CURRENT)[-1]
    loaded.platform.update("scores", changed["key"], score="2")
    loaded.platform.update("grades", grade_of(loaded, changed, CURRENT), suggest_score="2")
    assert night(loaded, options=options)[CURRENT] == of_assessment(loaded, changed, CURRENT)
    assert differing(loaded) == set()
    loaded.platform.update("scores", quiet["key"], review="又补")
    night(loaded, options=options)
    assert differing(loaded) == {"scores"}
    assert night(loaded)[CURRENT] == items(loaded, CURRENT)
    assert differing(loaded) == set()


def test_scores_alone_are_read_in_full(loaded: World) -> None:
    loaded.platform.clear_log()
    load = loaded.load(select='key:"raw/scores"')
    assert load.problems == []
    assert {row["whole"] for row in load.log if row["resource"] == "scores"} == {True}
