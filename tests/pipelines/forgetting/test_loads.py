"""Loads and pushes after somebody was forgotten: the platform still sends the student, and nothing of it is
stored."""

import asyncio
import time
import uuid
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from sqlite3 import connect
from typing import Any

import pytest

from campus.http.client import Client
from campus.push.message import Push, PushedEvent
from campus.registry import BASE_DATA
from loading.pushes.drain import Drain, drain_due
from loading.pushes.inbox import inbox_path, open_inbox
from loading.tables import TABLES
from pipelines.resources import open_runtime
from tests.kits.leaks import leaks
from tests.kits.worlds.world import World
from warehouse.forgetting.forgotten import change, matcher_of, with_person
from warehouse.forgetting.identity import People
from warehouse.forgetting.surgery import forget_in_logs, forget_in_tables, purge
from warehouse.lake.logs.tables import LOGS, STANDINGS

SCHOOL = 101
NAME = "张=三😀"


@dataclass
class Forgotten:
    """A world whose student was just forgotten, and the rows that each table had before."""

    world: World
    student: int
    rows: dict[str, int]

    @property
    def leaks(self) -> list[str]:
        """Where the home names the student. Dagster's records are in memory here."""
        skip = [self.world.home / "lake" / "forgotten.json"]
        return leaks(self.world.home, {NAME}, {self.student}, skip)

    def counts(self) -> dict[str, int]:
        return {spec.name: len(self.world.held(spec.name)) for spec in BASE_DATA}


@pytest.fixture(scope="module")
def forgotten(make_world: Callable[..., World]) -> Forgotten:
    world = make_world("small")
    student = world.platform.rows("students", SCHOOL)[0]["key"]
    for resource in ("students", "reflections"):
        world.platform.update(resource, student, name=NAME)
    assert world.load().problems == []
    case = Forgotten(world, student, {})
    case.rows = case.counts()
    assert len(case.leaks) > 5
    lake = world.lake
    person, *_ = People(lake, SCHOOL, TABLES).find("student", student)
    change(lake, lambda before: with_person(before, SCHOOL, "student", person.marks, since="", choices={})[0])
    matcher = matcher_of(lake, SCHOOL)
    assert matcher is not None
    list(forget_in_tables(lake, TABLES.values(), SCHOOL, matcher, world.home / "scratch", apply=True))
    list(forget_in_logs(lake, TABLES, SCHOOL, matcher, apply=True))
    for table in (*TABLES.values(), *LOGS, STANDINGS):
        purge(lake, table)
    assert case.leaks == []
    return case


@pytest.mark.parametrize("full", [False, True])
def test_next_load_changes_nothing_and_balances(forgotten: Forgotten, full: bool) -> None:
    load = forgotten.world.load(full=full)
    assert load.problems == [] and forgotten.leaks == []
    assert {name: load.total(name) for name in ("new", "changed", "vanished", "returned", "deleted")} == (
        dict.fromkeys(("new", "changed", "vanished", "returned", "deleted"), 0)
    )
    assert forgotten.counts() == forgotten.rows
    assert all(row["agrees"] for row in forgotten.world.log("stated_counts"))


def test_news_of_the_student_load_without_the_student(forgotten: Forgotten) -> None:
    mine = next(
        entry
        for entry in forgotten.world.platform.rows("scores", SCHOOL)
        if entry["row"]["owner_id"] == forgotten.student
    )
    forgotten.world.platform.update("scores", mine["key"], score="1.5", review=f"{NAME} again")
    forgotten.world.platform.insert("students", SCHOOL, id="?", name=NAME)
    assert forgotten.world.load().total("changed") == 1
    row = forgotten.world.row("scores", mine["key"])
    assert (str(row["score"]).rstrip("0"), row["review"]) == ("1.5", None) and row["owner_id"] < 0
    assert [row["raw"] for row in forgotten.world.log("quarantine")] and forgotten.leaks == []


def test_drained_push_keeps_no_id(forgotten: Forgotten) -> None:
    events: list[tuple[str, list[Any]]] = [
        ("updated", [forgotten.student]),
        ("deleted", [{"id": forgotten.student}]),
    ]
    pushed = tuple(PushedEvent(op, tuple(keys)) for op, keys in events)
    with open_inbox(forgotten.world.home) as inbox:
        inbox.add(SCHOOL, Push(str(uuid.uuid4()), "students", datetime.now(UTC), pushed), 1000)
    asyncio.run(_drain(forgotten.world))
    with closing(connect(inbox_path(forgotten.world.home))) as connection:
        states = connection.execute("SELECT state FROM event").fetchall()
    assert states == [("done",)] * 2
    assert forgotten.leaks == [] and forgotten.counts()["students"] == forgotten.rows["students"]


async def _drain(world: World) -> None:
    with open_runtime(world.settings) as runtime, open_inbox(world.home) as inbox:
        async with Client(runtime.client, [spec.scopes for spec in BASE_DATA]) as client:
            await drain_due(
                Drain(runtime, client, inbox, SCHOOL, "run", lambda _: None, time.monotonic() + 100)
            )
