"""The morning by the daemon: how the warehouse stands, as an asset, and the message that is due."""

from collections.abc import Iterator

import dagster as dg

from assets import markdown
from assets.freshness import NIGHTLY
from pipelines.notices.telling import tell_what_is_due
from pipelines.settings import Settings
from pipelines.status import Status, status_of
from pipelines.status_text import COLUMNS, NOTHING, lines_of, rows_of, title_of
from warehouse.lake.tables import PLATFORM_ZONE

MORNING = "morning"
STATUS = dg.AssetKey(["status"])


def morning_definitions(settings: Settings) -> dg.Definitions:
    """The asset that says what `campus status` does, and the schedule that makes it and tells."""

    @dg.asset(
        key=STATUS,
        group_name="published",
        description="What campus status says: how each school stands, and what there is to do. Whoever is to "
        "be told is told when it is made, once a day.",
        freshness_policy=NIGHTLY,
    )
    def status(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
        yield dg.MaterializeResult(metadata=metadata_of(status_of(settings)))
        sent, problems = tell_what_is_due(settings)
        for words in sent:
            context.log.info(words)
        if problems:
            raise dg.Failure(description=" ".join(problems), allow_retries=False)

    job = dg.define_asset_job(
        MORNING,
        dg.AssetSelection.assets(status),
        description="Say how the warehouse stands, and tell where there is something to do, or all is well "
        "again.",
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
    """Have the asset say how the warehouse stands now, without a run: for commands. Returns how it stands."""
    status = status_of(settings)
    instance.report_runless_asset_event(dg.AssetMaterialization(STATUS, metadata=metadata_of(status)))
    return status


def metadata_of(status: Status) -> dict[str, dg.MetadataValue]:
    """How the warehouse stands, as `campus status` says it, for Dagster."""
    lines = [markdown.text(line) for line in lines_of(status)]
    table = [markdown.table(COLUMNS, rows_of(status))] if status.schools else []
    return {
        "status": markdown.value(markdown.text(title_of(status)), *table, *lines),
        "to do": dg.MetadataValue.text("\n".join(status.to_do) or NOTHING),
    }
