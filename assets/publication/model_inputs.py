"""The inputs of a warehouse file, for all schools or for a shard."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from loading.attendance.weeks import AttendanceSettings
from loading.custom_fields import users_table
from loading.datasets.tables import planned_tables
from loading.freshness import freshness_rows
from loading.pushes.misses import miss_rows
from loading.reports.tables import result_tables
from loading.semesters import calendar_rows
from loading.tables import TABLES
from warehouse.lake.delta import Lake
from warehouse.lake.tables import Table
from warehouse.load.logs.maintenance_runs import maintenance_runs
from warehouse.load.logs.writer import standing_rows


def inputs_of(
    lake: Lake, settings: AttendanceSettings, home: Path, schools: Collection[int] | None = None
) -> tuple[list[Table], dict[str, Any]]:
    """The tables of the platform's resources, and the other arguments of `build_raw`.

    Args:
        schools: The schools of a shard. None: all schools."""
    users = users_table(lake)
    misses = (row for row in miss_rows(home) if schools is None or row["_school_id"] in schools)
    return list((TABLES | {users.name: users}).values()), {
        "defined": [*planned_tables(lake), *result_tables(lake)],
        "calendars": calendar_rows(lake, settings.semester_pairs, settings.weeks_begin),
        "push_misses": list(misses),
        "freshness": freshness_rows(standing_rows(lake, schools)),
        "maintenance": maintenance_runs(lake),
    }
