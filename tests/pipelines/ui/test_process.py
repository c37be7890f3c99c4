"""`campus ui` as a process: what a page of another site sends starts no run, and one command stops it all."""

import json
import os
import re
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import duckdb
import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

from pipelines.lake.opening import lake_of
from pipelines.settings.settings import Settings
from tests.kits.programs.command_line import campus
from tests.kits.programs.processes import Program, environment_for, run, started
from tests.kits.servers.nginx import free_port
from warehouse.files import locked
from warehouse.lake.logs.tables import LOGS
from warehouse.publish.build import models_version

SUBPROTOCOL = Subprotocol("graphql-ws")
PATIENCE = 180.0  # seconds, for processes on a busy machine
CODE = 'repositoryLocationName: "pipelines.definitions", repositoryName: "__repository__"'
LAUNCH = f'launchRun(executionParams: {{selector: {{{CODE}, jobName: "publish"}}}}) {{__typename}}'
MUTATION = f"mutation {{{LAUNCH}}}"
RUNS = "{runsOrError {... on Runs {count}}}"
#: What a browser adds for a page of another site that shows this as its image.
IMAGE = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
FOREIGN = {"Host": "evil.example", "Origin": "https://evil.example"}


@dataclass
class Ui:
    """A running `campus ui`."""

    process: Program
    home: Path
    port: int
    said: str

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(self, query: str) -> Any:
        """Ask as the UI's own page does."""
        response = httpx.post(
            f"{self.url}/graphql",
            json={"query": query},
            headers={"Origin": self.url},
            timeout=60,
            trust_env=False,
        )
        return response.json()

    @property
    def runs(self) -> int:
        return int(self.ask(RUNS)["data"]["runsOrError"]["count"])

    def started(self) -> list[int]:
        """The processes that the command has started."""
        return children(self.process.pid)


def children(parent: int) -> list[int]:
    """The processes that any thread of a process has started."""
    pids: list[int] = []
    for file in Path(f"/proc/{parent}/task").glob("*/children"):
        # A thread may end just now.
        with suppress(FileNotFoundError, ProcessLookupError):
            pids += map(int, file.read_text().split())
    return pids


def descendants(parent: int) -> Iterator[int]:
    for child in children(parent):
        yield child
        yield from descendants(child)


def environment_of(pid: int) -> dict[str, str]:
    """The environment that a process was started with."""
    pairs = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
    return {name: value for name, _, value in (pair.partition("=") for pair in pairs if pair)}


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except FileNotFoundError:
        return ""


@contextmanager
def running(home: Path, *arguments: str, folder: Path | None = None) -> Iterator[Ui]:
    """`campus ui`, started in the home or in a folder, until the block ends, once it has said that it is
    ready."""
    port = free_port()
    environment = environment_for(home, TMPDIR=tempfile.gettempdir(), CAMPUS_BASE_URL="simulator")
    command = ["campus", "ui", "-p", str(port), *arguments]
    with started(command, environment, folder or home, end_by=signal.SIGTERM) as program:
        said = ""
        for line in program.stdout:
            said += line
            if line.startswith("The UI is on"):
                break
        assert f"The UI is on http://127.0.0.1:{port}" in said, said
        yield Ui(program, home, port, said)


@pytest.fixture(scope="module")
def ui(new_home: Callable[[], Path]) -> Iterator[Ui]:
    with running(new_home()) as started:
        yield started


def send(ui: Ui, method: str, target: str, headers: dict[str, str], content: str = "") -> int:
    address = f"{ui.url}{target}"
    return httpx.request(
        method, address, headers=headers, content=content, timeout=60, trust_env=False
    ).status_code


@pytest.mark.parametrize("foreign", [FOREIGN, {"Host": "evil.example"}, IMAGE, {}], ids=str)
def test_an_image_on_a_page_launches_nothing(ui: Ui, foreign: dict[str, str]) -> None:
    assert 400 <= send(ui, "GET", f"/graphql?query={quote(MUTATION)}", foreign) < 500
    assert ui.runs == 0


@pytest.mark.parametrize(
    "kind",
    [
        "text/plain",
        "text/plain; application/json",
        "application/x-www-form-urlencoded",
        "application/graphql",
    ],
)
def test_a_form_on_a_page_launches_nothing(ui: Ui, kind: str) -> None:
    for target, body in (
        ("/graphql", json.dumps({"query": MUTATION})),
        ("/graphql", MUTATION),
        (f"/graphql?query={quote(MUTATION)}", ""),
    ):
        assert send(ui, "POST", target, {"Content-Type": kind}, body) == 415
    assert ui.runs == 0


def test_no_event_is_reported_by_post(ui: Ui) -> None:
    assert send(ui, "POST", "/report_asset_materialization/raw/scores", {}) == 405
    materialized = (
        '{assetOrError(assetKey: {path: ["raw", "scores"]}) {... on Asset {assetMaterializations {runId}}}}'
    )
    assert not ui.ask(materialized)["data"]["assetOrError"].get("assetMaterializations")


def test_a_websocket_of_another_page_is_refused(ui: Ui) -> None:
    address = f"ws://127.0.0.1:{ui.port}/graphql"
    for origin in ("https://evil.example", "null", "http://127.0.0.1:1"):
        with pytest.raises(InvalidStatus):
            connect(address, origin=Origin(origin), subprotocols=[SUBPROTOCOL], proxy=None)


def test_a_websocket_takes_no_mutation(ui: Ui) -> None:
    address = f"ws://127.0.0.1:{ui.port}/graphql"
    with connect(address, origin=Origin(ui.url), subprotocols=[SUBPROTOCOL], proxy=None) as socket_:
        socket_.send(json.dumps({"type": "connection_init"}))
        assert json.loads(socket_.recv(timeout=60))["type"] == "connection_ack"
        socket_.send(json.dumps({"type": "start", "id": "1", "payload": {"query": MUTATION}}))
        assert json.loads(socket_.recv(timeout=60))["type"] == "error"
    assert ui.runs == 0


def test_the_ui_itself_launches_a_run(ui: Ui) -> None:
    """The same mutation as in the attacks: each of them would have started a run."""
    before = ui.runs
    assert ui.ask(MUTATION)["data"]["launchRun"]["__typename"] == "LaunchRunSuccess"
    assert ui.runs == before + 1


def test_little_is_printed_and_one_daemon_runs(ui: Ui) -> None:
    assert [line.split()[0] for line in ui.said.splitlines()] == ["Starting.", "The"]
    commands = [command_of(pid) for pid in ui.started()]
    assert sorted(bool(re.search("dagster-daemon run", command)) for command in commands) == [False, True]
    with running(ui.home) as second:
        assert f"A daemon already runs on {ui.home}" in second.said
        [only] = second.started()
        assert "pipelines.ui.webserver" in command_of(only)


def test_a_taken_port_is_said(ui: Ui) -> None:
    environment = environment_for(ui.home, CAMPUS_BASE_URL="simulator")
    done = run(["campus", "ui", "-p", str(ui.port)], environment, ui.home)
    assert done.returncode == 1 and f"port {ui.port}" in done.stderr and "in use" in done.stderr


@pytest.mark.slow
def test_only_the_dotenv_of_the_home_counts(new_home: Callable[[], Path], tmp_path: Path) -> None:
    """Dagster's programs put all of the .env of their folder into the environment of what they start, and
    Python looks for modules there."""
    home = new_home()
    (home / ".env").write_text("NO_PROXY=school.example\nCAMPUS_SCHOOL_IDS=102\n")
    (tmp_path / ".env").write_text("HTTPS_PROXY=http://evil.example:1\nCAMPUS_SCHOOL_IDS=101\n")
    marker = tmp_path / "imported"
    for name in ("graphql", "dagster_webserver", "celery"):
        (tmp_path / f"{name}.py").write_text(f"open({str(marker)!r}, 'w').close()\n")
    with running(home, folder=tmp_path) as started:
        assert started.ask(RUNS)["data"], "the UI answers"
        processes = list(descendants(started.process.pid))
        given = [environment_of(pid) for pid in processes]
        commands = [command_of(pid) for pid in processes]
        assert any("dagster api grpc" in command for command in commands), commands
        assert not any("HTTPS_PROXY" in environment for environment in given)
        assert {environment["NO_PROXY"] for environment in given} == {"school.example"}
        # The settings of the folder hold, as for each command.
        assert {environment["CAMPUS_SCHOOL_IDS"] for environment in given} == {"101"}
        assert {Path(f"/proc/{pid}/cwd").readlink() for pid in processes} == {home / "dagster"}
    assert not marker.exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.slow
def test_one_signal_stops_all(new_home: Callable[[], Path], number: signal.Signals) -> None:
    with running(new_home()) as started:
        groups = started.started()
        assert len(groups) == 2
        started.process.send_signal(number)
        assert started.process.wait(PATIENCE) == 0
        assert not any(is_alive(group) for group in groups)


@pytest.mark.slow
def test_when_the_daemon_dies_the_webserver_is_stopped(new_home: Callable[[], Path]) -> None:
    with running(new_home()) as started:
        groups = started.started()
        [daemon] = [pid for pid in groups if "dagster-daemon" in command_of(pid)]
        os.kill(daemon, signal.SIGKILL)
        assert started.process.wait(PATIENCE) == 1
        said = started.process.stdout.read()
        assert "the daemon has ended" in said and "daemon.log" in said
        assert not any(is_alive(group) for group in groups)


def is_alive(group: int) -> bool:
    """Whether a process of this group runs. A process that nobody has waited for yet does not."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, its_group = stat.read_text().rpartition(")")[2].split()[:3]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(its_group) == group and state != "Z":
            return True
    return False


STEPS = '{runOrError(runId: "%s") {... on Run {stepStats {status}}}}'
EXPORT = f'launchRun(executionParams: {{selector: {{{CODE}, jobName: "exports"}}}}) '


def published_without_rows(home: Path) -> None:
    """A lake, and a published file of this version. Exports open the file after they have locked their
    folder."""
    lake_of(Settings(home=home)).ensure(LOGS)
    with duckdb.connect(str(home / "campus.duckdb")) as con:
        con.execute("CREATE SCHEMA quality")
        con.execute("CREATE TABLE quality.publication AS SELECT ? AS models_version", [models_version(home)])


@pytest.mark.slow
def test_commands_close_runs_of_a_killed_ui(new_home: Callable[[], Path], tmp_path: Path) -> None:
    """The whole UI is killed during an export, as by the system or a loss of power. No command closes the
    run before."""
    home = new_home()
    published_without_rows(home)
    (home / "exports").mkdir()
    environment = {"CAMPUS_HOME": str(home), "CAMPUS_BASE_URL": "http://127.0.0.1:9"}
    environment |= {"CAMPUS_CLIENT_ID": "c", "CAMPUS_CLIENT_SECRET": "s"}
    forget = ("forget", "--school", "999", "--dry-run")
    with locked(home / "exports"), running(home) as started:
        launched = started.ask(f"mutation {{{EXPORT} {{... on LaunchRunSuccess {{run {{runId}}}}}}}}")
        run_id = launched["data"]["launchRun"]["run"]["runId"]
        while not started.ask(STEPS % run_id)["data"]["runOrError"]["stepStats"]:
            time.sleep(0.2)
        alive = campus(tmp_path, *forget, **environment)
        assert (alive.exit_code, alive.stderr.count("\n")) == (1, 1)
        assert f"1 run is under way, such as exports ({run_id[:8]})" in alive.stderr
        backed_up = campus(tmp_path, "backup", "--first", str(tmp_path / "alive"), **environment)
        assert backed_up.exit_code == 0 and "Closed" not in backed_up.stdout, backed_up.output
        for pid in [*descendants(started.process.pid), started.process.pid]:
            os.kill(pid, signal.SIGKILL)
        started.process.wait(PATIENCE)
        assert len(list((home / "writers").glob("*.run"))) == 1, "the run has not ended by itself"
    closed = f"Closed run {run_id[:8]} (exports), launched by a person in the UI: its process is gone."
    for command in (forget, ("backup", "--first", str(tmp_path / "after")), ("sync",)):
        copy = tmp_path / command[0]
        shutil.copytree(home, copy)
        result = campus(tmp_path, *command, **environment | {"CAMPUS_HOME": str(copy)})
        assert closed in result.stdout.splitlines(), command
        assert "under way" not in result.output, command
        assert closed not in campus(tmp_path, *command, **environment | {"CAMPUS_HOME": str(copy)}).stdout
    environment |= {"CAMPUS_HOME": str(tmp_path / "restored")}
    restored = campus(tmp_path, "restore", str(tmp_path / "alive"), **environment)
    assert f"Closed run {run_id[:8]} (exports), launched by a person in the UI: " in restored.stdout


SCORES = 'path: ["raw", "scores"]'
#: Mutations of each kind, with arguments that Dagster takes.
MUTATIONS = {
    "launch": LAUNCH,
    "backfill": "launchPartitionBackfill(backfillParams: {allPartitions: true, "
    f"assetSelection: [{{{SCORES}}}]}}) {{__typename}}",
    "schedule": f'startSchedule(scheduleSelector: {{{CODE}, scheduleName: "night"}}) {{__typename}}',
    "deletion": 'deletePipelineRun(runId: "1") {__typename}',
    "wipe": f"wipeAssets(assetPartitionRanges: [{{assetKey: {{{SCORES}}}}}]) {{__typename}}",
    "concurrency": 'setConcurrencyLimit(concurrencyKey: "platform", limit: 0)',
    "partition": 'addDynamicPartition(partitionKey: "1:1", partitionsDefName: "school_semesters", '
    f"repositorySelector: {{{CODE}}}) {{__typename}}",
    "news": "setNuxSeen",
    "telemetry": 'logTelemetry(action: "a", clientTime: "1", clientId: "1", metadata: "{}") {__typename}',
}


READ_ONLY = "This UI is read-only: start it with campus ui --allow-launch, behind a login"


@pytest.mark.slow
def test_a_read_only_ui_changes_nothing(new_home: Callable[[], Path]) -> None:
    with running(new_home(), "--read-only") as started:
        for name, mutation in MUTATIONS.items():
            answer = started.ask(f"mutation {{{mutation}}}")
            assert answer["data"] is None, name
            assert answer["errors"][0]["message"] == READ_ONLY, (name, answer)
            # Each is refused for that reason alone.
            assert len(answer["errors"]) == 1, (name, answer)
        assert started.runs == 0
        assert started.ask("{permissions {permission value}}")["data"]["permissions"]
