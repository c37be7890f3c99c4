"""Queued runs that the daemon does not start."""

from datetime import UTC, datetime, timedelta

import dagster as dg

from pipelines.runs.interrupted_runs import UNFINISHED
from warehouse.lake.tables import PLATFORM_ZONE

#: The daemon starts queued runs every few seconds, as long as its limits allow.
LONGEST_WAIT = timedelta(hours=1)
#: The daemon updates its heartbeat every 30 seconds.
LONGEST_SILENCE = timedelta(minutes=5)
#: Dagster's name for the part of the daemon that starts queued runs.
COORDINATOR = "QUEUED_RUN_COORDINATOR"
QUEUED = dg.DagsterRunStatus.QUEUED
ENDED = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]
IN_PROGRESS = [status for status in UNFINISHED if status not in (QUEUED, dg.DagsterRunStatus.NOT_STARTED)]


def stalled_queue(instance: dg.DagsterInstance) -> str | None:
    """Say that runs wait which the daemon should have started; None: it starts them.

    Runs may wait for the end of long runs, as long as the daemon is alive."""
    now = datetime.now(UTC)
    waiting = instance.get_run_records(dg.RunsFilter(statuses=[QUEUED]), limit=1, ascending=True)
    if not waiting or now - waiting[0].create_timestamp.astimezone(UTC) < LONGEST_WAIT:
        return None
    changed = dg.RunsFilter(statuses=[*IN_PROGRESS, *ENDED], updated_after=now - LONGEST_WAIT)
    if instance.get_runs(changed, limit=1):
        return None
    heartbeat = instance.get_daemon_heartbeats().get(COORDINATOR)
    seen = datetime.fromtimestamp(heartbeat.timestamp, UTC) if heartbeat else None
    is_alive = seen is not None and now - seen < LONGEST_SILENCE
    if is_alive and instance.get_runs(dg.RunsFilter(statuses=IN_PROGRESS), limit=1):
        return None
    count = instance.get_runs_count(dg.RunsFilter(statuses=[QUEUED]))
    if is_alive:
        advice = "The daemon is alive: its log says why it starts none; restart it"
    else:
        last = f"was last seen at {_local(seen)}" if seen else "was never seen"
        advice = f"The daemon {last}: start it (campus ui, or the unit campus-daemon)"
    runs = "1 run waits" if count == 1 else f"{count} runs wait"
    return (
        f"{runs} in the queue, the first since {_local(waiting[0].create_timestamp)}, "
        f"and no run was started for an hour. {advice}."
    )


def _local(moment: datetime) -> str:
    return f"{moment.astimezone(PLATFORM_ZONE):%m-%d %H:%M}"
