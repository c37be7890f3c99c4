"""The lake's files as polars reads them, for questions about rows that need not fit the memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl


def scan_files(
    files: Sequence[str], columns: Mapping[str, pl.DataType | type[pl.DataType]], *, named: str | None = None
) -> pl.LazyFrame:
    """These columns of some of the lake's files; no files at all is no rows. Columns and fields that were
    added after a file was written are null. `named`: a column that says which file a row is of."""
    if not files:
        return pl.LazyFrame(schema={**columns, **({named: pl.String} if named else {})})
    return pl.scan_parquet(
        list(files),
        schema=dict(columns),
        missing_columns="insert",
        extra_columns="ignore",
        cast_options=pl.ScanCastOptions(missing_struct_fields="insert", extra_struct_fields="ignore"),
        hive_partitioning=False,
        glob=False,
        include_file_paths=named,
    )
