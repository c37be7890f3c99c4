"""The nightly schedule, and the sensor that requests a run per school after the discovery."""

from collections.abc import Iterator, Sequence
from typing import Any

import dagster as dg

from assets.loads import LOADS
from assets.shared.dagster_private import AssetJob
from assets.shared.load_kind import Kind, is_halted
from assets.shared.partitions import SCHOOL_SEMESTERS, V1_SEMESTERS
from loading.connection.runtime import FULL_TAG, SYNC_ID_TAG
from loading.partition_keys import NO_SCHOOL, keys_by_school, school_of
from pipelines.lake.opening import lake_of
from pipelines.nights.run_state import ALL_REQUESTED_TAG, last_discovery
from pipelines.nights.school_night import night_config
from pipelines.runs.jobs import SCHOOL_NIGHT
from pipelines.runs.partition_selection import current_keys, due_keys, groups_of, night_tags
from pipelines.settings.settings import Settings
from warehouse.lake.delta import Lake
from warehouse.lake.tables import PLATFORM_ZONE
from warehouse.load.logs.load_log import held_back, now
from warehouse.load.whole_readings import slices_due_whole

#: Each request is a run that the daemon makes before it evaluates any other sensor.
SCHOOLS_PER_TICK = 25
#: Separates the parts of a cursor and of a run key.
SEPARATOR = "|"
#: In the cursor instead of the last school: the loads of all schools are requested.
ALL_SCHOOLS = "all"
#: The partitions of loads by semester, and the table that lists the semesters.
SEMESTERS: dict[dg.DynamicPartitionsDefinition, str] = {
    SCHOOL_SEMESTERS: "semesters",
    V1_SEMESTERS: "v1_semesters",
}


def nightly(settings: Settings, discovery: AssetJob) -> dg.ScheduleDefinition:
    """The schedule that starts a night. Its time names the night in quality.load_log."""

    @dg.schedule(
        name="nightly",
        job=discovery,
        cron_schedule=settings.options.schedule.nightly,
        execution_timezone=str(PLATFORM_ZONE),
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Find schools and semesters; the loads and the publication follow by themselves.",
    )
    def schedule(context: dg.ScheduleEvaluationContext) -> dg.RunRequest:
        night = context.scheduled_execution_time.astimezone(PLATFORM_ZONE)
        name = f"night-{night:%Y%m%d-%H%M}"
        return dg.RunRequest(run_key=name, tags={SYNC_ID_TAG: name})

    return schedule


def loads_after_discovery(settings: Settings, discovery: str) -> dg.SensorDefinition:
    """The sensor that requests the loads of each school once a discovery has ended.

    A failed discovery counts too: one unreadable school must not hold up the other schools. The cursor is the
    discovery's run id and the last school with requested loads."""

    @dg.sensor(
        name="loads_after_discovery",
        job_name=SCHOOL_NIGHT,
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=10,
        description="One run per school: its current semester, older semesters that are due, its attendance, "
        f"its datasets and its reports. At most {SCHOOLS_PER_TICK} schools at a time.",
    )
    def sensor(context: dg.SensorEvaluationContext) -> Iterator[dg.RunRequest | dg.SkipReason]:
        instance = context.instance
        run = last_discovery(instance, discovery)
        if context.cursor is None:
            # The first tick ever: an earlier discovery needs no loads any more.
            if run is not None:
                instance.add_run_tags(run.run_id, {ALL_REQUESTED_TAG: run.run_id})
            context.update_cursor(f"{run.run_id if run else ''}{SEPARATOR}{ALL_SCHOOLS}")
            yield dg.SkipReason("The loads follow the next discovery.")
            return
        requested, _, last = context.cursor.partition(SEPARATOR)
        if run is None or (run.run_id == requested and last == ALL_SCHOOLS):
            yield dg.SkipReason("All loads of the last discovery are requested.")
            return
        if is_halted(run.tags):
            context.update_cursor(f"{run.run_id}{SEPARATOR}{ALL_SCHOOLS}")
            yield dg.SkipReason("The discovery found the platform unavailable, so no loads follow.")
            return
        after = int(last) if run.run_id == requested else NO_SCHOOL
        keys = (key for load in LOADS for key in load.keys(instance, settings.school_ids))
        schools = sorted(school_id for school_id in set(map(school_of, keys)) if school_id > after)
        if not schools:
            # One tick after the last requests, which are runs only now.
            instance.add_run_tags(run.run_id, {ALL_REQUESTED_TAG: run.run_id})
            context.update_cursor(f"{run.run_id}{SEPARATOR}{ALL_SCHOOLS}")
            yield dg.SkipReason("All loads of the discovery are requested.")
            return
        per_run = settings.options.runs.schools_per_run
        batch = schools[: SCHOOLS_PER_TICK // per_run * per_run]
        yield from _requests(instance, settings, run, batch)
        context.update_cursor(f"{run.run_id}{SEPARATOR}{batch[-1]}")

    return sensor


def _requests(
    instance: dg.DagsterInstance, settings: Settings, discovery: dg.DagsterRun, schools: Sequence[int]
) -> Iterator[dg.RunRequest]:
    tags = {SYNC_ID_TAG: discovery.tags.get(SYNC_ID_TAG, discovery.run_id), FULL_TAG: "false"}
    lake, whole_days = lake_of(settings), settings.options.incremental.whole_days
    due = {
        load.name: keys_by_school(_due_semesters(instance, lake, load, schools, whole_days))
        for load in LOADS
        if load.partitions in SEMESTERS
    }
    for group in groups_of(schools, settings.options.runs.schools_per_run):
        partitions = {
            job: [key for school_id in group for key in keys.get(school_id, ())] for job, keys in due.items()
        }
        yield dg.RunRequest(
            run_key=f"{discovery.run_id}{SEPARATOR}{group[0]}",
            run_config=night_config(partitions),
            tags={**night_tags(lake, group), **tags},
        )


def _due_semesters(
    instance: dg.DagsterInstance, lake: Lake, load: Kind[Any], schools: Sequence[int], whole_days: int
) -> list[str]:
    """The semesters of these schools that a night loads."""
    keys = load.keys(instance, schools)
    loaded = [instance.get_materialized_partitions(key) for key in load.assets.keys]
    tables = {key.path[-1] for key in load.assets.keys}
    # Of rows in quarantine, the platform may have mended them, or this version may read them.
    due = slices_due_whole(lake, tables, whole_days, now()) | held_back(lake, tables)
    return due_keys(keys, current_keys(lake, SEMESTERS[load.partitions]), set.intersection(*loaded) - due)
