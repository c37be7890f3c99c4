"""What is not to be stored any longer, taken out of what was stored before."""

from __future__ import annotations

from functools import partial

import pyarrow.compute as pc

from warehouse.identifiers import quoted
from warehouse.lake.delta import Lake, until_committed
from warehouse.lake.tables import Table


def forget(lake: Lake, table: Table, column: str) -> None:
    """Make a column null in every row of a table, tombstones too, in one commit; none where it is null.

    Older versions of the table have the values until the vacuum (`compaction`) deletes their files.
    """
    until_committed(partial(_forget, lake, table, column))


def _forget(lake: Lake, table: Table, column: str) -> None:
    opened = lake.open(table)
    stored = f"{quoted(column)} IS NOT NULL"
    if lake.scan(table, opened, [column], ~pc.field(column).is_null()).num_rows:
        opened.update(updates={column: "NULL"}, predicate=stored)
