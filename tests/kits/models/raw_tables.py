"""The file as the models find it, made from plain rows: a dict a row, columns left out are null."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from campus.attendance.calendar import MONDAY, decide
from campus.registry import ATTENDANCE, RESOURCES, V1_DATA, ResourceSpec
from loading.semesters import COLUMNS, rows_of_calendar, semesters_of
from loading.tables import TABLES
from warehouse.lake.logs.tables import LOGS, MADE
from warehouse.lake.sql import create_table
from warehouse.lake.tables import BOOKKEEPING, SCHOOL_ID, comments
from warehouse.publish.fill import CONTENTS
from warehouse.publish.models.by_semester import SEMESTER_STATES
from warehouse.publish.publish import CHECK_RESULTS, PUBLICATION

Rows = Sequence[Mapping[str, Any]]
V1 = (*V1_DATA, *ATTENDANCE)


def create_raw(path: Path, rows: Mapping[str, Rows]) -> None:
    """Makes a DuckDB file with all tables of `raw` and `quality`, empty but for `rows` (table -> rows).

    Text is cast to the column's type, so that lists, structs and exact decimals are written the way DuckDB
    prints them. `_school_id` is 1 and `_synced_at` one fixed time where a row does not say otherwise. All is
    loaded whole, unless `rows` has the load log."""
    with duckdb.connect(str(path)) as connection:
        # One commit: a commit an inserted row takes longer than the row.
        connection.begin()
        connection.execute("create schema raw")
        for table in TABLES.values():
            columns = (*table.columns, SCHOOL_ID, *BOOKKEEPING)
            no_rows = pa.schema([(column.name, column.type) for column in columns]).empty_table()
            connection.register("no_rows", no_rows)
            query = "select * replace (_extra::json as _extra) from no_rows"
            create_table(connection, f"raw.{table.name}", query, table.comment, comments(columns))
            for row in rows.get(table.name, ()):
                synced = {"_school_id": 1, "_synced_at": "2026-03-01 02:00:00"}
                _insert(connection, f"raw.{table.name}", {**synced, **row})
        connection.execute("create schema quality")
        for log in (*LOGS, *MADE, CONTENTS, SEMESTER_STATES, CHECK_RESULTS, PUBLICATION):
            connection.register("no_rows", log.row_schema.empty_table())
            name, notes = f"quality.{log.name}", comments(log.columns)
            create_table(connection, name, "from no_rows", log.comment, notes)
        _insert_calendars(connection)
        if "load_log" not in rows:
            _insert_loads(connection)
        for name in ("load_log", "changes", "past_rows", "slices", "stated_counts", "quarantine"):
            for row in rows.get(name, ()):
                _insert(connection, f"quality.{name}", {"_school_id": 1, "slice": "1:20", **row})
        connection.commit()


def _insert_calendars(connection: duckdb.DuckDBPyConnection) -> None:
    """As a build makes them of the semesters that the lake holds."""
    shown = {
        spec: connection.sql(f"select _school_id, {', '.join(columns)} from raw.{spec.name}").to_arrow_table()
        for spec, columns in COLUMNS.items()
    }
    v1, v3 = (table.to_pylist() for table in shown.values())
    for school_id in sorted({row["_school_id"] for row in (*v1, *v3)}):
        mine_v1, mine_v3 = ([row for row in rows if row["_school_id"] == school_id] for rows in (v1, v3))
        semesters = semesters_of(school_id, mine_v1, mine_v3, {})
        for row in rows_of_calendar(semesters, decide("auto", []), MONDAY):
            _insert(connection, "quality.semester_calendars", row)


def _insert_loads(connection: duckdb.DuckDBPyConnection) -> None:
    """Every slice of every resource, as a first sync without a failure leaves them."""
    calendars = connection.sql("from quality.semester_calendars").to_arrow_table().to_pylist()
    for load in loads(calendars):
        _insert(connection, "quality.load_log", load)


def loads(calendars: Rows, without: Collection[str] = ()) -> list[Mapping[str, Any]]:
    """The load log of a sync of some semesters that loaded all whole but some resources, which failed."""
    slices = {
        (name, ":".join(map(str, parts)))
        for calendar in calendars
        for name, spec in RESOURCES.items()
        if (parts := _slice(spec, calendar))
    }
    return [
        {"resource": name, "_school_id": int(slice.split(":")[0]), "slice": slice, "requests": 1}
        | dict.fromkeys(("started_at", "finished_at"), "2026-03-01 01:00:00")
        | {"status": "failed", "complete": False}
        | ({} if name in without else {"status": "ok", "complete": True, "whole": True, "received": 0})
        for name, slice in sorted(slices)
    ]


def _slice(spec: ResourceSpec, calendar: Mapping[str, Any]) -> list[Any]:
    """The parts of a slice of a resource in a semester; none: v1 does not know it."""
    if spec.sliced_by not in ("semester", "week"):
        return [calendar["_school_id"]]
    semester = calendar["v1_semester_id"] if spec in V1 else calendar["semester_id"]
    week = [1] if spec.sliced_by == "week" else []
    return [calendar["_school_id"], semester, *week] if semester is not None else []


def _insert(connection: duckdb.DuckDBPyConnection, table: str, row: Mapping[str, Any]) -> None:
    names = ", ".join(row)
    marks = ", ".join("?" for _ in row)
    connection.execute(f"insert into {table} ({names}) values ({marks})", list(row.values()))
