"""Plans a roster and applies the plan, for commands and jobs."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import duckdb
from msgspec import structs

from campus.files.table_file import READERS, TableError, TableFile, named_file, table_in, table_of
from campus.http.errors import CampusError, PlatformUnavailable
from loading.connection.runtime import Runtime
from loading.slices.commit import Loaded
from loading.slices.loader import Loader
from pipelines.settings.settings import Settings
from pipelines.writes.plan_sheets import write_plan_sheets
from pipelines.writes.reread import cause_of_writing
from pipelines.writes.reread_users import reread_users
from warehouse.identifiers import relation
from warehouse.load.logs.load_log import now
from warehouse.published.reading import opened as opened_published
from writeback.inbox.folder import list_arrived, move_to_done, read_arrived
from writeback.kinds import ROSTERS
from writeback.notes import close_plan_note, note_begin, note_end
from writeback.outcomes import counted, write_outcomes
from writeback.roster.apply import Applied, Applier, secrets_of
from writeback.roster.fields import SECRET, STANDARD
from writeback.roster.make_plan import make_plan, managed_users
from writeback.roster.people import People
from writeback.roster.plan import FEW, Plan, PlanOptions
from writeback.roster.plan_file import PlanError, digest, load_plan, plan_path, save_plan
from writeback.roster.rows import field_of, read_rows
from writeback.session import WriteSession
from writeback.store.notes import Note
from writeback.user_fields import FieldWriter

SHARE = "writes.inbox.max_changed_share"
#: Archived and disabled.
GONE_STATUSES = (2, 4)
#: The pause before the final check, in settling times: the platform may apply writes late.
SETTLING_TIMES = 5
#: How far a clock may be set back after a plan was made.
CLOCK_TOLERANCE = timedelta(minutes=5)


@dataclass(frozen=True)
class Planned:
    """A plan and its path."""

    plan: Plan
    path: Path


@dataclass(frozen=True)
class Roster:
    """The content of a roster."""

    #: The file, or the table of the warehouse.
    source: str
    table: TableFile
    #: The hash of the file; empty for a table.
    sha256: str


async def plan_roster(
    settings: Settings,
    session: WriteSession,
    school_id: int,
    roster: Roster,
    *,
    delete: bool,
    link_by_usin: bool,
) -> Planned:
    """Plan a roster, and write the plan and its workbook. Raises the client's errors."""
    writer = FieldWriter(session.client, session.write, school_id)
    fields = await writer.fields()
    people = People(session.client, school_id, fields)
    options = settings.options.writes.roster
    names = {name for name, _ in fields}
    rows, refused = read_rows(roster.table, school_id, names, options.reading, roster.source)
    plan_options = PlanOptions(
        delete,
        link_by_usin,
        options.max_deleted_share,
        settings.options.safety.vanished_handful,
    )
    made_at = now().replace(microsecond=0)
    plan = make_plan(
        rows,
        refused,
        await people.everybody(),
        fields,
        plan_options,
        base_url=settings.base_url or "",
        school_id=school_id,
        made_at=made_at,
        source=roster.source,
        sha256=roster.sha256,
    )
    path = save_plan(plan, settings.home, f"roster-{school_id}-{made_at:%Y%m%d-%H%M%S}")
    write_plan_sheets(plan, path.with_suffix(".xlsx"), settings.options.exports.language)
    return Planned(plan, path)


async def apply_roster(
    settings: Settings,
    runtime: Runtime,
    session: WriteSession,
    name: str,
    *,
    dry: bool = False,
    despite_refused: bool = False,
    by_itself: bool = False,
) -> tuple[Applied, list[Loaded]]:
    """Apply a plan, and read its users again. A file beside the plan has the outcome of each row.

    `despite_refused`: ignores the share of refused rows. `by_itself`: no person has checked the plan. Raises
    PlanError if the plan or its roster has changed, or if a guard stops the plan. Raises CampusError and
    PlatformUnavailable only before the first write."""
    path, plan = plan_path(settings.home, name), load_plan(settings.home, name)
    options = settings.options.writes
    _check(settings, plan, name)
    if session.journal is not None and (ended_at := session.journal.end_of_plan(name)):
        raise PlanError(f"the plan {name} was carried out to its end at {ended_at}: make a new plan")
    secrets = _secrets(settings, plan)
    fields = await FieldWriter(session.client, session.write, plan.school_id).fields()
    people = People(session.client, plan.school_id, fields)
    _check_fields(plan, {field for field, _ in fields}, name)
    await _check_guards(settings, plan, people, despite_refused=despite_refused, by_itself=by_itself)
    applier = Applier(
        plan,
        people,
        session.write,
        secrets,
        options.roster.max_refused_share,
        runtime.client.concurrency,
        dry,
        SETTLING_TIMES * options.settling,
    )
    if dry:
        return await applier.apply(), []
    begun = begun_note(plan, path)
    note_begin(settings.home, begun)
    # After a kill the file would show the outcomes of an earlier attempt.
    plan_results_path(path).unlink(missing_ok=True)
    applied = await applier.apply()
    write_outcomes(plan_results_path(path), applied.outcomes)
    note_end(settings.home, begun, applied.outcomes)
    if applied.is_complete:
        refused = counted(applied.outcomes)["refused"]
        close_plan_note(settings.home, plan, path, refused, plan_results_path(path))
    loaded: list[Loaded] = []
    if applied.concerned and not applied.away:
        loader = Loader(runtime, session.client, cause_of_writing(session.provenance.run_id), {})
        try:
            loaded = await reread_users(loader, people, plan.school_id, applied.concerned)
        except (CampusError, PlatformUnavailable) as error:
            applied.stopped = applied.stopped or f"what was written could not be read again: {error}"
    if applied.is_complete and session.journal is not None:
        session.journal.note_end_of_plan(name)
    return applied, loaded


def begun_note(plan: Plan, path: Path) -> Note:
    """The note about a plan under way."""
    workbook = path.absolute().with_suffix(".xlsx")
    command = f"campus roster apply {path.stem}"
    return Note(ROSTERS, plan.school_id, Path(plan.source).name, str(workbook), command=command)


def reason_to_wait(plan: Plan, settings: Settings) -> str:
    """Why a plan waits for a person; empty: the plan may be applied."""
    writes = settings.options.writes
    steps, deleted = len(plan.steps), len(plan.of("delete"))
    if not steps:
        return "There is nothing to do."
    if not settings.allow_writes:
        return "CAMPUS_ALLOW_WRITES is not true."
    if not writes.inbox.apply:
        return "The plan waits for a person (writes.inbox.apply is not true)."
    if plan.refuses_more_than(writes.roster.max_refused_share):
        return f"{len(plan.refused):,} of {plan.rows:,} rows are refused (writes.roster.max_refused_share)."
    if writes.inbox.delete and len(plan.gone) > deleted:
        return f"{len(plan.gone):,} are gone from the roster, more than may be deleted without a person."
    disabled = [step for step in plan.of("change") if step.after.get("status") in GONE_STATUSES]
    handful, managed = settings.options.safety.vanished_handful, sum(plan.managed.values())
    if len(disabled) + deleted > max(handful, writes.roster.max_deleted_share * managed):
        return f"{len(disabled) + deleted:,} would be deleted, archived or disabled (writes.roster)."
    changed = Counter(step.role for step in plan.steps if step.action != "delete")
    for role, count in changed.items():
        existing = plan.managed.get(role, 0)
        if count > max(FEW, writes.inbox.max_changed_share * existing):
            return f"{count:,} of role {role} would be created or changed; {existing:,} exist ({SHARE})."
    return ""


def plan_results_path(path: Path) -> Path:
    """The path of a plan's result file with the outcome of each row."""
    return path.with_suffix(".result.csv")


def _check(settings: Settings, plan: Plan, name: str) -> None:
    """Check that a plan is for this home and not too old. Raises PlanError."""
    if settings.school_ids is not None and plan.school_id not in settings.school_ids:
        raise PlanError(f"{name} is a plan for school {plan.school_id}, which is none of CAMPUS_SCHOOL_IDS")
    if plan.base_url != settings.base_url:
        raise PlanError(
            f"{name} is a plan for the platform {plan.base_url}, and this home is of {settings.base_url}: "
            f"make a new plan"
        )
    keep = settings.options.writes.keep_plans
    if plan.made_at > now() + CLOCK_TOLERANCE:
        raise PlanError(f"{name} is dated in the future: make a new plan, and check this machine's clock")
    if now() - plan.made_at > timedelta(days=keep):
        raise PlanError(f"{name} was made more than {keep} days ago (writes.keep_plans): make a new plan")


def _check_fields(plan: Plan, custom: Collection[str], name: str) -> None:
    """Check that a plan writes only existing fields. `custom`: the names of the school's custom fields.

    Raises PlanError."""
    unknown = sorted({field for step in plan.steps for field in step.after} - STANDARD.keys() - set(custom))
    if unknown:
        raise PlanError(
            f"the plan {name} writes {', '.join(unknown)}, which users do not have: make a new plan"
        )


async def _check_guards(
    settings: Settings, plan: Plan, people: People, *, despite_refused: bool, by_itself: bool
) -> None:
    """Check the guards again, by the plan's rows and the platform's current users. Raises PlanError."""
    deleted = {step.id for step in plan.of("delete")}
    if not (deleted or by_itself or len(plan.refused) > FEW):
        return
    roles = plan.managed.keys() | {step.role for step in plan.steps}
    everybody = await people.everybody()
    managed = managed_users(everybody, roles)
    options = settings.options.writes.roster
    share = options.max_refused_share
    rows = plan.rows - max(plan.unchanged - len(everybody), 0)
    if len(plan.refused) > max(FEW, share * rows) and not despite_refused:
        raise PlanError(
            f"{len(plan.refused)} of {rows} rows of the roster are refused, more than the share of "
            f"{share:.0%} that passes (writes.roster.max_refused_share): is it the right file? "
            f"--despite-refused applies the others"
        )
    share = options.max_deleted_share
    # Users deleted by an earlier run of the plan do not count again.
    count = sum(person["id"] in deleted for person in managed)
    if count > max(settings.options.safety.vanished_handful, share * len(managed)):
        raise PlanError(
            f"the plan would delete {count} of {len(managed)} users, more than the share of {share:.0%} that "
            f"passes (writes.roster.max_deleted_share): nothing was written"
        )
    of_roles = Counter(person["role"] for person in managed)
    reason = reason_to_wait(structs.replace(plan, managed=dict(of_roles)), settings) if by_itself else ""
    if reason:
        raise PlanError(f"{reason} The plan waits for a person: campus roster apply")


def read_roster(settings: Settings, source: str) -> Roster:
    """Read a roster from a file or a table of the warehouse. Raises TableError."""
    path = Path(source)
    if path.exists() or path.suffix.lower() in READERS:
        file = named_file(path)
        return Roster(source, table_in(file), digest(file.content))
    table, column_fields = _of_warehouse(settings, source), settings.options.writes.roster.columns
    secret = [column for column in table.columns if field_of(column, column_fields) in SECRET]
    if secret:
        raise TableError(
            f"{source}: {', '.join(secret)} is taken from a file alone, never from the warehouse"
        )
    return Roster(source, table, "")


def put_roster_away(settings: Settings, plan: Plan) -> str:
    """Move the arrived roster of a completed plan, and older rosters, to `done`. Returns a problem, or an
    empty text."""
    folder, source = settings.options.writes.inbox.folder, Path(plan.source)
    if folder is None or source.parent != folder / str(plan.school_id) / ROSTERS:
        return ""
    try:
        file, arrived_file = read_arrived(folder, ROSTERS, plan.school_id, source.name)
        if digest(file.content) != plan.sha256:
            return ""
        for other in list_arrived(folder, ROSTERS, [plan.school_id], lambda _line: None):
            if other.changed <= arrived_file.changed:
                move_to_done(folder, ROSTERS, other)
    except (TableError, OSError) as error:
        return f"{plan.source} cannot be moved to done: {error}"
    return ""


def _of_warehouse(settings: Settings, source: str) -> TableFile:
    schema, _, name = source.partition(".")
    if not name or not settings.published.exists():
        raise TableError(f"{source} is no file, and no schema.table of {settings.published}")
    try:
        with opened_published(settings.published) as con:
            cursor = con.execute(f"FROM {relation(source)}")
            columns = [column[0] for column in cursor.description or ()]
            rows = cursor.fetchall()
    except duckdb.Error as error:
        raise TableError(f"{source} cannot be read from {settings.published}: {error}") from None
    return table_of(enumerate([columns, *rows], 1), f"{schema}.{name}")


def _secrets(settings: Settings, plan: Plan) -> dict[int, dict[str, str]]:
    """The passwords and national id numbers for the plan's steps, from the roster itself."""
    if not any(step.secret for step in plan.steps):
        return {}
    file = named_file(Path(plan.source))
    if digest(file.content) != plan.sha256:
        raise PlanError(f"{plan.source} has changed since the plan was made of it: make a new plan")
    table = table_in(file)
    column_fields = settings.options.writes.roster.columns
    lines = {
        row.line: {field_of(column, column_fields): cell for column, cell in row.cells.items()}
        for row in table.rows
    }
    return secrets_of(lines, plan.steps)
