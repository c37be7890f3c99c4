"""`campus roster plan` and `campus roster apply`."""

from pipelines.cli.display import USAGE, complain, console, show
from pipelines.cli.writing.command import run_writing
from pipelines.settings import Settings
from pipelines.writes.context import Done, WriteContext
from pipelines.writes.roster import (
    apply_roster,
    begun_note,
    plan_roster,
    put_roster_away,
    read_roster,
    results_path,
)
from writeback.notes import forget, prune
from writeback.roster.plan import Plan
from writeback.roster.plan_file import PlanError, load_plan, plan_name, plan_path

#: Rows of each kind that the terminal shows.
SHOWN = 10


def run_plan(
    settings: Settings,
    source: str,
    school: int | None,
    *,
    delete: bool,
    link_by_usin: bool,
    personal: bool,
) -> int:
    """Plan a roster and show the plan. The exit status: 1 where rows are refused."""

    async def work(context: WriteContext) -> Done:
        made = await plan_roster(
            settings,
            context.session,
            context.school_id,
            read_roster(settings, source),
            delete=delete,
            link_by_usin=link_by_usin,
        )
        prune(settings.home, settings.options.writes.keep_plans)
        if not made.plan.steps:
            # The platform has all that an earlier plan left open.
            forget(settings.home, begun_note(made.plan, made.path))
        _show(made.plan, personal=personal)
        workbook = made.path.with_suffix(".xlsx")
        console.print(f"The plan, to be looked at: {workbook}", markup=False, soft_wrap=True)
        if made.plan.steps:
            console.print(f"To carry it out: campus roster apply {made.path}", markup=False, soft_wrap=True)
        refused.append(len(made.plan.refused))
        return Done(())

    refused: list[int] = []
    status = run_writing(
        settings, "campus roster plan", source, school, work, dry=True, build=False, quiet=True
    )
    return status or int(any(refused))


def run_apply(
    settings: Settings, given: str, *, dry: bool, build: bool, despite_refused: bool = False
) -> int:
    """Carry out the plan of this name, or of this path in the home's folder of plans. The exit status."""
    try:
        name = plan_name(settings.home, given)
        plan = load_plan(settings.home, name)
    except PlanError as error:
        complain(error)
        return USAGE

    async def work(context: WriteContext) -> Done:
        applied, loaded = await apply_roster(
            settings, context.runtime, context.session, name, dry=dry, despite_refused=despite_refused
        )
        go_on = "" if applied.is_complete or dry else f"To go on: campus roster apply {name}"
        in_the_way = put_roster_away(settings, plan) if applied.is_complete and not dry else ""
        warnings = [in_the_way] if in_the_way else []
        return Done(applied.outcomes, loaded, applied.stopped, warnings=warnings, next=go_on)

    return run_writing(
        settings,
        "campus roster apply",
        name,
        plan.school_id,
        work,
        dry=dry,
        build=build,
        results=results_path(plan_path(settings.home, name)),
    )


def _show(plan: Plan, *, personal: bool) -> None:
    about = f"School {plan.school_id}, {plan.rows:,} rows of {plan.source}, {plan.people:,} users there:"
    console.print(about, markup=False, soft_wrap=True)
    deleted = len(plan.of("delete"))
    for words, count in (
        ("to be created", len(plan.of("create"))),
        ("to be changed", len(plan.of("change"))),
        ("as they are already", plan.unchanged),
        ("gone from the roster", len(plan.gone)),
        ("to be deleted", deleted),
        ("refused", len(plan.refused)),
    ):
        console.print(f"  {count:>7,} {words}")
    for note in plan.notes:
        console.print(f"  {note}", markup=False, soft_wrap=True)
    changes = [(step, name) for step in plan.of("change") for name in step.after]
    if changes:
        show(
            "changed",
            ("line", "outer_id", "field", *(("before", "after") if personal else ())),
            [
                (str(step.line), step.outer_id, name)
                + ((step.before.get(name), step.after[name]) if personal else ())
                for step, name in changes[:SHOWN]
            ],
        )
    for row in plan.refused[:SHOWN]:
        complain(f"line {row.line}: refused: {row.reason}")
    if len(plan.refused) > SHOWN:
        complain(f"and {len(plan.refused) - SHOWN} more refused rows; the workbook has all")
