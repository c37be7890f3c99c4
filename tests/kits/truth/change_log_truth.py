"""What the change log says of the past, worked out backwards from what the lake holds now."""

from datetime import datetime
from pathlib import Path

import pyarrow as pa

from warehouse.lake.delta import Lake
from warehouse.lake.logs.tables import CHANGES
from warehouse.lake.sql import pooled, view
from warehouse.lake.tables import Slice, Table
from warehouse.load.history.change_log import as_text, key_text


def known_on(lake: Lake, table: Table, slice: Slice, field: str, when: datetime, scratch: Path) -> pa.Table:
    """What was known of a field at `when`: `key` and `value`, as text, of the rows that were alive then.

    No rows before the slice was first loaded.
    """
    current = as_text(table.row_schema.field(field), "n")
    with pooled(scratch) as con:
        view(con, "n", lake.files(table, slice), table.lake_schema)
        view(con, "changes", lake.files(CHANGES), CHANGES.lake_schema, hive=True)
        values: pa.Table = con.sql(
            f"""
            WITH mine AS (
                FROM changes WHERE resource = $resource AND slice = $slice
            ),
            later AS (
                SELECT
                    key,
                    bool_or(op = 'created') AS came,
                    arg_min(op, slice_version) FILTER (op IN ('deleted', 'returned')) AS next_move,
                    coalesce(bool_or(field = $field), false) AS altered,
                    arg_min_null(before, slice_version) FILTER (field = $field) AS value
                FROM mine
                WHERE seen_at > $when AND key IS NOT NULL
                GROUP BY key
            )
            SELECT {key_text(table, "n")} AS key, CASE WHEN altered THEN value ELSE {current} END AS value
            FROM n LEFT JOIN later ON later.key = {key_text(table, "n")}
            WHERE
                coalesce(NOT came, true)
                AND CASE next_move
                    WHEN 'deleted' THEN true
                    WHEN 'returned' THEN false
                    ELSE n._deleted_at IS NULL
                END
                AND $when >= (SELECT min(seen_at) FROM mine WHERE op = 'loaded')
            ORDER BY key
            """,
            params={"resource": table.name, "slice": str(slice), "field": field, "when": when},
        ).to_arrow_table()
        return values
