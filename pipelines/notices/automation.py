"""The morning's message by the daemon."""

import dagster as dg

from pipelines.notices.telling import tell_what_is_due, tells
from pipelines.settings import Settings
from warehouse.lake.tables import PLATFORM_ZONE

NOTICE = "notice"


def notice_definitions(settings: Settings) -> dg.Definitions:
    """The job that tells what there is to do, and when; nothing where the settings name nobody."""
    if not tells(settings):
        return dg.Definitions()

    @dg.op(name="tell", description="Send what there is to do, if there is anything that was not told today.")
    def tell(context: dg.OpExecutionContext) -> None:
        sent, problems = tell_what_is_due(settings)
        for words in sent:
            context.log.info(words)
        if problems:
            raise dg.Failure(description=" ".join(problems))

    @dg.job(
        name=NOTICE,
        description="One message a morning, where there is something to do, or all is well again.",
    )
    def notice() -> None:
        tell()

    schedule = dg.ScheduleDefinition(
        name=NOTICE,
        job=notice,
        cron_schedule=settings.options.notify.at,
        execution_timezone=str(PLATFORM_ZONE),
        default_status=dg.DefaultScheduleStatus.RUNNING,
    )
    return dg.Definitions(jobs=[notice], schedules=[schedule])
