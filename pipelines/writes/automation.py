"""Definitions that write to the platform without a person: for arriving files, and for waiting swipes."""

import time
from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile
from pathlib import Path

import dagster as dg

from pipelines.interrupted import UNFINISHED
from pipelines.launches import FINAL_TAG
from pipelines.settings import Settings
from pipelines.writes.file_jobs import FILE_JOBS, SEND_SWIPES, file_job
from pipelines.writes.roster_jobs import ASSETS, PLAN_ROSTER, applying_job, planning_job
from pipelines.writes.runs import FILE_TAG
from writeback.inbox.folder import DAY, Arrived, arrived, remove_old
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

#: By what a file is, the job that reads it.
JOBS = {ROSTERS: PLAN_ROSTER} | {kind: definition.job for kind, definition in FILE_JOBS.items()}
#: What is written comes before loads that wait.
PRIORITY = {"dagster/priority": "10"}
#: On a run that sends the swipes that wait: of which school.
OUTBOX_TAG = "campus/outbox"
#: After so many the pause is a day.
MOST_FAILURES = 8


def writes_definitions(settings: Settings) -> dg.Definitions:
    """The jobs that write to the platform, and what starts them; nothing where nothing may be written and no
    folder is looked at."""
    folder = settings.options.writes.inbox.folder
    if folder is None and not settings.allow_writes:
        return dg.Definitions()
    jobs = [planning_job(settings), applying_job(settings), *(file_job(settings, kind) for kind in FILE_JOBS)]
    sensors = [files_sensor(settings, folder, kind, job) for kind, job in JOBS.items()] if folder else []
    waiting = [swipes_sensor(settings)] if settings.allow_writes else []
    assets = [*ASSETS, *(job.asset for job in FILE_JOBS.values())]
    return dg.Definitions(assets=assets, jobs=jobs, sensors=[*sensors, *waiting])


def files_sensor(settings: Settings, folder: Path, kind: str, job: str) -> dg.SensorDefinition:
    """The sensor that asks for a run for each file of a kind that has arrived."""

    @dg.sensor(
        name=f"{kind}_that_arrive",
        # By its name: Dagster makes a sensor of a job anew, and warns of a parameter that nobody has given.
        job_name=job,
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=30,
        description=f"Files that arrive in {folder}, below <school id>/{kind}.",
    )
    def sensor(context: dg.SensorEvaluationContext) -> Iterator[dg.RunRequest | dg.SkipReason]:
        memory, warn = memory_of(context.cursor), context.log.warning
        try:
            files = arrived(folder, kind, settings.school_ids, warn)
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
            yield _run_request(file, job, memory.requests[file.path])
        if not due:
            yield dg.SkipReason(f"No new file is in {folder}.")

    return sensor


def _remove_old(
    settings: Settings,
    folder: Path,
    kind: str,
    files: Iterable[Arrived],
    memory: Memory,
    warn: Callable[[str], None],
) -> None:
    """Remove files that are not needed any more, once a day."""
    now = time.time()
    if now - memory.cleaned < DAY:
        return
    memory.cleaned = now
    stamps = without_further_run(kind, files, memory, now)
    for problem in remove_old(folder, kind, settings.options.writes.inbox.keep_days, stamps):
        warn(problem)


def _run_request(file: Arrived, job: str, request: Request) -> dg.RunRequest:
    config = {"school_id": file.school_id, "file": file.name, "stamp": request.stamp}
    return dg.RunRequest(
        run_key=f"{request.key}|{request.times}",
        run_config={"ops": {job: {"config": config}}},
        tags={FILE_TAG: request.key, **PRIORITY},
    )


def _has_ended(instance: dg.DagsterInstance, request: Request) -> bool | None:
    """Whether the last run for a file needs no other run: it succeeded, or failed by the file's content.
    None: it has not ended."""
    last = next(iter(instance.get_runs(dg.RunsFilter(tags={FILE_TAG: request.key}), limit=1)), None)
    if last is None or not last.is_finished:
        return None
    return last.is_success or bool(last.tags.get(FINAL_TAG))


def swipes_sensor(settings: Settings) -> dg.SensorDefinition:
    """The sensor that has the swipes sent that wait in the outbox, as the platform was away."""

    @dg.sensor(
        name="swipes_that_wait",
        job_name=SEND_SWIPES,
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=60,
        description="Swipes that wait in the outbox, tried after ten minutes and ever longer pauses.",
    )
    def sensor(context: dg.SensorEvaluationContext) -> Iterator[dg.RunRequest | dg.SkipReason]:
        schools: list[int] = []
        if store_path(settings.home).exists():
            with Store(settings.home) as store:
                schools = of_settings(settings, store.outbox.schools_waiting())
        due = [school_id for school_id in schools if _is_time(context.instance, school_id)]
        for school_id in due:
            yield dg.RunRequest(
                run_config={"ops": {SEND_SWIPES: {"config": {"school_id": school_id}}}},
                tags={OUTBOX_TAG: str(school_id), **PRIORITY},
            )
        if not due:
            yield dg.SkipReason("No swipe waits." if not schools else "Swipes wait for the next attempt.")

    return sensor


def of_settings(settings: Settings, schools: Iterable[int]) -> list[int]:
    """The schools that the settings name, too."""
    return [
        school_id for school_id in schools if settings.school_ids is None or school_id in settings.school_ids
    ]


def _is_time(instance: dg.DagsterInstance, school_id: int) -> bool:
    """Whether no run sends swipes now, and the pause since the last run for this school is over. The pause
    grows with each failure, up to a day."""
    sending = dg.RunsFilter(job_name=SEND_SWIPES, statuses=UNFINISHED)
    if instance.get_run_records(sending, limit=1):
        return False
    mine = instance.get_run_records(dg.RunsFilter(tags={OUTBOX_TAG: str(school_id)}), limit=MOST_FAILURES)
    failures = list(takewhile(lambda record: not record.dagster_run.is_success, mine))
    pause = AGAIN_AFTER * 2.0 ** max(len(failures) - 1, 0)
    return not mine or time.time() - mine[0].create_timestamp.timestamp() >= pause
