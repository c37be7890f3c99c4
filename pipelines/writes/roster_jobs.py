"""The jobs of rosters: one plans a roster that has arrived, and carries the plan out where campus.yaml says
so and it is under the guards; one carries out a plan that a person has looked at."""

from pathlib import Path

import dagster as dg
import uvloop
from msgspec import structs

from assets import markdown
from assets.resource_assets import asking_runtime
from loading.runtime import Runtime
from pipelines.settings import Settings, needs_school
from pipelines.writes.context import unread
from pipelines.writes.roster import (
    Planned,
    Roster,
    apply_roster,
    begun_note,
    plan_roster,
    put_roster_away,
    reason_to_wait,
    results_path,
)
from pipelines.writes.runs import ArrivedFile, failures_told, file_of_run, put_away, told_of
from pipelines.writes.session import open_write_session, provenance_of
from writeback.files.table_file import FileContent, table_in
from writeback.kinds import ROSTERS
from writeback.notes import forget, leave_note, note_of, prune
from writeback.outcomes import counted, in_words
from writeback.roster.apply import Applied
from writeback.roster.plan_file import digest, load_plan, plan_path
from writeback.store.notes import Note

PLAN_ROSTER, APPLY_ROSTER = "plan_roster", "apply_roster"
#: What the UI shows the counts of: a plan, and what became of it.
ROSTER_PLAN, ROSTER = dg.AssetKey(["writes", "roster_plan"]), dg.AssetKey(["writes", "roster"])
ASSETS = (
    dg.AssetSpec(ROSTER_PLAN, group_name="writes", description="The plan of the last roster that arrived."),
    dg.AssetSpec(ROSTER, group_name="writes", description="What became of the rows of the last plan."),
)
LOOK_AGAIN = "Whether some rows were written nobody knows: run apply_roster again, which looks first."


class PlanFile(dg.Config):
    """A plan to carry out. plan: its name in the folder of plans. despite_refused: however many rows of the
    roster are refused."""

    plan: str
    despite_refused: bool = False


def planning_job(settings: Settings) -> dg.JobDefinition:
    """The job that plans a roster, and carries the plan out where campus.yaml says so and it is under the
    guards."""

    # A step's definition may not have the name of a job; in the run it has.
    @dg.op(name="plan_one_roster", pool="platform", required_resource_keys={"campus"})
    def plan(context: dg.OpExecutionContext, config: ArrivedFile) -> None:
        runtime = asking_runtime(context)
        about = Note(ROSTERS, config.school_id, config.file)
        try:
            with failures_told(context):
                needs_school(settings, config.school_id)
                arrived = file_of_run(context, settings, ROSTERS, config)
                if arrived is None:
                    return
                planned = uvloop.run(_plan(context, settings, runtime, config.school_id, arrived[0]))
        except dg.Failure as failure:
            leave_note(settings.home, structs.replace(about, problem=told_of(failure)))
            raise
        prune(settings.home, settings.options.writes.keep_plans)
        _show_plan(context, planned)
        reason = reason_to_wait(planned.plan, settings)
        # Until it is carried out to its end it waits, whoever is to do that.
        note = note_of(config.school_id, planned.plan, planned.path, waits=True)
        # The newest roster counts: its plan has what an earlier one left open.
        forget(settings.home, begun_note(planned.plan, planned.path))
        if note:
            leave_note(settings.home, note)
        else:
            forget(settings.home, about)
        if reason:
            context.log.info(f"{reason} To carry it out: campus roster apply {planned.path}")
            if not planned.plan.steps:
                put_away(context, settings, ROSTERS, arrived[1])
        else:
            _apply(context, settings, planned.path.stem, by_itself=True)

    @dg.job(
        name=PLAN_ROSTER,
        executor_def=dg.in_process_executor,
        description="Compare a roster with the platform. A person, or campus.yaml, has the plan carried out.",
    )
    def job() -> None:
        plan.alias(PLAN_ROSTER)()

    return job


def applying_job(settings: Settings) -> dg.JobDefinition:
    """The job that carries out a plan which a person has looked at."""

    @dg.op(name="apply_one_roster", pool="platform", required_resource_keys={"campus"})
    def apply(context: dg.OpExecutionContext, config: PlanFile) -> None:
        _apply(context, settings, config.plan, despite_refused=config.despite_refused)

    @dg.job(
        name=APPLY_ROSTER,
        executor_def=dg.in_process_executor,
        description="Carry out a plan of a roster, and nothing else. The run of plan_roster tells its name.",
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
    """Carry out a plan, and tell what became of it. Raises dg.Failure where it did not come to its end."""
    runtime = asking_runtime(context)

    async def work() -> Applied:
        async with open_write_session(settings, runtime, provenance_of(context, name)) as session:
            applied, loaded = await apply_roster(
                settings, runtime, session, name, despite_refused=despite_refused, by_itself=by_itself
            )
        for line in unread(loaded):
            context.log.warning(line)
        return applied

    with failures_told(context):
        plan = load_plan(settings.home, name)
        school_id = plan.school_id
        applied = uvloop.run(work())
    if applied.is_complete and (problem := put_roster_away(settings, plan)):
        context.log.warning(problem)
    _show_applied(context, school_id, applied, results_path(plan_path(settings.home, name)))


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
    """Tell the counts. Raises dg.Failure where the plan was not carried out to its end."""
    counts = counted(applied.outcomes)
    context.log_event(
        dg.AssetMaterialization(
            ROSTER,
            description=f"School {school_id}: what became of the rows of a roster",
            metadata={"school": school_id, **counts, "result of each row": dg.MetadataValue.path(results)},
        )
    )
    if applied.stopped or counts["unconfirmed"]:
        raise dg.Failure(f"{in_words(counts)}. {applied.stopped or LOOK_AGAIN}", allow_retries=False)
    context.log.info(f"{in_words(counts)}. {results}")
