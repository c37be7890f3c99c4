"""Stores how each dataset of each school is read: discovery decides, and loads follow until the next one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from warehouse.lake.delta import Lake, relative_files, until_committed
from warehouse.lake.logs.school_log import replace_school, rows_of_school
from warehouse.lake.logs.tables import Log
from warehouse.lake.tables import SCHOOL_ID, TIMESTAMP, Column, Slice, Table, dataset_table
from warehouse.load.logs.load_log import now
from warehouse.load.schema_evolution import stored_columns

DATASET_PLANS = Log(
    name="dataset_plans",
    comment="How each dataset of each school is read; one row per school and dataset",
    columns=(
        SCHOOL_ID,
        Column("dataset", pa.string(), "The platform's name of the dataset"),
        Column("table", pa.string(), "Its name in the lake and in the schema `datasets`"),
        Column("path", pa.string(), "Path of its records"),
        Column("mode", pa.string(), "segments (ranges of ids) or pages (the whole at once)"),
        Column("key", pa.list_(pa.string()), "Columns of the primary key; empty: the dataset has none"),
        Column("width", pa.int64(), "Ids a segment; null where it is read by pages"),
        Column("segments", pa.list_(pa.int64()), "Segments that hold or held rows"),
        Column("definition", pa.string(), "JSON of the metadata that the table was made from"),
        Column("signature", pa.string(), "Hash of what is asked for: fields, types, filters, relations"),
        Column("valid_since", TIMESTAMP, "When this signature came up: what was read before is read again"),
        Column("retired_since", TIMESTAMP, "Since when it is not read any more; null: it is read"),
    ),
    slice_columns=(SCHOOL_ID.name,),
)


@dataclass(frozen=True)
class Plan:
    """A row of `dataset_plans`."""

    school_id: int
    dataset: str
    table: str
    path: str
    mode: str
    key: tuple[str, ...]
    width: int | None
    segments: tuple[int, ...]
    definition: str
    signature: str
    valid_since: datetime
    #: Neither the platform nor the settings name it any more, but the lake has rows of it.
    retired_since: datetime | None = None


def read_plans(lake: Lake, school_id: int | None = None) -> list[Plan]:
    """The plans of one school, or of all, retired plans included."""
    if not lake.holds(DATASET_PLANS):
        return []
    if school_id is None:
        return [_plan(row) for row in lake.read(DATASET_PLANS).to_pylist()]
    return _read(lake, lake.open(DATASET_PLANS), school_id)


def record_plans(lake: Lake, school_id: int, plans: Sequence[Plan]) -> None:
    """Replace the plans of a school. Writes nothing where they are the same.

    A plan that is left out stays as retired while its table has rows of the school, which stay published."""
    lake.create(DATASET_PLANS)
    until_committed(partial(_replace, lake, school_id, plans))


def dataset_tables(lake: Lake) -> list[Table]:
    """The lake's tables of all planned datasets, with every stored column."""
    tables = [_table(name) for name in sorted({plan.table for plan in read_plans(lake)})]
    return [
        replace(table, columns=tuple(stored.column for stored in stored_columns(table, lake.open(table))))
        for table in tables
        if lake.holds(table)
    ]


def _read(lake: Lake, opened: DeltaTable, school_id: int) -> list[Plan]:
    return [_plan(row) for row in rows_of_school(lake, DATASET_PLANS, opened, school_id)]


def _plan(row: dict[str, Any]) -> Plan:
    lists = {name: tuple(row[name]) for name in ("key", "segments")}
    return Plan(**{"school_id": row.pop(SCHOOL_ID.name)} | row | lists)


def _replace(lake: Lake, school_id: int, plans: Sequence[Plan]) -> None:
    opened = lake.open(DATASET_PLANS)
    stored = _read(lake, opened, school_id)
    planned = {plan.dataset for plan in plans}
    retired = [
        replace(plan, retired_since=plan.retired_since or now())
        for plan in stored
        if plan.dataset not in planned and _holds_rows(lake, plan)
    ]
    after = [*plans, *retired]
    if set(after) != set(stored):
        replace_school(DATASET_PLANS, opened, school_id, [asdict(plan) for plan in after])


def _holds_rows(lake: Lake, plan: Plan) -> bool:
    table = _table(plan.table)
    try:
        mine = Slice.of(_school_id=plan.school_id)
        return lake.holds(table) and bool(relative_files(lake.open(table), mine))
    except DeltaError:
        # A table that cannot be opened may have rows.
        return True


def _table(name: str) -> Table:
    """A dataset's table without its columns, which is enough to find it."""
    return dataset_table(name, (), (), "")
