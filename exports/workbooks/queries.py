"""SQL that the ready-made workbooks share. Every query takes $school_id."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import duckdb

from warehouse.identifiers import listed, literal, quoted


def rows(con: duckdb.DuckDBPyConnection, school_id: int, query: str) -> list[tuple[Any, ...]]:
    """The rows of a query on the published file."""
    return con.execute(query, {"school_id": school_id}).fetchall()


def rate(part: str, whole: str) -> str:
    """100 * part / whole with two decimals, as the marts tell rates; null where the whole is zero."""
    return ratio(f"100 * {part}", whole, 2)


def ratio(part: str, whole: str, places: int) -> str:
    """part / whole, halves rounded up; null where the whole is zero. A quotient of whole numbers (1e-12s), as
    in the marts, since a double cannot hold most halves. Neither may be negative."""
    units, of = (f"(CAST({number} AS DECIMAL(38, 12)) * {10**12})::HUGEINT" for number in (part, whole))
    return (
        f"try_cast(((2{'0' * places} * {units} + {of}) // (2 * nullif({of}, 0)))::DECIMAL(38, 0)"
        f" * 0.{'0' * (places - 1)}1 AS DECIMAL(18, {places}))"
    )


def plain(number: str) -> str:
    """A number as text, without trailing zeros."""
    return f"format('{{:g}}', ({number})::DOUBLE)"


def spread(
    query: str,
    *,
    rows: Sequence[str],
    key: str,
    keys: Iterable[object],
    values: Sequence[str],
    empty: str = "NULL",
) -> str:
    """A matrix of what `query` has row by row: a row for each combination of the columns `rows`, and for each
    of `values` a column for each of `keys`, which the column `key` holds; `spread_names` is what these are
    called.

    A cell of which the query has no row is `empty`. The rows come in no order.
    """
    cells = [
        f"coalesce(any_value({quoted(value)}) FILTER (WHERE {quoted(key)} = {literal(str(one))}), {empty})"
        f" AS {quoted(spread_name(value, one))}"
        for value in values
        for one in keys
    ]
    return f"SELECT {', '.join([listed(rows), *cells])} FROM ({query}) GROUP BY ALL"


def spread_name(value: str, key: object) -> str:
    """The name of the column that `spread` makes of a value and a key."""
    return f"{value} {key}"


def spread_names(value: str, keys: Iterable[object]) -> tuple[str, ...]:
    """The names of a value's columns, in the order of the keys."""
    return tuple(spread_name(value, key) for key in keys)


#: The semester that long sheets show: the current one, else the last one, of those with anything to show. A
#: platform may have several current ones, as for two kinds of school in one.
SHOWN = """shown AS (
    SELECT school_id, semester_id, semester_name
    FROM core.dim_semester
    SEMI JOIN marts.early_warning USING (school_id, semester_id)
    WHERE school_id = $school_id
    QUALIFY rank() OVER (
        ORDER BY is_current DESC, CASE WHEN NOT is_current THEN first_day END DESC NULLS LAST
    ) = 1
)"""

#: The order of rows that are of more than one semester: the current one, then the latest.
NEWEST_FIRST = "dim_semester.is_current DESC, dim_semester.first_day DESC NULLS LAST"

#: Students whom the platform still has, which is who can be attended to, whatever semester is shown.
STILL_THERE = "ANTI JOIN (FROM core.dim_student WHERE is_deleted) USING (school_id, student_id)"

#: A tick where the mart's week or semester is not over.
UNFINISHED = "CASE WHEN NOT is_complete THEN '✓' END AS is_complete"

#: What a band is called in either language, by its limits.
BAND = f"""CASE
    WHEN lower_percent IS NULL THEN '< ' || {plain("upper_percent")}
    WHEN upper_percent IS NULL THEN '≥ ' || {plain("lower_percent")}
    ELSE {plain("lower_percent")} || '–' || {plain("upper_percent")}
END"""
