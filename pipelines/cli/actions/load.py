"""The work of `campus sync` and `campus build`: runs Dagster's jobs and reports how each ended."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import uvloop

from assets.publication.models import NOTHING_CHANGED, is_published, note_unchanged
from assets.publication.shards import NONE_CHANGED, is_stale
from assets.shared.partitions import SCHOOL_SEMESTERS, remove_unknown_partitions
from campus.http.events import Event, Listener
from loading.discovery.listing import mistyped_schools
from loading.partition_keys import school_of
from pipelines.cli.actions.notify import notify
from pipelines.cli.command_session import session
from pipelines.cli.terminal.display import USAGE, complain, fail, print_error, print_line
from pipelines.cli.terminal.progress import progress
from pipelines.cli.terminal.verdict import verdict
from pipelines.definitions import load_definitions, publication_definitions
from pipelines.lake.opening import lake_of
from pipelines.nights.sync import JobEnd, SelectionError, build, build_shards, load, maintain, new_sync_id
from pipelines.notices.automation import show_status
from pipelines.platform import attendance_settings
from pipelines.publication.due_shards import shards_to_build
from pipelines.resources import open_runtime, runtime_without_platform
from pipelines.runs.instance import open_instance
from pipelines.runs.partition_selection import SCHOOLS_TAG, SELECTED_TAG
from pipelines.runs.storage_failures import disk_problem, full_disk, is_full, store_message
from pipelines.settings.settings import Settings, claim_home, needs_platform
from pipelines.status.report import Status
from pipelines.status.school_groups import group_by_text, name_schools
from warehouse.lake.delta import Lake
from warehouse.lake.logs.tables import DRIFT
from warehouse.load.logs.drift import Difference, in_a_line, latest_drift
from warehouse.load.logs.load_log import holds_a_load, last_of_each, loads_of, now
from warehouse.load.logs.writer import standing_rows
from warehouse.published.shards import PublicationBroken, Shards, read_manifest
from writeback.store.store import file_leftover

PUBLICATION = "publication"
NEXT = (
    "Nothing to do. Next: campus status (each school), campus export --all (the board and workbooks), "
    "campus ui (runs, schedule, backfills)."
)
#: Columns of the load log that the summary of a sync adds up.
COUNTS = ("loaded", "new", "changed", "unchanged", "returned", "deleted", "vanished", "quarantined")


@dataclass(frozen=True)
class Loaded:
    """How a load ended."""

    #: The exit status.
    status: int
    #: The last line to print, where the load has failed.
    verdict: str | None = None
    #: Whether storage failed, so that nothing can be built either.
    full: bool = False


def run_sync(
    settings: Settings,
    schools: tuple[int, ...],
    selection: str | None,
    *,
    full: bool = False,
    accept_vanished: bool = False,
) -> int:
    """Sync and report how each run ended. Returns the exit status."""
    needs_platform(settings)
    claim_home(settings)
    with ExitStack() as stack:
        with session(settings, "campus sync") as tags:
            instance = stack.enter_context(open_instance(settings))
            status = _sync(settings, schools, selection, tags, full=full, accept_vanished=accept_vanished)
        # After the session, so that the status does not name this command as a writer.
        if status != USAGE:
            print_next_steps(show_status(instance, settings), status)
            notify(settings)
    return status


def print_next_steps(status: Status, exit_status: int) -> None:
    """Print what there is to do after a sync that succeeded; a failed sync has printed it already."""
    if exit_status:
        return
    for line in status.to_do:
        print_line(f"To do: {line}")
    if not status.to_do:
        print_line(NEXT)


def _sync(
    settings: Settings,
    schools: tuple[int, ...],
    selection: str | None,
    tags: Mapping[str, str],
    *,
    full: bool,
    accept_vanished: bool,
) -> int:
    lake = lake_of(settings)
    with progress() as listener:
        loaded = run_load(
            settings,
            schools,
            selection,
            tags,
            full=full,
            accept_vanished=accept_vanished,
            lake=lake,
            listener=listener,
        )
        if loaded.status == USAGE:
            return USAGE
        built = 0
        if loaded.full:
            print_line("Nothing is built, since nothing can be written.")
        elif not holds_a_load(lake):
            print_line("Nothing has been loaded yet, so nothing is built.")
        else:
            maintained = _maintain(settings, tags)
            built = max(maintained, run_build(settings, tags, lake, listener))
    made_up = "The schools are made-up: the embedded simulator sent them." if settings.embedded else ""
    if loaded.verdict:
        print_error(f"{loaded.verdict} {made_up}".rstrip())
    elif made_up:
        print_line(made_up)
    return max(loaded.status, built)


def run_load(
    settings: Settings,
    schools: tuple[int, ...] = (),
    selection: str | None = None,
    tags: Mapping[str, str] | None = None,
    *,
    full: bool = False,
    accept_vanished: bool = False,
    lake: Lake | None = None,
    listener: Listener | None = None,
) -> Loaded:
    """Load and report how each run ended. `lake`: the settings' lake, where it is open already. `listener`:
    gets the progress; None: the terminal shows it."""
    configured = settings.school_ids or ()
    if schools:
        settings = settings.model_copy(update={"school_ids": schools})
    ends: list[JobEnd] = []
    sync_id, started_at = new_sync_id(), now()
    # So that pipelines.nights.overdue does not miss what the command leaves out.
    limits = ({SCHOOLS_TAG: ",".join(map(str, schools))} if schools else {}) | (
        {SELECTED_TAG: selection} if selection else {}
    )
    with (
        open_instance(settings) as instance,
        progress(listener) as report,
        open_runtime(settings, report, accept_vanished=accept_vanished, lake=lake) as runtime,
    ):
        if schools and (problem := uvloop.run(mistyped_schools(runtime, schools, configured))):
            complain(f"{problem} Nothing was loaded.")
            return Loaded(USAGE)
        loads = load_definitions(settings, runtime)
        try:
            for end in load(
                runtime,
                loads,
                instance,
                sync_id,
                schools=settings.school_ids or (),
                selection=selection,
                full=full,
                schools_per_run=settings.options.runs.schools_per_run,
                tags={**(tags or {}), **limits},
            ):
                end = _with_storage(end, settings)
                _report(end, ends)
                ends.append(end)
                if end.full:
                    break
        except SelectionError as error:
            complain(error)
            return Loaded(USAGE)
        log = loads_of(runtime.lake, sync_id, started_at)
        if any(row["status"] != "failed" for row in log):
            _summarize(log, latest_drift(runtime.lake) if runtime.lake.holds(DRIFT) else [])
        if all(end.problem is None for end in ends):
            return Loaded(0)
        keys = instance.get_dynamic_partitions(SCHOOL_SEMESTERS.name or "")
        wanted = settings.school_ids or {school_of(key) for key in keys}
        line = verdict(ends, last_of_each(log), standing_rows(runtime.lake), wanted)
        return Loaded(1, line, full=ends[-1].full)


def _maintain(settings: Settings, tags: Mapping[str, str]) -> int:
    """Maintain the lake before the build, so that expired data leave the file too. Returns the exit
    status."""
    with open_instance(settings) as instance:
        end = maintain(load_definitions(settings, runtime_without_platform(settings)), instance, tags)
    end = _with_storage(end, settings)
    _report(end, [])
    return int(end.problem is not None)


def order_partitions(settings: Settings) -> None:
    """Remove unknown partitions before the UI lists them, and print which."""
    with session(settings, "campus ui", alone=False), open_instance(settings) as instance:
        for message in remove_unknown_partitions(instance):
            print_line(message)


def run_build(
    settings: Settings,
    tags: Mapping[str, str] | None = None,
    lake: Lake | None = None,
    listener: Listener | None = None,
) -> int:
    """Build and publish, unless nothing has changed. `lake`: the settings' lake, where it is open already.
    `listener`: gets the progress; None: the terminal shows it. Returns the exit status."""
    with progress(listener) as report:
        return _build(settings, tags, lake, report)


def _build(settings: Settings, tags: Mapping[str, str] | None, lake: Lake | None, listener: Listener) -> int:
    lake = lake or lake_of(settings)
    # Before the check for changes: the leftover may be one.
    file_leftover(settings.home, lake)
    if settings.shards:
        try:
            return _build_shards(settings, settings.shards, lake, tags)
        except PublicationBroken as error:
            return fail(error)
    standings = standing_rows(lake)
    if is_published(lake, attendance_settings(settings), settings.home, settings.audiences):
        note_unchanged(settings.home, standings)
        print_line(NOTHING_CHANGED)
        return 0
    listener(Event("step", PUBLICATION, total=1))
    with open_instance(settings) as instance:
        runtime = runtime_without_platform(settings, listener)
        end = build(publication_definitions(settings, runtime), instance, tags)
    if end.problem is None:
        listener(Event("step", PUBLICATION, done=1))
    end = _with_storage(end, settings)
    _report(end, [])
    if end.problem is None:
        print_line(f"Published {settings.published}" if end.published else NOTHING_CHANGED)
    return int(end.problem is not None)


def _build_shards(settings: Settings, shards: Shards, lake: Lake, tags: Mapping[str, str] | None) -> int:
    """Build the changed shards, then district.duckdb and the open tables, and report each. Returns the exit
    status."""
    with open_instance(settings) as instance:
        due = shards_to_build(settings, lake, instance).due
        if not due and not is_stale(shards, read_manifest(shards)):
            print_line(NONE_CHANGED)
            return 0
        definitions = publication_definitions(settings, runtime_without_platform(settings))
        ends: list[JobEnd] = []
        for end in build_shards(definitions, instance, due, tags):
            end = _with_storage(end, settings)
            _report(end, ends)
            ends.append(end)
            if end.full:
                break
    published, total = sum(end.published for end in ends), len(read_manifest(shards).shards)
    print_line(f"Published {published} of {total} shards: {shards}")
    return int(any(end.problem for end in ends))


def _summarize(log: Sequence[Mapping[str, Any]], drift: Sequence[Difference]) -> None:
    """Print the row counts of a sync, its drift and its warnings. `log`: the sync's rows of the load log."""
    counts = {name: sum(row[name] or 0 for row in log) for name in COUNTS}
    details = "".join(f", {count:,} {name}" for name, count in counts.items() if count and name != "loaded")
    latest = last_of_each(log)
    print_line(f"{len(latest)} slices: {counts['loaded']:,} rows loaded{details}")
    if drift:
        print_line(f"{in_a_line(drift)}.")
    warnings = (
        (row["_school_id"], f"{row['resource']} {row['slice']}: {row['message']}")
        for row in latest
        if row["status"] == "warning"
    )
    for text, schools in group_by_text(warnings):
        prefix = f"{name_schools(schools)}: " if len(schools) > 1 else ""
        print_error(f"warning: {prefix}{text}")


def _with_storage(end: JobEnd, settings: Settings) -> JobEnd:
    """The end of a job, with one message for a full disk or an unreachable store, whichever library failed
    first. Such an end stops the sync."""
    if end.problem and (is_full(end.problem) or disk_problem(settings.home)):
        return replace(end, problem=full_disk(settings.home), halted=True, full=True)
    if end.problem and (message := store_message(end.problem)):
        return replace(end, problem=message, halted=True, full=True)
    return end


def _report(end: JobEnd, before: Sequence[JobEnd]) -> None:
    if end.problem is None:
        return
    if end.problem in (earlier.problem for earlier in before):
        print_error(f"{end.job}: failed for the same reason")
    else:
        print_error(f"{end.job}: {end.problem}")
