"""Lazy polars frames over the lake's files, for queries over rows that may exceed the memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl


def scan_files(
    files: Sequence[str],
    columns: Mapping[str, pl.DataType | type[pl.DataType]],
    *,
    path_column: str | None = None,
) -> pl.LazyFrame:
    """Scan columns of some of the lake's files. Without files, the frame has no rows.

    Columns and fields that were added after a file was written are null. `path_column`: the name of a further
    column, with the path of each row's file."""
    if not files:
        return pl.LazyFrame(schema={**columns, **({path_column: pl.String} if path_column else {})})
    return pl.scan_parquet(
        list(files),
        schema=dict(columns),
        missing_columns="insert",
        extra_columns="ignore",
        cast_options=pl.ScanCastOptions(missing_struct_fields="insert", extra_struct_fields="ignore"),
        hive_partitioning=False,
        glob=False,
        include_file_paths=path_column,
    )
