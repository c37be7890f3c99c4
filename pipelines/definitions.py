"""All that Dagster knows of the project."""

import dagster as dg

from assets.base_data import asset_key, base_data
from assets.models import model_assets
from assets.runtime import Runtime
from assets.schools import schools
from pipelines.automation import loads_after_discovery, nightly, publish_after_loads
from pipelines.resources import build_of, campus_resource
from pipelines.settings import Settings, load_settings
from warehouse.models import manifest

DISCOVERY, BASE_DATA, PUBLISH = "discovery", "base_data", "publish"


def build_definitions(settings: Settings, runtime: Runtime | None = None) -> dg.Definitions:
    """Assets, jobs and automation for these settings. `runtime`: what the assets run with in this process;
    without it each run opens its own.

    Raises warehouse.models.ModelsBroken where the dbt project cannot be parsed."""
    build = build_of(settings)
    models = model_assets(manifest(build), build)
    discovery = dg.define_asset_job(
        DISCOVERY,
        dg.AssetSelection.assets(asset_key("schools")),
        description="Find the schools and their semesters, which are the partitions of all that follows.",
    )
    loads = dg.define_asset_job(
        BASE_DATA,
        dg.AssetSelection.assets(base_data),
        description="Semesters through grades in the recommended order, for any schools and semesters.",
    )
    publish = dg.define_asset_job(
        PUBLISH,
        dg.AssetSelection.assets(*models),
        description="Build the models from the lake as it is, check them, and publish campus.duckdb.",
    )
    return dg.Definitions(
        assets=[schools, base_data, *models],
        jobs=[discovery, loads, publish],
        schedules=[nightly(settings, discovery)],
        sensors=[
            loads_after_discovery(settings, discovery, loads, dg.DagsterRunStatus.SUCCESS),
            loads_after_discovery(settings, discovery, loads, dg.DagsterRunStatus.FAILURE),
            publish_after_loads(settings, publish),
        ],
        resources={
            "campus": dg.ResourceDefinition.hardcoded_resource(runtime)
            if runtime
            else campus_resource(settings)
        },
        executor=dg.in_process_executor,
    )


@dg.definitions
def defs() -> dg.Definitions:
    """What `dagster dev` and `dg` load."""
    return build_definitions(load_settings())
