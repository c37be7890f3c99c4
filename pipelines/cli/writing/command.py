"""Runs a command that writes: finds the school, opens the platform, and reports the outcome."""

from collections import defaultdict
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import uvloop

from campus.http.errors import CampusError, PlatformUnavailable
from campus.registry import SCHOOLS
from loading.tables import TABLES
from pipelines.cli.display import INTERRUPTED, USAGE, complain, console
from pipelines.cli.progress import progress
from pipelines.cli.session import looking, session
from pipelines.lake import lake_of
from pipelines.launches import LAUNCHER_TAG
from pipelines.of_schools import no_such
from pipelines.resources import open_runtime
from pipelines.settings import Settings, SettingsError, claim_home, needs_platform, needs_school, needs_writes
from pipelines.writes.context import Done, Work, carry_out, unread
from warehouse.load.load_log import schools_loaded
from writeback.files.table_file import TableError
from writeback.notes import begin, end, forget
from writeback.outcomes import RowOutcome, counted, in_words
from writeback.roster.plan_file import PlanError
from writeback.store.journal import Provenance
from writeback.store.notes import Note

#: Rows that are named.
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
    again: tuple[str, str] | None = None,
    quiet: bool = False,
) -> int:
    """Run `work` with all that it needs, and say how it ended. command: as it is recorded. source: the
    file or plan that says what to write. results: where what became of each row is written. again: the kind
    of the file and the command for it, which `campus status` shows until all rows are written. quiet: `work`
    says by itself what there is to say. The exit status."""
    needs_platform(settings)
    if not dry:
        needs_writes(settings)
    claim_home(settings)
    school_id = the_school(settings, school)
    begun = None
    if again and not dry:
        kind, go_on = again
        go_on += f" --school {school_id}"
        begun = Note(kind, school_id, Path(source).name, str(results), command=go_on)
    # What shows alone waits for nobody.
    with nullcontext(looking(command)) if dry else session(settings, command) as tags:
        if begun:
            begin(settings.home, begun)
        try:
            with progress() as listener, open_runtime(settings, listener) as runtime:
                provenance = Provenance(tags[LAUNCHER_TAG], source)
                done = uvloop.run(
                    carry_out(settings, runtime, provenance, school_id, work, dry=dry, results=results)
                )
        except (TableError, PlanError, CampusError, PlatformUnavailable) as error:
            if begun:
                forget(settings.home, begun)
            complain(error)
            return USAGE if isinstance(error, TableError | PlanError) else 1
        if begun:
            end(settings.home, begun, done.outcomes)
        status = 0 if quiet else report(done, dry=dry, results=results)
        if done.interrupted:
            return INTERRUPTED
        if any(load.outcome for load in done.loaded) and build:
            from pipelines.cli.commands import run_build

            status = max(status, run_build(settings, tags))
    return status


def report(done: Done, *, dry: bool, results: Path | None) -> int:
    """Report the outcome of the rows. The exit status."""
    counts = counted(done.outcomes)
    for note in done.notes:
        console.print(note, markup=False, soft_wrap=True)
    for warning in done.warnings:
        complain(warning)
    for line in bad_rows(done.outcomes, done.problem):
        complain(line)
    if dry:
        for row in [row for row in done.outcomes if row.outcome == "waiting"][:SHOWN]:
            console.print(f"  would: {row.key}: {row.words}", markup=False, soft_wrap=True)
    for line in unread(done.loaded):
        complain(line)
    ending = " (a dry run: nothing was written)" if dry else ""
    console.print(f"{in_words(counts) or 'nothing to do'}{ending}.", markup=False, soft_wrap=True)
    if done.problem:
        complain(f"stopped: {done.problem}")
    if results is not None and results.exists() and not dry:
        console.print(f"What became of each row: {results}", markup=False, soft_wrap=True)
    if done.next:
        console.print(done.next, markup=False, soft_wrap=True)
    bad = counts["refused"] or counts["unconfirmed"] or done.problem
    return int(bool(bad or (counts["waiting"] and not dry)))


def bad_rows(outcomes: Sequence[RowOutcome], problem: str) -> list[str]:
    """Lines about refused and unconfirmed rows, one for all rows that share their words. problem: is
    reported after them; words that it repeats are left to it."""
    groups: defaultdict[tuple[str, str], list[RowOutcome]] = defaultdict(list)
    for row in sorted(outcomes, key=lambda row: row.line):
        if row.outcome in ("refused", "unconfirmed"):
            groups[row.outcome, row.words].append(row)
    lines = []
    for (outcome, words), rows in groups.items():
        why = "for the reason below" if words and words in problem else words
        if len(rows) == 1:
            place = f"line {rows[0].line}: " if rows[0].line else ""
            lines.append(f"{place}{rows[0].key}: {outcome}: {why}")
        else:
            names = ", ".join(str(row.line) if row.line else row.key for row in rows[:SHOWN])
            others = f" and {len(rows) - SHOWN:,} more" if len(rows) > SHOWN else ""
            place = f"{'lines ' if rows[0].line else ''}{names}{others}"
            lines.append(f"{len(rows):,} rows {outcome}: {why} ({place})")
    return lines


def the_school(settings: Settings, school: int | None) -> int:
    """The school to write to: the named school, or the only school. Raises SettingsError."""
    school_ids = settings.school_ids
    if school_ids is None:
        lake = lake_of(settings)
        has_schools = lake.holds(TABLES[SCHOOLS.name])
        rows = lake.read(TABLES[SCHOOLS.name], columns=["id"]).to_pylist() if has_schools else []
        school_ids = tuple(row["id"] for row in rows)
    if school is None and len(school_ids) == 1:
        return school_ids[0]
    if school is None:
        there_are = ", ".join(map(str, school_ids)) or "none known yet"
        raise SettingsError([f"name the school with --school; there are {there_are}"])
    needs_school(settings, school)
    loaded = schools_loaded(lake_of(settings))
    if loaded and (unknown := no_such([school], loaded)):
        raise SettingsError(
            [f"{unknown}: mend --school, or load it first with campus sync --school {school}"]
        )
    return school
