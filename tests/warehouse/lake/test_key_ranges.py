"""Ranges of keys split slices of any size into parts that DuckDB can compare in its memory."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from warehouse.lake.sql import key_ranges, pooled, show_files


def test_ranges_of_many_keys_fit_the_memory(tmp_path: Path) -> None:
    """Two slices of five million rows are compared within the memory of one connection."""
    file = str(tmp_path / "keys.parquet")
    pq.write_table(pa.table({"id": pa.array(range(5_000_000))}), file)
    with pooled(tmp_path) as con:
        show_files(con, "previous", [file])
        show_files(con, "reading", [file])
        ranges = key_ranges(con, {"previous": [file], "reading": [file]}, "id")
        sizes = [
            con.execute(f"SELECT count(*) FROM previous WHERE {within}", bounds).fetchall()[0][0]
            for within, bounds in ranges[:3]
        ]
    assert len(ranges) == 153
    assert all(20_000 < size < 50_000 for size in sizes)
