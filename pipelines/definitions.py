"""The definitions of the project for Dagster."""

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from assets.loads import BASE_DATA, LOADS
from assets.maintenance import lake_maintenance
from assets.publication.models import PUBLISHED, model_assets, quality_sources
from assets.publication.shards import district_asset, tables_asset
from assets.schools import discovery
from assets.shared.dagster_private import AssetJob, print_warnings_only
from loading.connection.runtime import Runtime
from pipelines.automation.nightly import loads_after_discovery, nightly
from pipelines.district.queues import FOR_BUILDS
from pipelines.nights.school_night import school_night
from pipelines.publication.after_loads import publish_after_loads
from pipelines.publication.due_shards import shards_after_loads
from pipelines.resources import build_of, campus_resource
from pipelines.runs.executor import run_executor
from pipelines.runs.jobs import DISCOVERY, DISTRICT_JOB, MAINTENANCE, PUBLISH, SCHOOL_NIGHT
from pipelines.settings.settings import Settings, load_settings

#: A job of its own: Dagster skips, in silence, a step that waits for an optional output that was not made.
_MAINTAIN = dg.define_asset_job(
    MAINTENANCE,
    dg.AssetSelection.assets(lake_maintenance),
    description="Maintain the lake after a night: terms of retention, small files, unneeded files.",
    tags=FOR_BUILDS,
)


def load_definitions(settings: Settings, runtime: Runtime | None = None) -> dg.Definitions:
    """The definitions that load the lake. `runtime`: for runs in this process; None: each opens its own."""
    discover = dg.define_asset_job(
        DISCOVERY,
        dg.AssetSelection.assets(discovery),
        description="Find schools, semesters, datasets and reports: the partitions of the other jobs.",
    )
    jobs = [
        dg.define_asset_job(
            load.name,
            # The checks that the load makes itself: those of the models read the published file.
            dg.AssetSelection.assets(load.assets).without_checks() | dg.AssetSelection.checks(load.assets),
            description=load.description,
        )
        for load in LOADS
    ]
    return dg.Definitions(
        assets=[discovery, *(load.assets for load in LOADS), lake_maintenance],
        jobs=[discover, school_night(), *jobs, _MAINTAIN],
        schedules=[nightly(settings, discover)],
        sensors=[loads_after_discovery(settings, discover.name)],
        resources=_resources(settings, runtime),
        executor=run_executor(settings),
    )


def publication_definitions(settings: Settings, runtime: Runtime) -> dg.Definitions:
    """The definitions that build and publish the warehouse, for runs in this process.

    Raises warehouse.publish.models.dbt_project.ModelsBroken where the dbt project cannot be compiled."""
    publication, _ = _publication(settings)
    run = dg.Definitions(resources=_resources(settings, runtime), executor=run_executor(settings))
    return dg.Definitions.merge(publication, run)


def build_definitions(settings: Settings) -> dg.Definitions:
    """All definitions.

    Raises warehouse.publish.models.dbt_project.ModelsBroken where the dbt project cannot be compiled."""
    # A sync without changes to build needs none of these imports.
    from pipelines.automation.exports import export_definitions
    from pipelines.deliveries.automation import deliver_definitions
    from pipelines.notices.automation import morning_definitions
    from pipelines.pushes.automation import push_definitions
    from pipelines.writes.automation import writes_definitions

    publication, publish = _publication(settings)
    exports, mails = export_definitions(settings), deliver_definitions(settings)
    pushes = push_definitions(settings, (SCHOOL_NIGHT, BASE_DATA), None if settings.shards else publish)
    morning = morning_definitions(settings)
    writes = writes_definitions(settings)
    loads = load_definitions(settings)
    has_workers = settings.broker_url is not None or settings.kubernetes
    workers = _worker_definitions() if has_workers else dg.Definitions()
    merged = dg.Definitions.merge(loads, publication, exports, mails, pushes, morning, writes, workers)
    return _with_owners(merged, settings.options.ui.owners)


def _with_owners(merged: dg.Definitions, owners: Sequence[str]) -> dg.Definitions:
    """The definitions, with owners on each asset."""
    # Any: Dagster's type includes kinds of assets that this project does not have.
    unowned: Any = merged.assets
    assets = dg.map_asset_specs(lambda spec: spec.replace_attributes(owners=owners), unowned)
    return dg.Definitions(
        assets=assets,
        schedules=merged.schedules,
        sensors=merged.sensors,
        jobs=merged.jobs,
        resources=merged.resources,
        executor=merged.executor,
    )


def _worker_definitions() -> dg.Definitions:
    """The sensor for runs that no worker, or no job of Kubernetes, has started."""
    # Imported only here: the Postgres driver behind it is a tenth of all imports.
    from pipelines.district.unstarted_runs import runs_without_a_worker

    return dg.Definitions(sensors=[runs_without_a_worker()])


def _resources(settings: Settings, runtime: Runtime | None) -> Mapping[str, dg.ResourceDefinition]:
    campus = dg.ResourceDefinition.hardcoded_resource(runtime) if runtime else campus_resource(settings)
    return {"campus": campus}


def _publication(settings: Settings) -> tuple[dg.Definitions, AssetJob]:
    """The definitions that build and publish, and their job: of all schools, or of one shard a run."""
    build, shards = build_of(settings), settings.shards
    models, sources = model_assets(build, shards), quality_sources()
    # Without models and checks: the step makes and checks those whose inputs have changed, and logs them.
    # Planning all would take seconds.
    published = dg.AssetSelection.assets(PUBLISHED).without_checks()
    if shards is None:
        publish = dg.define_asset_job(
            PUBLISH,
            published,
            description="Build the models from the lake as it is, check them, and publish campus.duckdb.",
            tags=FOR_BUILDS,
        )
        sensor = publish_after_loads(settings, DISCOVERY, _MAINTAIN, publish)
        return dg.Definitions(assets=[models, *sources], jobs=[publish], sensors=[sensor]), publish
    publish = dg.define_asset_job(
        PUBLISH,
        published,
        description="Build the models of a shard from the lake as it is, check them, and publish its file.",
        tags=FOR_BUILDS,
    )
    district_file, open_tables = district_asset(build, shards), tables_asset(shards)
    district = dg.define_asset_job(
        DISTRICT_JOB,
        dg.AssetSelection.assets(district_file, open_tables),
        description="Make district.duckdb and the open tables from the published shards.",
        tags=FOR_BUILDS,
    )
    sensor = shards_after_loads(settings, DISCOVERY, _MAINTAIN, publish, district)
    definitions = dg.Definitions(
        assets=[models, *sources, district_file, open_tables],
        jobs=[publish, district],
        sensors=[sensor],
    )
    return definitions, publish


@dg.definitions
def defs() -> dg.Definitions:
    """The entry point of `dagster dev` and `dg`."""
    print_warnings_only()
    return build_definitions(load_settings())
