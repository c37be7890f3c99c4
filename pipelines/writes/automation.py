"""The jobs and sensors that write to the platform by themselves: for arriving files and for waiting
swipes."""

import time
from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile
from pathlib import Path

import dagster as dg

from pipelines.runs.interrupted_runs import UNFINISHED
from pipelines.runs.launchers import FINAL_TAG
from pipelines.settings.settings import Settings
from pipelines.writes.file_jobs import FILE_JOBS, SEND_SWIPES, file_job
from pipelines.writes.roster_jobs import ASSETS, PLAN_ROSTER, applying_job, planning_job
from pipelines.writes.runs import FILE_TAG
from writeback.inbox.folder import DAY, InboxFile, list_arrived, remove_old
from writeback.inbox.requests import (
    AGAIN_AFTER,
    Memory,
    Request,
    cursor_of,
    memory_of,
    to_read,
    without_further_run,
)
from writeback.kinds import ROSTERS
from writeback.store.location import store_path
from writeback.store.store import Store

#: The job for each kind of file.
JOBS = {ROSTERS: PLAN_ROSTER} | {kind: definition.job for kind, definition in FILE_JOBS.items()}
#: Writes go before queued loads.
PRIORITY = {"dagster/priority": "10"}
#: On a run that sends waiting swipes: the school.
OUTBOX_TAG = "campus/outbox"
#: After so many failures in a row the pause is a day.
MOST_FAILURES = 8


def writes_definitions(settings: Settings) -> dg.Definitions:
    """The jobs that write to the platform, and their sensors; empty if writing is off and no folder is
    set."""
    folder = settings.options.writes.inbox.folder
    if folder is None and not settings.allow_writes:
        return dg.Definitions()
    jobs = [planning_job(settings), applying_job(settings), *(file_job(settings, kind) for kind in FILE_JOBS)]
    sensors = [files_sensor(settings, folder, kind, job) for kind, job in JOBS.items()] if folder else []
    if settings.allow_writes:
        sensors.append(swipes_sensor(settings))
    assets = [*ASSETS, *(job.asset for job in FILE_JOBS.values())]
    return dg.Definitions(assets=assets, jobs=jobs, sensors=sensors)


def files_sensor(settings: Settings, folder: Path, kind: str, job: str) -> dg.SensorDefinition:
    """The sensor that requests a run for each arrived file of a kind."""

    @dg.sensor(
        name=f"{kind}_that_arrive",
        # By name: from a job object Dagster builds the sensor again, and warns about an unset parameter.
        job_name=job,
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=30,
        description=f"Files that arrive in {folder}, below <school id>/{kind}.",
    )
    def sensor(context: dg.SensorEvaluationContext) -> Iterator[dg.RunRequest | dg.SkipReason]:
        memory, warn = memory_of(context.cursor), context.log.warning
        try:
            files = list_arrived(folder, kind, settings.school_ids, warn)
            _remove_old(settings, folder, kind, files, memory, warn)
        except OSError as error:
            yield dg.SkipReason(f"{folder} (writes.inbox.folder) cannot be read: {error.strerror}.")
            return
        if kind != ROSTERS and not settings.allow_writes:
            context.update_cursor(cursor_of(memory))
            yield dg.SkipReason("CAMPUS_ALLOW_WRITES is not true: files wait in the folder.")
            return
        due = to_read(kind, files, memory, lambda request: _has_ended(context.instance, request), warn)
        context.update_cursor(cursor_of(memory))
        for file in due:
            request = memory.requests[file.path]
            config = {"school_id": file.school_id, "file": file.name, "stamp": request.stamp}
            yield dg.RunRequest(
                run_key=f"{request.key}|{request.times}",
                run_config={"ops": {job: {"config": config}}},
                tags={FILE_TAG: request.key, **PRIORITY},
            )
        if not due:
            yield dg.SkipReason(f"No new file is in {folder}.")

    return sensor


def _remove_old(
    settings: Settings,
    folder: Path,
    kind: str,
    files: Iterable[InboxFile],
    memory: Memory,
    warn: Callable[[str], None],
) -> None:
    """Remove old files once a day."""
    now = time.time()
    if now - memory.cleaned < DAY:
        return
    memory.cleaned = now
    stamps = without_further_run(kind, files, memory, now)
    for problem in remove_old(folder, kind, settings.options.writes.inbox.keep_days, stamps):
        warn(problem)


def _has_ended(instance: dg.DagsterInstance, request: Request) -> bool | None:
    """Whether the last run for a file was the last one needed: it succeeded, or failed by the file's content.
    None: the run has not ended."""
    last = next(iter(instance.get_runs(dg.RunsFilter(tags={FILE_TAG: request.key}), limit=1)), None)
    if last is None or not last.is_finished:
        return None
    return last.is_success or bool(last.tags.get(FINAL_TAG))


def swipes_sensor(settings: Settings) -> dg.SensorDefinition:
    """The sensor that requests runs for the swipes in the outbox, which wait since the platform was away."""

    @dg.sensor(
        name="swipes_that_wait",
        job_name=SEND_SWIPES,
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=60,
        description="Swipes that wait in the outbox, sent again after ten minutes and then longer pauses.",
    )
    def sensor(context: dg.SensorEvaluationContext) -> Iterator[dg.RunRequest | dg.SkipReason]:
        schools: list[int] = []
        if store_path(settings.home).exists():
            with Store(settings.home) as store:
                waiting = store.outbox.schools_waiting()
            schools = [id for id in waiting if settings.school_ids is None or id in settings.school_ids]
        due = [school_id for school_id in schools if _is_time(context.instance, school_id)]
        for school_id in due:
            yield dg.RunRequest(
                run_config={"ops": {SEND_SWIPES: {"config": {"school_id": school_id}}}},
                tags={OUTBOX_TAG: str(school_id), **PRIORITY},
            )
        if not due:
            yield dg.SkipReason("No swipe waits." if not schools else "Swipes wait for the next attempt.")

    return sensor


def _is_time(instance: dg.DagsterInstance, school_id: int) -> bool:
    """Whether no run sends swipes now, and the pause after the school's last run is over. The pause doubles
    with each failure, up to a day."""
    sending = dg.RunsFilter(job_name=SEND_SWIPES, statuses=UNFINISHED)
    if instance.get_run_records(sending, limit=1):
        return False
    runs = instance.get_run_records(dg.RunsFilter(tags={OUTBOX_TAG: str(school_id)}), limit=MOST_FAILURES)
    failures = list(takewhile(lambda record: not record.dagster_run.is_success, runs))
    pause = AGAIN_AFTER * 2.0 ** max(len(failures) - 1, 0)
    return not runs or time.time() - runs[0].create_timestamp.timestamp() >= pause
