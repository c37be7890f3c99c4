"""The sensor that publishes campus.duckdb after loads, and the loads that a publication may include."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import dagster as dg
import duckdb

from assets.publication.models import NOTHING_CHANGED, is_published, note_unchanged
from assets.shared.dagster_private import AssetJob
from loading.connection.runtime import cause_of
from pipelines.lake.opening import lake_of
from pipelines.nights.run_state import (
    RUN_KEY_TAG,
    awaits_load_requests,
    last_discovery,
    runs_under_way,
)
from pipelines.platform import attendance_settings
from pipelines.runs.interrupted_runs import UNFINISHED, close_gone_runs
from pipelines.runs.jobs import SCHOOL_NIGHT
from pipelines.runs.writer_locks import live_writers
from pipelines.settings.settings import Settings
from warehouse.lake.delta import Lake
from warehouse.load.logs.load_log import holds_a_load, last_loads
from warehouse.load.logs.writer import standing_rows
from warehouse.publish.build import models_version
from warehouse.publish.publish import FILE, made_by


def publish_after_loads(
    settings: Settings, discovery: str, maintain: AssetJob, publish: AssetJob
) -> dg.SensorDefinition:
    """The sensor that requests the maintenance after each night, and then one publication when finished loads
    are not published, or the models changed.

    It waits for all runs of a cause, whether they succeed or not: a night, a backfill or a single asset. A
    night under way blocks every publication. A backfill, which may take days, blocks only its own."""

    @dg.sensor(
        name="publish_after_loads",
        jobs=[maintain, publish],
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=60,
        description="Build and publish the warehouse once the loads of a night, or of another cause, have "
        "ended. After a night, the maintenance of the lake comes first.",
    )
    def sensor(context: dg.SensorEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        finished = loads_to_publish(context, settings, discovery, maintain.name, [publish.name])
        if not isinstance(finished, FinishedLoads):
            return finished
        lake, file, loads = finished.lake, settings.home / FILE, finished.loads
        models = models_version(settings.home)
        same_models = made_by(file) == models
        if same_models:
            loads = _unpublished(file, loads)
        if not loads:
            return finished.skip("The published file has all loads.")
        # A publication with failed checks has the same key, so it is repeated only after a new load.
        key = f"loaded-{max(loads.values()).isoformat()}-{models}"
        if same_models:
            if context.cursor == key:
                return dg.SkipReason(NOTHING_CHANGED)
            standings = standing_rows(lake)
            if is_published(lake, attendance_settings(settings), settings.home, settings.audiences):
                context.update_cursor(key)
                note_unchanged(settings.home, standings)
                return dg.SkipReason(NOTHING_CHANGED)
        return dg.RunRequest(run_key=key, job_name=publish.name)

    return sensor


@dataclass(frozen=True)
class FinishedLoads:
    """The loads that a publication may include."""

    lake: Lake
    #: When the last slice was loaded, by cause.
    loads: Mapping[str, datetime]
    #: Whether other loads are under way.
    others_run: bool

    def skip(self, reason: str) -> dg.SkipReason:
        """Why nothing is published: other loads are under way, or else the reason."""
        return dg.SkipReason("The loads under way are waited for." if self.others_run else reason)


def loads_to_publish(
    context: dg.SensorEvaluationContext,
    settings: Settings,
    discovery: str,
    maintenance: str,
    publications: Sequence[str],
) -> FinishedLoads | dg.RunRequest | dg.SkipReason:
    """The finished loads; or why nothing may be published now; or the maintenance, which comes before the
    publication, so that expired data leave the lake and the file in the same night.

    Args:
        discovery, maintenance, publications: Names of jobs."""
    instance = context.instance
    for message in close_gone_runs(instance, settings):
        context.log.warning(message)
    for job in (maintenance, *publications):
        if instance.get_run_records(dg.RunsFilter(job_name=job, statuses=UNFINISHED), limit=1):
            return dg.SkipReason(f"A run of {job} is under way.")
    if any(writer.alone for writer in live_writers(settings)):
        return dg.SkipReason("A command is under way, which publishes itself.")
    # Before the lake is read: a load that ends meanwhile waits for the next tick.
    runs = runs_under_way(instance)
    night_runs = [run for run in runs if run.job_name in (discovery, SCHOOL_NIGHT)]
    if night_runs or awaits_load_requests(instance, discovery):
        return dg.SkipReason("A night is under way.")
    under_way = {cause_of(run.run_id, run.tags).sync_id for run in runs}
    lake = lake_of(settings)
    if not holds_a_load(lake):
        return dg.SkipReason("Nothing has been loaded yet.")
    if request := _due_maintenance(instance, discovery, maintenance):
        return request
    finished = {cause: at for cause, at in last_loads(lake).items() if cause not in under_way}
    return FinishedLoads(lake, finished, bool(under_way))


def _due_maintenance(instance: dg.DagsterInstance, discovery: str, maintenance: str) -> dg.RunRequest | None:
    """The maintenance after the last night; None: it was requested already, or there was no night.

    A command, such as `campus sync`, maintains the lake itself."""
    night = last_discovery(instance, discovery)
    if night is None:
        return None
    key = f"{maintenance}-{night.run_id}"
    requested = instance.get_runs_count(dg.RunsFilter(job_name=maintenance, tags={RUN_KEY_TAG: key}))
    return None if requested else dg.RunRequest(run_key=key, job_name=maintenance)


def _unpublished(file: Path, loads: Mapping[str, datetime]) -> dict[str, datetime]:
    """The loads, by cause, that a published file lacks."""
    with closing(duckdb.connect(str(file), read_only=True)) as connection:
        rows: list[tuple[str, datetime]] = connection.execute(
            "SELECT sync_id, max(finished_at) FROM quality.load_log GROUP BY sync_id"
        ).fetchall()
    published = dict(rows)
    return {cause: at for cause, at in loads.items() if cause not in published or published[cause] < at}
