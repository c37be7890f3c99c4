"""Maintains the lake after each publication: joins small files, and deletes files that no version needs."""

import dagster as dg

from assets.publication.models import PUBLISHED
from loading.connection.runtime import Runtime
from loading.custom_fields import users_table
from loading.reports.tables import held_tables
from loading.tables import TABLES
from warehouse.forgetting.retention import expire_history, expire_tombstones
from warehouse.load.logs.dataset_plans import dataset_tables
from warehouse.load.logs.load_log import now
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
    own = {**TABLES, "v1_users": users_table(lake)}
    tables = [*own.values(), *dataset_tables(lake), *held_tables(lake)]
    if runtime.keep_personal is not None:
        rows = expire_tombstones(lake, tables, runtime.keep_personal, now(), runtime.scratch)
        context.log.info(f"{rows} deleted rows lost their personal columns")
    if runtime.keep_history is not None:
        rows = expire_history(lake, runtime.keep_history, now())
        context.log.info(f"{rows} past rows, changes and levels expired")
    maintain(lake, tables, runtime.scratch, keep_loads=runtime.keep_loads)
