"""The morning job: materializes the status of the warehouse, and sends the due message."""

from collections.abc import Iterator

import dagster as dg

from assets.shared import markdown
from assets.shared.load_kind import NIGHTLY
from pipelines.notices.sending import send_due_notice
from pipelines.runs.jobs import MORNING
from pipelines.settings.settings import Settings
from pipelines.status.report import Status, status_of
from pipelines.status.text import COLUMNS, NOTHING, lines_of, rows_of, shown_schools, summary_of, title_of
from warehouse.lake.tables import PLATFORM_ZONE

STATUS = dg.AssetKey(["status"])


def morning_definitions(settings: Settings) -> dg.Definitions:
    """The asset with the content of `campus status`, its job and its schedule."""

    @dg.asset(
        key=STATUS,
        group_name="published",
        description="The content of campus status: the state of each school, and what to do. The morning job "
        "also sends the due message, once a day.",
        freshness_policy=NIGHTLY,
    )
    def status(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
        yield dg.MaterializeResult(metadata=metadata_of(status_of(settings)))
        sent, problems = send_due_notice(settings)
        for line in sent:
            context.log.info(line)
        if problems:
            raise dg.Failure(description=" ".join(problems), allow_retries=False)

    job = dg.define_asset_job(
        MORNING,
        dg.AssetSelection.assets(status),
        description="Show the status of the warehouse, and send a message if something is to be done, or all "
        "is well again.",
    )
    schedule = dg.ScheduleDefinition(
        name=MORNING,
        job=job,
        cron_schedule=settings.options.notify.at,
        execution_timezone=str(PLATFORM_ZONE),
        default_status=dg.DefaultScheduleStatus.RUNNING,
    )
    return dg.Definitions(assets=[status], jobs=[job], schedules=[schedule])


def show_status(instance: dg.DagsterInstance, settings: Settings) -> Status:
    """Update the status asset without a run, for commands. Returns the status."""
    status = status_of(settings)
    instance.report_runless_asset_event(dg.AssetMaterialization(STATUS, metadata=metadata_of(status)))
    return status


def metadata_of(status: Status) -> dict[str, dg.MetadataValue]:
    """The metadata of the status asset: the text of `campus status`."""
    summary = [markdown.text(line) for line in summary_of(status)]
    table = [markdown.table(COLUMNS, rows_of(status))] if shown_schools(status) else []
    lines = [markdown.text(line) for line in lines_of(status)]
    return {
        "status": markdown.value(markdown.text(title_of(status)), *summary, *table, *lines),
        "to do": dg.MetadataValue.text("\n".join(status.to_do) or NOTHING),
    }
