"""A day's news of a platform, of all kinds."""

import uuid
from datetime import UTC, datetime
from pathlib import Path

from campus.push.message import Push, PushedEvent
from loading.pushes.inbox import open_inbox
from tests.kits.worlds.world import World

SCHOOL = 101


def something_new(world: World) -> dict[str, list[int]]:
    """Change, add and delete rows, and let a day pass; the keys of what was updated, by resource."""
    platform = world.platform
    keys = {
        name: [entry["key"] for entry in platform.rows(name, SCHOOL) if not entry["trashed"]]
        for name in ("teachers", "scores", "grades")
    }
    for key in keys["teachers"]:
        platform.update("teachers", key, name="新名")
    platform.insert("students", SCHOOL)
    platform.update("scores", keys["scores"][0], review="改")
    platform.destroy("scores", keys["scores"][1])
    platform.update("grades", keys["grades"][0], level="U")
    platform.let_days_pass(1)
    return {
        "teachers": keys["teachers"],
        "students": [],
        "scores": keys["scores"][:2],
        "grades": keys["grades"][:1],
    }


def push(home: Path, resource: str, keys: list[int]) -> None:
    """A push in the inbox, as the receiver keeps it."""
    message = Push(str(uuid.uuid4()), resource, datetime.now(UTC), (PushedEvent("updated", tuple(keys)),))
    with open_inbox(home) as inbox:
        inbox.add(SCHOOL, message, 1000)
