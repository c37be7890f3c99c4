"""Care for the lake, after each publication: small files joined, and files that no version needs deleted."""

import dagster as dg

from assets.models import PUBLISHED
from loading.reports.tables import held_tables
from loading.runtime import Runtime
from loading.tables import TABLES
from warehouse.load.dataset_plans import dataset_tables
from warehouse.maintenance.compaction import RETENTION, maintain


@dg.asset(
    key=dg.AssetKey(["lake_maintenance"]),
    deps=[PUBLISHED],
    group_name="published",
    description=f"Joins small files; deletes those that no version of {RETENTION.days} days needs.",
    kinds={"deltalake"},
    required_resource_keys={"campus"},
    pool="duckdb_build",
)
def lake_maintenance(context: dg.AssetExecutionContext) -> None:
    """Maintain all tables of the lake."""
    runtime: Runtime = context.resources.campus
    lake = runtime.lake
    tables = [*TABLES.values(), *dataset_tables(lake), *held_tables(lake)]
    maintain(lake, tables, runtime.scratch, keep_loads=runtime.keep_loads)
