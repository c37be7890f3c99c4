"""Reads what a published file says about itself: its publication, schools, loads and tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb

from warehouse.identifiers import among
from warehouse.published.reading import records

#: The statuses of the schools' slices when the file was filled.
AS_FILLED = """
    SELECT * EXCLUDE (last), last.status, last.finished_at, last.requests
    FROM (
        SELECT
            _school_id, resource, slice,
            max_by(struct_pack(status, finished_at, requests), finished_at) AS last,
            max(started_at) FILTER (complete AND status IN ('ok', 'warning')) AS complete_at,
            max(started_at) FILTER (complete AND "whole" AND status IN ('ok', 'warning')) AS whole_at
        FROM quality.load_log WHERE {schools} GROUP BY ALL
    )
"""
#: The same at a later night that confirmed the published file.
AS_PROVEN = """
    SELECT _school_id, resource, slice, status, finished_at, requests, complete_at, whole_at
    FROM read_parquet($proven) WHERE generation = $generation AND {schools}
"""
#: The schools that the platform still has.
SCHOOLS = "SELECT school_id, school_name FROM core.dim_school WHERE NOT is_deleted ORDER BY school_id"
PUBLICATION = "SELECT generation, published_at FROM quality.publication"
TABLES = """
    SELECT schema_name, table_name, stands_on, description, label_en, label_zh
    FROM quality.dictionary WHERE column_name IS NULL
"""

Row = Mapping[str, Any]


def read_schools(con: duckdb.DuckDBPyConnection) -> dict[int, str]:
    """The names of the schools by id. A school that the platform does not list has its id as its name."""
    return {row["school_id"]: row["school_name"] or str(row["school_id"]) for row in records(con, SCHOOLS)}


def read_publication(con: duckdb.DuckDBPyConnection) -> tuple[str, datetime]:
    """The generation of the file, and the time of its publication."""
    [row] = records(con, PUBLICATION)
    return row["generation"], row["published_at"]


def read_standings(
    con: duckdb.DuckDBPyConnection, proven: Path, generation: str, school_ids: Sequence[int]
) -> dict[int, list[Row]]:
    """The statuses of slices by school, as the last night left them.

    `proven`: the file `warehouse.age.PROVEN` beside the published file. A school without rows there has an
    older publication."""
    schools = among("_school_id", school_ids)
    later = {"proven": str(proven), "generation": generation}
    standings = _by_school(con, AS_PROVEN.format(schools=schools), later) if proven.exists() else {}
    if not all(school_id in standings for school_id in school_ids):
        standings = _by_school(con, AS_FILLED.format(schools=schools), {}) | standings
    return standings


def read_tables(con: duckdb.DuckDBPyConnection) -> Sequence[Row]:
    """The dictionary's entries of tables, with the resources that each table is made of (`stands_on`)."""
    return records(con, TABLES)


def _by_school(
    con: duckdb.DuckDBPyConnection, query: str, parameters: Mapping[str, str]
) -> dict[int, list[Row]]:
    rows = defaultdict[int, list[Row]](list)
    for row in records(con, query, parameters):
        rows[row["_school_id"]].append(row)
    return dict(rows)
