"""Nights that ask for what changed: whatever happened to the rows, and however the platform takes that."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.kits.cases import the_rest_slow
from tests.kits.worlds.world import World, differences

Options = dict[str, Any]

ASKED = ("classes", "class_members", "grades")
LOADED = {*ASKED, "assessments"}
SELECTED = " or ".join(f'key:"raw/{name}"' for name in sorted(LOADED))
FIRST, SECOND = 10101, 10102

# How the platform takes the question, and which resources can then be read by their changes.
PLATFORMS: list[tuple[Options, tuple[str, ...] | None]] = [
    ({}, ASKED),
    # Here it hangs on whether the latest row is alone on its day.
    ({"updated_filter": "day"}, None),
    ({"updated_filter": "422"}, ()),
    ({"updated_filter": "after"}, ASKED),
    ({"member_class_id": "present", "deleted_at": "all"}, ASKED),
    ({"deleted_at": "none"}, ASKED),
    ({"with_trashed": "422"}, ASKED),
    ({"updated_filter": "utc"}, ()),
    ({"updated_filter": "400"}, ()),
    ({"ignored": ["updated_at_egt"]}, ()),
    ({"row_updates": "undated"}, ()),
    ({"pagination_headers": "absent"}, ()),
]


def in_part(load: Any) -> set[str]:
    """The resources of which no slice was read in full."""
    read = {name: [row["whole"] for row in load.log if row["resource"] == name] for name in ASKED}
    return {name for name, whole in read.items() if whole and not any(whole)}


def somewhere_in_part(load: Any) -> set[str]:
    """The resources of which a slice was not read in full."""
    return {row["resource"] for row in load.log if row["resource"] in ASKED and not row["whole"]}


def alive(world: World, resource: str, semester: int = FIRST) -> list[dict[str, Any]]:
    """Rows that the platform shows of a semester."""
    rows = world.platform.rows(resource, 101, semester_id=semester)
    return [entry for entry in rows if not entry["trashed"]]


def night(world: World) -> Any:
    load = world.load(select=SELECTED)
    assert load.problems == []
    # What changed is less than the platform counts, and nothing to warn of.
    assert {row["status"] for row in load.log} == {"ok"}, [row["message"] for row in load.log]
    assert differing(world) == {}
    return load


def differing(world: World) -> dict[str, str]:
    """Where the tables that are loaded are not what the platform's rows are."""
    return differences(world, LOADED)


@pytest.mark.parametrize(
    ("options", "capable"), the_rest_slow(3, PLATFORMS), ids=[str(options) for options, _ in PLATFORMS]
)
def test_after_each_night_the_tables_equal_the_platform(
    make_world: Callable[..., World], options: Options, capable: tuple[str, ...] | None
) -> None:
    world = make_world("two_semesters", **options)
    platform = world.platform
    assert world.load(select=SELECTED).problems == []
    # Where no change can be asked for, all nights below show it, the last one with nothing changed.
    if capable != ():
        incremental = in_part(night(world))
        assert capable is None or incremental == set(capable)

    # Rows change and go to the recycle bin, and a class comes.
    grades, members, classes = (alive(world, name) for name in ("grades", "class_members", "classes"))
    platform.update("grades", grades[0]["key"], score="1", real_score="1")
    platform.update("classes", classes[0]["key"], name="改名")
    platform.update("class_members", members[0]["key"], class_together=True)
    platform.delete("class_members", members[1]["key"])
    platform.delete("classes", classes[1]["key"])
    passing = platform.insert("classes", FIRST, name="空")["key"]
    changed = [night(world)]

    # They come back, and as many come as go for good.
    platform.restore("class_members", members[1]["key"])
    platform.restore("classes", classes[1]["key"])
    for name, gone in (
        ("grades", grades[2]["key"]),
        ("class_members", members[2]["key"]),
        ("classes", passing),
    ):
        platform.destroy(name, gone)
        platform.insert(name, alive(world, name)[-1]["parent"])
    changed.append(night(world))

    # A grade moves to another class, one to another semester, and one is gone.
    first, second, third, *_, last = alive(world, "grades")
    for gone, to in ((first, last), (second, alive(world, "grades", SECOND)[-1])):
        platform.destroy("grades", gone["key"])
        row = {name: value for name, value in gone["row"].items() if name != "updated_at"}
        row |= {"source_id": to["row"]["source_id"], "semester_id": to["row"]["semester_id"]}
        platform.insert("grades", to["parent"], **row)
    platform.destroy("grades", third["key"])
    changed.append(night(world))
    # Classes whose members moved are read again by their ids.
    expected = {"classes", *(capable or ())}
    assert capable is None or set().union(*map(somewhere_in_part, changed)) <= expected
    incremental = in_part(night(world))
    assert capable is None or incremental == set(capable)


@pytest.fixture(scope="module")
def synced(load_world: Callable[..., World]) -> World:
    """A small school that has been loaded once."""
    return load_world("small", select=SELECTED)


def test_what_changes_without_a_date_shows_when_all_is_read(synced: World) -> None:
    world = synced
    world.platform.update("grades", alive(world, "grades")[0]["key"], touch=False, level="Z")
    assert world.load(select=SELECTED).problems == []
    assert differing(world).keys() == {"grades"}
    load = world.load(select=SELECTED, full=True)
    assert in_part(load) == set()
    assert differing(world) == {}


def test_an_interrupted_night_and_rows_in_quarantine_are_made_good(synced: World) -> None:
    world, platform = synced, synced.platform
    grades = alive(world, "grades")
    platform.update("grades", grades[0]["key"], score="1", real_score="1")
    platform.set_faults({"kind": "status", "status": 500, "path": "/api/v3/class-assessment/class/grades"})
    assert world.load(select=SELECTED).problems
    platform.set_faults()
    assert differing(world).keys() == {"grades"}
    night(world)

    key = grades[1]["key"]
    platform.update("grades", key, id="one hundred", score="2", real_score="2")
    for _ in range(2):
        load = world.load(select=SELECTED)
        assert [row["quarantined"] for row in load.log if row["resource"] == "grades"] == [1]
        assert "grades" not in in_part(load)
    platform.update("grades", key, id=key)
    night(world)
    assert in_part(night(world)) == set(ASKED)


def test_a_change_that_could_not_be_logged_is_logged_by_the_next_sync(
    synced: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows are committed by then, and the next sync finds nothing new of them."""
    world = synced
    key = alive(world, "grades")[-1]["key"]
    world.platform.update("grades", key, score="3", real_score="3")

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("warehouse.load.history.change_log.append", full)
        assert world.load(select=SELECTED).problems
    assert differing(world) == {}
    night(world)
    logged = [row for row in world.log("changes") if row["key"] == str(key) and row["field"] == "score"]
    assert [row["after"] for row in logged] == ["3"]


def test_all_is_read_again_after_so_many_days(synced: World) -> None:
    world = synced
    options = world.settings.options
    daily = options.model_copy(
        update={"incremental": options.incremental.model_copy(update={"whole_days": 0})}
    )
    assert in_part(world.load(select=SELECTED)) == set(ASKED)
    assert in_part(world.load(select=SELECTED, options=daily)) == set()
