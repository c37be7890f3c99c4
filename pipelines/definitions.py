"""All that Dagster knows of the project."""

from dataclasses import dataclass

import dagster as dg

from assets.attendance import attendance
from assets.base_data import base_data
from assets.datasets import dataset_records
from assets.maintenance import lake_maintenance
from assets.models import model_assets
from assets.partitions import (
    ATTENDANCE_WEEKS,
    DATASET_SEGMENTS,
    REPORT_RESULTS,
    SCHOOL_SEMESTERS,
    V1_SEMESTERS,
)
from assets.reports import report_records
from assets.schools import discovery
from assets.v1 import v1_data
from loading.runtime import Runtime
from pipelines.automation import attendance_after_classes, loads_after_discovery, nightly, publish_after_loads
from pipelines.export_automation import export_definitions
from pipelines.notices.automation import morning_definitions
from pipelines.pushes.automation import push_definitions
from pipelines.resources import build_of, campus_resource
from pipelines.settings import Settings, load_settings
from pipelines.writes.automation import writes_definitions
from warehouse.publish.dbt_project import compiled

DISCOVERY, BASE_DATA, V1, PUBLISH = "discovery", "base_data", "v1", "publish"
ATTENDANCE, DATASETS, REPORTS = "attendance", "datasets", "reports"
ENDS = (dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE)


@dataclass(frozen=True)
class Load:
    """A job that loads any partitions of some assets."""

    job: str
    assets: dg.AssetsDefinition
    partitions: dg.DynamicPartitionsDefinition
    description: str


#: In the order in which a sync runs them.
LOADS = (
    Load(
        BASE_DATA,
        base_data,
        SCHOOL_SEMESTERS,
        "Semesters through grades in the recommended order, for any schools and semesters.",
    ),
    Load(
        V1,
        v1_data,
        V1_SEMESTERS,
        "The v1 generation: users, classes, timetables, transcripts and devices, for any schools and "
        "semesters.",
    ),
    Load(
        ATTENDANCE,
        attendance,
        ATTENDANCE_WEEKS,
        "Any teaching weeks of attendance, by whichever way takes fewer requests.",
    ),
    Load(
        DATASETS,
        dataset_records,
        DATASET_SEGMENTS,
        "Any segments of any datasets: in full, or what changed where that can be told.",
    ),
    Load(REPORTS, report_records, REPORT_RESULTS, "Any results of the reports that settings name."),
)


def load_definitions(settings: Settings, runtime: Runtime | None = None) -> dg.Definitions:
    """What loads the lake. `runtime`: what the assets run with in this process; without it each run opens
    its own."""
    finding = dg.define_asset_job(
        DISCOVERY,
        dg.AssetSelection.assets(discovery),
        description="Find the schools, their semesters, datasets and reports: the partitions of all that "
        "follows.",
    )
    jobs = {
        load.job: dg.define_asset_job(
            load.job, dg.AssetSelection.assets(load.assets), description=load.description
        )
        for load in LOADS
    }
    base, v1 = jobs[BASE_DATA], jobs[V1]
    nightly_whole = [(jobs[load.job], load.partitions) for load in LOADS if load.job in (DATASETS, REPORTS)]
    campus = dg.ResourceDefinition.hardcoded_resource(runtime) if runtime else campus_resource(settings)
    return dg.Definitions(
        assets=[discovery, *(load.assets for load in LOADS)],
        jobs=[finding, *jobs.values()],
        schedules=[nightly(settings, finding)],
        sensors=[
            *(loads_after_discovery(settings, finding, base, v1, nightly_whole, end) for end in ENDS),
            *(attendance_after_classes(settings, base, v1, jobs[ATTENDANCE], end) for end in ENDS),
        ],
        resources={"campus": campus},
        executor=dg.in_process_executor,
    )


def build_definitions(settings: Settings, runtime: Runtime | None = None) -> dg.Definitions:
    """What loads the lake, and what builds and publishes the warehouse from it.

    Raises warehouse.publish.dbt_project.ModelsBroken where the dbt project cannot be compiled."""
    build = build_of(settings)
    models = [model_assets(compiled(build), build), lake_maintenance]
    publish = dg.define_asset_job(
        PUBLISH,
        # The step runs the checks of what it makes anew; to plan all of them would cost seconds.
        dg.AssetSelection.assets(*models).without_checks(),
        description="Build the models from the lake as it is, check them, and publish campus.duckdb.",
    )
    publication = dg.Definitions(
        assets=models, jobs=[publish], sensors=[publish_after_loads(settings, publish)]
    )
    exports = export_definitions(settings)
    pushes = push_definitions(settings, BASE_DATA, publish)
    morning = morning_definitions(settings)
    writes = writes_definitions(settings)
    loads = load_definitions(settings, runtime)
    return dg.Definitions.merge(loads, publication, exports, pushes, morning, writes)


@dg.definitions
def defs() -> dg.Definitions:
    """What `dagster dev` and `dg` load."""
    return build_definitions(load_settings())
