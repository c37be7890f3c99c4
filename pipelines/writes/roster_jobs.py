"""The jobs of rosters. `plan_roster` plans an arrived roster, and applies the plan if campus.yaml and the
guards allow it. `apply_roster` applies a plan that a person has checked."""

from pathlib import Path

import dagster as dg
import uvloop
from msgspec import structs
from pydantic import Field

from assets.shared import markdown
from assets.shared.load_kind import platform_runtime
from campus.files.table_file import FileContent, table_in
from loading.connection.runtime import Runtime
from pipelines.settings.settings import Settings, needs_school
from pipelines.writes.context import unread
from pipelines.writes.roster import (
    Planned,
    Roster,
    apply_roster,
    begun_note,
    plan_results_path,
    plan_roster,
    put_roster_away,
    reason_to_wait,
)
from pipelines.writes.runs import ArrivedFile, failures_as_dagster, file_of_run, move_away, public_text
from pipelines.writes.session import open_write_session, provenance_of
from writeback.kinds import ROSTERS
from writeback.notes import delete_old, leave_note, note_of, remove_note
from writeback.outcomes import counted, in_words
from writeback.roster.apply import Applied
from writeback.roster.plan_file import digest, load_plan, plan_path
from writeback.store.notes import Note

PLAN_ROSTER, APPLY_ROSTER = "plan_roster", "apply_roster"
#: The assets with the counts of a plan, and with the counts of its outcomes.
ROSTER_PLAN, ROSTER = dg.AssetKey(["writes", "roster_plan"]), dg.AssetKey(["writes", "roster"])
ASSETS = (
    dg.AssetSpec(ROSTER_PLAN, group_name="writes", description="The plan of the last roster that arrived."),
    dg.AssetSpec(ROSTER, group_name="writes", description="The outcomes of the rows of the last plan."),
)
LOOK_AGAIN = "Some rows may or may not be written: run apply_roster again, which checks first."


class PlanFile(dg.Config):
    """A plan to apply."""

    plan: str = Field(description="The plan's name in the folder of plans.")
    despite_refused: bool = Field(False, description="Apply the plan however many rows are refused.")


def planning_job(settings: Settings) -> dg.JobDefinition:
    """The job that plans a roster, and applies the plan if campus.yaml and the guards allow it."""

    # A step's definition may not have a job's name; the alias in the run may.
    @dg.op(name="plan_one_roster", pool="platform", required_resource_keys={"campus"})
    def plan(context: dg.OpExecutionContext, config: ArrivedFile) -> None:
        runtime = platform_runtime(context)
        empty_note = Note(ROSTERS, config.school_id, config.file)
        try:
            with failures_as_dagster(context):
                needs_school(settings, config.school_id)
                arrived = file_of_run(context, settings, ROSTERS, config)
                if arrived is None:
                    return
                planned = uvloop.run(_plan(context, settings, runtime, config.school_id, arrived[0]))
        except dg.Failure as failure:
            leave_note(settings.home, structs.replace(empty_note, problem=public_text(failure)))
            raise
        delete_old(settings.home, settings.options.writes.keep_plans)
        _show_plan(context, planned)
        reason = reason_to_wait(planned.plan, settings)
        # The plan waits until it is applied completely, by a person or by this job.
        note = note_of(config.school_id, planned.plan, planned.path, waits=True)
        # The newest roster counts: its plan has the open steps of earlier plans.
        remove_note(settings.home, begun_note(planned.plan, planned.path))
        if note:
            leave_note(settings.home, note)
        else:
            remove_note(settings.home, empty_note)
        if reason:
            context.log.info(f"{reason} To apply the plan: campus roster apply {planned.path}")
            if not planned.plan.steps:
                move_away(context, settings, ROSTERS, arrived[1])
        else:
            _apply(context, settings, planned.path.stem, by_itself=True)

    @dg.job(
        name=PLAN_ROSTER,
        description="Compare a roster with the platform. A person applies the plan, or campus.yaml does.",
    )
    def job() -> None:
        plan.alias(PLAN_ROSTER)()

    return job


def applying_job(settings: Settings) -> dg.JobDefinition:
    """The job that applies a plan which a person has checked."""

    @dg.op(name="apply_one_roster", pool="platform", required_resource_keys={"campus"})
    def apply(context: dg.OpExecutionContext, config: PlanFile) -> None:
        _apply(context, settings, config.plan, despite_refused=config.despite_refused)

    @dg.job(
        name=APPLY_ROSTER,
        description="Apply a plan of a roster, and nothing else. The run of plan_roster shows its name.",
    )
    def job() -> None:
        apply.alias(APPLY_ROSTER)()

    return job


async def _plan(
    context: dg.OpExecutionContext, settings: Settings, runtime: Runtime, school_id: int, file: FileContent
) -> Planned:
    inbox = settings.options.writes.inbox
    async with open_write_session(
        settings, runtime, provenance_of(context, str(file.path)), dry=True
    ) as session:
        return await plan_roster(
            settings,
            session,
            school_id,
            Roster(str(file.path), table_in(file), digest(file.content)),
            delete=inbox.delete,
            link_by_usin=inbox.link_by_usin,
        )


def _apply(
    context: dg.OpExecutionContext,
    settings: Settings,
    name: str,
    *,
    despite_refused: bool = False,
    by_itself: bool = False,
) -> None:
    """Apply a plan, and log the outcomes. Raises dg.Failure if the plan was not applied completely."""
    runtime = platform_runtime(context)

    async def work() -> Applied:
        async with open_write_session(settings, runtime, provenance_of(context, name)) as session:
            applied, loaded = await apply_roster(
                settings, runtime, session, name, despite_refused=despite_refused, by_itself=by_itself
            )
        for line in unread(loaded):
            context.log.warning(line)
        return applied

    with failures_as_dagster(context):
        plan = load_plan(settings.home, name)
        school_id = plan.school_id
        applied = uvloop.run(work())
    if applied.is_complete and (problem := put_roster_away(settings, plan)):
        context.log.warning(problem)
    _show_applied(context, school_id, applied, plan_results_path(plan_path(settings.home, name)))


def _show_plan(context: dg.OpExecutionContext, planned: Planned) -> None:
    plan = planned.plan
    context.log_event(
        dg.AssetMaterialization(
            ROSTER_PLAN,
            description=f"School {plan.school_id}: the plan of {markdown.text(plan.source)}",
            metadata={
                "school": plan.school_id,
                "rows": plan.rows,
                "to be created": len(plan.of("create")),
                "to be changed": len(plan.of("change")),
                "to be deleted": len(plan.of("delete")),
                "unchanged": plan.unchanged,
                "gone from the roster": len(plan.gone),
                "refused": len(plan.refused),
                "notes": "\n".join(plan.notes),
                "workbook": dg.MetadataValue.path(planned.path.with_suffix(".xlsx")),
                "plan": dg.MetadataValue.path(planned.path),
                "to carry it out": markdown.value(
                    f"`campus roster apply {planned.path}`, or the job `{APPLY_ROSTER}` with\n\n"
                    f"```yaml\nops:\n  {APPLY_ROSTER}:\n    config:\n      plan: {planned.path.stem}\n```"
                ),
            },
        )
    )


def _show_applied(context: dg.OpExecutionContext, school_id: int, applied: Applied, results: Path) -> None:
    """Log the counts. Raises dg.Failure if the plan was not applied completely."""
    counts = counted(applied.outcomes)
    context.log_event(
        dg.AssetMaterialization(
            ROSTER,
            description=f"School {school_id}: the outcomes of a roster's rows",
            metadata={"school": school_id, **counts, "result of each row": dg.MetadataValue.path(results)},
        )
    )
    if applied.stopped or counts["unconfirmed"]:
        raise dg.Failure(f"{in_words(counts)}. {applied.stopped or LOOK_AGAIN}", allow_retries=False)
    context.log.info(f"{in_words(counts)}. {results}")
