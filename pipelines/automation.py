"""What runs by itself: the nightly discovery, one load a school after it, one publication after the loads."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path

import dagster as dg
import duckdb

from assets.dagster_private import AssetJob
from assets.models import NOTHING_CHANGED, is_published, note_unchanged
from assets.partitions import ATTENDANCE_WEEKS, SCHOOL_SEMESTERS, V1_SEMESTERS
from assets.resource_assets import HALTED_TAG, asset_key
from loading.attendance.weeks import weeks_to_ask
from loading.discovery.semesters import OF_V1, OF_V3
from loading.partition_keys import partition_key, school_of
from loading.runtime import FULL_TAG, SYNC_ID_TAG
from loading.tables import TABLES
from pipelines.due import RANGE_START, due_keys, of_schools, school_ranges, school_tags
from pipelines.interrupted import UNFINISHED, close_gone_runs
from pipelines.launches import is_of_a_command
from pipelines.resources import attendance_settings
from pipelines.settings import Settings
from warehouse.lake.delta import Lake
from warehouse.lake.tables import PLATFORM_ZONE
from warehouse.load.load_log import held_back, holds_a_load, last_load, retired
from warehouse.load.log_writer import standing_rows
from warehouse.publish.build import models_version
from warehouse.publish.publish import made_by

# On the run that discovers: whether the loads after it read older semesters too.
EVERY_SEMESTER_TAG = "campus/every_semester"
OF_A_COMMAND = "A command has run it, and runs what follows itself."


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
        all_semesters = night.weekday() == settings.options.schedule.all_semesters_on
        tags = {SYNC_ID_TAG: name, EVERY_SEMESTER_TAG: str(all_semesters).lower()}
        return dg.RunRequest(run_key=name, tags=tags)

    return schedule


def loads_after_discovery(
    settings: Settings,
    discovery: AssetJob,
    base_data: AssetJob,
    v1: AssetJob,
    whole: Sequence[tuple[AssetJob, dg.DynamicPartitionsDefinition]],
    status: dg.DagsterRunStatus,
) -> dg.SensorDefinition:
    """The sensor that asks for the loads of each school once discovery has ended. Also when it has failed:
    that one school cannot be read is no reason to leave out the others. `whole`: what has no semesters, and
    is asked for with all of its partitions."""
    by_semester = (
        (base_data, OF_V3, SCHOOL_SEMESTERS, "semesters"),
        (v1, OF_V1, V1_SEMESTERS, "v1_semesters"),
    )

    @dg.run_status_sensor(
        name=f"loads_after_discovery_{status.value.lower()}",
        run_status=status,
        monitored_jobs=[discovery],
        request_jobs=[base_data, v1, *(job for job, _ in whole)],
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=30,
        description="The loads of each school: its current semester, on one night a week every semester, its "
        "datasets and its reports.",
    )
    def sensor(context: dg.RunStatusSensorContext) -> Iterator[dg.RunRequest | dg.SkipReason]:
        instance, run = context.instance, context.dagster_run
        if is_of_a_command(run.tags):
            yield dg.SkipReason(OF_A_COMMAND)
            return
        if HALTED_TAG in run.tags:
            yield dg.SkipReason("The discovery has ended as nothing more could be read of the platform.")
            return
        every_semester = run.tags.get(EVERY_SEMESTER_TAG, "false")
        # Once a week in full: neither a change that moves no updated_at nor a mark that is very late shows
        # otherwise.
        tags = {SYNC_ID_TAG: run.tags.get(SYNC_ID_TAG, run.run_id), FULL_TAG: every_semester}
        lake = Lake(str(settings.lake_root))
        for job, specs, partitions, table in by_semester:
            keys = instance.get_dynamic_partitions(partitions.name or "")
            mine, current = of_schools(keys, settings.school_ids), current_keys(lake, table)
            loaded = [instance.get_materialized_partitions(asset_key(spec.name)) for spec in specs]
            # A semester that comes back after it was retired is as good as new, and rows in quarantine may
            # have been mended, or be readable to this version.
            tables = {spec.name for spec in specs}
            everywhere = set.intersection(*loaded) - retired(lake, tables) - held_back(lake, tables)
            wanted = due_keys(mine, current, everywhere, every_semester=every_semester == "true")
            yield from _requests(lake, run.run_id, job, keys, wanted, tags)
        for job, partitions in whole:
            keys = instance.get_dynamic_partitions(partitions.name or "")
            yield from _requests(lake, run.run_id, job, keys, of_schools(keys, settings.school_ids), tags)

    return sensor


def attendance_after_classes(
    settings: Settings, base_data: AssetJob, v1: AssetJob, attendance: AssetJob, status: dg.DagsterRunStatus
) -> dg.SensorDefinition:
    """The sensor that asks for a school's attendance once its classes and students are loaded, which the
    questions name. Also when that has failed: what the lake holds of them is good enough to ask with."""
    before = (base_data.name, v1.name)

    @dg.run_status_sensor(
        name=f"attendance_after_classes_{status.value.lower()}",
        run_status=status,
        monitored_jobs=[base_data, v1],
        request_jobs=[attendance],
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=15,
        description="The attendance of each school: weeks never loaded and the trailing window, on one night "
        "a week all of it.",
    )
    def sensor(context: dg.RunStatusSensorContext) -> Iterator[dg.RunRequest | dg.SkipReason]:
        instance, tags = context.instance, context.dagster_run.tags
        sync_id, start = tags.get(SYNC_ID_TAG), tags.get(RANGE_START)
        if is_of_a_command(tags):
            yield dg.SkipReason(OF_A_COMMAND)
            return
        if sync_id is None or start is None:
            yield dg.SkipReason("Not a night's load: who asks for classes alone gets them alone.")
            return
        school_id = school_of(start)
        runs = [
            run
            for run in instance.get_runs(dg.RunsFilter(tags={SYNC_ID_TAG: sync_id}))
            if run.job_name in before and school_of(run.tags.get(RANGE_START, start)) == school_id
        ]
        if {run.job_name for run in runs} != set(before) or any(run.status in UNFINISHED for run in runs):
            yield dg.SkipReason(f"School {school_id} is still being loaded.")
            return
        if all(HALTED_TAG in run.tags for run in runs):
            yield dg.SkipReason("Nothing more could be read of the platform.")
            return
        keys = instance.get_dynamic_partitions(ATTENDANCE_WEEKS.name or "")
        full = tags.get(FULL_TAG, "false")
        lake = Lake(str(settings.lake_root))
        wanted = weeks_to_ask(
            lake,
            attendance_settings(settings),
            of_schools(keys, [school_id]),
            full=full == "true",
        )
        yield from _requests(lake, sync_id, attendance, keys, wanted, {SYNC_ID_TAG: sync_id, FULL_TAG: full})

    return sensor


def _requests(
    lake: Lake,
    asked_by: str,
    job: AssetJob,
    keys: Sequence[str],
    wanted: Iterable[str],
    tags: Mapping[str, str],
) -> Iterator[dg.RunRequest]:
    """One run a school of the job, as far as the wanted ones of its partition keys stand together.
    `asked_by`: what none of these runs is asked for twice by."""
    for stretch in school_ranges(keys, wanted):
        yield dg.RunRequest(
            run_key=f"{asked_by}|{job.name}|{stretch.start}",
            job_name=job.name,
            tags={**stretch.tags, **school_tags(lake, stretch.school_id), **tags},
        )


def publish_after_loads(settings: Settings, publish: AssetJob) -> dg.SensorDefinition:
    """The sensor that asks for one publication when the lake is newer than the published file, or the models
    are other ones, and no run is under way: after a night, a backfill, or a single asset, whether all of it
    succeeded or not, and after an upgrade."""

    @dg.sensor(
        name="publish_after_loads",
        job=publish,
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=60,
        description="Build and publish the warehouse once the loads have ended.",
    )
    def sensor(context: dg.SensorEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        for job in close_gone_runs(context.instance, settings):
            context.log.warning(f"{job}: a run whose process is gone was closed.")
        if context.instance.get_run_records(dg.RunsFilter(statuses=UNFINISHED), limit=1):
            return dg.SkipReason("A run is under way.")
        lake = Lake(str(settings.lake_root))
        last = last_load(lake)
        if last is None or not holds_a_load(lake):
            return dg.SkipReason("Nothing has been loaded yet.")
        loaded, _ = last
        models = models_version(settings.home)
        # The key keeps a publication whose checks fail from being tried again before anything is new.
        key = f"loaded-{loaded.isoformat()}-{models}"
        if made_by(settings.published) == models:
            if _loaded_until(settings.published) == loaded:
                return dg.SkipReason("The published file has all that is loaded.")
            if context.cursor == key:
                return dg.SkipReason(NOTHING_CHANGED)
            standings = standing_rows(lake)
            if is_published(lake, attendance_settings(settings), settings.home):
                context.update_cursor(key)
                note_unchanged(settings.home, standings)
                return dg.SkipReason(NOTHING_CHANGED)
        return dg.RunRequest(run_key=key)

    return sensor


def current_keys(lake: Lake, table: str) -> set[str]:
    """The partition of each school's current semester; the latest one where none is marked. `table`:
    semesters or v1_semesters; schools of which it shows none have the other's."""
    tables = [each for each in ("semesters", "v1_semesters") if each != table] + [table]
    columns = ["_school_id", "id", "start_at", "is_current"]
    latest: dict[int, int] = {}
    for each in tables:
        rows = lake.read(TABLES[each], columns=columns).to_pylist()
        # The last of a school's semesters in this order stays in the dictionary.
        rows.sort(key=lambda row: (bool(row["is_current"]), row["start_at"] or datetime.min))
        latest |= {row["_school_id"]: row["id"] for row in rows}
    return {partition_key(school_id, semester_id) for school_id, semester_id in latest.items()}


def _loaded_until(file: Path) -> datetime | None:
    """When the last of the loads ended that a published file holds."""
    with closing(duckdb.connect(str(file), read_only=True)) as connection:
        until: list[tuple[datetime | None]] = connection.execute(
            "SELECT max(finished_at) FROM quality.load_log"
        ).fetchall()
    return until[0][0]
