"""The rows of a slice as its last commits found them, for as long as the lake keeps replaced files."""

from collections.abc import Iterator, Sequence

import obstore
import pyarrow as pa
import pyarrow.compute as pc
from deltalake.exceptions import DeltaError

from warehouse.lake.delta import Lake
from warehouse.lake.tables import DELETED_AT, Slice, Table
from warehouse.load.change_log import base_of


def earlier_rows(lake: Lake, table: Table, slice: Slice, columns: Sequence[str]) -> Iterator[pa.Table]:
    """The live rows before the last commit of a slice, before the commit before that, and so on. Ends where
    maintenance or forgetting has removed the older version."""
    opened = lake.open(table)
    while (version := opened.transaction_version(base_of(slice))) is not None:
        try:
            opened = lake.open(table, version)
            rows = lake.scan(table, opened, columns, pc.field(DELETED_AT).is_null(), slice)
        except (DeltaError, FileNotFoundError, obstore.exceptions.NotFoundError):
            return
        yield rows
