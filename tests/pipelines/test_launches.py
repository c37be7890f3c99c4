"""Each run says who has launched it, and one that is executed again is not taken for its predecessor."""

from pathlib import Path
from socket import gethostname
from types import SimpleNamespace

import dagster as dg
import pytest

from pipelines.district.queues import TASK_TAG
from pipelines.instance import CONFIG
from pipelines.interrupted import PROCESS_TAG, close_gone_runs
from pipelines.launches import A_PERSON, LAUNCHER_TAG, NamedLaunches, is_of_a_command, launch_tags
from pipelines.settings import Settings

OF_A_COMMAND = {LAUNCHER_TAG: "campus sync of it on server", PROCESS_TAG: f"{gethostname()}-1-gone.json"}


@dg.job
def night() -> None: ...


@pytest.mark.parametrize(
    ("tags", "launcher"),
    [
        ({"dagster/schedule_name": "nightly"}, "the schedule nightly"),
        ({"dagster/sensor_name": "publish_after_loads"}, "the sensor publish_after_loads"),
        ({"dagster/backfill": "abc"}, f"{A_PERSON}, by the backfill abc"),
        ({}, A_PERSON),
        (
            {"dagster/schedule_name": "nightly", "dagster/parent_run_id": "0123456789"},
            f"{A_PERSON}, as another try of 01234567",
        ),
    ],
)
def test_who_launched_a_run_follows_from_what_dagster_says(tags: dict[str, str], launcher: str) -> None:
    assert launch_tags(tags, by_request=False) == {LAUNCHER_TAG: launcher}
    assert not is_of_a_command(launch_tags(tags, by_request=False))


@pytest.mark.parametrize(
    "name", ["dagster/schedule_name", "dagster/sensor_name", "dagster/tick", LAUNCHER_TAG]
)
def test_a_request_that_names_a_schedule_is_still_a_persons(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dg.QueuedRunCoordinator, "submit_run", lambda _self, context: context.dagster_run)
    forged = {name: "campus sync of root on server", LAUNCHER_TAG: "campus sync of root on server"}
    with dg.DagsterInstance.ephemeral() as instance:
        instance.create_run_for_job(night, tags=forged)
        [run] = instance.get_runs()
        launches = NamedLaunches()
        launches.register_instance(instance)
        launches.submit_run(
            SimpleNamespace(dagster_run=run, workspace=SimpleNamespace(source="a request"))  # type: ignore
        )
        [run] = instance.get_runs()
    assert run.tags[LAUNCHER_TAG] == A_PERSON


def test_another_try_of_a_command_has_a_process_of_its_own(tmp_path: Path) -> None:
    again = OF_A_COMMAND | {"dagster/parent_run_id": "0123456789"}
    assert is_of_a_command(again) and not is_of_a_command(again | launch_tags(again, by_request=True))
    under_way = dg.DagsterRunStatus.STARTED
    with dg.DagsterInstance.ephemeral() as instance:
        tried = instance.create_run_for_job(
            night, tags=again | launch_tags(again, by_request=True), status=under_way
        )
        gone = instance.create_run_for_job(night, tags=OF_A_COMMAND, status=under_way)
        elsewhere = instance.create_run_for_job(night, tags={PROCESS_TAG: "other-1.json"}, status=under_way)
        watched = gone.tags | {TASK_TAG: "a task"}
        by_a_worker = instance.create_run_for_job(night, tags=watched, status=under_way)
        assert close_gone_runs(instance, Settings(home=tmp_path)) == ["night"]
        ends = {run.run_id: run.status for run in instance.get_runs()}
    going_on = dict.fromkeys([tried.run_id, elsewhere.run_id, by_a_worker.run_id], under_way)
    assert ends == going_on | {gone.run_id: dg.DagsterRunStatus.FAILURE}


def test_the_queue_that_dagster_yaml_names_is_there() -> None:
    assert CONFIG["run_coordinator"] == {"module": NamedLaunches.__module__, "class": NamedLaunches.__name__}
