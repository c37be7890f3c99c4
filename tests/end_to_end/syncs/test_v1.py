"""The v1 interface in the lake: what is true of two schools, typed, whatever their custom fields are."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from campus.registry import V1_DATA
from loading.custom_fields import users_table
from tests.kits.truth.lake_truth import v1_by_key, v1_rows
from tests.kits.truth.v1_truth import Asked, Row, truth
from tests.kits.worlds.world import Load, World

DEVICES = ("pad-101-1", "pad-102-1")
CARDS = ("card-101000020", "nobody's")


@pytest.fixture(scope="module")
def district(make_world: Callable[..., World]) -> World:
    """Two schools with custom fields of their own, loaded once."""
    world = make_world("two_schools", students=8, core_subjects=8)
    [dorm_room] = [r for r in world.platform.rows("user_fields", 102) if r["row"]["name"] == "dormRoom"]
    world.platform.destroy("user_fields", dorm_room["key"])
    world.platform.insert("user_fields", 102, name="Bus", label="校车", role=1, type=1)
    for number, user in enumerate(world.platform.rows("v1_users", 102)):
        world.platform.update("v1_users", user["key"], Bus=f"{number} 路")
    assert load(world).problems == []
    return world


def load(world: World, **changes: Any) -> Load:
    settings = {"select": 'group:"v1"', "device_ids": DEVICES, "card_ids": CARDS}
    return world.load(**settings | changes)


def transcripts_asked(world: World, **options: Any) -> set[tuple[int, int]]:
    """The schools and students whose transcripts one more load asks for."""
    world.platform.clear_log()
    assert load(world, **options).problems == []
    paths = ((entry, entry["path"].split("/")) for entry in world.platform.log())
    return {(int(entry["school"]), int(parts[-2])) for entry, parts in paths if parts[-1] == "transcripts"}


def expected(world: World) -> dict[str, list[Row]]:
    """The rows of both schools, as the lake must hold them."""
    result: dict[str, list[Row]] = {spec.name: [] for spec in V1_DATA}
    with httpx.Client(base_url=world.platform.base_url, trust_env=False) as session:
        for school_id in (101, 102):
            school = Asked(world.platform, session, school_id, devices=DEVICES, cards=CARDS)
            for name, rows in truth(school).items():
                result[name] += [{**row, "_school_id": school_id} for row in rows]
    return result


def test_every_table_is_what_is_true(district: World) -> None:
    true = expected(district)
    assert true.keys() == {spec.name for spec in V1_DATA}
    for name, rows in true.items():
        assert rows, name
        assert v1_by_key(name, v1_rows(district, name)) == v1_by_key(name, rows)


def test_what_is_odd_in_v1_is_among_it(district: World) -> None:
    """So that the comparison with the truth is no comparison of nothing."""
    courses, classes = v1_rows(district, "transcript_courses"), v1_rows(district, "v1_classes")
    assert any(("abc", None) in row["evaluation"] and "-" in str(row["_extra"]) for row in courses)
    assert any(("abc", "A") in row["evaluation"] and row["published_at"] for row in courses)
    meetings = [meeting for row in classes for meeting in row["schedules"]]
    assert {meeting["day"] for meeting in meetings} >= {0, 1, 5}
    assert all(row["locations"] for row in classes) and any(row["teachers"] for row in classes)
    by_school = {row["_school_id"]: row for row in v1_rows(district, "v1_semesters")}
    assert (by_school[101]["lesson_names"], len(by_school[102]["lesson_names"])) == ([], 9)
    assert by_school[101]["lesson_days"] == [1, 2, 3, 4, 5]
    assert all(grade and year > 2000 for grade, year in by_school[101]["grade_maps"])
    assert {row["role"] for row in v1_rows(district, "v1_users")} == {1, 2, 8}
    minutes = v1_rows(district, "attendance_settings")[0]
    assert minutes["after_start_lated"] < minutes["after_start_stop"]


def test_each_school_has_its_own_fields_and_no_column_is_lost(district: World) -> None:
    columns = {column.name: column for column in users_table(district.lake).columns}
    assert {"boarding", "dormRoom", "remark", "title", "Bus"} <= columns.keys()
    assert columns["Bus"].comment == "Custom field: 校车" and columns["Bus"].personal
    assert columns["boarding"].comment == "Custom field: 走读/住校. One of 走读, 住校"
    users = v1_rows(district, "v1_users")
    assert {user["_school_id"] for user in users if user["Bus"]} == {102}
    assert {user["_school_id"] for user in users if user["dormRoom"]} == {101}


def test_an_unbound_device_or_card_has_a_state_of_its_own(district: World) -> None:
    devices = {(row["_school_id"], row["device_id"]): row for row in v1_rows(district, "devices")}
    assert [devices[101, device]["state"] for device in DEVICES] == ["bound", "unbound"]
    assert [devices[102, device]["state"] for device in DEVICES] == ["unbound", "bound"]
    assert devices[101, "pad-102-1"]["name"] is None and devices[101, "pad-101-1"]["name"]
    cards = {(row["_school_id"], row["card_id"]): row for row in v1_rows(district, "cards")}
    bound = cards[101, CARDS[0]]
    assert (bound["state"], bound["student_id"]) == ("bound", 101000020)
    assert {row["state"] for row in cards.values() if row is not bound} == {"unbound"}


def test_app_updates_are_asked_for_without_a_token(district: World) -> None:
    requests = [request for request in district.platform.log() if request["path"].endswith("/check-updates")]
    assert requests and {request["status"] for request in requests} == {200}
    [update] = {row["latest_version"] for row in v1_rows(district, "app_updates")}
    assert update.count(".") == 2


def test_a_second_sync_changes_nothing(district: World) -> None:
    before = district.versions()
    again = load(district)
    assert again.problems == []
    moved = {name for name in before if before[name] != district.versions()[name]}
    assert moved <= {"schools"}
    assert again.total("new") == again.total("changed") == again.total("vanished") == 0


def test_transcripts_may_rest_until_a_student_changes_or_all_is_read(district: World) -> None:
    incremental = district.settings.options.incremental.model_copy(update={"transcript_days": 3})
    options = district.settings.options.model_copy(update={"incremental": incremental})
    assert transcripts_asked(district, options=options) == set()
    pupil = next(row for row in district.platform.rows("v1_users", 102) if row["row"]["role"] == 1)
    district.platform.update("v1_users", pupil["key"], name="改名")
    assert {school for school, _ in transcripts_asked(district, options=options)} == {102}
    assert transcripts_asked(district, options=options) == set()
    schools = {school for school, _ in transcripts_asked(district, options=options, full=True)}
    assert schools == {101, 102} == {school for school, _ in transcripts_asked(district)}


def test_a_field_or_a_device_comes_goes_and_changes_and_no_value_is_lost(district: World) -> None:
    fields = {(r["row"]["name"], r["row"]["role"]): r for r in district.platform.rows("user_fields", 101)}
    before = {user["id"]: user for user in v1_rows(district, "v1_users")}
    someone = next(u for u in before.values() if u["boarding"] and u["_school_id"] == 101)
    district.platform.destroy("user_fields", fields["boarding", 1]["key"])
    district.platform.insert("user_fields", 101, name="club", label="社团", role=1, type=2, options=["合唱"])
    district.platform.update("user_fields", fields["title", 2]["key"], label="职务", type=1, options=None)
    district.platform.update("v1_users", someone["id"], club="合唱", boarding="走读", title="主任")
    select = 'key:"raw/user_fields" or key:"raw/v1_users" or key:"raw/devices"'
    assert load(district, select=select, device_ids=DEVICES[:1]).problems == []

    now = {user["id"]: user for user in v1_rows(district, "v1_users")}
    assert now.keys() == before.keys()
    assert now[someone["id"]]["club"] == "合唱"
    # No longer a field: what is sent is kept beside, and the column keeps what it had.
    assert now[someone["id"]]["_extra"]["boarding"] == "走读"
    assert {user_id: user["boarding"] for user_id, user in now.items()} == {
        user_id: user["boarding"] for user_id, user in before.items()
    }
    comments = {column.name: column.comment for column in users_table(district.lake).columns}
    assert comments["title"] == "Custom field: 职务, 职称. One of 一级, 二级, 高级, 正高级"
    assert comments["club"] == "Custom field: 社团. One of 合唱"
    assert v1_by_key("user_fields", v1_rows(district, "user_fields")) == v1_by_key(
        "user_fields", expected(district)["user_fields"]
    )
    assert {row["device_id"] for row in v1_rows(district, "devices")} == {DEVICES[0]}
    gone = [row for row in district.held("devices", alive=False) if row["device_id"] == DEVICES[1]]
    assert len(gone) == 2 and all(row["_deleted_at"] for row in gone)
