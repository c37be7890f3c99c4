"""An operator uses the Dagster UI in a browser: opens pages, materializes partitions, launches a backfill."""

import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

import dagster as dg
import httpx
import pytest

from assets.shared import markdown
from loading.names import names_of
from loading.partition_keys import school_of
from pipelines.notices.automation import STATUS
from pipelines.runs.instance import open_instance
from pipelines.runs.launchers import LAUNCHER_TAG
from pipelines.runs.partition_selection import RANGE_END, RANGE_START, SCHOOL_TAG
from pipelines.status.report import status_of
from tests.kits.cases import the_rest_slow
from tests.kits.programs import processes
from tests.kits.programs.processes import ROOT, environment_for, started
from tests.kits.servers.browser import BROWSER, DRIVER, Page, browser
from tests.kits.servers.nginx import free_port
from tests.kits.worlds.world import World

REPORTS = ("student_summary",)
TIMEOUT = 600.0  # seconds, for processes and runs on a busy machine
MOST_ATTEMPTS = 6

pytestmark = pytest.mark.skipif(not (DRIVER and BROWSER), reason="needs chromium and chromedriver")


@dataclass
class Operator:
    """An operator with an open browser page, and the UI of a loaded world."""

    world: World
    url: str
    page: Page

    def query(self, query: str, **variables: Any) -> Any:
        """Send a query to the UI's own GraphQL endpoint."""
        return run_query(self.url, query, **variables)

    def leave_page(self) -> None:
        """Close the page, since an open page polls the server and slows it down."""
        self.page.open("about:blank")


def run_query(url: str, query: str, **variables: Any) -> Any:
    body = {"query": query, "variables": variables}
    # Without certificates, since reading them takes longer than the query.
    response = httpx.post(f"{url}/graphql", json=body, timeout=60, trust_env=False, verify=False)
    response.raise_for_status()
    return response.json()["data"]


def wait_for(what: str, condition: Callable[[], Any], patience: float = TIMEOUT) -> Any:
    """Wait until `condition` returns a true value, and return the value. Fails after `patience` seconds."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        try:
            if result := condition():
                return result
        except httpx.TransportError:  # the server is not up yet
            pass
        time.sleep(1.0)
    raise AssertionError(f"not within {patience:.0f} s: {what}")


@contextmanager
def serving(command: list[str], world: World) -> Iterator[str]:
    """Run the UI during the block. Yields its address once the code location is loaded."""
    port = free_port()
    environment = environment_for(
        world.home,
        world.platform,
        TMPDIR=tempfile.gettempdir(),
        CAMPUS_REPORTS=",".join(REPORTS),
        DAGSTER_HOME=str(world.home / "dagster"),
    )
    url = f"http://127.0.0.1:{port}"
    with (
        (world.home / "ui.log").open("w") as output,
        # The command stops its own child processes.
        started([*command, "-p", str(port)], environment, ROOT, output=output, end_by=signal.SIGTERM),
    ):
        query = "{repositoriesOrError {... on RepositoryConnection {nodes {name}}}}"
        wait_for("the UI is up", lambda: run_query(url, query)["repositoriesOrError"]["nodes"])
        yield url


@pytest.fixture(scope="module")
def operator(make_world: Callable[..., World]) -> Iterator[Operator]:
    """The UI of two schools, which are loaded in the same Dagster instance."""
    world = make_world("two_schools", datasets=True)
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("DAGSTER_HOME", str(world.home / "dagster"))
        instance = stack.enter_context(open_instance(world.settings))
        synced = replace(world, instance=instance).load(select=None, reports=REPORTS)
        assert synced.problems == []
        url = stack.enter_context(serving(["campus", "ui"], world))
        page = stack.enter_context(browser())
        yield Operator(world, url, page)


def test_the_graph_shows_the_asset_groups(operator: Operator) -> None:
    operator.page.open(f"{operator.url}/asset-groups/")
    operator.page.shows("base_data", "staging", "core", "marts", "published")


def test_an_asset_shows_descriptions_and_load_metadata(operator: Operator) -> None:
    operator.page.open(f"{operator.url}/assets/raw/scores")
    operator.page.shows("One score of one student for one item", "Score; null: not scored, 0: zero points")
    operator.page.open(f"{operator.url}/assets/raw/scores?view=partitions&partition=101%3A10101")
    operator.page.shows("101:10101", "102:10201", "dagster/partition_row_count", "requests", "vanished")
    operator.page.shows(*names_of(operator.world.lake).of_partition("101:10101", is_v1=False).values())


def test_the_ui_shows_runs_of_the_command_line(operator: Operator) -> None:
    operator.page.open(f"{operator.url}/runs")
    operator.page.shows("discovery", "school_night", "campus/sync_id: sync-1", "Success")


def test_a_hostile_name_is_text_on_the_page(operator: Operator) -> None:
    """Tested in the UI, since its renderer makes more texts a link than CommonMark does."""
    names = (
        "![](/graphql?query=mutation)",
        "<img src=/graphql>",
        "see http://evil.example/a_b",
        "www.evil.example",
    )
    materialization = dg.AssetMaterialization(
        STATUS,
        description=markdown.text(" ".join(names)),
        metadata={f"name {number}": markdown.value(markdown.text(name)) for number, name in enumerate(names)},
    )
    with open_instance(operator.world.settings) as instance:
        instance.report_runless_asset_event(materialization)
    operator.page.open(f"{operator.url}/assets/{'/'.join(STATUS.path)}?view=events")
    operator.page.shows(" ".join(names), *names[1:])
    addresses = operator.page.run(
        "return [...document.querySelectorAll('img, a')].map(element => element.src || element.href)"
        ".filter(address => /evil|graphql/.test(address))"
    )
    assert addresses == []


def test_a_backfill_launched_by_clicking_is_one_run(operator: Operator) -> None:
    operator.page.open(f"{operator.url}/locations/pipelines.definitions/jobs/base_data")
    operator.page.click("//button[contains(., 'Materialize')]")
    operator.page.click("//*[@role='dialog']//button[normalize-space(.)='All']")
    operator.page.shows("101:10101", "102:10201")
    operator.page.click("//button[normalize-space(.)='Launch backfill' and not(@disabled)]")
    operator.page.shows("Created backfill")
    operator.leave_page()
    backfills = (
        "{partitionBackfillsOrError {... on PartitionBackfills {"
        "results {status numPartitions runs(limit: 10) {status tags {key value}}}}}}"
    )

    def ended() -> Any:
        [backfill] = operator.query(backfills)["partitionBackfillsOrError"]["results"] or [None]
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


#: An asset and one of its partitions, by job. The asset group has the name of the job.
PARTITIONED = {
    "base_data": ("raw/scores", "101:10101"),
    "attendance": ("raw/attendance_records", "101:10101:w05"),
    "datasets": ("datasets/records", "101:big_scores:0000"),
    "reports": ("reports/records", "101:student_summary:501"),
}
LOCATION = "/locations/pipelines.definitions"
#: Pages with a dialog to choose a partition and materialize it.
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
    earlier_runs = runs(operator).keys()

    def launched() -> list[set[str]]:
        new_runs = [run for run_id, run in runs(operator).items() if run_id not in earlier_runs]
        return [keys for keys in map(partitions_of, new_runs) if keys]

    # A button that is drawn anew in the middle of a click does nothing. An operator clicks again.
    for _ in range(MOST_ATTEMPTS):
        if place == "partition":
            materialize_on_partition_page(operator, asset, key)
        elif place == "launchpad":
            materialize_in_launchpad(operator, name, key)
        else:
            materialize_in_dialog(operator, DIALOGS[place].format(asset=asset, name=name), key)
        with suppress(AssertionError):
            wait_for(f"a run of {key} is launched", launched, patience=60)
            break
    assert launched() == [{key}]


# The fast tests above launch 3 runs, the slow tests 8.
@pytest.mark.parametrize("least_runs", the_rest_slow(1, [3, 8]))
def test_all_launched_runs_succeed(operator: Operator, least_runs: int) -> None:
    def ended() -> Any:
        launched = [run for run in runs(operator).values() if partitions_of(run)]
        return launched if all(run["status"] in ("SUCCESS", "FAILURE") for run in launched) else None

    operator.leave_page()
    statuses = [run["status"] for run in wait_for("all runs have ended", ended)]
    assert len(statuses) >= least_runs and {*statuses} == {"SUCCESS"}
    for run in runs(operator).values():
        for key in partitions_of(run):
            assert str(school_of(key)) in tags_of(run)[SCHOOL_TAG]


def materialize_on_partition_page(operator: Operator, asset: str, key: str) -> None:
    """Click through the page of one partition. Its dialog has chosen the partition already."""
    page = operator.page
    page.open(f"{operator.url}/assets/{asset}?view=partitions&partition={quote(key, safe='')}")
    page.shows(key, "requests")
    page.click("//button[contains(., 'Materialize')]")
    page.click("//*[@role='dialog']//button[normalize-space(.)='Launch 1 run' and not(@disabled)]")


def materialize_in_dialog(operator: Operator, path: str, key: str) -> None:
    """Click through a page with a dialog in which the partition is chosen from a list."""
    page, dialog = operator.page, "//*[@role='dialog']"
    # A dialog that is opened while the page still loads may have no partitions, or close their list again.
    # An operator opens the dialog again.
    for _ in range(MOST_ATTEMPTS):
        page.open(f"{operator.url}{path}")
        page.click("//button[contains(., 'Materialize')]")
        if is_listed(page, f"{dialog}//*[contains(text(), 'Select a partition')]", key):
            break
    page.click(list_entry(key))
    # This click closes the list, which covers the button.
    page.click(f"{dialog}//*[normalize-space(text())='Partition selection']")
    page.shows("1 partition")
    page.click(f"{dialog}//button[starts-with(normalize-space(.), 'Launch') and not(@disabled)]")


def is_listed(page: Page, partitions: str, key: str) -> bool:
    """Open a dialog's list of partitions. Returns whether the list shows the key."""
    filter = "//input[@placeholder='Filter partitions']"
    # An element may disappear or be covered before the click.
    with suppress(AssertionError, httpx.HTTPStatusError):
        if page.has(partitions, patience=10):
            page.click(partitions)
            if page.has(filter, patience=10):
                page.type(filter, key)
                return page.has(list_entry(key), patience=10)
    return False


def list_entry(key: str) -> str:
    """The XPath of a partition in an open list. The UI draws lists in portals; the page may show the key
    elsewhere, too."""
    return f"//*[contains(@class, '-portal')]//*[normalize-space(text())='{key}']"


def materialize_in_launchpad(operator: Operator, job: str, key: str) -> None:
    """Choose the partition in a job's launchpad."""
    page = operator.page
    page.open(f"{operator.url}{LOCATION}/jobs/{job}/playground")
    page.choose("//input[@placeholder='Partition']", key)
    page.shows(f"partition: {key}")
    page.click("//button[normalize-space(.)='Launch Run' and not(@disabled)]")


def runs(operator: Operator) -> dict[str, Any]:
    """The latest runs by id."""
    latest = "{runsOrError(limit: 50) {... on Runs {results {runId status tags {key value}}}}}"
    return {run["runId"]: run for run in operator.query(latest)["runsOrError"]["results"]}


def tags_of(run: dict[str, Any]) -> dict[str, str]:
    return {tag["key"]: tag["value"] for tag in run["tags"]}


def partitions_of(run: dict[str, Any]) -> set[str]:
    """The partitions of a run: one key, or the first and last key of a range."""
    names = ("dagster/partition", RANGE_START, RANGE_END)
    return {tag["value"] for tag in run["tags"] if tag["key"] in names}


def test_the_daemon_publishes_what_the_command_line_loaded(operator: Operator) -> None:
    publications = '{runsOrError(filter: {pipelineName: "publish"}) {... on Runs {results {status}}}}'

    def published() -> bool:
        return "SUCCESS" in [run["status"] for run in operator.query(publications)["runsOrError"]["results"]]

    wait_for("the sensor has published", published)
    launchers = {tags_of(run).get(LAUNCHER_TAG) for run in runs(operator).values()}
    assert {"a person in the UI", "the sensor publish_after_loads"} <= launchers
    assert operator.world.settings.published.exists()


ASSETS = "{assetNodes {assetKey {path} isMaterializable}}"
BACKFILL = (
    "mutation ($backfill: LaunchBackfillParams!) {launchPartitionBackfill(backfillParams: $backfill) "
    "{... on LaunchBackfillSuccess {backfillId}}}"
)
BACKFILL_RUNS = (
    "query ($id: String!) {partitionBackfillOrError(backfillId: $id) "
    "{... on PartitionBackfill {status runs(limit: 100) {status}}}}"
)


@pytest.mark.slow
def test_materialize_all_ends_well(operator: Operator) -> None:
    """What the button sends: all assets, which have several kinds of partitions. The daemon makes a dozen
    runs of them; some are of a few models."""
    operator.leave_page()
    nodes = operator.query(ASSETS)["assetNodes"]
    keys = [{"path": node["assetKey"]["path"]} for node in nodes if node["isMaterializable"]]
    everything = {"tags": [], "assetSelection": keys, "allPartitions": True}
    backfill_id = operator.query(BACKFILL, backfill=everything)["launchPartitionBackfill"]["backfillId"]

    def ended() -> Any:
        backfill = operator.query(BACKFILL_RUNS, id=backfill_id)["partitionBackfillOrError"]
        return backfill if backfill["status"] not in ("REQUESTED", "COMPLETING", "FAILING") else None

    backfill = wait_for("the backfill has ended", ended, 3 * TIMEOUT)
    assert {run["status"] for run in backfill["runs"]} == {"SUCCESS"}
    assert backfill["status"] == "COMPLETED_SUCCESS"
    assert not [line for line in status_of(operator.world.settings).to_do if " failed, last at " in line]


def test_the_workspace_file_is_valid(operator: Operator) -> None:
    home = operator.world.home
    environment = environment_for(home, DAGSTER_HOME=str(home / "dagster"))
    validation = processes.run(
        ["dagster", "definitions", "validate", "-w", "workspace.yaml"], environment, ROOT
    )
    assert validation.returncode == 0, validation.stderr
    assert "All code locations passed validation" in validation.stdout + validation.stderr
