"""The Dagster UI as an operator uses it: pages in a browser, and a backfill launched by clicking."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import dagster as dg
import httpx
import pytest
from browser import BROWSER, DRIVER, Page, browser
from cases import the_rest_slow
from world import World

from assets import markdown
from loading.names import names_of
from loading.partition_keys import school_of
from pipelines.due import RANGE_END, RANGE_START, SCHOOL_TAG
from pipelines.instance import open_instance
from pipelines.launches import LAUNCHER_TAG
from pipelines.notices.automation import STATUS

CAMPUS = Path(sys.executable).parent / "campus"
DAGSTER = Path(sys.executable).parent / "dagster"
ROOT = Path(__file__).parents[2]
REPORTS = ("student_summary",)
PATIENCE = 600.0  # seconds, for processes and runs on a busy machine
TRIES = 6

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

    def leaves(self) -> None:
        """Leave the page, which asks for news while it is open: half of what a minute of waiting costs."""
        self.page.open("about:blank")


def ask(url: str, query: str, **variables: Any) -> Any:
    body = {"query": query, "variables": variables}
    # Without certificates, which take longer to read than the question.
    answer = httpx.post(f"{url}/graphql", json=body, timeout=60, trust_env=False, verify=False)
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
        time.sleep(1.0)
    raise AssertionError(f"not in {PATIENCE:.0f} s: {what}")


@contextmanager
def serving(command: list[str | Path], world: World) -> Iterator[str]:
    """The UI while the block lasts; yields its address once all is loaded."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = {
        "PATH": os.environ["PATH"],
        "TMPDIR": tempfile.gettempdir(),
        "CAMPUS_HOME": str(world.home),
        "CAMPUS_BASE_URL": world.platform.base_url,
        "CAMPUS_CLIENT_ID": world.platform.client_id,
        "CAMPUS_CLIENT_SECRET": world.platform.client_secret,
        "CAMPUS_REPORTS": ",".join(REPORTS),
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
        )
    url = f"http://127.0.0.1:{port}"
    try:
        query = "{repositoriesOrError {... on RepositoryConnection {nodes {name}}}}"
        wait_for("the UI is up", lambda: ask(url, query)["repositoriesOrError"]["nodes"])
        yield url
    finally:
        # It ends what it has started.
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE)


@pytest.fixture(scope="module")
def operator(make_world: Callable[..., World]) -> Iterator[Operator]:
    """Two schools, loaded into the very instance that the UI shows."""
    world = make_world(schools=2, students=12)
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("DAGSTER_HOME", str(world.home / "dagster"))
        instance = stack.enter_context(open_instance(world.settings))
        synced = replace(world, instance=instance).load(select=None, reports=REPORTS)
        assert synced.problems == []
        url = stack.enter_context(serving([CAMPUS, "ui", "--"], world))
        page = stack.enter_context(browser())
        yield Operator(world, url, page)


def test_the_graph_shows_the_parts_of_the_warehouse(operator: Operator) -> None:
    operator.page.open(f"{operator.url}/asset-groups/")
    operator.page.shows("base_data", "staging", "core", "marts", "published")


def test_an_asset_says_what_it_is_and_what_was_loaded(operator: Operator) -> None:
    operator.page.open(f"{operator.url}/assets/raw/scores")
    operator.page.shows("One score of one student for one item", "Score; null: not scored, 0: zero points")
    operator.page.open(f"{operator.url}/assets/raw/scores?view=partitions&partition=101%3A10101")
    operator.page.shows("101:10101", "102:10201", "dagster/partition_row_count", "requests", "vanished")
    operator.page.shows(*names_of(operator.world.lake).of_partition("101:10101", is_v1=False).values())


def test_the_runs_of_the_command_line_are_there(operator: Operator) -> None:
    operator.page.open(f"{operator.url}/runs")
    operator.page.shows("discovery", "school_night", "campus/sync_id: sync-1", "Success")


def test_a_hostile_name_is_text_on_the_page(operator: Operator) -> None:
    """The UI's own renderer, since it makes links of more than CommonMark does."""
    names = (
        "![](/graphql?query=mutation)",
        "<img src=/graphql>",
        "see http://evil.example/a_b",
        "www.evil.example",
    )
    made = dg.AssetMaterialization(
        STATUS,
        description=markdown.text(" ".join(names)),
        metadata={f"name {number}": markdown.value(markdown.text(name)) for number, name in enumerate(names)},
    )
    with open_instance(operator.world.settings) as instance:
        instance.report_runless_asset_event(made)
    operator.page.open(f"{operator.url}/assets/{'/'.join(STATUS.path)}?view=events")
    operator.page.shows(" ".join(names), *names[1:])
    marked_up = operator.page.run(
        "return [...document.querySelectorAll('img, a')].map(each => each.src || each.href)"
        ".filter(address => /evil|graphql/.test(address))"
    )
    assert marked_up == []


def test_a_backfill_launched_by_clicking_is_one_run(operator: Operator) -> None:
    operator.page.open(f"{operator.url}/locations/pipelines.definitions/jobs/base_data")
    operator.page.click("//button[contains(., 'Materialize')]")
    operator.page.click("//*[@role='dialog']//button[normalize-space(.)='All']")
    operator.page.shows("101:10101", "102:10201")
    operator.page.click("//button[normalize-space(.)='Launch backfill' and not(@disabled)]")
    operator.page.shows("Created backfill")
    operator.leaves()
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
    tags = tags_of(run)
    assert run["status"] == "SUCCESS"
    assert tags["dagster/asset_partition_range_start"] == "101:10101"
    assert tags["dagster/asset_partition_range_end"] == "102:10201"
    assert tags["dagster/backfill"] in {row["sync_id"] for row in operator.world.log("load_log")}
    assert tags[LAUNCHER_TAG] == f"a person in the UI, by the backfill {tags['dagster/backfill']}"
    assert tags[SCHOOL_TAG].startswith("101 ") and " to 102 " in tags[SCHOOL_TAG]


#: What has partitions: an asset and one of its partitions, by the job and the group that they are of.
PARTITIONED = {
    "base_data": ("raw/scores", "101:10101"),
    "attendance": ("raw/attendance_records", "101:10101:w05"),
    "datasets": ("datasets/records", "101:big_scores:0000"),
    "reports": ("reports/records", "101:student_summary:501"),
}
LOCATION = "/locations/pipelines.definitions"
#: The pages that offer to materialize a partition which is then chosen in their dialog.
DIALOGS = {
    "asset": "/assets/{asset}",
    "graph": LOCATION + "/asset-groups/{name}",
    "job": LOCATION + "/jobs/{name}",
    "backfills": LOCATION + "/jobs/{name}/partitions",
}


@pytest.mark.parametrize(
    ("place", "name"),
    the_rest_slow(
        2,
        [
            ("partition", "attendance"),
            ("graph", "reports"),
            ("launchpad", "attendance"),
            ("asset", "datasets"),
            ("job", "reports"),
            ("backfills", "base_data"),
            ("graph", "attendance"),
            *(("partition", name) for name in PARTITIONED if name != "attendance"),
        ],
    ),
)
def test_a_partition_is_materialized_from_every_page_that_offers_it(
    operator: Operator, place: str, name: str
) -> None:
    asset, key = PARTITIONED[name]
    known = runs(operator).keys()
    if place == "partition":
        from_own_page(operator, asset, key)
    elif place == "launchpad":
        from_launchpad(operator, name, key)
    else:
        from_dialog(operator, DIALOGS[place].format(asset=asset, name=name), key)

    def launched() -> list[set[str]]:
        new = [one for run, one in runs(operator).items() if run not in known]
        return [keys for keys in map(asked_for, new) if keys]

    assert wait_for(f"{key} is asked for", launched) == [{key}]


# By the backfill and the pages that are not slow; by those that are.
@pytest.mark.parametrize("launched", the_rest_slow(1, [3, 8]))
def test_all_that_was_asked_for_is_loaded(operator: Operator, launched: int) -> None:
    def ended() -> Any:
        mine = [run for run in runs(operator).values() if asked_for(run)]
        return mine if all(run["status"] in ("SUCCESS", "FAILURE") for run in mine) else None

    operator.leaves()
    ended_well = [run["status"] == "SUCCESS" for run in wait_for("all runs have ended", ended)]
    assert len(ended_well) >= launched and all(ended_well)
    for run in runs(operator).values():
        for key in asked_for(run):
            assert str(school_of(key)) in tags_of(run)[SCHOOL_TAG]


def from_own_page(operator: Operator, asset: str, key: str) -> None:
    """Click through the page of one partition, whose dialog names it already."""
    page = operator.page
    page.open(f"{operator.url}/assets/{asset}?view=partitions&partition={quote(key, safe='')}")
    page.shows(key, "requests")
    page.click("//button[contains(., 'Materialize')]")
    page.click("//*[@role='dialog']//button[normalize-space(.)='Launch 1 run' and not(@disabled)]")


def from_dialog(operator: Operator, path: str, key: str) -> None:
    """Click through a page whose dialog has the partition chosen from a list."""
    page, dialog = operator.page, "//*[@role='dialog']"
    # A dialog that was opened while the page was still filling stays without its partitions, or closes the
    # list of them: open it anew, as somebody would.
    for _ in range(TRIES):
        page.open(f"{operator.url}{path}")
        page.click("//button[contains(., 'Materialize')]")
        if lists(page, f"{dialog}//*[contains(text(), 'Select a partition')]", key):
            break
    page.click(listed(key))
    # That closes the list, which lies over the button.
    page.click(f"{dialog}//*[normalize-space(text())='Partition selection']")
    page.shows("1 partition")
    page.click(f"{dialog}//button[starts-with(normalize-space(.), 'Launch') and not(@disabled)]")


def lists(page: Page, partitions: str, key: str) -> bool:
    """Open a dialog's list of partitions; whether it shows the key."""
    filter = "//input[@placeholder='Filter partitions']"
    # What is there and then gone again, or covered.
    with suppress(AssertionError, httpx.HTTPStatusError):
        if page.has(partitions, patience=10):
            page.click(partitions)
            if page.has(filter, patience=10):
                page.type(filter, key)
                return page.has(listed(key), patience=10)
    return False


def listed(key: str) -> str:
    """A partition in an open list. What lies over the page is drawn in portals; the page below may show the
    key too."""
    return f"//*[contains(@class, '-portal')]//*[normalize-space(text())='{key}']"


def from_launchpad(operator: Operator, job: str, key: str) -> None:
    """Choose the partition in a job's launchpad."""
    page = operator.page
    page.open(f"{operator.url}{LOCATION}/jobs/{job}/playground")
    page.choose("//input[@placeholder='Partition']", key)
    page.shows(f"partition: {key}")
    page.click("//button[normalize-space(.)='Launch Run' and not(@disabled)]")


def runs(operator: Operator) -> dict[str, Any]:
    """The latest runs by their id."""
    latest = "{runsOrError(limit: 50) {... on Runs {results {runId status tags {key value}}}}}"
    return {run["runId"]: run for run in operator.ask(latest)["runsOrError"]["results"]}


def tags_of(run: dict[str, Any]) -> dict[str, str]:
    return {tag["key"]: tag["value"] for tag in run["tags"]}


def asked_for(run: dict[str, Any]) -> set[str]:
    """The partitions that a run is for: one key, or the ends of a range."""
    names = ("dagster/partition", RANGE_START, RANGE_END)
    return {tag["value"] for tag in run["tags"] if tag["key"] in names}


def test_the_daemon_publishes_what_the_command_line_loaded(operator: Operator) -> None:
    publications = '{runsOrError(filter: {pipelineName: "publish"}) {... on Runs {results {status}}}}'

    def published() -> bool:
        return "SUCCESS" in [run["status"] for run in operator.ask(publications)["runsOrError"]["results"]]

    wait_for("the sensor has published", published)
    launchers = {tags_of(run).get(LAUNCHER_TAG) for run in runs(operator).values()}
    assert {"a person in the UI", "the sensor publish_after_loads"} <= launchers
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
