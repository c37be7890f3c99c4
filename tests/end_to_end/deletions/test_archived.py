"""What is archived is no deletion, whichever lists show it and however a status is spelt."""

from collections.abc import Callable
from typing import Any

import pytest

from pipelines.settings.options import Options
from tests.kits.cases import the_rest_slow
from tests.kits.worlds.world import World

SCHOOL = 101
PLATFORM = {"students": 160}
HIDDEN = "hidden_by_default"
# How a platform hides archived classes; test_hidden_rows.py has more.
HIDING: list[dict[str, Any]] = [
    {"archived": "by_status", "admin_class_status": "numbers", "unknown_status": "ignored"},
    {"archived": "by_id", "admin_class_status": "own", "unknown_status": "500"},
]


@pytest.mark.parametrize("hiding", the_rest_slow(2, HIDING), ids=str)
def test_a_class_that_is_archived_stays_alive(
    hiding: dict[str, Any], make_world: Callable[..., World]
) -> None:
    school = make_world("small", **PLATFORM, **hiding)
    options = Options.model_validate({"platform": {"max_attempts": 2}})
    load(school, options)
    active, gone, *_ = (row["key"] for row in school.platform.rows("admin_classes", SCHOOL))
    sent = school.platform.update("admin_classes", active, status="archived")["row"]
    school.platform.destroy("admin_classes", gone)
    load(school, options)
    archived, deleted = school.row("admin_classes", active), school.row("admin_classes", gone)
    assert (archived["_deleted_at"], archived["status"]) == (None, str(sent["status"]))
    assert archived["students"]
    assert deleted["_deleted_at"] is not None
    drifted_fields = {row["field"] for row in school.log("drift") if row["kind"] == HIDDEN}
    assert drifted_fields & {"status", "id_in"}
    load(school, options)
    assert school.row("admin_classes", active) == archived


def load(school: World, options: Options) -> None:
    loaded = school.load(select='key:"raw/admin_classes"', options=options)
    assert loaded.problems == []


def test_structures_and_users_that_are_archived_stay_alive(make_world: Callable[..., World]) -> None:
    hiding = {"archived": "by_status", "left_users": "archived"}
    school = make_world("small", **hiding)
    both = 'key:"raw/structures" or key:"raw/v1_users"'
    assert school.load(select=both).problems == []
    structure = school.platform.rows("structures", SCHOOL)[0]["key"]
    school.platform.update("structures", structure, status="archived")
    user = school.platform.rows("students", SCHOOL)[0]["key"]
    school.platform.update("reflections", user, status="archived")
    assert school.load(select=both).problems == []
    for resource, key in (("structures", structure), ("v1_users", user)):
        row = school.row(resource, key)
        assert (row["_deleted_at"], row["status"]) == (
            None,
            "archived" if resource == "structures" else 2,
        )
    assert not [row for row in school.held("structures", alive=False) if row["_deleted_at"]]


def test_a_spelling_that_settings_name_brings_back_what_was_taken_for_deleted(
    make_world: Callable[..., World],
) -> None:
    school = make_world("small", **PLATFORM, archived="by_status", admin_class_status="own")
    key = school.platform.rows("admin_classes", SCHOOL)[0]["key"]
    load(school, Options())
    school.platform.update("admin_classes", key, status="archived")
    load(school, Options())
    assert school.row("admin_classes", key)["_deleted_at"] is not None
    load(school, Options.model_validate({"platform": {"archived_statuses": ["off"]}}))
    row = school.row("admin_classes", key)
    assert (row["_deleted_at"], row["status"]) == (None, "off")
