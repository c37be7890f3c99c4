"""The Dagster UI as an operator uses it: pages in a browser, and a backfill launched by clicking."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from browser import BROWSER, DRIVER, Page, browser
from world import World

from pipelines.instance import open_instance

CAMPUS = Path(sys.executable).parent / "campus"
DAGSTER = Path(sys.executable).parent / "dagster"
ROOT = Path(__file__).parents[2]
PATIENCE = 300.0  # seconds, for processes and runs on a busy machine

pytestmark = pytest.mark.skipif(not (DRIVER and BROWSER), reason="needs chromium and chromedriver")


@dataclass
class Operator:
    """Somebody in front of the UI of a world that has been loaded."""

    world: World
    url: str
    page: Page

    def ask(self, query: str, **variables: Any) -> Any:
        """The UI's own GraphQL endpoint."""
        return ask(self.url, query, **variables)


def ask(url: str, query: str, **variables: Any) -> Any:
    answer = httpx.post(
        f"{url}/graphql", json={"query": query, "variables": variables}, timeout=60, trust_env=False
    )
    answer.raise_for_status()
    return answer.json()["data"]


def wait_for(what: str, found: Callable[[], Any]) -> Any:
    """The first truth that `found` gives; a failure when patience ends."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            if result := found():
                return result
        except httpx.TransportError:  # the server is not up yet
            pass
        time.sleep(0.5)
    raise AssertionError(f"not in {PATIENCE:.0f} s: {what}")


@contextmanager
def serving(command: list[str | Path], world: World) -> Iterator[str]:
    """The UI as a process group of its own, ended as a whole; yields its address once all is loaded."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = {
        "PATH": os.environ["PATH"],
        "CAMPUS_HOME": str(world.home),
        "CAMPUS_BASE_URL": world.platform.base_url,
        "CAMPUS_CLIENT_ID": world.platform.client_id,
        "CAMPUS_CLIENT_SECRET": world.platform.client_secret,
        "DAGSTER_HOME": str(world.home / "dagster"),
    }
    log = world.home / "ui.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [*command, "-p", str(port)],
            env=environment,
            cwd=ROOT,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        url = f"http://127.0.0.1:{port}"
        query = "{repositoriesOrError {... on RepositoryConnection {nodes {name}}}}"
        wait_for("the UI is up", lambda: ask(url, query)["repositoriesOrError"]["nodes"])
        yield url
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture(scope="module")
def operator(make_world: Callable[..., World]) -> Iterator[Operator]:
    """Two schools, loaded into the very instance that the UI shows."""
    world = make_world(schools=2, students=12)
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("DAGSTER_HOME", str(world.home / "dagster"))
        instance = stack.enter_context(open_instance(world.settings))
        assert replace(world, instance=instance).load().problems == []
        url = stack.enter_context(serving([CAMPUS, "ui", "--"], world))
        page = stack.enter_context(browser())
        yield Operator(world, url, page)


def test_the_graph_shows_the_parts_of_the_warehouse(operator: Operator) -> None:
    operator.page.open(f"{operator.url}/asset-groups/")
    operator.page.shows("base_data", "staging", "core", "marts", "published")


def test_an_asset_says_what_it_is_and_what_was_loaded(operator: Operator) -> None:
    operator.page.open(f"{operator.url}/assets/raw/scores")
    operator.page.shows("One score of one student for one item", "Score; null: not scored, 0: zero points")
    operator.page.open(f"{operator.url}/assets/raw/scores?view=partitions&partition=101%7C10101")
    operator.page.shows("101|10101", "102|10201", "dagster/partition_row_count", "requests", "vanished")


def test_the_runs_of_the_command_line_are_there(operator: Operator) -> None:
    operator.page.open(f"{operator.url}/runs")
    operator.page.shows("discovery", "base_data", "campus/sync_id: sync-1", "Success")


def test_a_backfill_launched_by_clicking_is_one_run(operator: Operator) -> None:
    operator.page.open(f"{operator.url}/locations/pipelines.definitions/jobs/base_data")
    operator.page.click("//button[contains(., 'Materialize')]")
    operator.page.click("//*[@role='dialog']//button[normalize-space(.)='All']")
    operator.page.shows("101|10101", "102|10201")
    operator.page.click("//button[normalize-space(.)='Launch backfill' and not(@disabled)]")
    operator.page.shows("Created backfill")
    backfills = (
        "{partitionBackfillsOrError {... on PartitionBackfills {"
        "results {status numPartitions runs(limit: 10) {status tags {key value}}}}}}"
    )

    def ended() -> Any:
        [backfill] = operator.ask(backfills)["partitionBackfillsOrError"]["results"] or [None]
        return backfill if backfill and backfill["status"].startswith("COMPLETED") else None

    backfill = wait_for("the backfill has ended", ended)
    assert backfill["status"] == "COMPLETED_SUCCESS" and backfill["numPartitions"] == 2
    [run] = backfill["runs"]
    tags = {tag["key"]: tag["value"] for tag in run["tags"]}
    assert run["status"] == "SUCCESS"
    assert tags["dagster/asset_partition_range_start"] == "101|10101"
    assert tags["dagster/asset_partition_range_end"] == "102|10201"
    assert tags["dagster/backfill"] in {row["sync_id"] for row in operator.world.log("load_log")}


def test_the_daemon_publishes_what_the_command_line_loaded(operator: Operator) -> None:
    runs = '{runsOrError(filter: {pipelineName: "publish"}) {... on Runs {results {status}}}}'

    def published() -> bool:
        return "SUCCESS" in [run["status"] for run in operator.ask(runs)["runsOrError"]["results"]]

    wait_for("the sensor has published", published)
    assert operator.world.settings.published.exists()


def test_the_workspace_file_loads_as_it_stands(operator: Operator) -> None:
    done = subprocess.run(
        [DAGSTER, "definitions", "validate", "-w", "workspace.yaml"],
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"],
            "CAMPUS_HOME": str(operator.world.home),
            "DAGSTER_HOME": str(operator.world.home / "dagster"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and "All code locations passed validation" in done.stdout + done.stderr
