"""Erases a column that must no longer be stored."""

from __future__ import annotations

from functools import partial

import pyarrow.compute as pc

from warehouse.identifiers import quoted
from warehouse.lake.delta import Lake, until_committed
from warehouse.lake.tables import Table


def forget(lake: Lake, table: Table, column: str) -> None:
    """Set a column to null in all rows of a table, tombstones too, in one commit, if it has any value.

    Older versions of the table have the values until the vacuum (`compaction`) deletes their files.
    """
    until_committed(partial(_forget, lake, table, column))


def _forget(lake: Lake, table: Table, column: str) -> None:
    opened = lake.open(table)
    stored = f"{quoted(column)} IS NOT NULL"
    if lake.scan(table, opened, [column], ~pc.field(column).is_null()).num_rows:
        opened.update(updates={column: "NULL"}, predicate=stored)
