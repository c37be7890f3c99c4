"""All that Dagster knows of the project."""

from collections.abc import Sequence
from typing import Any

import dagster as dg

from assets.dagster_private import AssetJob, print_warnings_only
from assets.maintenance import lake_maintenance
from assets.models import model_assets, quality_sources
from assets.schools import discovery
from assets.shards import district_asset
from loading.runtime import Runtime
from pipelines.automation import loads_after_discovery, nightly, publish_after_loads
from pipelines.district.queues import FOR_BUILDS
from pipelines.nights.loads import BASE_DATA, LOADS
from pipelines.nights.school_night import SCHOOL_NIGHT, school_night
from pipelines.publication import shards_after_loads
from pipelines.resources import build_of, campus_resource
from pipelines.settings import Settings, load_settings

DISCOVERY, PUBLISH, DISTRICT_JOB = "discovery", "publish", "publish_district"


def load_definitions(settings: Settings, runtime: Runtime | None = None) -> dg.Definitions:
    """What loads the lake. `runtime`: what the assets run with in this process; without it each run opens
    its own."""
    finding = dg.define_asset_job(
        DISCOVERY,
        dg.AssetSelection.assets(discovery),
        description="Find the schools, their semesters, datasets and reports: the partitions of all that "
        "follows.",
    )
    jobs = [
        dg.define_asset_job(load.job, dg.AssetSelection.assets(load.assets), description=load.description)
        for load in LOADS
    ]
    campus = dg.ResourceDefinition.hardcoded_resource(runtime) if runtime else campus_resource(settings)
    return dg.Definitions(
        assets=[discovery, *(load.assets for load in LOADS)],
        jobs=[finding, school_night(), *jobs],
        schedules=[nightly(settings, finding)],
        sensors=[loads_after_discovery(settings, finding.name)],
        resources={"campus": campus},
        executor=dg.in_process_executor,
    )


def build_definitions(settings: Settings, runtime: Runtime | None = None) -> dg.Definitions:
    """What loads the lake, and what builds and publishes the warehouse from it.

    Raises warehouse.publish.dbt_project.ModelsBroken where the dbt project cannot be compiled."""
    # A sync that finds nothing to build needs none of them.
    from pipelines.export_automation import export_definitions
    from pipelines.notices.automation import morning_definitions
    from pipelines.pushes.automation import push_definitions
    from pipelines.writes.automation import writes_definitions

    publication, publish = _publication(settings)
    exports = export_definitions(settings)
    pushes = push_definitions(settings, (SCHOOL_NIGHT, BASE_DATA), None if settings.shards else publish)
    morning = morning_definitions(settings)
    writes = writes_definitions(settings)
    loads = load_definitions(settings, runtime)
    of_workers = _of_workers() if settings.broker_url else dg.Definitions()
    merged = dg.Definitions.merge(loads, publication, exports, pushes, morning, writes, of_workers)
    return _owned(merged, settings.options.ui.owners)


def _owned(merged: dg.Definitions, owners: Sequence[str]) -> dg.Definitions:
    """The same definitions, whose assets say who looks after them."""
    # Dagster's type has kinds of assets that we have none of.
    ours: Any = merged.assets
    assets = dg.map_asset_specs(lambda spec: spec.replace_attributes(owners=owners), ours)
    return dg.Definitions(
        assets=assets,
        schedules=merged.schedules,
        sensors=merged.sensors,
        jobs=merged.jobs,
        resources=merged.resources,
        executor=merged.executor,
    )


def _of_workers() -> dg.Definitions:
    """What looks after runs where workers begin them."""
    # Behind it is what talks to Postgres, a tenth of all that there is to import.
    from pipelines.district.starting import runs_without_a_worker

    return dg.Definitions(sensors=[runs_without_a_worker()])


def _publication(settings: Settings) -> tuple[dg.Definitions, AssetJob]:
    """What builds and publishes, and the job that does: all schools, or a shard of them in each run."""
    build, shards = build_of(settings), settings.shards
    models, sources = model_assets(build, shards), quality_sources()
    # The step runs the checks of what it makes anew; to plan all of them would cost seconds.
    made, upkeep = (
        dg.AssetSelection.assets(models).without_checks(),
        dg.AssetSelection.assets(lake_maintenance),
    )
    if shards is None:
        publish = dg.define_asset_job(
            PUBLISH,
            made | upkeep,
            description="Build the models from the lake as it is, check them, and publish campus.duckdb.",
            tags=FOR_BUILDS,
        )
        sensor = publish_after_loads(settings, DISCOVERY, publish)
        of_home = dg.Definitions(
            assets=[models, *sources, lake_maintenance], jobs=[publish], sensors=[sensor]
        )
        return of_home, publish
    publish = dg.define_asset_job(
        PUBLISH,
        made,
        description="Build the models of a shard from the lake as it is, check them, and publish its file.",
        tags=FOR_BUILDS,
    )
    of_all = district_asset(build, shards)
    district = dg.define_asset_job(
        DISTRICT_JOB,
        dg.AssetSelection.assets(of_all) | upkeep,
        description="Make district.duckdb of the shards that are published, and tidy the lake.",
        tags=FOR_BUILDS,
    )
    sensor = shards_after_loads(settings, DISCOVERY, publish, district)
    of_shards = dg.Definitions(
        assets=[models, *sources, of_all, lake_maintenance], jobs=[publish, district], sensors=[sensor]
    )
    return of_shards, publish


@dg.definitions
def defs() -> dg.Definitions:
    """What `dagster dev` and `dg` load."""
    print_warnings_only()
    return build_definitions(load_settings())
