"""The jobs that write files and sites for people, and their schedules and sensors."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import dagster as dg

from assets.exports import export_assets, site_asset
from assets.publication.models import PUBLISHED
from assets.publication.shards import DISTRICT
from assets.shared.dagster_private import AssetJob
from assets.shared.partitions import PUBLISHED_SCHOOLS
from exports.site.folders import SITE
from exports.source import schools
from pipelines.cli.actions.export import export_options
from pipelines.district.queues import FOR_BUILDS
from pipelines.runs.jobs import EXPORTS, SITE_JOB
from pipelines.runs.partition_selection import RANGE_END, RANGE_START
from pipelines.settings.settings import Settings
from warehouse.age import age_of, with_semesters
from warehouse.lake.tables import PLATFORM_ZONE
from warehouse.publish.publish import proven
from warehouse.published.reading import opened, standings_of


def export_definitions(settings: Settings) -> dg.Definitions:
    """The assets of the exports in campus.yaml, their jobs, and the schedules and sensors of these."""
    options = settings.options.exports
    exports = {name: [name] for name in options.workbooks}
    if options.tables:
        exports["tables"] = list(options.tables)
    # With shards, district.duckdb is published last.
    last_published = DISTRICT if settings.shards else PUBLISHED
    assets = export_assets(
        settings.published, exports, settings.school_ids, export_options(settings), last_published
    )
    jobs = []
    if assets:
        jobs.append(
            dg.define_asset_job(
                EXPORTS,
                dg.AssetSelection.assets(*assets),
                description="Workbooks and other files for people, from the published campus.duckdb.",
                tags=FOR_BUILDS,
            )
        )
    if options.site:
        assets.append(site_asset(settings.published, export_options(settings), last_published))
        jobs.append(
            dg.define_asset_job(
                SITE_JOB,
                dg.AssetSelection.assets(dg.AssetKey(["exports", SITE])),
                description="The pages of schools for their readers, from the published campus.duckdb.",
                tags=FOR_BUILDS,
            )
        )
    if not jobs:
        return dg.Definitions()
    return dg.Definitions(
        assets=assets,
        jobs=jobs,
        sensors=(
            [
                exports_after_publication(settings, jobs, last_published),
                exports_after_another_age(settings, jobs),
            ]
            if options.after_publication
            else []
        ),
        schedules=[_schedule(settings, job, options.schedule) for job in jobs if options.schedule],
    )


def _schedule(settings: Settings, job: AssetJob, cron: str) -> dg.ScheduleDefinition:
    """The schedule of a job, under its name."""

    @dg.schedule(
        name=job.name,
        job=job,
        cron_schedule=cron,
        execution_timezone=str(PLATFORM_ZONE),
        default_status=dg.DefaultScheduleStatus.RUNNING,
    )
    def schedule(context: dg.ScheduleEvaluationContext) -> Iterator[dg.RunRequest]:
        return _requests(settings, context.instance, [job], None)

    return schedule


def exports_after_publication(
    settings: Settings, jobs: Sequence[AssetJob], published: dg.AssetKey
) -> dg.SensorDefinition:
    """The sensor that requests the files after each publication."""

    @dg.asset_sensor(
        published,
        name="exports_after_publication",
        jobs=jobs,
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=30,
        description="Workbooks and other files, once campus.duckdb is published.",
    )
    def sensor(context: dg.SensorEvaluationContext, event: dg.EventLogEntry) -> Iterator[dg.RunRequest]:
        return _requests(settings, context.instance, jobs, event.run_id)

    return sensor


def exports_after_another_age(settings: Settings, jobs: Sequence[AssetJob]) -> dg.SensorDefinition:
    """The sensor that requests the files again when their age or their warnings changed without a
    publication: unchanged data are of another day, or loads failed or succeeded since."""

    @dg.sensor(
        name="exports_after_another_age",
        jobs=jobs,
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=60,
        description="Workbooks and other files, once unchanged data are known to be of another age.",
    )
    def sensor(context: dg.SensorEvaluationContext) -> Iterator[dg.RunRequest | dg.SkipReason]:
        ages = _ages(standings_of(settings.shards) if settings.shards else proven(settings.home))
        if ages in ("", context.cursor):
            yield dg.SkipReason("The data are as old as the files say.")
            return
        context.update_cursor(ages)
        yield from _requests(settings, context.instance, jobs, None)

    return sensor


def _requests(
    settings: Settings, instance: dg.DagsterInstance, jobs: Sequence[AssetJob], cause: str | None
) -> Iterator[dg.RunRequest]:
    """A run of each job. `cause`: the same cause requests no second run."""
    for job in jobs:
        if job.name != SITE_JOB:
            yield dg.RunRequest(run_key=cause, job_name=job.name)
        elif keys := _published_schools(settings, instance):
            tags = {RANGE_START: keys[0], RANGE_END: keys[-1]}
            yield dg.RunRequest(
                run_key=None if cause is None else f"{cause}-{SITE_JOB}", job_name=job.name, tags=tags
            )


def _published_schools(settings: Settings, instance: dg.DagsterInstance) -> Sequence[str]:
    """The partitions of the published schools that the settings name, in Dagster's order. Adds new ones, and
    deletes those that are gone."""
    if not settings.published.exists():
        return []
    with opened(settings.published) as con:
        published = [school.id for school in schools(con)]
    selected = settings.school_ids or published
    keys, name = (
        [str(school_id) for school_id in published if school_id in selected],
        PUBLISHED_SCHOOLS.name or "",
    )
    for gone in set(instance.get_dynamic_partitions(name)) - set(keys):
        instance.delete_dynamic_partition(name, gone)
    instance.add_dynamic_partitions(name, keys)
    return instance.get_dynamic_partitions(name)


def _ages(standings: Iterable[Mapping[str, Any]]) -> str:
    """The day of each school's data, with the resources that failed or were never loaded, as text."""
    school_key = itemgetter("generation", "_school_id")
    ages = []
    for (generation, school_id), rows in groupby(sorted(standings, key=school_key), key=school_key):
        age = age_of(rows)
        day = age.as_of.date() if age.as_of else None
        ages.append(f"{generation} {school_id} {day} {sorted(age.failed)} {with_semesters(age.never)}")
    return "; ".join(ages)
