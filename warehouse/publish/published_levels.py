"""Logs the levels of early warning after a publication, for marts.early_warning_history.

The mart combines the log with the levels of its own file, so a file needs no log of its own publication. Rows
that are logged twice are no change. Rows that a crash prevented are logged by the next build."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa
from deltalake import write_deltalake

from warehouse.lake.delta import Lake, until_committed
from warehouse.lake.logs.tables import PUBLISHED_LEVELS
from warehouse.load.logs.load_log import now

UNLOGGED = f"""
    SELECT state.* RENAME (school_id AS _school_id)
    FROM core.early_warning_state AS state
    ANTI JOIN (
        SELECT unnest(max_by(logged, published_at))
        FROM quality.{PUBLISHED_LEVELS.name} AS logged
        GROUP BY _school_id, semester_id, student_id
    ) AS last
        ON last._school_id = state.school_id
        AND last.semester_id = state.semester_id
        AND last.student_id = state.student_id
        AND last.level = state.level
        AND last.missing_inputs IS NOT DISTINCT FROM state.missing_inputs
        AND last.thresholds IS NOT DISTINCT FROM state.thresholds
    ORDER BY ALL
"""


def unlogged_levels(file: Path) -> pa.Table:
    """The rows of PUBLISHED_LEVELS, without their time, that differ from the log as a built file has it."""
    with closing(duckdb.connect(str(file), read_only=True)) as con:
        levels: pa.Table = con.sql(UNLOGGED).to_arrow_table()
    return levels


def log_levels(lake: Lake, levels: pa.Table) -> None:
    """Append rows of `unlogged_levels` to the log, in one commit. Call it once their file is published.

    Raises deltalake's errors."""
    if levels.num_rows:
        schema = PUBLISHED_LEVELS.lake_schema
        times = pa.repeat(pa.scalar(now(), schema.field("published_at").type), levels.num_rows)
        rows = levels.append_column("published_at", times).select(schema.names).cast(schema)
        until_committed(partial(_append, lake, rows))


def _append(lake: Lake, rows: pa.Table) -> None:
    write_deltalake(lake.open(PUBLISHED_LEVELS), rows, mode="append")
