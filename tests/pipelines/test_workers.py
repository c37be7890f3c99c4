"""Workers as processes, on a RabbitMQ and a Postgres: who gets which run, and what becomes of it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import dagster as dg
import pytest
from broker import broker, connections, lose, lose_connections, waiting
from disks import BALLAST, fill, small_disk
from held_job import held_job
from postgres import Postgres, postgres
from sqlalchemy import Engine, create_engine, text

from assets.dagster_private import WorkerStatus
from pipelines.automation import WILL_RETRY_TAG
from pipelines.district import launcher as launching
from pipelines.district import programs
from pipelines.district.heartbeats import Heartbeats, Watch
from pipelines.district.pauses import Pauses
from pipelines.district.queues import BUILD, QUEUE_TAG
from pipelines.district.starting import runs_without_a_worker
from pipelines.instance import POSTGRES_URL, open_instance
from pipelines.settings import load_settings
from pipelines.status import status_of

PATIENCE = 90.0
CAMPUS = Path(sys.executable).parent / "campus"
FAILED = dg.RunsFilter(statuses=[dg.DagsterRunStatus.FAILURE])
#: Ends the connections whose statements wait for a lock.
CUT_OFF = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE wait_event_type = 'Lock' AND query LIKE 'INSERT%'
"""
SHARED = Path(__file__).parents[1] / "shared"

pytestmark = pytest.mark.slow


@dataclass
class District:
    """Two workers, and the hand in what they run."""

    folder: Path
    server: Postgres
    address: str
    instance: dg.DagsterInstance
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
                env=os.environ | {"PYTHONPATH": str(SHARED)},
            )
        self.workers.append(worker)
        return worker

    def launch(self, **tags: str) -> str:
        """Hand a run to the broker, as the daemon does with what waits in its queue."""
        job = dg.reconstructable(held_job)
        run = self.instance.create_run_for_job(
            held_job,
            run_config={"ops": {"held": {"config": {"folder": str(self.folder)}}}},
            tags=tags,
            job_code_origin=job.get_python_origin(),
            status=dg.DagsterRunStatus.STARTING,
        )
        self.instance.run_launcher.launch_run(SimpleNamespace(dagster_run=run))
        return run.run_id

    def begun(self, run_id: str) -> list[int]:
        """The processes that have begun the run."""
        file = self.folder / f"{run_id}.begun"
        return [int(line) for line in file.read_text().split()] if file.exists() else []

    def run(self, run_id: str) -> dg.DagsterRun:
        run = self.instance.get_run_by_id(run_id)
        assert run is not None
        return run

    def status(self, run_id: str) -> dg.DagsterRunStatus:
        return self.run(run_id).status

    def health(self, run_id: str) -> WorkerStatus:
        return self.instance.run_launcher.check_run_worker_health(self.run(run_id)).status

    def wait(self, until: Callable[[], object], what: str) -> None:
        ends = time.monotonic() + PATIENCE
        while not until():
            logs = "".join(file.read_text()[-2000:] for file in self.folder.glob("worker*.log"))
            assert time.monotonic() < ends, f"waited in vain: {what}\n{logs}"
            time.sleep(0.2)


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with postgres() as one:
        yield one


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
            made = District(tmp_path, server, address, instance)
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
    district.wait(lambda: beats.all().keys() == set(first), "both give signs of life")
    assert len({beat.worker for beat in beats.all().values()}) == 2
    third = district.launch()
    time.sleep(1)
    assert waiting(district.address, "load") == 1 and not district.begun(third), "nobody has it yet"
    (district.folder / "go").touch()
    done = [*first, third]
    district.wait(lambda: {district.status(run) for run in done} == {dg.DagsterRunStatus.SUCCESS}, "all end")
    assert [len(district.begun(run)) for run in done] == [1, 1, 1]
    district.wait(lambda: beats.all() == {}, "the last signs of life are forgotten")


def test_a_worker_that_connects_again_in_the_middle_of_a_run_takes_no_second_one(district: District) -> None:
    first = district.launch()
    district.start_worker()
    district.wait(lambda: district.begun(first), "it begins")
    lost = connections(district.address)
    lose_connections(district.address)
    district.wait(lambda: connections(district.address) - lost, "the worker is connected again")
    second = district.launch()
    time.sleep(1)
    assert waiting(district.address, "load") == 1 and not district.begun(second), "nobody has it yet"
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
    monkeypatch.setattr(launching, "SILENT", 2.0)
    watch = Watch(Heartbeats(district.server.url))
    monkeypatch.setattr(launching, "watch_of", lambda _: watch)
    killed, worker = district.launch(), district.start_worker()
    district.wait(lambda: district.begun(killed), "a worker begins")
    district.wait(lambda: watch.beats.all(), "it gives signs of life")

    assert district.health(killed) == WorkerStatus.RUNNING
    os.kill(worker.pid, signal.SIGKILL)
    [process] = district.begun(killed)
    district.wait(lambda: not Path(f"/proc/{process}").exists(), "the run dies with its worker")
    district.wait(lambda: district.health(killed) == WorkerStatus.FAILED, "the silence is noticed")
    assert watch.beats.all() == {} and watch.beats.beat(killed, "a worker that was cut off")
    waits = district.launch()
    district.wait(lambda: waiting(district.address, "load"), "it is at the broker")
    assert district.health(waits) == WorkerStatus.RUNNING
    time.sleep(2.5)
    assert district.health(waits) == WorkerStatus.RUNNING, "a run that waits for a worker is not dead"
    district.start_worker()
    district.wait(lambda: district.begun(waits), "another worker begins the next")
    assert district.instance.run_launcher.terminate(waits)
    district.wait(lambda: district.status(waits) == dg.DagsterRunStatus.CANCELED, "it ends when it is told")
    assert [len(district.begun(run)) for run in (killed, waits)] == [1, 1]


def test_a_run_that_nobody_began_is_found_out_and_one_that_waits_is_left(
    district: District, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launching, "SILENT", 2.0)
    watch = Watch(Heartbeats(district.server.url))
    monkeypatch.setattr(launching, "watch_of", lambda _: watch)
    look = runs_without_a_worker()

    def failed() -> set[str]:
        look.evaluate_tick(dg.build_sensor_context(instance=district.instance))
        return {run.run_id for run in district.instance.get_runs(FAILED)}

    lost, died = district.launch(), district.launch()
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
        assert name.startswith("worker1@") and why.startswith(f"The disk of {disk}/home is full, 0 MB")
        told = status_of(load_settings()).to_do
        assert any(line.startswith(f"The worker {name} takes no runs: The disk of ") for line in told)
        assert waiting(district.address, "load") == 1 and not district.begun(waits)
        monkeypatch.setenv("CAMPUS_HOME", str(district.folder))
        district.start_worker()
        district.wait(lambda: district.begun(waits), "a worker with room begins it")
        follows = district.launch()
        time.sleep(1)
        assert waiting(district.address, "load") == 1 and worker.poll() is None
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
