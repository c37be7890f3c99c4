"""When files for people are written: after each publication, by a schedule of their own, or when asked."""

from collections.abc import Iterable, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any

import dagster as dg

from assets.dagster_private import AssetJob
from assets.exports import export_assets
from assets.models import PUBLISHED
from assets.shards import DISTRICT
from pipelines.cli.exporting import export_options
from pipelines.district.queues import FOR_BUILDS
from pipelines.settings import Settings
from warehouse.age import age_of, with_semesters
from warehouse.lake.tables import PLATFORM_ZONE
from warehouse.publish.publish import proven
from warehouse.published.reading import standings_of

EXPORTS = "exports"


def export_definitions(settings: Settings) -> dg.Definitions:
    """The assets of what campus.yaml says is to be written, their job, and what asks for it."""
    options = settings.options.exports
    exports = {name: [name] for name in options.workbooks}
    if options.tables:
        exports["tables"] = list(options.tables)
    # Of shards, district.duckdb is made last.
    last = DISTRICT if settings.shards else PUBLISHED
    assets = export_assets(settings.published, exports, settings.school_ids, export_options(settings), last)
    if not assets:
        return dg.Definitions()
    job = dg.define_asset_job(
        EXPORTS,
        dg.AssetSelection.assets(*assets),
        description="Workbooks and other files for people, from the published campus.duckdb.",
        tags=FOR_BUILDS,
    )
    return dg.Definitions(
        assets=assets,
        jobs=[job],
        sensors=(
            [exports_after_publication(job, last), exports_after_another_age(settings, job)]
            if options.after_publication
            else []
        ),
        schedules=[_schedule(job, options.schedule)] if options.schedule else [],
    )


def exports_after_publication(exports: AssetJob, published: dg.AssetKey) -> dg.SensorDefinition:
    """The sensor that asks for the files once there is a new campus.duckdb."""

    @dg.asset_sensor(
        published,
        name="exports_after_publication",
        job=exports,
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=30,
        description="Workbooks and other files, once campus.duckdb is published.",
    )
    def sensor(_context: dg.SensorEvaluationContext, event: dg.EventLogEntry) -> dg.RunRequest:
        return dg.RunRequest(run_key=event.run_id)

    return sensor


def exports_after_another_age(settings: Settings, exports: AssetJob) -> dg.SensorDefinition:
    """The sensor that asks for the files anew where nothing was published, but the data turned out to be of
    another day than the files say, or loads failed or were mended since: what is red on them is so today."""

    @dg.sensor(
        name="exports_after_another_age",
        job=exports,
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=60,
        description="Workbooks and other files, once unchanged data are known to be of another age.",
    )
    def sensor(context: dg.SensorEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        found = _ages(standings_of(settings.shards) if settings.shards else proven(settings.home))
        if found in ("", context.cursor):
            return dg.SkipReason("The data are as old as the files say.")
        context.update_cursor(found)
        return dg.RunRequest()

    return sensor


def _ages(standings: Iterable[Mapping[str, Any]]) -> str:
    """As of which day the data of each school are, and what could not be loaded when it was last tried."""
    of_school = itemgetter("generation", "_school_id")
    told = []
    for (generation, school_id), rows in groupby(sorted(standings, key=of_school), key=of_school):
        age = age_of(rows)
        day = age.as_of.date() if age.as_of else None
        told.append(f"{generation} {school_id} {day} {sorted(age.failed)} {with_semesters(age.never)}")
    return "; ".join(told)


def _schedule(exports: AssetJob, cron: str) -> dg.ScheduleDefinition:
    return dg.ScheduleDefinition(
        name="exports",
        job=exports,
        cron_schedule=cron,
        execution_timezone=str(PLATFORM_ZONE),
        default_status=dg.DefaultScheduleStatus.RUNNING,
    )
