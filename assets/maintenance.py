"""Maintains the lake each night: applies the terms of retention, joins small files of the logs, and deletes
files that no version needs."""

from dataclasses import asdict

import dagster as dg

from loading.connection.runtime import Runtime
from loading.custom_fields import users_table
from loading.reports.tables import held_tables
from loading.tables import TABLES
from warehouse.forgetting.retention import expire_history, expire_tombstones
from warehouse.load.logs.dataset_plans import dataset_tables
from warehouse.load.logs.load_log import now
from warehouse.load.logs.maintenance_runs import record_maintenance
from warehouse.maintenance.compaction import RETENTION, maintain


@dg.asset(
    key=dg.AssetKey(["lake_maintenance"]),
    group_name="published",
    description="Applies the terms of retention, joins small files, and deletes files that no version of "
    f"{RETENTION.days} days needs.",
    kinds={"deltalake"},
    required_resource_keys={"campus"},
    pool="duckdb_build",
)
def lake_maintenance(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
    """Maintain all tables of the lake, and record what was removed in quality.maintenance."""
    runtime: Runtime = context.resources.campus
    lake, started_at = runtime.lake, now()
    resources = {**TABLES, "v1_users": users_table(lake)}
    tables = [*resources.values(), *dataset_tables(lake), *held_tables(lake)]
    personal_rows = history_rows = None
    if runtime.keep_personal is not None:
        personal_rows = expire_tombstones(lake, tables, runtime.keep_personal, now(), runtime.scratch)
    if runtime.keep_history is not None:
        history_rows = expire_history(lake, runtime.keep_history, now())
    removed = {
        **asdict(maintain(lake, tables, runtime.scratch, keep_loads=runtime.keep_loads)),
        "personal_rows": personal_rows,
        "history_rows": history_rows,
    }
    times = {"started_at": started_at, "finished_at": now()}
    record_maintenance(lake, {**times, "run_id": context.run.run_id, **removed})
    return dg.MaterializeResult(
        metadata={name: count for name, count in removed.items() if count is not None}
    )
