"""What runs by itself: the nightly discovery, one run a school after it, one publication after the loads."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import duckdb

from assets.dagster_private import AssetJob
from assets.models import NOTHING_CHANGED, is_published, note_unchanged
from assets.partitions import SCHOOL_SEMESTERS, V1_SEMESTERS
from assets.resource_assets import is_halted
from loading.partition_keys import NO_SCHOOL, keys_by_school, school_of
from loading.runtime import FULL_TAG, SYNC_ID_TAG, cause_of
from pipelines.due import current_keys, due_keys, groups_of, night_tags
from pipelines.interrupted import NEVER_STARTED_TAG, UNFINISHED, close_gone_runs
from pipelines.lake import lake_of
from pipelines.launches import is_of_a_command
from pipelines.nights.loads import LOADS, Load
from pipelines.nights.school_night import SCHOOL_NIGHT, night_config
from pipelines.resources import attendance_settings
from pipelines.settings import Settings
from pipelines.writers import living
from warehouse.lake.delta import Lake
from warehouse.lake.tables import PLATFORM_ZONE
from warehouse.load.load_log import held_back, holds_a_load, last_loads, retired
from warehouse.load.log_writer import standing_rows
from warehouse.publish.build import models_version
from warehouse.publish.publish import FILE, made_by

# On the run that discovers: whether the loads after it read older semesters too; and its own id once all of
# them have been asked for, since one that is executed again has the tags of the one before.
EVERY_SEMESTER_TAG, ALL_ASKED_TAG = "campus/every_semester", "campus/all_asked"
# On a run that has failed: whether Dagster tries it again, and the run that does.
WILL_RETRY_TAG, RETRY_TAG = "dagster/will_retry", "dagster/auto_retry_run_id"
#: How long that may take.
RETRIED_WITHIN = timedelta(minutes=10)
ENDS = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE]
#: Each request is a run that the daemon makes before it asks any other sensor.
SCHOOLS_A_TICK = 25
#: Discoveries that are looked at for the last one that no command has launched.
LATEST = 10
#: In a cursor and a run's key, and what stands for a school once all are asked for.
SEAM, EVERYBODY = "|", "all"
#: Seconds for which a publication waits for the loads after a discovery to be asked for: their sensor may
#: have been turned off.
ASKED_WITHIN = 3600.0
#: The loads of semesters, and the table that lists them.
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
        all_semesters = night.weekday() == settings.options.schedule.all_semesters_on
        tags = {SYNC_ID_TAG: name, EVERY_SEMESTER_TAG: str(all_semesters).lower()}
        return dg.RunRequest(run_key=name, tags=tags)

    return schedule


def loads_after_discovery(settings: Settings, discovery: str) -> dg.SensorDefinition:
    """The sensor that asks for the loads of each school once discovery has ended. Also when it has failed:
    that one school cannot be read is no reason to leave out the others.

    Its cursor is the discovery and the last school that was asked for."""

    @dg.sensor(
        name="loads_after_discovery",
        job_name=SCHOOL_NIGHT,
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=10,
        description="One run a school: its current semester, on one night a week every semester, its "
        f"attendance, its datasets and its reports. At most {SCHOOLS_A_TICK} schools at a time.",
    )
    def sensor(context: dg.SensorEvaluationContext) -> Iterator[dg.RunRequest | dg.SkipReason]:
        instance = context.instance
        run = last_discovery(instance, discovery)
        asked, _, last = (context.cursor or "").partition(SEAM)
        if context.cursor is None:
            # What ended before this sensor was ever asked has been seen to.
            if run is not None:
                instance.add_run_tags(run.run_id, {ALL_ASKED_TAG: run.run_id})
            context.update_cursor(f"{run.run_id if run else ''}{SEAM}{EVERYBODY}")
            yield dg.SkipReason("The loads follow the next discovery.")
            return
        if run is None or (run.run_id == asked and last == EVERYBODY):
            yield dg.SkipReason("All loads of the last discovery are asked for.")
            return
        if is_halted(run.tags):
            context.update_cursor(f"{run.run_id}{SEAM}{EVERYBODY}")
            yield dg.SkipReason("The discovery has ended as nothing more could be read of the platform.")
            return
        after = int(last) if run.run_id == asked else NO_SCHOOL
        schools = [each for each in _schools(instance, settings) if each > after]
        if not schools:
            # Not with the last requests: they are runs only once this sensor is asked again.
            instance.add_run_tags(run.run_id, {ALL_ASKED_TAG: run.run_id})
            context.update_cursor(f"{run.run_id}{SEAM}{EVERYBODY}")
            yield dg.SkipReason("All loads of the discovery are asked for.")
            return
        together = settings.options.runs.schools_per_run
        now_asked = schools[: SCHOOLS_A_TICK // together * together]
        yield from _requests(instance, settings, run, now_asked)
        context.update_cursor(f"{run.run_id}{SEAM}{now_asked[-1]}")

    return sensor


def last_discovery(instance: dg.DagsterInstance, discovery: str) -> dg.DagsterRun | None:
    """The last discovery that has ended and is not tried again; a command runs what follows its own ones
    itself."""
    ended = instance.get_runs(dg.RunsFilter(job_name=discovery, statuses=ENDS), limit=LATEST)
    undecided = {run.run_id for run in about_to_be_retried(instance)}
    return next(
        (
            run
            for run in ended
            if not is_of_a_command(run.tags)
            and not run.tags.get(NEVER_STARTED_TAG)
            and run.tags.get(WILL_RETRY_TAG) != "true"
            and run.run_id not in undecided
        ),
        None,
    )


def _schools(instance: dg.DagsterInstance, settings: Settings) -> list[int]:
    """The schools that there is anything to load of."""
    keys = (key for load in LOADS for key in load.keys(instance, settings.school_ids))
    return sorted({school_of(key) for key in keys} - {NO_SCHOOL})


def _requests(
    instance: dg.DagsterInstance, settings: Settings, discovery: dg.DagsterRun, schools: Sequence[int]
) -> Iterator[dg.RunRequest]:
    every_semester = discovery.tags.get(EVERY_SEMESTER_TAG, "false")
    # Once a week in full: neither a change that moves no updated_at nor a mark that is very late shows
    # otherwise.
    cause = discovery.tags.get(SYNC_ID_TAG, discovery.run_id)
    tags = {SYNC_ID_TAG: cause, FULL_TAG: every_semester}
    lake = lake_of(settings)
    due = {
        load.job: keys_by_school(
            _due_semesters(instance, lake, load, schools, every_semester=every_semester == "true")
        )
        for load in LOADS
        if load.partitions in SEMESTERS
    }
    for group in groups_of(schools, settings.options.runs.schools_per_run):
        partitions = {job: [key for each in group for key in keys.get(each, ())] for job, keys in due.items()}
        yield dg.RunRequest(
            run_key=f"{discovery.run_id}{SEAM}{group[0]}",
            run_config=night_config(partitions),
            tags={**night_tags(lake, group), **tags},
        )


def _due_semesters(
    instance: dg.DagsterInstance, lake: Lake, load: Load, schools: Sequence[int], *, every_semester: bool
) -> list[str]:
    """The semesters that a night loads of these schools."""
    keys = load.keys(instance, schools)
    if every_semester:
        return keys
    loaded = [instance.get_materialized_partitions(key) for key in load.assets.keys]
    # A semester that comes back after it was retired is as good as new, and rows in quarantine may have been
    # mended, or be readable to this version.
    tables = {key.path[-1] for key in load.assets.keys}
    everywhere = set.intersection(*loaded) - retired(lake, tables) - held_back(lake, tables)
    return due_keys(keys, current_keys(lake, SEMESTERS[load.partitions]), everywhere)


def publish_after_loads(settings: Settings, discovery: str, publish: AssetJob) -> dg.SensorDefinition:
    """The sensor that asks for one publication when loads have ended that the published file lacks, or the
    models are other ones: after a night, a backfill, or a single asset, whether all of it succeeded or not,
    and after an upgrade. All runs of a cause are waited for. Nothing is published in the middle of a night,
    but a backfill, which may take days, holds up nothing else."""

    @dg.sensor(
        name="publish_after_loads",
        job=publish,
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=60,
        description="Build and publish the warehouse once the loads of a night, or of another cause, have "
        "ended.",
    )
    def sensor(context: dg.SensorEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        found = loads_to_publish(context, settings, discovery, [publish.name])
        if isinstance(found, dg.SkipReason):
            return found
        lake, file, ended = found.lake, settings.home / FILE, found.ended
        models = models_version(settings.home)
        same_models = made_by(file) == models
        if same_models:
            ended = _lacking(file, ended)
        if not ended:
            return dg.SkipReason(found.nothing_ended("The published file has all loads."))
        # The key keeps a publication whose checks fail from being tried again before anything is new.
        key = f"loaded-{max(ended.values()).isoformat()}-{models}"
        if same_models:
            if context.cursor == key:
                return dg.SkipReason(NOTHING_CHANGED)
            standings = standing_rows(lake)
            if is_published(lake, attendance_settings(settings), settings.home, settings.audiences):
                context.update_cursor(key)
                note_unchanged(settings.home, standings)
                return dg.SkipReason(NOTHING_CHANGED)
        return dg.RunRequest(run_key=key)

    return sensor


@dataclass(frozen=True)
class Ended:
    """Loads that a publication may have, by their cause. `waits`: others are under way."""

    lake: Lake
    ended: Mapping[str, datetime]
    waits: bool

    def nothing_ended(self, otherwise: str) -> str:
        """Why there is nothing to publish."""
        return "The loads under way are waited for." if self.waits else otherwise


def loads_to_publish(
    context: dg.SensorEvaluationContext, settings: Settings, discovery: str, publications: Sequence[str]
) -> Ended | dg.SkipReason:
    """The loads that have ended, or why this is no moment to publish any. `publications`: the jobs that
    do."""
    instance = context.instance
    for words in close_gone_runs(instance, settings):
        context.log.warning(words)
    for job in publications:
        if instance.get_run_records(dg.RunsFilter(job_name=job, statuses=UNFINISHED), limit=1):
            return dg.SkipReason("A publication is under way.")
    if any(writer.alone for writer in living(settings)):
        return dg.SkipReason("A command is under way, which publishes itself.")
    # Before the lake is looked at: what ends meanwhile is left to the next look.
    runs = runs_under_way(instance)
    of_nights = [run for run in runs if run.job_name in (discovery, SCHOOL_NIGHT)]
    if of_nights or is_being_asked_for(instance, discovery):
        return dg.SkipReason("A night is under way.")
    under_way = {cause_of(run.run_id, run.tags).sync_id for run in runs}
    lake = lake_of(settings)
    if not holds_a_load(lake):
        return dg.SkipReason("Nothing has been loaded yet.")
    ended = {cause: at for cause, at in last_loads(lake).items() if cause not in under_way}
    return Ended(lake, ended, bool(under_way))


def runs_under_way(instance: dg.DagsterInstance) -> list[dg.DagsterRun]:
    """The runs that have not ended, and those that Dagster is about to try again."""
    unfinished = dg.RunsFilter(statuses=UNFINISHED)
    # The second look finds what fails after the first one; the third a next try that is made after that.
    looks = [
        instance.get_runs(unfinished),
        about_to_be_retried(instance),
        instance.get_runs(unfinished),
    ]
    return list({run.run_id: run for look in looks for run in look}.values())


def about_to_be_retried(instance: dg.DagsterInstance) -> list[dg.DagsterRun]:
    """The runs that have failed with their worker, and of which Dagster has not made the next try yet."""
    since = datetime.now(UTC) - RETRIED_WITHIN
    failed = instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.FAILURE], updated_after=since))
    return [run for run in failed if RETRY_TAG not in run.tags and _may_be_retried(instance, run)]


def _may_be_retried(instance: dg.DagsterInstance, failed: dg.DagsterRun) -> bool:
    """Whether Dagster tries a run again that has failed a moment ago."""
    if WILL_RETRY_TAG in failed.tags:
        return failed.tags[WILL_RETRY_TAG] == "true"
    # Dagster says first that it has failed, and then whether it is tried again.
    return instance.run_retries_enabled


def is_being_asked_for(instance: dg.DagsterInstance, discovery: str) -> bool:
    """Whether loads are still to be asked for that follow the last discovery."""
    last = last_discovery(instance, discovery)
    if last is None or last.tags.get(ALL_ASKED_TAG) == last.run_id or is_halted(last.tags):
        return False
    [record] = instance.get_run_records(dg.RunsFilter(run_ids=[last.run_id]))
    return time.time() - (record.end_time or 0) < ASKED_WITHIN


def _lacking(file: Path, loads: Mapping[str, datetime]) -> dict[str, datetime]:
    """Those of the loads, by their cause, that a published file does not have."""
    with closing(duckdb.connect(str(file), read_only=True)) as connection:
        held: list[tuple[str, datetime]] = connection.execute(
            "SELECT sync_id, max(finished_at) FROM quality.load_log GROUP BY sync_id"
        ).fetchall()
    published = dict(held)
    return {cause: at for cause, at in loads.items() if cause not in published or published[cause] < at}
