"""When files for people are written: after each publication, by a schedule of their own, or when asked."""

import dagster as dg

from assets.dagster_private import AssetJob
from assets.exports import export_assets
from assets.models import PUBLISHED
from pipelines.cli.exporting import export_options
from pipelines.settings import Settings
from warehouse.lake.tables import PLATFORM_ZONE

EXPORTS = "exports"


def export_definitions(settings: Settings) -> dg.Definitions:
    """The assets of what campus.yaml says is to be written, their job, and what asks for it."""
    options = settings.options.exports
    exports = {name: [name] for name in options.workbooks}
    if options.tables:
        exports["tables"] = list(options.tables)
    assets = export_assets(settings.published, exports, settings.school_ids, export_options(settings))
    if not assets:
        return dg.Definitions()
    job = dg.define_asset_job(
        EXPORTS,
        dg.AssetSelection.assets(*assets),
        description="Workbooks and other files for people, from the published campus.duckdb.",
    )
    return dg.Definitions(
        assets=assets,
        jobs=[job],
        sensors=[exports_after_publication(job)] if options.after_publication else [],
        schedules=[_schedule(job, options.schedule)] if options.schedule else [],
    )


def exports_after_publication(exports: AssetJob) -> dg.SensorDefinition:
    """The sensor that asks for the files once there is a new campus.duckdb."""

    @dg.asset_sensor(
        PUBLISHED,
        name="exports_after_publication",
        job=exports,
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=30,
        description="Workbooks and other files, once campus.duckdb is published.",
    )
    def sensor(_context: dg.SensorEvaluationContext, event: dg.EventLogEntry) -> dg.RunRequest:
        return dg.RunRequest(run_key=event.run_id)

    return sensor


def _schedule(exports: AssetJob, cron: str) -> dg.ScheduleDefinition:
    return dg.ScheduleDefinition(
        name="exports",
        job=exports,
        cron_schedule=cron,
        execution_timezone=str(PLATFORM_ZONE),
        default_status=dg.DefaultScheduleStatus.RUNNING,
    )
