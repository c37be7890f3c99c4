"""The rows of a slice before its last commits, for as long as the lake keeps replaced files.

Each commit of a slice names the table version that it replaced, and the version that the slice's previous
commit replaced. So a step back reads one commit and one file, however many slices there are."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from deltalake.exceptions import DeltaError

from warehouse.lake import delta_log
from warehouse.lake.delta import Lake
from warehouse.lake.parquet import read_files
from warehouse.lake.tables import DELETED_AT, Slice, Table
from warehouse.load.history.change_log import base_of

#: The field of a commit with the table version that the slice's previous commit replaced.
PREVIOUS_BASE = "previous_base"


def earlier_rows(lake: Lake, table: Table, slice: Slice, columns: Sequence[str]) -> Iterator[pa.Table]:
    """The live rows before the last commit of a slice, then before its earlier commits, one by one.

    Ends where maintenance or forgetting has removed a commit or its files, and at commits of earlier
    releases. Raises DeltaError for a damaged commit or file, and OSError if the lake cannot be read."""
    base = lake.table_state(table).transactions.get(base_of(slice))
    while base is not None:
        commits = delta_log.since(lake.objects, table.folder, base)
        # Commits of other slices may have come first.
        own = next((commit for commit in commits if commit.transactions.get(base_of(slice)) == base), None)
        if own is None:
            return
        names = sorted(name for name in own.removed if name.startswith(f"{slice.folder}/"))
        is_alive = pc.field(DELETED_AT).is_null()
        try:
            files = lake.readable(table, names)
        except FileNotFoundError:
            return
        try:
            rows = read_files(files, table.lake_schema, table.slice_columns, columns, is_alive)
        except FileNotFoundError:
            return
        except (pa.ArrowInvalid, OSError) as error:
            raise DeltaError(str(error)) from error
        yield rows
        base = own.info.get(PREVIOUS_BASE)
