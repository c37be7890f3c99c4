"""Workers as processes, on a RabbitMQ and a Postgres: who gets which run, and what becomes of it."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import dagster as dg
import pytest
from sqlalchemy import Engine, create_engine, text

from assets.shared.dagster_private import WorkerStatus
from pipelines.district import programs, run_health
from pipelines.district.heartbeats import Heartbeats, Watch
from pipelines.district.pauses import Pauses
from pipelines.district.queues import BUILD, QUEUE_TAG
from pipelines.district.unstarted_runs import runs_without_a_worker
from pipelines.nights.run_state import WILL_RETRY_TAG
from pipelines.runs.instance import open_instance
from pipelines.settings.environment import POSTGRES_URL
from pipelines.settings.settings import load_settings
from pipelines.status.report import status_of
from tests.kits.programs.held_runs import CUT_OFF, HeldRuns
from tests.kits.servers.broker import broker, connections, lose, lose_connections, waiting
from tests.kits.servers.disks import BALLAST, fill, small_disk
from tests.kits.servers.postgres import Postgres, postgres

CAMPUS = Path(sys.executable).parent / "campus"
ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.slow


@dataclass
class District(HeldRuns):
    """Two workers, and the hand in what they run."""

    server: Postgres
    address: str
    workers: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    def start_worker(self, command: Sequence[str] = ()) -> "subprocess.Popen[bytes]":
        """Start what `campus district worker` becomes, or the command, which takes a second more to do so."""
        name = f"worker{len(self.workers) + 1}"
        with (self.folder / f"{name}.log").open("wb") as log:
            worker = subprocess.Popen(
                command or programs.worker(name),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=os.environ | {"PYTHONPATH": str(ROOT)},
            )
        self.workers.append(worker)
        return worker

    def status(self, run_id: str) -> dg.DagsterRunStatus:
        return self.run(run_id).status


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with postgres() as running_server:
        yield running_server


@pytest.fixture
def district(server: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[District]:
    with broker() as address:
        monkeypatch.setenv("CAMPUS_HOME", str(tmp_path))
        monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster"))
        monkeypatch.setenv("CAMPUS_BROKER_URL", address)
        monkeypatch.setenv(POSTGRES_URL, server.url)
        monkeypatch.chdir(tmp_path)
        # Each test is a district with a lake of its own, on the Postgres of all.
        with create_engine(server.url).begin() as connection:
            connection.execute(text("DROP TABLE IF EXISTS campus_lake"))
        with open_instance(load_settings()) as instance:
            made = District(tmp_path, instance, server, address)
            try:
                yield made
            finally:
                for worker in made.workers:
                    os.killpg(worker.pid, signal.SIGKILL)
                    worker.wait()


def test_each_worker_takes_one_run_and_leaves_the_rest_to_whoever_is_free(district: District) -> None:
    """A worker of Celery's own would keep a second run, and it would wait though another worker is free."""
    district.start_worker([str(CAMPUS), "district", "worker", "--name", "1"]), district.start_worker()
    first = [district.launch(), district.launch(**{QUEUE_TAG: BUILD})]
    district.wait(lambda: all(map(district.begun, first)), "both begin, each on a worker of its own")
    beats = Heartbeats(district.server.url)
    district.wait(lambda: set(first) <= beats.all().keys(), "both give signs of life")
    assert len({beats.all()[run].worker for run in first}) == 2
    third = district.launch()
    district.wait(lambda: waiting(district.address, "load") == 1, "no worker has it")
    assert not district.begun(third)
    (district.folder / "go").touch()
    done = [*first, third]
    district.wait(lambda: {district.status(run) for run in done} == {dg.DagsterRunStatus.SUCCESS}, "all end")
    assert [len(district.begun(run)) for run in done] == [1, 1, 1]
    district.wait(lambda: beats.all().keys().isdisjoint(done), "the last signs of life are forgotten")


def test_a_worker_that_connects_again_in_the_middle_of_a_run_takes_no_second_one(district: District) -> None:
    first = district.launch()
    district.start_worker()
    district.wait(lambda: district.begun(first), "it begins")
    lost = connections(district.address)
    lose_connections(district.address)
    district.wait(lambda: connections(district.address) - lost, "the worker is connected again")
    second = district.launch()
    district.wait(lambda: waiting(district.address, "load") == 1, "no worker has it")
    assert not district.begun(second)
    district.start_worker()
    district.wait(lambda: district.begun(second), "the idle worker begins it, beside the one that is busy")
    assert district.status(first) == dg.DagsterRunStatus.STARTED
    third = district.launch()
    (district.folder / "go").touch()
    done = [first, second, third]
    district.wait(lambda: {district.status(run) for run in done} == {dg.DagsterRunStatus.SUCCESS}, "all end")
    assert [len(district.begun(run)) for run in done] == [1, 1, 1]


def test_a_killed_worker_is_found_out_and_a_cancelled_run_ends(
    district: District, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_health, "SILENT", 2.0)
    watch = Watch(Heartbeats(district.server.url))
    monkeypatch.setattr(run_health, "watch_of", lambda _: watch)
    killed, worker = district.launch(), district.start_worker()
    district.wait(lambda: district.begun(killed), "a worker begins")
    district.wait(lambda: killed in watch.beats.all(), "it gives signs of life")

    assert district.health(killed) == WorkerStatus.RUNNING
    os.kill(worker.pid, signal.SIGKILL)
    [process] = district.begun(killed)
    district.wait(lambda: not Path(f"/proc/{process}").exists(), "the run dies with its worker")
    district.wait(lambda: district.health(killed) == WorkerStatus.FAILED, "the silence is noticed")
    assert killed not in watch.beats.all() and watch.beats.beat(killed, "a worker that was cut off")
    waits = district.launch()
    district.wait(lambda: waiting(district.address, "load"), "it is at the broker")
    assert district.health(waits) == WorkerStatus.RUNNING
    with monkeypatch.context() as impatient:
        impatient.setattr(run_health, "SILENT", 0.0)
        assert district.health(waits) == WorkerStatus.RUNNING, "a run that waits for a worker is not dead"
    district.start_worker()
    district.wait(lambda: district.begun(waits), "another worker begins the next")
    assert district.instance.run_launcher.terminate(waits)
    district.wait(lambda: district.status(waits) == dg.DagsterRunStatus.CANCELED, "it ends when it is told")
    assert [len(district.begun(run)) for run in (killed, waits)] == [1, 1]


def test_a_killed_child_is_reported_at_once(district: District) -> None:
    """The worker knows it: nobody looks for missed heartbeats here."""
    run, _ = district.launch(), district.start_worker()
    district.wait(lambda: district.begun(run), "a worker begins")
    [process] = district.begun(run)
    os.kill(process, signal.SIGKILL)
    district.wait(lambda: district.status(run) == dg.DagsterRunStatus.FAILURE, "the worker reports it")
    killed = re.compile("The process of this run on .* was killed, perhaps for lack of memory")
    assert any(killed.search(entry.message) for entry in district.instance.all_logs(run))
    assert run not in Heartbeats(district.server.url).all()
    cancelled = district.launch()
    district.wait(lambda: district.begun(cancelled), "the worker takes the next run")
    district.instance.report_run_canceling(district.run(cancelled))
    [process] = district.begun(cancelled)
    os.kill(process, signal.SIGKILL)
    district.wait(lambda: district.run(cancelled).is_finished, "the worker reports it")
    assert district.status(cancelled) == dg.DagsterRunStatus.CANCELED, "nobody retries it"


def test_a_run_that_nobody_began_is_found_out_and_one_that_waits_is_left(
    district: District, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_health, "SILENT", 2.0)
    watch = Watch(Heartbeats(district.server.url))
    monkeypatch.setattr(run_health, "watch_of", lambda _: watch)
    look = runs_without_a_worker()
    lost, died = district.launch(), district.launch()

    def failed() -> set[str]:
        look.evaluate_tick(dg.build_sensor_context(instance=district.instance))
        return {run for run in (lost, died) if district.status(run) == dg.DagsterRunStatus.FAILURE}

    watch.beats.beat(died, "a worker that took it and died")
    district.wait(lambda: failed() == {died}, "its silence is noticed")
    district.wait(lambda: waiting(district.address, "load"), "its message is at the broker")
    assert failed() == {died}
    lose(district.address, "load")
    district.wait(lambda: failed() == {lost, died}, "nobody has the other one")


def test_a_run_that_postgres_cuts_off_in_a_statement_is_tried_again(district: District) -> None:
    run_id = district.launch()
    district.start_worker()
    district.wait(lambda: district.begun(run_id), "it begins")
    engine = create_engine(district.server.url)
    with engine.begin() as connection:
        connection.execute(text("LOCK TABLE event_logs IN EXCLUSIVE MODE"))
        (district.folder / "go").touch()
        district.wait(lambda: _done(engine, CUT_OFF), "a statement of the run waits")
    engine.dispose()
    district.wait(lambda: district.status(run_id) == dg.DagsterRunStatus.FAILURE, "it fails")
    # Which Dagster decides, and writes down, only then.
    district.wait(lambda: WILL_RETRY_TAG in district.run(run_id).tags, "it is decided what comes next")
    assert district.run(run_id).tags[WILL_RETRY_TAG] == "true"


def test_a_worker_whose_disk_is_full_leaves_runs_to_others(
    district: District, monkeypatch: pytest.MonkeyPatch
) -> None:
    with small_disk(district.folder / "disk", megabytes=100) as disk:
        monkeypatch.setenv("CAMPUS_HOME", str(disk / "home"))
        monkeypatch.setenv("CAMPUS_LAKE", str(district.folder / "lake"))
        (disk / "home").mkdir()
        fill(disk)
        waits = district.launch()
        worker = district.start_worker()
        pauses = Pauses(district.server.url)
        district.wait(pauses.all, "the worker says that it takes nothing")
        [(name, why)] = pauses.all().items()
        assert name.startswith("worker1@") and why.startswith(f"The disk of {disk}/home is full: 0 MB")
        to_do = status_of(load_settings()).to_do
        assert any(line.startswith(f"The worker {name} takes no runs: The disk of ") for line in to_do)
        assert waiting(district.address, "load") == 1 and not district.begun(waits)
        monkeypatch.setenv("CAMPUS_HOME", str(district.folder))
        district.start_worker()
        district.wait(lambda: district.begun(waits), "a worker with room begins it")
        follows = district.launch()
        district.wait(lambda: waiting(district.address, "load") == 1, "no worker has it")
        assert worker.poll() is None
        (disk / BALLAST).unlink()
        district.wait(lambda: district.begun(follows), "the first one has room again")
        district.wait(lambda: pauses.all() == {}, "and says so")


def test_a_worker_whose_runs_fail_at_once_takes_no_more_for_a_while(district: District) -> None:
    (district.folder / "fail").touch()
    runs = [district.launch() for _ in range(5)]
    district.start_worker()
    pauses = Pauses(district.server.url)
    district.wait(pauses.all, "the worker pauses")
    [why] = pauses.all().values()
    assert why.startswith("3 runs in a row failed within 20 seconds")
    district.wait(lambda: waiting(district.address, "load") == 2, "the others wait for a worker that can")
    assert [district.status(run) for run in runs].count(dg.DagsterRunStatus.FAILURE) == 3
    log = (district.folder / "worker1.log").read_text()
    assert "Takes no runs: 3 runs in a row failed" in log


def _done(engine: Engine, statement: str) -> object:
    """What a statement gives, in a transaction of its own."""
    with engine.begin() as connection:
        return connection.execute(text(statement)).all()
