"""What the platform's current_week has shown so far of where teaching weeks begin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from warehouse.lake.delta import Lake, until_committed
from warehouse.lake.log_tables import Log
from warehouse.lake.school_log import replace_school, rows_of_school
from warehouse.lake.tables import SCHOOL_ID, Column

WEEK_SIGHTINGS = Log(
    name="week_sightings",
    comment="What current_week of v1 has shown of where teaching weeks begin; one row a semester",
    columns=(
        SCHOOL_ID,
        Column("semester_id", pa.int64(), "Semester of the v1 interface"),
        Column("first", pa.date32(), "First day of the semester, as it was then"),
        Column("earliest", pa.date32(), "First day on which week 1 may begin"),
        Column("latest", pa.date32(), "Last day on which week 1 may begin"),
        Column("seen_on", pa.date32(), "When it was last asked"),
    ),
    slice_columns=(SCHOOL_ID.name,),
)


def read_sightings(lake: Lake, school_id: int) -> list[dict[str, Any]]:
    """What was seen of a school's semesters, a row each, without the school."""
    if not lake.holds(WEEK_SIGHTINGS):
        return []
    rows = rows_of_school(lake, WEEK_SIGHTINGS, lake.open(WEEK_SIGHTINGS), school_id)
    return [{name: value for name, value in row.items() if name != SCHOOL_ID.name} for row in rows]


def record_sightings(lake: Lake, school_id: int, rows: Sequence[Mapping[str, Any]]) -> None:
    """Make `rows` all that was seen of a school's semesters."""
    lake.create(WEEK_SIGHTINGS)
    until_committed(lambda: replace_school(WEEK_SIGHTINGS, lake.open(WEEK_SIGHTINGS), school_id, rows))
