"""A change at the platform, pushed to a receiver of its own, drained by Dagster's daemon, and published: how
long that takes, with every process and sensor as an operator has them."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace

import dagster as dg
import duckdb
import pytest

from loading.pushes.inbox import open_inbox
from pipelines.runs.instance import open_instance
from pipelines.runs.jobs import MAINTENANCE
from tests.kits.programs.processes import ROOT, environment_for, started
from tests.kits.servers.nginx import free_port
from tests.kits.waiting import until
from tests.kits.worlds.world import World

TOKEN = "a-token-of-the-tests"


def wait_for(world: World, event: str, condition: Callable[[], object]) -> float:
    """Wait until it is so; when that was."""
    until(condition, event, lambda: (world.home / "processes.log").read_text()[-5000:])
    return time.monotonic()


@pytest.fixture(scope="module")
def watched(make_world: Callable[..., World]) -> Iterator[World]:
    """A world that is loaded and published, with a receiver and Dagster's daemon running beside it."""
    world = make_world("small")
    # No night while the test runs.
    (world.home / "campus.yaml").write_text('schedule: {nightly: "0 0 29 2 *"}')
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("DAGSTER_HOME", str(world.home / "dagster"))
        world = replace(world, instance=stack.enter_context(open_instance(world.settings)))
        assert world.load().problems == []
        assert world.publish().problem is None
        environment = environment_for(
            world.home,
            world.platform,
            CAMPUS_PUSH_TOKEN=TOKEN,
            CAMPUS_PUSH_PORT=str(port := free_port()),
            DAGSTER_HOME=str(world.home / "dagster"),
        )
        output = stack.enter_context((world.home / "processes.log").open("a"))
        for command in ("campus push-receiver", "dagster-daemon run -m pipelines.definitions"):
            stack.enter_context(started(command.split(), environment, ROOT, output=output))
        inbox = world.home / "pushes.sqlite"
        wait_for(world, "the receiver listens", inbox.exists)
        daemons = ("SENSOR", "QUEUED_RUN_COORDINATOR")
        wait_for(
            world,
            "the daemon runs",
            lambda: all(world.instance.get_daemon_heartbeats().get(name) for name in daemons),
        )
        # The load counts as a night, whose maintenance comes before any publication.
        maintained = dg.RunsFilter(job_name=MAINTENANCE, statuses=[dg.DagsterRunStatus.SUCCESS])
        wait_for(world, "the night is over", lambda: world.instance.get_runs_count(maintained))
        world.platform.push_to(f"http://127.0.0.1:{port}/", TOKEN)
        yield world


@pytest.mark.slow
def test_a_change_is_received_drained_and_published(
    watched: World, record_property: Callable[[str, object], None]
) -> None:
    [student, *_] = watched.platform.rows("students", 101)

    def published() -> bool:
        with duckdb.connect(str(watched.settings.published), read_only=True) as connection:
            query = "SELECT name FROM raw.students WHERE id = ?"
            return connection.execute(query, [student["key"]]).fetchall() == [("推送",)]

    def received() -> bool:
        with open_inbox(watched.home) as inbox:
            return bool(inbox.event_counts())

    began = time.monotonic()
    watched.platform.update("students", student["key"], name="推送")
    parts = {
        "in the inbox": wait_for(watched, "received", received),
        "in the lake": wait_for(
            watched, "drained", lambda: watched.row("students", student["key"])["name"] == "推送"
        ),
        "published": wait_for(watched, "published", published),
    }
    for part, when in parts.items():
        record_property(part, when - began)
        print(f"{part}: {when - began:.1f} s")  # noqa: T201
