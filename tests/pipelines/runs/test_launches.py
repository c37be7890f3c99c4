"""Each run says who has launched it, and one that is executed again is not taken for its predecessor."""

import os
import pwd
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from logging import getLogger
from pathlib import Path
from socket import gethostname
from types import SimpleNamespace
from typing import Any

import dagster as dg
import pytest
from dagster._core.definitions.run_request import InstigatorType
from dagster._core.execution.backfill import BulkActionStatus, PartitionBackfill
from dagster._core.scheduler.instigation import TickData, TickStatus
from dagster._core.test_utils import create_test_daemon_workspace_context
from dagster._core.workspace.load_target import PythonFileTarget
from dagster._daemon.sensor import execute_sensor_iteration
from dagster._scheduler.scheduler import launch_scheduled_runs

from pipelines.cli.command_session import read_only_tags
from pipelines.district.queues import TASK_TAG
from pipelines.runs.instance import CONFIG
from pipelines.runs.interrupted_runs import close_gone_runs, closed_run
from pipelines.runs.launchers import (
    A_PERSON,
    LAUNCHER_TAG,
    PROCESS_TAG,
    NamedLaunches,
    is_of_a_command,
    launcher_of,
    own_tags,
)
from pipelines.settings.settings import Settings

OF_A_COMMAND = {LAUNCHER_TAG: "campus sync of it on server", PROCESS_TAG: f"{gethostname()}-1-gone.json"}


@dg.job
def night() -> None: ...


@dataclass
class Origin:
    """Who a tick is of, as Dagster's daemon would have it."""

    name: str
    kind: InstigatorType

    def tick(self, status: TickStatus = TickStatus.STARTED, **fields: Any) -> TickData:
        values: dict[str, Any] = {"timestamp": AT.timestamp(), "selector_id": "selector", **fields}
        return TickData("origin", self.name, self.kind, status, **values)


NIGHTLY = Origin("nightly", InstigatorType.SCHEDULE)
ARRIVALS = Origin("rosters_that_arrive", InstigatorType.SENSOR)
AT = datetime(2026, 11, 26, 19, 0, tzinfo=UTC)
FORGED = {
    "dagster/schedule_name": "nightly",
    "dagster/sensor_name": "rosters_that_arrive",
    ".dagster/scheduled_execution_time": AT.isoformat(),
    LAUNCHER_TAG: "campus sync of root on server",
    "user": "the director",
}


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.local_temp(str(tmp_path)) as made:
        yield made


def queued(instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch, **tags: str) -> str:
    """Who has launched a run with these tags, as the queue notes it."""
    monkeypatch.setattr(dg.QueuedRunCoordinator, "submit_run", lambda _self, context: context.dagster_run)
    run = instance.create_run_for_job(night, tags=tags)
    launches = NamedLaunches()
    launches.register_instance(instance)
    launches.submit_run(SimpleNamespace(dagster_run=run))  # type: ignore[arg-type]
    [noted] = instance.get_runs(dg.RunsFilter(run_ids=[run.run_id]))
    assert not is_of_a_command(noted.tags)
    return noted.tags[LAUNCHER_TAG]


@pytest.mark.parametrize("tick", [None, "", "1", "-1", "x", "²", "9" * 40])
def test_tags_alone_make_no_schedule(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch, tick: str | None
) -> None:
    named = {} if tick is None else {"dagster/tick": tick}
    assert queued(instance, monkeypatch, **FORGED, **named) == A_PERSON


def test_a_tick_of_another_run_makes_no_schedule(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An ended tick names its runs, an open one is of its own time, and a sensor reserves the ids of runs."""
    ended = instance.create_tick(NIGHTLY.tick(TickStatus.SUCCESS, run_ids=["another"]))
    elsewhen = instance.create_tick(NIGHTLY.tick(timestamp=AT.timestamp() + 60))
    looking = instance.create_tick(ARRIVALS.tick(reserved_run_ids=["another"]))
    for tick in (ended, elsewhen, looking):
        assert queued(instance, monkeypatch, **FORGED, **{"dagster/tick": str(tick.tick_id)}) == A_PERSON


def test_the_tick_of_a_schedule_names_it(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    tick = instance.create_tick(NIGHTLY.tick())
    tags = FORGED | {"dagster/tick": str(tick.tick_id), "dagster/schedule_name": "another"}
    assert queued(instance, monkeypatch, **tags) == "the schedule nightly"
    # By the time that it writes something, a run is in its tick.
    begun = instance.create_run_for_job(night, tags=tags)
    assert launcher_of(instance, begun) == A_PERSON
    instance.update_tick(tick.with_run_info(begun.run_id).with_status(TickStatus.SUCCESS))
    assert launcher_of(instance, begun) == "the schedule nightly"


def test_the_tick_of_a_sensor_names_it(instance: dg.DagsterInstance) -> None:
    run = instance.create_run_for_job(night, tags={"dagster/tick": "1"})
    tick = instance.create_tick(ARRIVALS.tick(reserved_run_ids=[run.run_id]))
    assert tick.tick_id == 1
    assert launcher_of(instance, run) == "the sensor rosters_that_arrive"


def test_backfills_and_runs_that_are_not_there_are_not_named(instance: dg.DagsterInstance) -> None:
    forged = {"dagster/backfill": "the director", "dagster/parent_run_id": "the nightly schedule"}
    assert launcher_of(instance, instance.create_run_for_job(night, tags=forged)) == A_PERSON
    instance.add_backfill(
        PartitionBackfill(
            "abc", BulkActionStatus.REQUESTED, from_failure=False, tags={}, backfill_timestamp=1.0
        )
    )
    run = instance.create_run_for_job(night, tags={**FORGED, "dagster/backfill": "abc"})
    assert launcher_of(instance, run) == f"{A_PERSON}, by the backfill abc"


def test_another_try_is_a_persons_or_of_dagster(instance: dg.DagsterInstance) -> None:
    before = instance.create_run_for_job(night)
    tags = {**FORGED, "dagster/parent_run_id": before.run_id, "dagster/retry_number": "1"}
    again = instance.create_run_for_job(night, tags=tags)
    assert launcher_of(instance, again) == f"{A_PERSON}, as another try of {before.run_id[:8]}"
    # As its daemon notes before it queues the next try.
    instance.add_run_tags(before.run_id, {"dagster/auto_retry_run_id": again.run_id})
    assert launcher_of(instance, again) == f"Dagster, as another try of {before.run_id[:8]}"


def test_a_command_is_named_by_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "the director")
    monkeypatch.delenv("SUDO_USER", raising=False)
    user = pwd.getpwuid(os.getuid()).pw_name
    launcher = read_only_tags("campus roster plan")[LAUNCHER_TAG]
    assert launcher == f"campus roster plan of {user} on {gethostname()}, process {os.getpid()}"
    monkeypatch.setenv("SUDO_USER", "alice\x1b[2J")
    launcher = read_only_tags("campus roster plan")[LAUNCHER_TAG]
    assert f" of {user} (SUDO_USER 'alice\\x1b[2J') on " in launcher


def test_another_try_of_a_command_has_a_process_of_its_own(tmp_path: Path) -> None:
    again = OF_A_COMMAND | {"dagster/parent_run_id": "0123456789"}
    under_way = dg.DagsterRunStatus.STARTED
    with dg.DagsterInstance.ephemeral() as instance:
        tried = instance.create_run_for_job(night, tags=again | own_tags(again), status=under_way)
        gone = instance.create_run_for_job(night, tags=OF_A_COMMAND, status=under_way)
        elsewhere = instance.create_run_for_job(night, tags={PROCESS_TAG: "other-1.json"}, status=under_way)
        watched = gone.tags | {TASK_TAG: "a task"}
        by_a_worker = instance.create_run_for_job(night, tags=watched, status=under_way)
        assert close_gone_runs(instance, Settings(home=tmp_path)) == [closed_run(gone)]
        ends = {run.run_id: run.status for run in instance.get_runs()}
    going_on = dict.fromkeys([tried.run_id, elsewhere.run_id, by_a_worker.run_id], under_way)
    assert ends == going_on | {gone.run_id: dg.DagsterRunStatus.FAILURE}


def test_the_queue_that_dagster_yaml_names_is_there() -> None:
    assert CONFIG["run_coordinator"] == {"module": NamedLaunches.__module__, "class": NamedLaunches.__name__}


CODE = """
import dagster as dg

FORGED = {"campus/launched_by": "campus sync of root", "user": "the director"}


@dg.op
def nothing() -> None: ...


@dg.job
def night():
    nothing()


@dg.schedule(job=night, cron_schedule="* * * * *", default_status=dg.DefaultScheduleStatus.RUNNING)
def nightly(context):
    return dg.RunRequest(run_key=str(context.scheduled_execution_time), tags=FORGED)


@dg.sensor(job=night, default_status=dg.DefaultSensorStatus.RUNNING)
def rosters_that_arrive(context):
    return dg.RunRequest(tags=FORGED)


defs = dg.Definitions(jobs=[night], schedules=[nightly], sensors=[rosters_that_arrive])
"""


def test_dagsters_own_scheduler_and_sensors_are_named(tmp_path: Path) -> None:
    """What Dagster's daemon itself writes into ticks and tags, from one release to the next."""
    file, log = tmp_path / "code.py", getLogger("test")
    file.write_text(CODE)
    coordinator = {"module": NamedLaunches.__module__, "class": NamedLaunches.__name__}
    with (
        dg.DagsterInstance.local_temp(str(tmp_path), {"run_coordinator": coordinator}) as instance,
        create_test_daemon_workspace_context(
            PythonFileTarget(str(file), attribute=None, working_directory=None, location_name="code"),
            instance,
        ) as workspace,
    ):
        began = datetime.now(UTC)
        for moment in (began, began + timedelta(seconds=61)):
            list(launch_scheduled_runs(workspace, log, moment, {}))
        list(execute_sensor_iteration(workspace, log, None, None))
        runs = instance.get_runs()
        noted = {run.tags[LAUNCHER_TAG] for run in runs}
        # By the time that they write.
        launchers = {launcher_of(instance, run) for run in runs}
    assert noted == launchers == {"the schedule nightly", "the sensor rosters_that_arrive"}
