"""Runs a command that writes: finds the school, opens the platform, and reports the outcome."""

from collections import defaultdict
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import uvloop

from campus.files.table_file import TableError
from campus.http.errors import CampusError, PlatformUnavailable
from campus.registry import SCHOOLS
from loading.tables import TABLES
from pipelines.cli.command_session import read_only_tags, session
from pipelines.cli.terminal.display import INTERRUPTED, USAGE, complain, print_line
from pipelines.cli.terminal.progress import progress
from pipelines.lake.opening import lake_of
from pipelines.resources import open_runtime
from pipelines.runs.launchers import LAUNCHER_TAG
from pipelines.settings.settings import (
    Settings,
    SettingsError,
    claim_home,
    needs_platform,
    needs_school,
    needs_writes,
)
from pipelines.status.school_groups import unknown_schools
from pipelines.writes.context import Done, Work, carry_out, unread
from warehouse.load.logs.load_log import schools_loaded
from writeback.notes import note_begin, note_end, remove_note
from writeback.outcomes import RowOutcome, counted, in_words
from writeback.roster.plan_file import PlanError
from writeback.store.journal import Provenance
from writeback.store.notes import Note

#: Rows that a message names at most.
MAX_ROWS = 20


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
    """Run `work` and report its outcome. Returns the exit status.

    `command` is recorded as the launcher, `source` as the file or plan behind the write. `results` is the
    file for the outcome of each row. `again`: the kind of the file and its command, which `campus status`
    shows until all rows are written. `quiet`: `work` reports by itself."""
    needs_platform(settings)
    if not dry:
        needs_writes(settings)
    claim_home(settings)
    school_id = school_to_write(settings, school)
    begun = None
    if again and not dry:
        kind, go_on = again
        go_on += f" --school {school_id}"
        begun = Note(kind, school_id, Path(source).name, str(results), command=go_on)
    # A dry run writes nothing, so it does not wait for other writers.
    with nullcontext(read_only_tags(command)) if dry else session(settings, command) as tags:
        if begun:
            note_begin(settings.home, begun)
        try:
            with progress() as listener, open_runtime(settings, listener) as runtime:
                provenance = Provenance(tags[LAUNCHER_TAG], source)
                done = uvloop.run(
                    carry_out(settings, runtime, provenance, school_id, work, dry=dry, results=results)
                )
        except (TableError, PlanError, CampusError, PlatformUnavailable) as error:
            if begun:
                remove_note(settings.home, begun)
            complain(error)
            return USAGE if isinstance(error, TableError | PlanError) else 1
        if begun:
            note_end(settings.home, begun, done.outcomes)
        status = 0 if quiet else report(done, dry=dry, results=results)
        if done.interrupted:
            return INTERRUPTED
        if any(load.outcome for load in done.loaded) and build:
            from pipelines.cli.actions.load import run_build

            status = max(status, run_build(settings, tags))
    return status


def report(done: Done, *, dry: bool, results: Path | None) -> int:
    """Report the outcome of the rows. Returns the exit status."""
    counts = counted(done.outcomes)
    for note in done.notes:
        print_line(note)
    for warning in done.warnings:
        complain(warning)
    for line in bad_rows(done.outcomes, done.problem):
        complain(line)
    if dry:
        for row in [row for row in done.outcomes if row.outcome == "waiting"][:MAX_ROWS]:
            print_line(f"  would: {row.key}: {row.words}")
    for line in unread(done.loaded):
        complain(line)
    ending = " (a dry run: nothing was written)" if dry else ""
    print_line(f"{in_words(counts) or 'nothing to do'}{ending}.")
    if done.problem:
        complain(f"stopped: {done.problem}")
    if results is not None and results.exists() and not dry:
        print_line(f"The outcome of each row: {results}")
    if done.next:
        print_line(done.next)
    bad = counts["refused"] or counts["unconfirmed"] or done.problem
    return int(bool(bad or (counts["waiting"] and not dry)))


def bad_rows(outcomes: Sequence[RowOutcome], problem: str) -> list[str]:
    """Lines about refused and unconfirmed rows: one for all rows with the same reason. A reason that is part
    of `problem` is not repeated."""
    groups: defaultdict[tuple[str, str], list[RowOutcome]] = defaultdict(list)
    for row in sorted(outcomes, key=lambda row: row.line):
        if row.outcome in ("refused", "unconfirmed"):
            groups[row.outcome, row.words].append(row)
    lines = []
    for (outcome, words), rows in groups.items():
        why = "for the reason below" if words and words in problem else words
        if len(rows) == 1:
            line = f"line {rows[0].line}" if rows[0].line else ""
            lines.append(": ".join(filter(None, (line, rows[0].key, outcome, why))))
        else:
            names = ", ".join(str(row.line) if row.line else row.key for row in rows[:MAX_ROWS])
            others = f" and {len(rows) - MAX_ROWS:,} more" if len(rows) > MAX_ROWS else ""
            place = f"{'lines ' if rows[0].line else ''}{names}{others}"
            lines.append(f"{len(rows):,} rows {outcome}: {why} ({place})")
    return lines


def school_to_write(settings: Settings, school: int | None) -> int:
    """The school to write to: `school`, or the only school. Raises SettingsError."""
    school_ids = settings.school_ids
    if school_ids is None:
        lake = lake_of(settings)
        has_schools = lake.holds(TABLES[SCHOOLS.name])
        rows = lake.read(TABLES[SCHOOLS.name], columns=["id"]).to_pylist() if has_schools else []
        school_ids = tuple(row["id"] for row in rows)
    if school is None and len(school_ids) == 1:
        return school_ids[0]
    if school is None:
        existing = ", ".join(map(str, school_ids)) or "none known yet"
        raise SettingsError([f"name the school with --school; there are {existing}"])
    needs_school(settings, school)
    loaded = schools_loaded(lake_of(settings))
    if loaded and (unknown := unknown_schools([school], loaded)):
        raise SettingsError(
            [f"{unknown}: mend --school, or load it first with campus sync --school {school}"]
        )
    return school
