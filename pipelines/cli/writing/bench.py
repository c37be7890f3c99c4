"""What all commands that write share: the school, the platform, the record, and how their end is told."""

from contextlib import nullcontext
from pathlib import Path

import uvloop

from campus.http.errors import CampusError, Halt
from campus.registry import SCHOOLS
from loading.tables import TABLES
from loading.writes.journal import Errand
from loading.writes.outcomes import counted, in_words
from loading.writes.roster.plan_file import PlanError
from loading.writes.table_file import TableError
from pipelines.cli.display import USAGE, complain, console, progress
from pipelines.cli.session import looking, session
from pipelines.lake import lake_of
from pipelines.launches import LAUNCHER_TAG
from pipelines.resources import open_runtime
from pipelines.settings import Settings, SettingsError, claim_home, needs_platform, needs_school, needs_writes
from pipelines.writes.bench import Done, Work, carried_out, unread

#: Rows that are told one by one.
SHOWN = 20


def run_writing(
    settings: Settings,
    command: str,
    source: str,
    school: int | None,
    work: Work,
    *,
    dry: bool,
    build: bool,
    results: Path | None = None,
    quiet: bool = False,
) -> int:
    """Run `work` with all that it needs, and say how it ended. command: as it is recorded. source: the
    file or plan that says what to write. results: where what became of each row is written. quiet: `work`
    says by itself what there is to say. The exit status."""
    needs_platform(settings)
    if not dry:
        needs_writes(settings)
    claim_home(settings)
    school_id = the_school(settings, school)
    # What shows alone waits for nobody.
    with nullcontext(looking(command)) if dry else session(settings, command) as tags:
        try:
            with progress() as listener, open_runtime(settings, listener) as runtime:
                errand = Errand(tags[LAUNCHER_TAG], source)
                done = uvloop.run(
                    carried_out(settings, runtime, errand, school_id, work, dry=dry, results=results)
                )
        except (TableError, PlanError) as error:
            complain(error)
            return USAGE
        except (CampusError, Halt) as error:
            complain(error)
            return 1
        status = 0 if quiet else tell(done, dry=dry, results=results)
        if any(one.outcome for one in done.loaded) and build:
            from pipelines.cli.commands import run_build

            status = max(status, run_build(settings, tags))
    return status


def tell(done: Done, *, dry: bool, results: Path | None) -> int:
    """Say what became of the rows. The exit status."""
    counts = counted(done.outcomes)
    for note in done.notes:
        console.print(note, markup=False, soft_wrap=True)
    for warning in done.warnings:
        complain(warning)
    for one in sorted(done.outcomes, key=lambda one: one.line):
        if one.outcome in ("refused", "unconfirmed"):
            where = f"line {one.line}: " if one.line else ""
            complain(f"{where}{one.key}: {one.outcome}: {one.words}")
    if dry:
        for one in [one for one in done.outcomes if one.outcome == "waiting"][:SHOWN]:
            console.print(f"  would: {one.key}: {one.words}", markup=False, soft_wrap=True)
    for line in unread(done.loaded):
        complain(line)
    ending = " (a dry run: nothing was written)" if dry else ""
    console.print(f"{in_words(counts) or 'nothing to do'}{ending}.", markup=False, soft_wrap=True)
    if done.problem:
        complain(f"stopped: {done.problem}")
    if results is not None and results.exists() and not dry:
        console.print(f"What became of each row: {results}", markup=False, soft_wrap=True)
    bad = counts["refused"] or counts["unconfirmed"] or done.problem
    return int(bool(bad or (counts["waiting"] and not dry)))


def the_school(settings: Settings, school: int | None) -> int:
    """The school that is written to: the one that is named, or the only one. Raises SettingsError."""
    known = settings.school_ids
    if known is None:
        lake = lake_of(settings)
        held = lake.holds(TABLES[SCHOOLS.name])
        rows = lake.read(TABLES[SCHOOLS.name], columns=["id"]).to_pylist() if held else []
        known = tuple(row["id"] for row in rows)
    if school is None and len(known) == 1:
        return known[0]
    if school is None:
        there_are = ", ".join(map(str, known)) or "none known yet"
        raise SettingsError([f"name the school with --school; there are {there_are}"])
    needs_school(settings, school)
    return school
