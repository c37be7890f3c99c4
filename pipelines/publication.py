"""When shards are published by themselves: those with changes once loads have ended, then district.duckdb."""

from __future__ import annotations

from collections.abc import Iterator

import dagster as dg

from assets.dagster_private import AssetJob
from assets.shards import NONE_CHANGED, SHARDS, due_shards
from pipelines.automation import loads_to_publish
from pipelines.resources import attendance_settings
from pipelines.settings import Settings
from warehouse.lake.delta import Lake
from warehouse.publish.build import models_version
from warehouse.publish.shards.district import is_stale
from warehouse.published.shards import manifest


def shards_after_loads(
    settings: Settings, discovery: str, publish: AssetJob, district: AssetJob
) -> dg.SensorDefinition:
    """The sensor that asks for a run of each shard that has changed once loads have ended, as
    `publish_after_loads` does for one file, and for district.duckdb once these have ended, whether all were
    published or not. Its cursor is the last load that was looked at."""

    @dg.sensor(
        name="publish_after_loads",
        jobs=[publish, district],
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=60,
        description="Build and publish the shards that have changed once the loads of a night, or of another "
        "cause, have ended, then district.duckdb.",
    )
    def sensor(context: dg.SensorEvaluationContext) -> Iterator[dg.RunRequest | dg.SkipReason]:
        found = loads_to_publish(context, settings, discovery, [publish.name, district.name])
        if isinstance(found, dg.SkipReason):
            yield found
            return
        if not found.ended:
            yield dg.SkipReason(found.nothing_ended("Nothing has been loaded yet."))
            return
        # The key keeps a shard whose checks fail from being tried again before anything is new.
        key = f"loaded-{max(found.ended.values()).isoformat()}-{models_version(settings.home)}"
        due = [] if context.cursor == key else shards_to_build(settings, found.lake, context.instance)
        context.update_cursor(key)
        for name in due:
            yield dg.RunRequest(run_key=f"{key}-{name}", job_name=publish.name, partition_key=name)
        if due:
            return
        assert settings.shards
        of_shards = manifest(settings.shards)
        if is_stale(of_shards):
            yield dg.RunRequest(run_key=f"district-{of_shards.generation}", job_name=district.name)
        else:
            yield dg.SkipReason(NONE_CHANGED)

    return sensor


def shards_to_build(settings: Settings, lake: Lake, instance: dg.DagsterInstance) -> list[str]:
    """The shards that are to be built, as partitions that Dagster knows.

    Raises PublicationBroken."""
    per_shard = settings.options.publish.schools_per_shard
    assert settings.shards and per_shard
    due = due_shards(lake, attendance_settings(settings), settings.home, settings.shards, per_shard)
    instance.add_dynamic_partitions(SHARDS.name or "", due)
    return due
