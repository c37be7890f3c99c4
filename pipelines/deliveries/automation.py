"""The job that sends teachers their mails, and its schedule."""

from collections.abc import Iterator

import dagster as dg

from pipelines.deliveries.mails import deliver, summary
from pipelines.notices.channels import NotSent
from pipelines.runs.jobs import DELIVER
from pipelines.settings.settings import Settings
from warehouse.lake.tables import PLATFORM_ZONE


def deliver_definitions(settings: Settings) -> dg.Definitions:
    """The asset of the mails, its job and its schedule; none where nothing is delivered."""
    options = settings.options.exports.deliver
    if options is None:
        return dg.Definitions()

    @dg.asset(
        key=["exports", "mails"],
        group_name="exports",
        description="Mails to teachers with links to their pages, or with their workbooks, each generation "
        "once. deliveries.sqlite in the home says what went to whom.",
    )
    def mails(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
        sent, problems = 0, []
        try:
            for outcome in deliver(settings, settings.school_ids):
                context.log.info(summary(outcome))
                sent += len(outcome.sent)
                problems += [f"school {outcome.school_id}: {problem}" for problem in outcome.problems]
        except NotSent as error:
            problems.append(str(error))
        yield dg.MaterializeResult(metadata={"mails": sent})
        if problems:
            raise dg.Failure(description="; ".join(problems), allow_retries=False)

    job = dg.define_asset_job(
        DELIVER,
        dg.AssetSelection.assets(mails),
        description="Send teachers mails with their pages or workbooks.",
    )
    schedule = dg.ScheduleDefinition(
        name=DELIVER,
        job=job,
        cron_schedule=options.at,
        execution_timezone=str(PLATFORM_ZONE),
        default_status=dg.DefaultScheduleStatus.RUNNING,
    )
    return dg.Definitions(assets=[mails], jobs=[job], schedules=[schedule])
