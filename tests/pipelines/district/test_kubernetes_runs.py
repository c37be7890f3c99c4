"""What becomes of a run whose pod, node or cluster is gone: the same as of a run of a Celery worker."""

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import pytest
import yaml
from sqlalchemy import create_engine, text

from assets.shared.dagster_private import WorkerStatus
from pipelines.district import run_health
from pipelines.district.heartbeats import Heartbeats, Watch
from pipelines.district.kubernetes.launcher import WatchedKubernetesLauncher
from pipelines.district.unstarted_runs import runs_without_a_worker
from pipelines.nights.run_state import WILL_RETRY_TAG
from tests.kits.programs.held_runs import CUT_OFF, HeldRuns
from tests.kits.programs.rendered_district import access_from_outside, data, rendered
from tests.kits.servers.kubernetes_api import Cluster, cluster
from tests.kits.servers.postgres import Postgres, postgres

ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.slow


@dataclass
class District(HeldRuns):
    """A district whose runs are jobs, and the hand in what they run."""

    server: Postgres
    cluster: Cluster
    watch: Watch

    def begin(self) -> tuple[str, int]:
        """Launch a run, and wait until it has begun and beats. Returns its process, too."""
        run_id = self.launch()
        self.wait(lambda: self.begun(run_id) and run_id in self.watch.beats.all(), "the run begins")
        return run_id, self.begun(run_id)[0]


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with postgres() as running_server:
        yield running_server


@pytest.fixture
def district(server: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[District]:
    home = tmp_path / "dagster"
    home.mkdir()
    printed = rendered(tmp_path, monkeypatch, "", DAGSTER_POSTGRES_URL=server.url, DAGSTER_HOME=str(home))
    of_this_machine = {"CAMPUS_HOME": str(tmp_path), "CAMPUS_CONFIG": "", "DAGSTER_HOME": str(home)}
    watch = Watch(Heartbeats(server.url))
    monkeypatch.setattr(run_health, "watch_of", lambda _: watch)
    monkeypatch.setattr(run_health, "SILENT", 4.0)
    with cluster(tmp_path, of_this_machine | {"PYTHONPATH": str(ROOT)}) as (jobs, address):
        dagster_yaml = data(printed, "dagster.yaml")
        dagster_yaml["run_launcher"]["config"] |= access_from_outside(tmp_path, address)
        (home / "dagster.yaml").write_text(yaml.safe_dump(dagster_yaml))
        with dg.DagsterInstance.from_config(str(home)) as instance:
            assert isinstance(instance.run_launcher, WatchedKubernetesLauncher)
            yield District(tmp_path, instance, server, jobs, watch)


def report(district: District, run_id: str) -> str | None:
    """Report a dead run as failed, as Dagster's monitoring does. Returns whether it is retried."""
    district.instance.report_run_failed(district.run(run_id), "gone")
    return district.run(run_id).tags.get(WILL_RETRY_TAG)


def wait_for_decision(district: District, run_id: str) -> None:
    """Wait until Dagster has decided on a retry, which follows the failure."""
    district.wait(lambda: WILL_RETRY_TAG in district.run(run_id).tags, "it is decided what comes next")


def test_a_run_is_a_job_with_heartbeats(district: District) -> None:
    run_id, _ = district.begin()
    assert district.health(run_id) == WorkerStatus.RUNNING
    (district.folder / "go").touch()
    district.wait(lambda: district.run(run_id).is_success, "the run ends")
    district.wait(lambda: run_id not in district.watch.beats.all(), "the last heartbeat is forgotten")


def test_a_killed_pod_is_noticed_at_once_and_retried(district: District) -> None:
    run_id, process = district.begin()
    os.kill(process, signal.SIGKILL)
    district.wait(lambda: district.health(run_id) == WorkerStatus.FAILED, "Kubernetes says so")
    assert report(district, run_id) == "true"


def test_a_drained_pod_fails_its_run_which_is_retried(district: District) -> None:
    run_id, process = district.begin()
    os.kill(process, signal.SIGTERM)
    district.wait(lambda: district.run(run_id).status == dg.DagsterRunStatus.FAILURE, "the run fails")
    wait_for_decision(district, run_id)
    assert district.run(run_id).tags[WILL_RETRY_TAG] == "true"


def test_a_run_on_a_lost_node_is_given_up_and_ends_itself(district: District) -> None:
    """Kubernetes calls its job active for minutes."""
    run_id, process = district.begin()
    os.kill(process, signal.SIGSTOP)
    district.wait(lambda: district.health(run_id) == WorkerStatus.FAILED, "it is given up")
    assert report(district, run_id) == "true"
    os.kill(process, signal.SIGCONT)
    [job] = district.cluster.processes.values()
    district.wait(lambda: job.poll() is not None, "it ends itself")
    assert job.returncode == -signal.SIGKILL


def test_a_cluster_that_does_not_answer_ends_no_run(district: District) -> None:
    run_id, process = district.begin()
    district.cluster.is_away = True
    for _ in range(12):
        # Beats come every ten seconds, so the patience of this test is shorter than their distance.
        district.watch.beats.beat(run_id, "pod")
        assert district.health(run_id) == WorkerStatus.RUNNING
    os.kill(process, signal.SIGSTOP)
    district.wait(lambda: district.health(run_id) == WorkerStatus.FAILED, "no heartbeat comes")
    os.kill(process, signal.SIGCONT)


def test_a_run_that_waits_for_a_node_is_left_alone(
    district: District, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(district.cluster, "start", lambda job: None)
    run_id = district.launch()
    monkeypatch.setattr(district.cluster, "status", lambda name: {"active": 1})
    district.health(run_id)
    monkeypatch.setattr(run_health, "SILENT", 0.0)
    assert district.health(run_id) == WorkerStatus.RUNNING


def test_a_run_whose_job_is_gone_before_it_begins_is_retried(
    district: District, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(district.cluster, "start", lambda job: None)
    run_id, sensor = district.launch(), runs_without_a_worker()

    def is_finished() -> bool:
        with dg.build_sensor_context(instance=district.instance) as context:
            sensor(context)
        return district.run(run_id).is_finished

    district.wait(is_finished, "the sensor gives it up")
    assert district.run(run_id).tags.get(WILL_RETRY_TAG) == "true"


def test_a_cancelled_run_ends_with_its_job(district: District) -> None:
    run_id, _ = district.begin()
    assert district.instance.run_launcher.terminate(run_id)
    district.wait(lambda: district.run(run_id).status == dg.DagsterRunStatus.CANCELED, "it is cancelled")
    assert WILL_RETRY_TAG not in district.run(run_id).tags
    assert not district.cluster.processes


def test_a_run_waits_for_postgres(district: District) -> None:
    run_id, _ = district.begin()
    district.server.stop()
    (district.folder / "go").touch()
    district.server.wait_for_a_client()
    district.server.start()
    district.wait(lambda: district.run(run_id).is_success, "the run ends")


def test_a_run_that_postgres_cuts_off_is_retried(district: District) -> None:
    run_id, _ = district.begin()
    engine = create_engine(district.server.url)

    def cut_off() -> object:
        with engine.begin() as connection:
            return connection.execute(text(CUT_OFF)).scalar()

    with engine.begin() as connection:
        connection.execute(text("LOCK TABLE event_logs IN EXCLUSIVE MODE"))
        (district.folder / "go").touch()
        district.wait(cut_off, "a statement of the run waits")
    engine.dispose()
    district.wait(lambda: district.run(run_id).status == dg.DagsterRunStatus.FAILURE, "the run fails")
    wait_for_decision(district, run_id)
    assert district.run(run_id).tags[WILL_RETRY_TAG] == "true"
