"""Stores what the platform's current_week has shown about the first day of teaching weeks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from warehouse.lake.delta import Lake, until_committed
from warehouse.lake.logs.school_log import replace_school, rows_of_school
from warehouse.lake.logs.tables import Log
from warehouse.lake.tables import SCHOOL_ID, Column

WEEK_SIGHTINGS = Log(
    name="week_sightings",
    comment="The first day of teaching weeks, as far as v1's current_week has shown; one row per semester",
    columns=(
        SCHOOL_ID,
        Column("semester_id", pa.int64(), "Semester of the v1 interface"),
        Column("first", pa.date32(), "First day of the semester, as it was then"),
        Column("earliest", pa.date32(), "First day on which week 1 may begin"),
        Column("latest", pa.date32(), "Last day on which week 1 may begin"),
        Column("seen_on", pa.date32(), "Day of the last request"),
    ),
    slice_columns=(SCHOOL_ID.name,),
)


def read_sightings(lake: Lake, school_id: int) -> list[dict[str, Any]]:
    """The sightings of a school, a row per semester, without the school's id."""
    if not lake.holds(WEEK_SIGHTINGS):
        return []
    rows = rows_of_school(lake, WEEK_SIGHTINGS, lake.open(WEEK_SIGHTINGS), school_id)
    return [{name: value for name, value in row.items() if name != SCHOOL_ID.name} for row in rows]


def record_sightings(lake: Lake, school_id: int, rows: Sequence[Mapping[str, Any]]) -> None:
    """Replace the sightings of a school by `rows`."""
    lake.create(WEEK_SIGHTINGS)
    until_committed(lambda: replace_school(WEEK_SIGHTINGS, lake.open(WEEK_SIGHTINGS), school_id, rows))
