"""When shards are published by themselves: those with changes once loads have ended, then district.duckdb."""

from __future__ import annotations

from collections.abc import Iterator

import dagster as dg

from assets.dagster_private import AssetJob
from assets.shards import NONE_CHANGED, SHARDS, Looked, due_shards
from pipelines.automation import SEAM, loads_to_publish
from pipelines.resources import attendance_settings
from pipelines.settings import Settings
from warehouse.lake.delta import Lake
from warehouse.publish.build import models_version
from warehouse.publish.shards.district import is_stale
from warehouse.published.shards import manifest

#: Dagster ends a tick that takes a minute, and a look at a shard of 16 schools takes a second or two.
SHARDS_A_TICK = 8


def shards_after_loads(
    settings: Settings, discovery: str, publish: AssetJob, district: AssetJob
) -> dg.SensorDefinition:
    """The sensor that asks for a run of each shard that has changed once loads have ended, as
    `publish_after_loads` does for one file, and for district.duckdb once these have ended, whether all were
    published or not. Its cursor is the last load that was looked at and, half-way through the shards, the
    last of these."""

    @dg.sensor(
        name="publish_after_loads",
        jobs=[publish, district],
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=60,
        description="Build and publish the shards that have changed once the loads of a night, or of another "
        "cause, have ended, then district.duckdb.",
    )
    def sensor(context: dg.SensorEvaluationContext) -> Iterator[dg.RunRequest | dg.SkipReason]:
        asked, _, last = (context.cursor or "").partition(SEAM)
        # Half-way through the shards, those that were asked for are under way.
        under_way = [district.name] if last else [publish.name, district.name]
        found = loads_to_publish(context, settings, discovery, under_way)
        if isinstance(found, dg.SkipReason):
            yield found
            return
        if not found.ended:
            yield dg.SkipReason(found.nothing_ended("Nothing has been loaded yet."))
            return
        # The key keeps a shard whose checks fail from being tried again before anything is new.
        key = f"loaded-{max(found.ended.values()).isoformat()}-{models_version(settings.home)}"
        if key != asked or last:
            looked = shards_to_build(
                settings,
                found.lake,
                context.instance,
                after=last if key == asked else "",
                at_most=SHARDS_A_TICK,
            )
            context.update_cursor(f"{key}{SEAM}{looked.last or ''}")
            for name in looked.due:
                yield dg.RunRequest(run_key=f"{key}-{name}", job_name=publish.name, partition_key=name)
            if looked.due:
                return
            if looked.last:
                yield dg.SkipReason(f"Looked at the shards up to {looked.last}; the others follow.")
                return
        assert settings.shards
        of_shards = manifest(settings.shards)
        if is_stale(of_shards):
            yield dg.RunRequest(run_key=f"district-{of_shards.generation}", job_name=district.name)
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
    """The shards that are to be built, as partitions that Dagster knows; otherwise as `due_shards`.

    Raises PublicationBroken."""
    per_shard = settings.options.publish.schools_per_shard
    assert settings.shards and per_shard
    attendance = attendance_settings(settings)
    looked = due_shards(
        lake, attendance, settings.home, settings.shards, per_shard, after=after, at_most=at_most
    )
    instance.add_dynamic_partitions(SHARDS.name or "", looked.due)
    return looked
