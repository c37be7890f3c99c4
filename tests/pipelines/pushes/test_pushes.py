"""Pushes drained into the lake: what is read for them, what that makes of the rows, what holds them up."""

import asyncio
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets.loads import BASE_DATA as BASE_DATA_JOB
from campus.http.client import Client
from campus.push.message import Push, PushedEvent
from campus.registry import BASE_DATA
from loading.connection.runtime import Runtime
from loading.pushes import inbox as inboxes
from loading.pushes.drain import Drain, drain_due
from loading.pushes.inbox import Inbox, open_inbox
from loading.pushes.names import PushSettings
from pipelines.pushes.automation import push_definitions
from pipelines.resources import open_runtime
from pipelines.runs.jobs import PUSHES, SCHOOL_NIGHT
from pipelines.runs.partition_selection import SCHOOLS_TAG
from tests.kits.worlds.world import World, differences

SCHOOL = 101
LOADS = (SCHOOL_NIGHT, BASE_DATA_JOB)
RUNTIMES: dict[Path, Runtime] = {}


@pytest.fixture(scope="module")
def loaded(load_world: Callable[..., World]) -> World:
    """A school of so many classes that one may go."""
    return load_world("two_semesters", core_subjects=8)


@pytest.fixture
def world(loaded: World) -> Iterator[World]:
    """The world, with an inbox that is empty, and equal to its platform before and after."""
    yield loaded
    loaded.platform.set_faults()
    with open_inbox(loaded.home) as inbox:
        for table in ("event", "push", "slice_read", "misses"):
            inbox._connection.execute(f"DELETE FROM {table}")
        inbox._connection.commit()


def push(world: World, resource: str, *events: tuple[str, list[Any]]) -> None:
    """A push as the receiver keeps it."""
    pushed = tuple(PushedEvent(op, tuple(keys)) for op, keys in events)
    # The platform's clock is that of its rows.
    with open_inbox(world.home) as inbox:
        inbox.add(SCHOOL, Push(str(uuid.uuid4()), resource, _platform_time(world), pushed), 1000)


def _platform_time(world: World) -> datetime:
    latest = max(entry["row"]["updated_at"] for entry in world.platform.rows("classes", SCHOOL))
    return min(datetime.fromisoformat(f"{latest}+08:00"), datetime.now(UTC))


def drain(world: World, school: int = SCHOOL, **settings: Any) -> list[str]:
    """Drain what is due; what was told of it."""
    messages: list[str] = []

    async def run() -> None:
        async with Client(runtime.client, [spec.scopes for spec in BASE_DATA]) as client:
            with open_inbox(world.home) as inbox:
                await drain_due(
                    Drain(runtime, client, inbox, school, "run", messages.append, time.monotonic() + 300)
                )

    runtime = replace(_runtime(world), pushes=PushSettings(**settings))
    asyncio.run(run())
    return messages


def _runtime(world: World) -> Runtime:
    """What drains run with, which is not what the world's loads do: opened once, since the lake's tables then
    stay open."""
    if world.home not in RUNTIMES:
        with open_runtime(world.settings) as RUNTIMES[world.home]:
            pass
    return RUNTIMES[world.home]


def states(world: World) -> Counter[str]:
    with open_inbox(world.home) as inbox:
        counts = Counter[str]()
        for standing in inbox.event_counts():
            counts[standing.state] += standing.events
        return counts


def asked(world: World) -> Counter[str]:
    """The requests since the log was cleared, by path, without tokens."""
    return Counter(entry["path"] for entry in world.platform.log() if "oauth" not in entry["path"])


def some(world: World, resource: str, number: int = 0) -> dict[str, Any]:
    return [entry for entry in world.platform.rows(resource, SCHOOL) if not entry["trashed"]][number]


NAMED = {
    # resource: (a changed field, requests that a change of one row takes at most)
    "semesters": ("name", 2),
    "terms": ("label", 30),
    "structures": ("name", 3),
    "admin_classes": ("name", 10),
    "classes": ("name", 2),
    "assessments": ("name", 2),
    "assessment_items": ("name", 2),
    "scores": ("score", 2),
    "grades": ("score", 2),
}


@pytest.mark.parametrize("resource", NAMED)
def test_a_change_is_read_by_few_requests(world: World, resource: str) -> None:
    field, most = NAMED[resource]
    entry = some(world, resource)
    world.platform.update(
        resource, entry["key"], **{field: "7.5" if field == "score" else "changed by a push"}
    )
    alive = {spec.name: len(world.held(spec.name)) for spec in BASE_DATA}
    push(world, resource, ("updated", [entry["key"]]))
    world.platform.clear_log()
    drain(world)
    assert states(world) == {"done": 1}
    assert asked(world).total() <= most
    assert str(world.row(resource, entry["key"])[field]).startswith(("7.5", "changed by a push"))
    assert {spec.name: len(world.held(spec.name)) for spec in BASE_DATA} == alive
    assert differences(world) == {}


def test_a_person_is_read_in_the_list_of_all_and_in_that_of_the_role(world: World) -> None:
    student, other = some(world, "students"), some(world, "students", 1)
    world.platform.update("students", student["key"], name="新名")
    world.platform.update("reflections", student["key"], name="新名")
    push(world, "users", ("updated", [student["key"], other["key"]]))
    world.platform.clear_log()
    drain(world)
    assert states(world) == {"done": 1}
    assert {world.row(name, student["key"])["name"] for name in ("reflections", "students")} == {"新名"}
    # Lists that show a person inside their rows are other resources, with pushes of their own.
    assert differences(world).keys() <= {"admin_classes", "classes"}
    assert asked(world).total() <= 6


@pytest.mark.parametrize(
    ("resource", "hard"),
    [("reflections", False), ("reflections", True), ("classes", False), ("classes", True), ("scores", True)],
)
def test_what_was_deleted_is_a_tombstone_and_all_else_stays(world: World, resource: str, hard: bool) -> None:
    entry = some(world, resource, 3)
    before = {row["id"] for row in world.held(resource)}
    (world.platform.destroy if hard else world.platform.delete)(resource, entry["key"])
    push(world, resource, ("deleted", [entry["key"]]))
    drain(world)
    assert states(world) == {"done": 1}
    assert {row["id"] for row in world.held(resource)} == before - {entry["key"]}
    assert world.row(resource, entry["key"])["_deleted_at"] is not None
    assert world.load().problems == []  # what was of the class is gone with it


def test_members_are_read_by_the_classes_that_their_keys_name(world: World) -> None:
    entry = some(world, "class_members")
    world.platform.update("class_members", entry["key"], class_together=False)
    key = {"class_id": entry["parent"], "reflection_id": entry["row"]["reflection_id"]}
    push(world, "klass/class-selections", ("updated", [key]))
    world.platform.clear_log()
    drain(world)
    assert states(world) == {"done": 1}
    assert asked(world).total() <= 4
    [member] = [row for row in world.held("class_members") if key.items() <= row.items()]
    assert member["class_together"] is False


def test_what_is_new_is_found_by_its_id_or_in_its_slice(world: World) -> None:
    item = some(world, "assessment_items", -1)
    score = world.platform.insert("scores", item["key"], owner_id=some(world, "students", 2)["key"])
    new_class = world.platform.insert("classes", some(world, "classes", -1)["parent"], name="新课")
    push(world, "scores", ("created", [score["key"]]))
    push(world, "classes", ("created", [new_class["key"]]))
    drain(world)
    assert states(world) == {"done": 2}
    assert world.row("scores", score["key"])["item_id"] == item["key"]
    assert world.row("classes", new_class["key"])["name"] == "新课"


def test_without_keys_the_slice_is_read_and_then_not_again_for_a_while(world: World) -> None:
    grade = some(world, "grades", -1)
    world.platform.update("grades", grade["key"], level="S")
    push(world, "grades", ("updated", []))
    assert len(drain(world)) == 1
    push(world, "grades", ("updated", []))
    assert drain(world) == []
    assert states(world) == {"done": 1, "waiting": 1}
    assert drain(world, slice_pause=0) == []  # it has been told to wait
    assert world.row("grades", grade["key"])["level"] == "S"


def test_events_that_came_before_a_slice_was_read_are_done_by_it(world: World) -> None:
    push(world, "grades", ("updated", []))
    push(world, "grades", ("updated", ["no id"]))
    assert len(drain(world)) == 1
    assert states(world) == {"done": 2}


def test_a_broken_event_is_tried_again_later_and_holds_up_no_other(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    item, student = some(world, "assessment_items"), some(world, "students")
    world.platform.update("students", student["key"], name="另名")
    score = next(entry for entry in world.platform.rows("scores", SCHOOL) if entry["parent"] == item["key"])
    world.platform.set_faults({"kind": "status", "status": 500, "path": f"*/items/{item['key']}/scores"})
    push(world, "scores", ("updated", [score["key"]]))
    push(world, "students", ("updated", [student["key"]]))
    drain(world)
    assert states(world) == {"done": 1, "waiting": 1}
    assert world.row("students", student["key"])["name"] == "另名"
    [standing] = _standings(world, "waiting")
    assert "500" in standing.problem
    monkeypatch.setattr(inboxes, "FIRST_PAUSE", -1)
    for _ in range(inboxes.ATTEMPTS):
        push(world, "students", ("updated", [student["key"]]))
        _make_due(world)
        drain(world)
    assert states(world) == {"done": 1 + inboxes.ATTEMPTS, "given_up": 1}


def _standings(world: World, state: str) -> list[inboxes.EventCount]:
    with open_inbox(world.home) as inbox:
        return [standing for standing in inbox.event_counts() if standing.state == state]


def _make_due(world: World) -> None:
    with open_inbox(world.home) as inbox:
        inbox._connection.execute("UPDATE event SET due_at = 0")
        inbox._connection.commit()


def test_a_row_that_is_not_shown_yet_is_asked_for_again(world: World) -> None:
    push(world, "classes", ("created", [10101_99999]))
    for _ in range(4):
        assert states(world) == {"waiting": 1}
        drain(world)
        _make_due(world)
    assert states(world) == {"done": 1}


def test_unknown_resources_wait_for_a_name(world: World) -> None:
    grade = some(world, "grades")
    world.platform.update("grades", grade["key"], level="T")
    push(world, "course_marks", ("updated", [grade["key"]]))
    push(world, "permissions", ("updated", [1]))
    drain(world)
    assert states(world) == {"unknown": 2}
    assert "campus.yaml" in _standings(world, "unknown")[0].problem
    resources_by_name = {"course_marks": ("grades",), "permissions": ()}
    with open_inbox(world.home) as inbox:
        inbox.recall(lambda name: name in resources_by_name)
    drain(world, resources=resources_by_name)
    assert states(world) == {"done": 2}
    assert world.row("grades", grade["key"])["level"] == "T"


def test_draining_again_changes_nothing(world: World) -> None:
    keys = [some(world, "students", number)["key"] for number in range(5)]
    push(world, "students", ("updated", keys))
    drain(world)
    before = world.versions()
    push(world, "students", ("updated", keys))
    drain(world)
    assert (states(world), world.versions()) == ({"done": 2}, before)


def test_an_event_is_done_only_after_its_commit(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    student = some(world, "students")
    world.platform.update("students", student["key"], name="又名")
    push(world, "students", ("updated", [student["key"]]))

    def die(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Inbox, "done", die)
        drain(world)
    assert world.row("students", student["key"])["name"] == "又名"
    assert states(world) == {"waiting": 1}
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr("loading.slices.commit.commit", die)
        drain(world)
    assert states(world) == {"waiting": 1}
    drain(world)
    assert states(world) == {"done": 1}


def test_a_load_of_the_same_slices_at_the_same_time_loses_nothing(world: World) -> None:
    students = [some(world, "students", number) for number in range(6)]
    with ThreadPoolExecutor(1) as beside:
        load = beside.submit(world.load, full=True)
        for student in students:
            world.platform.update("students", student["key"], name=f"名{student['key']}")
            push(world, "students", ("updated", [student["key"]]))
            drain(world)
        assert load.result().problems == []
    assert states(world) == {"done": 6}
    push(world, "students", ("updated", [student["key"] for student in students]))
    drain(world)
    assert not differences(world).keys() & {"students", "reflections"}


def test_a_targeted_read_is_not_taken_for_a_load_of_the_slice(world: World) -> None:
    push(world, "students", ("updated", [some(world, "students")["key"]]))
    drain(world)
    mine = [row for row in world.log("load_log") if row["sync_id"].startswith("push-")]
    assert mine
    assert not any(row["complete"] for row in mine if row["resource"] == "students")
    assert all(row["status"] == "ok" for row in mine[-3:])


def test_drained_events_are_forgotten_after_a_while(world: World) -> None:
    push(world, "permissions", ("updated", [1]))
    push(world, "students", ("updated", [some(world, "students")["key"]]))
    drain(world)
    with open_inbox(world.home) as inbox:
        for table in ("event", "push"):
            inbox._connection.execute(f"UPDATE {table} SET received_at = ?", (time.time() - 40 * 86_400,))
        inbox.prune(30)
    assert states(world) == {"unknown": 1}


def test_what_no_push_announced_is_counted_by_the_next_load(world: World) -> None:
    push(world, "permissions", ("updated", [1]))
    assert world.load().problems == []
    announced, missed = some(world, "students", 4), some(world, "students", 5)
    grade = some(world, "grades", -1)
    world.platform.update("students", announced["key"], name="有推送")
    push(world, "students", ("updated", [announced["key"]]))
    drain(world)
    world.platform.update("students", missed["key"], name="无推送")
    world.platform.update("grades", grade["key"], level="U")
    push(world, "grades", ("updated", []))  # it comes, and the load is quicker
    assert world.load().problems == []
    with open_inbox(world.home) as inbox:
        misses = {resource: (changed, lost) for resource, changed, lost in inbox.misses_since(0)}
    assert misses["students"] == (2, 1)
    assert misses["grades"] == (1, 0)


def test_a_school_that_was_never_loaded_is_told_so(world: World) -> None:
    with open_inbox(world.home) as inbox:
        pushed = (PushedEvent("updated", (1,)),)
        inbox.add(999, Push("1", "students", datetime.now(UTC), pushed), 1000)
    drain(world, school=999)
    [standing] = _standings(world, "waiting")
    assert standing.problem == "school 999 has not been loaded yet: run campus sync"


def _ticks(world: World) -> dg.RunRequest | dg.SkipReason:
    [sensor] = [
        candidate
        for candidate in push_definitions(world.settings, LOADS, dg.define_asset_job("publish")).sensors or ()
        if candidate.name == "drain_after_pushes"
    ]
    assert isinstance(sensor, dg.SensorDefinition)
    result = sensor(dg.build_sensor_context(instance=world.instance))
    assert isinstance(result, dg.RunRequest | dg.SkipReason)
    return result


def test_the_sensor_asks_for_a_drain_when_events_wait_and_no_run_is_in_the_way(world: World) -> None:
    assert isinstance(_ticks(world), dg.SkipReason)
    push(world, "students", ("updated", [some(world, "students")["key"]]))
    assert isinstance(_ticks(world), dg.RunRequest)
    for job, tags in (
        (BASE_DATA_JOB, {"dagster/asset_partition_range_start": f"{SCHOOL}:10101"}),
        (SCHOOL_NIGHT, {SCHOOLS_TAG: f"99,{SCHOOL}"}),
        (SCHOOL_NIGHT, {}),
    ):
        loads = dg.GraphDefinition(name=job).to_job()
        run = world.instance.create_run_for_job(loads, tags=tags, status=dg.DagsterRunStatus.STARTED)
        assert _ticks(world) == dg.SkipReason("The schools of the events are being loaded.")
        world.instance.delete_run(run.run_id)
    another = dg.GraphDefinition(name=SCHOOL_NIGHT).to_job()
    run = world.instance.create_run_for_job(
        another, tags={SCHOOLS_TAG: "99"}, status=dg.DagsterRunStatus.STARTED
    )
    assert isinstance(_ticks(world), dg.RunRequest)
    world.instance.delete_run(run.run_id)
    run = world.instance.create_run_for_job(
        dg.GraphDefinition(name=PUSHES).to_job(), status=dg.DagsterRunStatus.STARTED
    )
    assert _ticks(world) == dg.SkipReason("The inbox is being drained.")
    world.instance.delete_run(run.run_id)


def test_a_defect_fails_the_run_and_is_not_met_at_once_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    push(world, "students", ("updated", [some(world, "students")["key"]]))
    with monkeypatch.context() as patched, pytest.raises(ZeroDivisionError):
        patched.setattr("loading.pushes.drain.resolver", lambda *_: 1 / 0)
        drain(world)
    assert drain(world) == []
    [standing] = _standings(world, "waiting")
    assert standing.problem == "ZeroDivisionError"
