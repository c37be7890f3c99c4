"""The commands that run Dagster's jobs. Apart from the CLI itself, since Dagster takes seconds to import."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import uvloop

from assets.models import NOTHING_CHANGED, is_published, note_unchanged
from assets.partitions import SCHOOL_SEMESTERS, remove_unknown
from assets.shards import NONE_CHANGED
from campus.http.events import Event, Listener
from loading.discovery.listing import mistyped_schools
from loading.partition_keys import school_of
from pipelines.cli.display import USAGE, complain, console, errors
from pipelines.cli.notifying import tell
from pipelines.cli.progress import progress
from pipelines.cli.session import session
from pipelines.cli.verdict import verdict
from pipelines.definitions import build_definitions, load_definitions
from pipelines.due import SCHOOLS_TAG, SELECTED_TAG
from pipelines.instance import open_instance
from pipelines.lake import lake_of
from pipelines.notices.automation import show_status
from pipelines.of_schools import alike, named
from pipelines.publication import shards_to_build
from pipelines.resources import attendance_settings, open_runtime, runtime_without_platform
from pipelines.settings import Settings, claim_home, needs_platform
from pipelines.status import Status
from pipelines.storage_trouble import full_disk, is_full, no_room, store_in_words
from pipelines.sync import JobEnd, SelectionError, build, build_shards, load, new_sync_id
from warehouse.lake.delta import Lake
from warehouse.lake.log_tables import DRIFT
from warehouse.load.drift import Difference, in_a_line, latest
from warehouse.load.load_log import holds_a_load, loads_of, now
from warehouse.load.log_writer import standing_rows
from warehouse.publish.shards.district import is_stale
from warehouse.published.shards import PublicationBroken, Shards, manifest
from writeback.store.store import file_leftover

PUBLICATION = "publication"
NEXT = (
    "Nothing is to be done. Next: campus status (how each school stands), campus export --all (the board and "
    "workbooks), campus ui (runs, schedule, backfills)."
)
#: What a sync says of the rows that it was sent. Most have not changed: they were loaded, and nothing was
#: written.
COUNTED = ("loaded", "new", "changed", "unchanged", "returned", "deleted", "vanished", "quarantined")


@dataclass(frozen=True)
class Loaded:
    """How a load went. `verdict`: the last line to be said of it, where it has failed; `full`: that ends
    with the disk, so that nothing can be built either."""

    status: int
    verdict: str | None = None
    full: bool = False


def run_sync(
    settings: Settings,
    schools: tuple[int, ...],
    selection: str | None,
    *,
    full: bool = False,
    accept_vanished: bool = False,
) -> int:
    """Sync and say how each run ended. The exit status."""
    needs_platform(settings)
    claim_home(settings)
    with ExitStack() as to_the_end:
        with session(settings, "campus sync") as tags:
            instance = to_the_end.enter_context(open_instance(settings))
            status = _sync(settings, schools, selection, tags, full=full, accept_vanished=accept_vanished)
        # Nobody writes in the home any more, so the status does not name this command.
        if status != USAGE:
            say_what_is_next(show_status(instance, settings), status)
            tell(settings)
    return status


def say_what_is_next(status: Status, exit_status: int) -> None:
    """Say what there is to do after a sync. One that has failed has said so."""
    for line in status.to_do if not exit_status else ():
        console.print(f"To do: {line}", markup=False, soft_wrap=True)
    if not status.to_do and not exit_status:
        console.print(NEXT, markup=False, soft_wrap=True)


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
            console.print("Nothing is built, since nothing can be written.")
        elif not holds_a_load(lake):
            console.print("Nothing has been loaded yet, so nothing is built.")
        else:
            built = run_build(settings, tags, lake, listener)
    made_up = "The schools are made-up: the embedded simulator sent them." if settings.embedded else ""
    if loaded.verdict:
        errors.print(f"{loaded.verdict} {made_up}".rstrip(), markup=False, soft_wrap=True)
    elif made_up:
        console.print(made_up)
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
    """Load and say how each run ended. `lake`: that of the settings, where it is open already; `listener`: is
    told how far it is, else the terminal."""
    named = settings.school_ids or ()
    if schools:
        settings = settings.model_copy(update={"school_ids": schools})
    ends: list[JobEnd] = []
    sync_id, started_at = new_sync_id(), now()
    # What was not asked for is not missed, see pipelines.nights.overdue.
    limits = ({SCHOOLS_TAG: ",".join(map(str, schools))} if schools else {}) | (
        {SELECTED_TAG: selection} if selection else {}
    )
    with (
        open_instance(settings) as instance,
        progress(listener) as report,
        open_runtime(settings, report, accept_vanished=accept_vanished, lake=lake) as runtime,
    ):
        if schools and (problem := uvloop.run(mistyped_schools(runtime, schools, named))):
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
            _summarize(log, latest(runtime.lake) if runtime.lake.holds(DRIFT) else [])
        if all(end.problem is None for end in ends):
            return Loaded(0)
        keys = instance.get_dynamic_partitions(SCHOOL_SEMESTERS.name or "")
        wanted = settings.school_ids or {school_of(key) for key in keys}
        line = verdict(ends, log, standing_rows(runtime.lake), wanted)
        return Loaded(1, line, full=ends[-1].full)


def order_partitions(settings: Settings) -> None:
    """Put the lists of partitions in order before the UI shows them, and say what that changed."""
    with session(settings, "campus ui", alone=False), open_instance(settings) as instance:
        for words in remove_unknown(instance):
            console.print(words, markup=False, soft_wrap=True)


def run_build(
    settings: Settings,
    tags: Mapping[str, str] | None = None,
    lake: Lake | None = None,
    listener: Listener | None = None,
) -> int:
    """Build and publish, unless nothing has changed. `lake`: that of the settings, where it is open already;
    `listener`: is told how far it is, else the terminal. The exit status."""
    with progress(listener) as report:
        return _build(settings, tags, lake, report)


def _build(settings: Settings, tags: Mapping[str, str] | None, lake: Lake | None, listener: Listener) -> int:
    lake = lake or lake_of(settings)
    # Before it is asked whether anything has changed.
    file_leftover(settings.home, lake)
    if settings.shards:
        try:
            return _build_shards(settings, settings.shards, lake, tags)
        except PublicationBroken as error:
            complain(error)
            return 1
    standings = standing_rows(lake)
    if is_published(lake, attendance_settings(settings), settings.home, settings.audiences):
        note_unchanged(settings.home, standings)
        console.print(NOTHING_CHANGED, soft_wrap=True)
        return 0
    listener(Event("step", PUBLICATION, total=1))
    with open_instance(settings) as instance:
        runtime = runtime_without_platform(settings, listener)
        end = build(build_definitions(settings, runtime), instance, tags)
    if end.problem is None:
        listener(Event("step", PUBLICATION, done=1))
    end = _with_storage(end, settings)
    _report(end, [])
    if end.problem is None:
        said = f"Published {settings.published}" if end.published else NOTHING_CHANGED
        console.print(said, soft_wrap=True)
    return int(end.problem is not None)


def _build_shards(settings: Settings, shards: Shards, lake: Lake, tags: Mapping[str, str] | None) -> int:
    """Build the shards that have changed, then district.duckdb, and say how each ended. The exit status."""
    with open_instance(settings) as instance:
        due = shards_to_build(settings, lake, instance).due
        if not due and not is_stale(manifest(shards)):
            console.print(NONE_CHANGED, soft_wrap=True)
            return 0
        definitions = build_definitions(settings, runtime_without_platform(settings))
        ends: list[JobEnd] = []
        for end in build_shards(definitions, instance, due, tags):
            end = _with_storage(end, settings)
            _report(end, ends)
            ends.append(end)
            if end.full:
                break
    published, there_are = sum(end.published for end in ends), len(manifest(shards).shards)
    console.print(f"Published {published} of {there_are} shards: {shards}", soft_wrap=True)
    return int(any(end.problem for end in ends))


def _summarize(log: Sequence[Mapping[str, Any]], drift: Sequence[Difference]) -> None:
    """Say what a sync did to the lake in one line, and what to look at. `log`: its rows of the load log;
    `drift`: what it found new in what the platform sends."""
    counts = {name: sum(row[name] or 0 for row in log) for name in COUNTED}
    told = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count or name == "loaded")
    console.print(f"{len(log)} slices: rows {told}", soft_wrap=True)
    warned = [row for row in log if row["status"] == "warning"]
    said = ((row["_school_id"], f"{row['resource']} {row['slice']}: {row['message']}") for row in warned)
    if drift:
        console.print(f"{in_a_line(drift)}.", soft_wrap=True, markup=False)
    for common, texts in alike(said):
        of = f"{named(texts)}: " if len(texts) > 1 else ""
        errors.print(f"warning: {of}{common}", markup=False, soft_wrap=True)


def _with_storage(end: JobEnd, settings: Settings) -> JobEnd:
    """The same end, told as a full disk or a store that is away where it failed for that: what fails first,
    and in whose words, is chance. Nothing more is loaded then."""
    if end.problem and (is_full(end.problem) or no_room(settings.home)):
        return replace(end, problem=full_disk(settings.home), halted=True, full=True)
    if end.problem and (told := store_in_words(end.problem)):
        return replace(end, problem=told, halted=True, full=True)
    return end


def _report(end: JobEnd, before: Sequence[JobEnd]) -> None:
    if end.problem is None:
        return
    if end.problem in (each.problem for each in before):
        errors.print(f"{end.job}: failed for the same reason", markup=False)
    else:
        errors.print(f"{end.job}: {end.problem}", markup=False, soft_wrap=True)
