"""The last discovery, whether its loads are requested, and the runs that have not ended."""

import time
from datetime import UTC, datetime, timedelta

import dagster as dg

from assets.shared.load_kind import is_halted
from pipelines.runs.interrupted_runs import UNFINISHED
from pipelines.runs.launchers import NEVER_STARTED_TAG, is_of_a_command

#: On a discovery: its own run id once all its loads are requested. A re-execution copies the tags, and the
#: foreign run id shows that its own loads are not requested yet.
ALL_REQUESTED_TAG = "campus/all_asked"
#: On a failed run: whether Dagster retries the run, and the id of the retry.
WILL_RETRY_TAG, RETRY_TAG = "dagster/will_retry", "dagster/auto_retry_run_id"
#: On a run that a sensor requested: the key of the request.
RUN_KEY_TAG = "dagster/run_key"
#: The longest time from a failure to its retry.
RETRY_WITHIN = timedelta(minutes=10)
FINISHED = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE]
#: The latest discoveries among which the last one without a command is looked for.
DISCOVERIES_READ = 10
#: Seconds for which a publication waits until the loads after a discovery are requested: their sensor may be
#: turned off.
REQUESTS_WITHIN = 3600.0


def last_discovery(instance: dg.DagsterInstance, discovery: str) -> dg.DagsterRun | None:
    """The last discovery that has ended and is not retried. Discoveries of commands do not count: a command
    runs the loads itself."""
    finished = instance.get_runs(dg.RunsFilter(job_name=discovery, statuses=FINISHED), limit=DISCOVERIES_READ)
    undecided = {run.run_id for run in about_to_be_retried(instance)}
    for run in finished:
        will_retry = run.tags.get(WILL_RETRY_TAG) == "true" or run.run_id in undecided
        if not (will_retry or is_of_a_command(run.tags) or run.tags.get(NEVER_STARTED_TAG)):
            return run
    return None


def awaits_load_requests(instance: dg.DagsterInstance, discovery: str) -> bool:
    """Whether some loads after the last discovery are still to be requested."""
    last = last_discovery(instance, discovery)
    if last is None or last.tags.get(ALL_REQUESTED_TAG) == last.run_id or is_halted(last.tags):
        return False
    [record] = instance.get_run_records(dg.RunsFilter(run_ids=[last.run_id]))
    return time.time() - (record.end_time or 0) < REQUESTS_WITHIN


def runs_under_way(instance: dg.DagsterInstance) -> list[dg.DagsterRun]:
    """The runs that have not ended, and the failed runs that Dagster is about to retry."""
    unfinished = dg.RunsFilter(statuses=UNFINISHED)
    # A run may fail between the first two queries, and its retry may start between the last two.
    first, failed = instance.get_runs(unfinished), about_to_be_retried(instance)
    results = first, failed, instance.get_runs(unfinished)
    return list({run.run_id: run for runs in results for run in runs}.values())


def about_to_be_retried(instance: dg.DagsterInstance) -> list[dg.DagsterRun]:
    """The failed runs whose retry Dagster has not made yet."""
    since = datetime.now(UTC) - RETRY_WITHIN
    failed = instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.FAILURE], updated_after=since))
    return [run for run in failed if RETRY_TAG not in run.tags and _may_be_retried(instance, run)]


def _may_be_retried(instance: dg.DagsterInstance, failed: dg.DagsterRun) -> bool:
    if WILL_RETRY_TAG in failed.tags:
        return failed.tags[WILL_RETRY_TAG] == "true"
    # Dagster records the failure first, and only then whether it retries the run.
    return instance.run_retries_enabled
