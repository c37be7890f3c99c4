"""Runs that wait in the queue while no daemon starts them."""

import re
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.remote_origin import RegisteredCodeLocationOrigin, RemoteJobOrigin, RemoteRepositoryOrigin
from dagster._daemon.types import DaemonHeartbeat

from pipelines.nights import stalled_queue as module
from pipelines.nights.stalled_queue import COORDINATOR, stalled_queue

#: Only runs of a code location are queued.
ORIGIN = RemoteJobOrigin(RemoteRepositoryOrigin(RegisteredCodeLocationOrigin("code"), "all"), "short")


@pytest.fixture
def instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dg.DagsterInstance]:
    """An instance with one queued run, which counts as old."""
    monkeypatch.setattr(module, "LONGEST_WAIT", timedelta(0))
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        run = dg.DagsterRun("short", status=dg.DagsterRunStatus.QUEUED, remote_job_origin=ORIGIN)
        instance.run_storage.add_run(run)
        yield instance


def beat(instance: dg.DagsterInstance, seconds_ago: float) -> None:
    instance.add_daemon_heartbeat(DaemonHeartbeat(time.time() - seconds_ago, COORDINATOR, "daemon", []))


def test_a_daemon_that_was_never_there_is_named(instance: dg.DagsterInstance) -> None:
    message = stalled_queue(instance)
    assert message is not None
    assert re.match(
        "1 run waits in the queue, the first since .*, and no run was started for an hour", message
    )
    assert message.endswith("The daemon was never seen: start it (campus ui, or the unit campus-daemon).")


def test_a_daemon_that_is_gone_is_named_with_its_last_sign(instance: dg.DagsterInstance) -> None:
    beat(instance, 3600)
    message = stalled_queue(instance)
    assert message is not None and "The daemon was last seen at " in message


def test_a_daemon_that_starts_nothing_is_named(instance: dg.DagsterInstance) -> None:
    beat(instance, 10)
    message = stalled_queue(instance)
    assert message is not None and "The daemon is alive: its log says why" in message


def test_a_long_run_may_hold_the_queue_up(instance: dg.DagsterInstance) -> None:
    instance.run_storage.add_run(dg.DagsterRun("long", status=dg.DagsterRunStatus.STARTED))
    beat(instance, 10)
    assert stalled_queue(instance) is None
    beat(instance, 3600)
    assert stalled_queue(instance) is not None, "nobody starts the next run when the long run ends"


def test_runs_that_wait_for_minutes_are_no_alarm(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LONGEST_WAIT", timedelta(hours=1))
    assert stalled_queue(instance) is None


def test_an_empty_queue_is_no_alarm(tmp_path: Path) -> None:
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        assert stalled_queue(instance) is None
