"""The commands that run Dagster's jobs. Apart from the CLI itself, since Dagster takes seconds to import."""

from collections.abc import Mapping, Sequence
from typing import Any

from assets.models import NOTHING_CHANGED, is_published
from assets.partition_renames import put_in_order
from pipelines.cli.display import console, errors, progress
from pipelines.definitions import build_definitions, load_definitions
from pipelines.instance import open_instance
from pipelines.resources import attendance_settings, open_runtime
from pipelines.settings import Settings, claim_home
from pipelines.sync import JobEnd, SelectionError, build, load, new_sync_id
from warehouse.lake.delta import Lake
from warehouse.load.load_log import loads_of, now

USAGE = 2  # the exit status of a wrong question, as the command line has it


def run_sync(
    settings: Settings,
    schools: tuple[int, ...],
    selection: str | None,
    *,
    full: bool = False,
    accept_vanished: bool = False,
) -> int:
    """Sync and say how each run ended. The exit status."""
    claim_home(settings)
    loaded = run_load(settings, schools, selection, full=full, accept_vanished=accept_vanished)
    return loaded if loaded == USAGE else max(loaded, run_build(settings))


def run_load(
    settings: Settings,
    schools: tuple[int, ...] = (),
    selection: str | None = None,
    *,
    full: bool = False,
    accept_vanished: bool = False,
) -> int:
    """Load and say how each run ended. The exit status."""
    if schools:
        settings = settings.model_copy(update={"school_ids": schools})
    failed = False
    sync_id, started_at = new_sync_id(), now()
    with (
        open_instance(settings) as instance,
        progress() as listener,
        open_runtime(settings, listener, accept_vanished=accept_vanished) as runtime,
    ):
        loads = load_definitions(settings, runtime)
        try:
            for end in load(
                runtime, loads, instance, sync_id, schools=schools, selection=selection, full=full
            ):
                _report(end)
                failed = failed or end.problem is not None
        except SelectionError as error:
            errors.print(f"campus: {error}", markup=False, soft_wrap=True)
            return USAGE
        _summarize(loads_of(runtime.lake, sync_id, started_at))
    return int(failed)


def order_partitions(settings: Settings) -> None:
    """Put the lists of partitions in order before the UI shows them, and say what that changed."""
    with open_instance(settings) as instance:
        for words in put_in_order(instance):
            console.print(words, markup=False, soft_wrap=True)


def run_build(settings: Settings) -> int:
    """Build and publish, unless nothing has changed. The exit status."""
    if is_published(Lake(str(settings.lake_root)), attendance_settings(settings), settings.home):
        console.print(NOTHING_CHANGED, soft_wrap=True)
        return 0
    with open_instance(settings) as instance:
        end = build(build_definitions(settings), instance)
    _report(end)
    if end.problem is None:
        said = f"Published {settings.published}" if end.published else NOTHING_CHANGED
        console.print(said, soft_wrap=True)
    return int(end.problem is not None)


def _summarize(log: Sequence[Mapping[str, Any]]) -> bool:
    """Say what a sync did to the lake in one line, and what to look at; whether it loaded any row. `log`: its
    rows of the load log."""
    counts = {
        name: sum(row[name] or 0 for row in log)
        for name in ("loaded", "new", "changed", "returned", "deleted", "vanished", "quarantined")
    }
    told = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count or name == "loaded")
    console.print(f"{len(log)} slices: rows {told}", soft_wrap=True)
    for row in log:
        if row["status"] == "warning":
            where = f"{row['resource']} {row['slice']}"
            errors.print(f"warning: {where}: {row['message']}", markup=False, soft_wrap=True)
    return counts["loaded"] > 0


def _report(end: JobEnd) -> None:
    if end.problem is None:
        console.print(f"{end.job}: done")
    else:
        errors.print(f"{end.job}: {end.problem}", markup=False, soft_wrap=True)
