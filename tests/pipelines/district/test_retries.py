"""What waits for the next try of a run that has died with its worker."""

from collections.abc import Callable, Sequence
from itertools import count

import dagster as dg
import pytest

from pipelines.nights.run_state import (
    RETRY_TAG,
    WILL_RETRY_TAG,
    about_to_be_retried,
    last_discovery,
    runs_under_way,
)
from pipelines.runs.jobs import DISCOVERY
from tests.kits.worlds.night_ticks import ended_discovery


def test_a_discovery_that_is_tried_again_is_not_the_last_one() -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        before = ended_discovery(instance)
        died = ended_discovery(instance, failed=True)
        discovery = last_discovery(instance, DISCOVERY)
        assert discovery is not None and discovery.run_id == died.run_id, (
            "one that is not tried again holds nobody up"
        )
        instance.add_run_tags(died.run_id, {WILL_RETRY_TAG: "true"})
        discovery = last_discovery(instance, DISCOVERY)
        assert discovery is not None and discovery.run_id == before.run_id
        assert [run.run_id for run in about_to_be_retried(instance)] == [died.run_id]
        again = ended_discovery(instance)
        instance.add_run_tags(died.run_id, {RETRY_TAG: again.run_id})
        discovery = last_discovery(instance, DISCOVERY)
        assert discovery is not None and discovery.run_id == again.run_id
        assert about_to_be_retried(instance) == []


def test_until_dagster_says_so_a_run_that_has_failed_may_be_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Dagster says first that a run has failed, and then whether it is tried again."""
    seen: list[tuple[list[dg.DagsterRun], dg.DagsterRun | None]] = []
    with dg.instance_for_test(overrides={"run_retries": {"enabled": True, "max_retries": 0}}) as instance:
        add = instance.add_run_tags

        def look_and_add(run_id: str, tags: dict[str, str]) -> None:
            if WILL_RETRY_TAG in tags:
                seen.append((about_to_be_retried(instance), last_discovery(instance, DISCOVERY)))
            add(run_id, tags)

        monkeypatch.setattr(instance, "add_run_tags", look_and_add)
        died = ended_discovery(instance, failed=True)
        [(retried, last)] = seen
        assert [run.run_id for run in retried] == [died.run_id] and last is None
        assert about_to_be_retried(instance) == []
        last = last_discovery(instance, DISCOVERY)
        assert last is not None and last.run_id == died.run_id


def _next_try(instance: dg.DagsterInstance, died: dg.DagsterRun) -> None:
    again = instance.create_run_for_job(dg.GraphDefinition(name=DISCOVERY).to_job())
    instance.add_run_tags(died.run_id, {RETRY_TAG: again.run_id})


def _fails(instance: dg.DagsterInstance, run: dg.DagsterRun) -> None:
    instance.report_run_failed(run)
    instance.add_run_tags(run.run_id, {WILL_RETRY_TAG: "true"})


@pytest.mark.parametrize("look", [1, 2])
@pytest.mark.parametrize("happens", [_next_try, _fails])
def test_a_run_is_not_missed_whatever_happens_to_it_between_two_looks(
    happens: Callable[[dg.DagsterInstance, dg.DagsterRun], None], look: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = dg.GraphDefinition(name=DISCOVERY).to_job()
    with dg.DagsterInstance.ephemeral() as instance:
        run = instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED)
        if happens is _next_try:
            _fails(instance, run)
        get_runs, looks = instance.get_runs, count(1)

        def get_runs_before_it_happens(filters: dg.RunsFilter) -> Sequence[dg.DagsterRun]:
            runs = get_runs(filters)
            if next(looks) == look:
                happens(instance, run)
            return runs

        monkeypatch.setattr(instance, "get_runs", get_runs_before_it_happens)
        assert runs_under_way(instance)
