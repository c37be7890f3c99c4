"""What writes to the platform by itself: rosters that arrive in a folder are planned, and applied where
campus.yaml says so; swipes that wait are sent."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
import uvloop

from campus.http.errors import CampusError, Halt
from loading.runtime import Runtime, told
from loading.writes.outcomes import counted, write_outcomes
from loading.writes.roster.apply import Applied
from loading.writes.roster.plan import FEW, Plan, PlanError, load_plan
from loading.writes.table_file import TableError
from pipelines.notices.notice import THEIR_WORDS
from pipelines.settings import Settings, SettingsError
from pipelines.writes.desk import errand_of, open_desk
from pipelines.writes.inbox import ROSTERS, Arrived, arrived, cursor_of, memory_of, to_read
from pipelines.writes.plans import Note, forget, leave_note, note_of, prune
from pipelines.writes.rosters import Planned, apply_roster, plan_roster

PLAN_ROSTER, APPLY_ROSTER = "plan_roster", "apply_roster"
#: On a run: the file that it reads; and that it could ask nothing of the platform, so that it is tried again.
FILE_TAG, AGAIN_TAG = "campus/file", "campus/again"
#: What is written comes before loads that wait.
PRIORITY = {"dagster/priority": "10"}
#: What the UI shows the counts of: a plan, and what became of it, each by school.
ROSTER_PLAN, ROSTER = dg.AssetKey(["writes", "roster_plan"]), dg.AssetKey(["writes", "roster"])
ASSETS = (
    dg.AssetSpec(ROSTER_PLAN, group_name="writes", description="The plan of the last roster that arrived."),
    dg.AssetSpec(ROSTER, group_name="writes", description="What became of the rows of the last plan."),
)
LOOK_AGAIN = "Whether some rows were written nobody knows: run apply_roster again, which looks first."
JOBS = {ROSTERS: PLAN_ROSTER}


class RosterFile(dg.Config):
    """A roster that arrived. file: its path."""

    school_id: int
    file: str


class PlanFile(dg.Config):
    """A plan to carry out. plan: the path of its .json."""

    plan: str


def writes_definitions(settings: Settings) -> dg.Definitions:
    """The jobs that write to the platform, and what starts them; nothing where nothing may be written and no
    folder is looked at."""
    inbox = settings.options.writes.inbox
    if inbox.folder is None and not settings.allow_writes:
        return dg.Definitions()
    jobs = [planning_job(settings), applying_job(settings)]
    folder = inbox.folder
    sensors = [files_sensor(settings, folder, kind, job) for kind, job in JOBS.items()] if folder else []
    return dg.Definitions(assets=ASSETS, jobs=jobs, sensors=sensors)


def planning_job(settings: Settings) -> dg.JobDefinition:
    """The job that plans a roster, and carries the plan out where campus.yaml says so and it is under the
    guards."""

    # A step's definition may not have the name of a job; in the run it has.
    @dg.op(name="plan_one_roster", pool="platform", required_resource_keys={"campus"})
    def plan(context: dg.OpExecutionContext, config: RosterFile) -> None:
        runtime = told(context.resources.campus, context.log)
        try:
            with _failures_told(context):
                planned = uvloop.run(_plan(context, settings, runtime, config))
        except dg.Failure as failure:
            # What the platform says in its own words may name a child.
            problem = (failure.description or "").partition(THEIR_WORDS)[0]
            leave_note(settings.home, Note(config.school_id, Path(config.file).name, problem=problem))
            raise
        prune(settings.home, settings.options.writes.keep_plans)
        _show_plan(context, planned)
        reason = reason_to_wait(planned.plan, settings)
        note = note_of(config.school_id, planned.plan, planned.path, waits=bool(reason))
        if note:
            leave_note(settings.home, note)
        else:
            forget(settings.home, config.school_id)
        if reason:
            context.log.info(f"{reason} To carry it out: campus roster apply {planned.path}")
        else:
            _apply(context, settings, planned.path)

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
        _apply(context, settings, Path(config.plan))

    @dg.job(
        name=APPLY_ROSTER,
        executor_def=dg.in_process_executor,
        description="Carry out a plan of a roster, and nothing else. The run of plan_roster tells its path.",
    )
    def job() -> None:
        apply.alias(APPLY_ROSTER)()

    return job


async def _plan(
    context: dg.OpExecutionContext, settings: Settings, runtime: Runtime, asked: RosterFile
) -> Planned:
    inbox = settings.options.writes.inbox
    async with open_desk(settings, runtime, errand_of(context.run.tags, asked.file), dry=True) as desk:
        return await plan_roster(
            settings,
            desk,
            asked.school_id,
            asked.file,
            delete=inbox.delete,
            link_by_usin=inbox.link_by_usin,
        )


def _apply(context: dg.OpExecutionContext, settings: Settings, path: Path) -> None:
    """Carry out a plan, and tell what became of it. Raises dg.Failure where it did not come to its end."""
    runtime = told(context.resources.campus, context.log)

    async def work() -> Applied:
        async with open_desk(settings, runtime, errand_of(context.run.tags, path.stem)) as desk:
            return (await apply_roster(settings, runtime, desk, path, dry=False))[0]

    with _failures_told(context):
        school_id = load_plan(path).school_id
        applied = uvloop.run(work())
    results = path.with_suffix(".result.csv")
    write_outcomes(results, applied.outcomes)
    _show_applied(context, school_id, applied, results)


def reason_to_wait(plan: Plan, settings: Settings) -> str:
    """Why a plan is not carried out without a person; empty: it is."""
    writes = settings.options.writes
    steps, deleted = len(plan.steps), len(plan.of("delete"))
    if not steps:
        return "There is nothing to do."
    if not settings.allow_writes:
        return "CAMPUS_ALLOW_WRITES is not true."
    if not writes.inbox.apply:
        return "The plan waits for a person (writes.inbox.apply is not true)."
    if len(plan.refused) > max(FEW, writes.roster.max_refused_share * plan.rows):
        return f"{len(plan.refused):,} of {plan.rows:,} rows are refused (writes.roster.max_refused_share)."
    if writes.inbox.delete and len(plan.gone) > deleted:
        return f"{len(plan.gone):,} are gone from the roster, more than may be deleted without a person."
    if steps - deleted > max(FEW, writes.inbox.max_changed_share * plan.people):
        return f"{steps:,} users of {plan.people:,} would change (writes.inbox.max_changed_share)."
    return ""


def _show_plan(context: dg.OpExecutionContext, planned: Planned) -> None:
    plan = planned.plan
    context.log_event(
        dg.AssetMaterialization(
            ROSTER_PLAN,
            description=f"School {plan.school_id}: the plan of {plan.source}",
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
                "to carry it out": dg.MetadataValue.md(
                    f"`campus roster apply {planned.path}`, or the job `{APPLY_ROSTER}` with\n\n"
                    f"```yaml\nops:\n  {APPLY_ROSTER}:\n    config:\n      plan: {planned.path}\n```"
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
    told = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(counts.items()))
    if applied.stopped or counts["unconfirmed"]:
        why = (
            applied.stopped or "Whether some rows were written nobody knows: run it again, which looks first."
        )
        raise dg.Failure(f"{told}. {why}", allow_retries=False)
    context.log.info(f"{told}. {results}")


@contextmanager
def _failures_told(context: dg.OpExecutionContext) -> Iterator[None]:
    """Failures in words. A run that could ask nothing of the platform is marked, to be tried again."""
    try:
        yield
    except Halt as halt:
        context.instance.add_run_tags(context.run_id, {AGAIN_TAG: "true"})
        raise dg.Failure(str(halt), allow_retries=False) from None
    except (TableError, PlanError, SettingsError, CampusError) as error:
        raise dg.Failure(str(error), allow_retries=False) from None


def files_sensor(settings: Settings, folder: Path, kind: str, job: str) -> dg.SensorDefinition:
    """The sensor that asks for a run for each file of a kind that has arrived."""

    @dg.sensor(
        name=f"{kind}_that_arrive",
        # By its name: Dagster makes a sensor of a job anew, and warns of a parameter that nobody has given.
        job_name=job,
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=30,
        description=f"Files that arrive in {folder}, below <school id>/{kind}.",
    )
    def sensor(context: dg.SensorEvaluationContext) -> Iterator[dg.RunRequest | dg.SkipReason]:
        memory = memory_of(context.cursor)
        try:
            found = arrived(folder, kind, settings.school_ids)
        except OSError as error:
            yield dg.SkipReason(f"{folder} (writes.inbox.folder) cannot be read: {error.strerror}.")
            return
        due = to_read(found, memory, lambda one: _wants_again(context.instance, one))
        context.update_cursor(cursor_of(memory))
        for one in due:
            yield _request(one, job, memory.asked[one.key].times)
        if not due:
            yield dg.SkipReason(f"No new file is in {folder}.")

    return sensor


def _request(one: Arrived, job: str, time: int) -> dg.RunRequest:
    config = {"school_id": one.school_id, "file": one.path}
    return dg.RunRequest(
        run_key=f"{one.key}|{time}",
        run_config={"ops": {job: {"config": config}}},
        tags={FILE_TAG: one.key, **PRIORITY},
    )


def _wants_again(instance: dg.DagsterInstance, one: Arrived) -> bool:
    """Whether the last run for a file has failed as nothing could be asked of the platform."""
    [*last] = instance.get_runs(dg.RunsFilter(tags={FILE_TAG: one.key}), limit=1)
    return any(run.status is dg.DagsterRunStatus.FAILURE and AGAIN_TAG in run.tags for run in last)
