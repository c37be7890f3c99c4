"""Runs that end with slices that could not be loaded, as the assets end them."""

from collections.abc import Mapping, Sequence

import dagster as dg

from assets.shared.load_kind import raise_failed
from campus.registry import RESOURCES
from loading.slices.commit import Loaded, RunResults
from warehouse.lake.tables import Slice


def slices_failed(
    instance: dg.DagsterInstance,
    job: str,
    tags: Mapping[str, str],
    message: str,
    problems: Sequence[str] = (),
) -> dg.DagsterRun:
    """A run of a job of this name of which one slice has failed, with this message."""

    @dg.op(name="base_data")
    def step(context: dg.OpExecutionContext) -> None:
        loaded = Loaded(RESOURCES["students"], Slice.of(_school_id=101), "failed", message)
        raise_failed(context, RunResults([loaded], list(problems)))

    @dg.job(name=job, executor_def=dg.in_process_executor)
    def made() -> None:
        step()

    run = made.execute_in_process(instance=instance, tags=dict(tags), raise_on_error=False).dagster_run
    ended = instance.get_run_by_id(run.run_id)
    assert ended is not None
    return ended
