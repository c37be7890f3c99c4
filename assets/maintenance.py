"""Care for the lake, after each publication: small files joined, and files that no version needs deleted."""

import dagster as dg

from assets.models import PUBLISHED
from assets.runtime import Runtime
from assets.tables import TABLES, values
from warehouse.care import RETENTION, maintain
from warehouse.lake import Lake
from warehouse.logs import LOAD_LOG
from warehouse.plans import dataset_tables
from warehouse.tables import Table, report_table


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
    maintain(lake, [*TABLES.values(), *dataset_tables(lake), *_report_tables(lake)], runtime.scratch)


def _report_tables(lake: Lake) -> list[Table]:
    """The tables of all reports that were ever loaded: what is gone from one is in its files until then."""
    loaded = sorted(set(values(lake.read(LOAD_LOG, columns=["resource"]), "resource")))
    tables = [
        report_table(name.removeprefix("reports."), (), "") for name in loaded if name.startswith("reports.")
    ]
    return [table for table in tables if lake.holds(table)]
