"""The labels of the columns of a matrix, in order: bands."""

from __future__ import annotations

from collections.abc import Mapping

import duckdb

from exports.spreadsheet.sheets import Words
from exports.workbooks.queries import BAND, rows
from exports.workbooks.terms import untranslated

#: Labels by the key that `queries.pivot` takes.
Labels = Mapping[str, Words]


def band_labels(con: duckdb.DuckDBPyConnection, school_id: int) -> Labels:
    """The valid grade bands, the best first. A band is its own label, such as 80-90."""
    query = f"""
        SELECT {BAND} FROM staging.stg_grade_bands WHERE school_id = $school_id
        ORDER BY lower_percent DESC NULLS LAST
    """
    return {band: untranslated(band) for (band,) in rows(con, school_id, query)}
