"""Recognizes a reading with the same rows as the last one, without comparing rows.

The state of a slice is a hash of the rows of a whole reading and of the slice's files after its commit. A
merge of the same rows into the same files would change nothing. Any other commit of the slice makes other
files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from warehouse.lake.tables import Slice, Table
from warehouse.load.slice_reading import SliceReading


def state(table: Table, slice: Slice, files: Sequence[str], reading: SliceReading) -> str | None:
    """The state of a slice with a reading and with `files` (names below the table, sorted).

    None: the reading does not certainly show the whole slice."""
    staged = reading.staged
    if reading.cause.full or not reading.whole or reading.retires or reading.account.bad or reading.failures:
        return None
    if staged.rows != reading.account.received:
        return None
    said = "|".join([table.name, str(slice), staged.content, *files])
    return hashlib.sha256(said.encode()).hexdigest()[:24]
