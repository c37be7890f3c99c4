"""The sensor that publishes changed shards after loads, then district.duckdb and the open tables."""

from __future__ import annotations

from collections.abc import Iterator

import dagster as dg

from assets.publication.shards import NONE_CHANGED, SHARDS, Looked, due_shards, is_stale
from assets.shared.dagster_private import AssetJob
from pipelines.automation.nightly import SEPARATOR
from pipelines.platform import attendance_settings
from pipelines.publication.after_loads import FinishedLoads, loads_to_publish
from pipelines.settings.settings import Settings
from warehouse.lake.delta import Lake
from warehouse.load.logs.load_log import now
from warehouse.publish.build import models_version
from warehouse.published.shards import read_manifest

#: Dagster ends a tick after a minute, and a shard of 16 schools takes a second or two.
SHARDS_PER_TICK = 8


def shards_after_loads(
    settings: Settings, discovery: str, maintain: AssetJob, publish: AssetJob, district: AssetJob
) -> dg.SensorDefinition:
    """The sensor that requests the maintenance after each night, and then a run per changed shard, as
    `publish_after_loads` does for one file. It requests the last step (district.duckdb and the open tables)
    once these runs have ended, failed runs included, and again each hour while its results are stale.

    The cursor is the key of the last loads and, part-way through the shards, the last checked shard."""

    @dg.sensor(
        name="publish_after_loads",
        jobs=[maintain, publish, district],
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=60,
        description="Build and publish the shards that have changed once the loads of a night, or of another "
        "cause, have ended, then district.duckdb and the open tables.",
    )
    def sensor(context: dg.SensorEvaluationContext) -> Iterator[dg.RunRequest | dg.SkipReason]:
        previous_key, _, last = (context.cursor or "").partition(SEPARATOR)
        # Part-way through the shards, the requested shards are still being published.
        publications = [district.name] if last else [publish.name, district.name]
        finished = loads_to_publish(context, settings, discovery, maintain.name, publications)
        if not isinstance(finished, FinishedLoads):
            yield finished
            return
        if not finished.loads:
            yield finished.skip("Nothing has been loaded yet.")
            return
        # A shard with failed checks has the same key, so it is repeated only after a new load.
        key = f"loaded-{max(finished.loads.values()).isoformat()}-{models_version(settings.home)}"
        if key != previous_key or last:
            looked = shards_to_build(
                settings,
                finished.lake,
                context.instance,
                after=last if key == previous_key else "",
                at_most=SHARDS_PER_TICK,
            )
            context.update_cursor(f"{key}{SEPARATOR}{looked.last or ''}")
            for name in looked.due:
                yield dg.RunRequest(run_key=f"{key}-{name}", job_name=publish.name, partition_key=name)
            if looked.due:
                return
            if looked.last:
                yield dg.SkipReason(f"Checked the shards up to {looked.last}; the others follow.")
                return
        assert settings.shards
        published = read_manifest(settings.shards)
        if is_stale(settings.shards, published):
            # Dagster starts one run a key, so a step that fails is tried again in the next hour.
            attempt = f"district-{published.generation}-{now():%Y%m%dT%H}"
            yield dg.RunRequest(run_key=attempt, job_name=district.name)
        else:
            yield dg.SkipReason(NONE_CHANGED)

    return sensor


def shards_to_build(
    settings: Settings,
    lake: Lake,
    instance: dg.DagsterInstance,
    *,
    after: str = "",
    at_most: int | None = None,
) -> Looked:
    """The shards to build, as `due_shards` finds them, and their partitions in Dagster.

    Raises PublicationBroken."""
    per_shard = settings.options.publish.schools_per_shard
    assert settings.shards and per_shard
    attendance = attendance_settings(settings)
    looked = due_shards(
        lake, attendance, settings.home, settings.shards, per_shard, after=after, at_most=at_most
    )
    instance.add_dynamic_partitions(SHARDS.name or "", looked.due)
    return looked
