"""The work of `campus roster plan` and `campus roster apply`."""

from pipelines.cli.terminal.display import USAGE, complain, fail, print_line, show
from pipelines.cli.writing.command import run_writing
from pipelines.settings.settings import Settings
from pipelines.writes.context import Done, WriteContext
from pipelines.writes.roster import (
    apply_roster,
    begun_note,
    plan_results_path,
    plan_roster,
    put_roster_away,
    read_roster,
)
from writeback.notes import delete_old, remove_note
from writeback.roster.plan import Plan
from writeback.roster.plan_file import PlanError, load_plan, plan_name, plan_path

#: Rows of each kind that the terminal shows at most.
MAX_ROWS = 10


def run_plan(
    settings: Settings, source: str, school: int | None, *, delete: bool, link_by_usin: bool, personal: bool
) -> int:
    """Plan a roster and show the plan. Returns the exit status: 1 if any rows are refused."""
    has_refused_rows = False

    async def work(context: WriteContext) -> Done:
        nonlocal has_refused_rows
        planned = await plan_roster(
            settings,
            context.session,
            context.school_id,
            read_roster(settings, source),
            delete=delete,
            link_by_usin=link_by_usin,
        )
        delete_old(settings.home, settings.options.writes.keep_plans)
        if not planned.plan.steps:
            # The platform equals the roster, so an earlier plan that was interrupted has nothing left to do.
            remove_note(settings.home, begun_note(planned.plan, planned.path))
        _show(planned.plan, personal=personal)
        workbook = planned.path.with_suffix(".xlsx")
        print_line(f"The plan, for review: {workbook}")
        if planned.plan.steps:
            print_line(f"To carry it out: campus roster apply {planned.path}")
        has_refused_rows = bool(planned.plan.refused)
        return Done(())

    status = run_writing(
        settings, "campus roster plan", source, school, work, dry=True, build=False, quiet=True
    )
    return status or int(has_refused_rows)


def run_apply(
    settings: Settings, name_or_path: str, *, dry: bool, build: bool, despite_refused: bool = False
) -> int:
    """Carry out a plan in the home's folder of plans. Returns the exit status."""
    try:
        name = plan_name(settings.home, name_or_path)
        plan = load_plan(settings.home, name)
    except PlanError as error:
        return fail(error, USAGE)

    async def work(context: WriteContext) -> Done:
        applied, loaded = await apply_roster(
            settings, context.runtime, context.session, name, dry=dry, despite_refused=despite_refused
        )
        go_on = "" if applied.is_complete or dry else f"To go on: campus roster apply {name}"
        warning = put_roster_away(settings, plan) if applied.is_complete and not dry else ""
        warnings = [warning] if warning else []
        return Done(applied.outcomes, loaded, applied.stopped, warnings=warnings, next=go_on)

    return run_writing(
        settings,
        "campus roster apply",
        name,
        plan.school_id,
        work,
        dry=dry,
        build=build,
        results=plan_results_path(plan_path(settings.home, name)),
    )


def _show(plan: Plan, *, personal: bool) -> None:
    print_line(
        f"School {plan.school_id}, {plan.rows:,} rows of {plan.source}, {plan.people:,} platform users:"
    )
    deleted = len(plan.of("delete"))
    for words, count in (
        ("to be created", len(plan.of("create"))),
        ("to be changed", len(plan.of("change"))),
        ("unchanged", plan.unchanged),
        ("missing from the roster", len(plan.gone)),
        ("to be deleted", deleted),
        ("refused", len(plan.refused)),
    ):
        print_line(f"  {count:>7,} {words}")
    for note in plan.notes:
        print_line(f"  {note}")
    changes = [(step, name) for step in plan.of("change") for name in step.after]
    if changes:
        show(
            "changed",
            ("line", "outer_id", "field", *(("before", "after") if personal else ())),
            [
                (str(step.line), step.outer_id, name)
                + ((step.before.get(name), step.after[name]) if personal else ())
                for step, name in changes[:MAX_ROWS]
            ],
        )
    for row in plan.refused[:MAX_ROWS]:
        complain(f"line {row.line}: refused: {row.reason}")
    if len(plan.refused) > MAX_ROWS:
        complain(f"and {len(plan.refused) - MAX_ROWS} more refused rows; the workbook lists all")
