"""Answers by the measures of the published file, through its own macros."""

from collections.abc import Collection, Mapping, Sequence
from datetime import date
from difflib import get_close_matches
from typing import Any

import duckdb

from warehouse.identifiers import literal
from warehouse.metrics import catalogue
from warehouse.privacy import SMALL_GROUP

NOT_KNOWN = "not known"
SMALL = "fewer than {} students"
MACROS = """
    FROM duckdb_functions() SELECT function_name
    WHERE schema_name = 'marts' AND function_type = 'table_macro' AND starts_with(function_name, 'metric_')
    LIMIT 1
"""
#: The largest number below which a school of the file hides groups.
SMALLEST = """
    SELECT max(value) FROM staging.stg_attendance_thresholds WHERE threshold = 'small_group_students'
"""


class Unanswerable(Exception):
    """A measure or split that the file does not have. The message says what there is."""


def measured(
    con: duckdb.DuckDBPyConnection,
    name: str,
    by: Sequence[str],
    days: Mapping[str, date],
    schools: Collection[int],
    *,
    personal: bool,
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The columns and the rows of a measure, a row for each group. The last columns are the value, the number
    of students and a note; a small group has neither number.

    Args:
        con: On a published file.
        by: Dimensions.
        days: `since` and `until`, both included; a missing one sets no limit.
        schools: Only these; none: all.
        personal: Whether groups may be single people.

    Raises Unanswerable, duckdb.Error."""
    _check(con, name, by, days, personal=personal)
    arguments = [f'"by" := [{", ".join(map(literal, by))}]']
    arguments += [f"{key} := DATE {literal(day.isoformat())}" for key, day in days.items()]
    if schools:
        arguments.append(f"schools := {sorted(schools)}")
    result = con.execute(f"SELECT * EXCLUDE (metric) FROM marts.metric_{name}({', '.join(arguments)})")
    columns = [column for column, *_ in result.description or ()]
    rows = result.fetchall()
    [(of_schools,)] = con.execute(SMALLEST).fetchall()
    smallest = 0 if any(map(_is_personal, by)) else max(SMALL_GROUP, int(of_schools or 0))
    # Without a split, a measure that nothing is known of is a row, too.
    rows = rows or ([(None, None)] if not by else [])
    return [*columns[:-2], name, "students", "note"], [_noted(row, smallest) for row in rows]


def _is_personal(dimension: str) -> bool:
    dimensions = catalogue().dimensions
    return dimension in dimensions and dimensions[dimension].is_personal


def _noted(row: tuple[Any, ...], smallest: int) -> tuple[Any, ...]:
    """A row with its note. Of fewer students than `smallest`, it has neither the value nor their number."""
    *group, value, students = row
    if students is not None and 0 < students < smallest:
        return (*group, None, None, SMALL.format(smallest))
    return (*group, value, students, NOT_KNOWN if value is None else "")


def _check(
    con: duckdb.DuckDBPyConnection, name: str, by: Sequence[str], days: Mapping[str, date], *, personal: bool
) -> None:
    measures = {
        metric: (dimensions, time_column)
        for metric, dimensions, time_column in con.execute(
            "SELECT metric, dimensions, time_column FROM quality.metrics"
        ).fetchall()
    }
    if not con.execute(MACROS).fetchall():
        raise Unanswerable(
            "this file has no measures, as a part of the whole file: ask the main campus.duckdb"
        )
    if name not in measures:
        raise Unanswerable(f"there is no measure {name}; {_near(name, list(measures))}")
    dimensions, time_column = measures[name]
    for dimension in by:
        if dimension not in dimensions:
            raise Unanswerable(f"{name} cannot be split by {dimension}; {_near(dimension, dimensions)}")
        if _is_personal(dimension) and not personal:
            raise Unanswerable(
                f"a split by {dimension} shows single people: it needs --personal, or mcp.personal of "
                "campus.yaml for an assistant"
            )
    needs = catalogue().metrics[name].needs if name in catalogue().metrics else []
    if lacking := set(needs).difference(by):
        raise Unanswerable(f"{name} counts anew in each {min(lacking)}: split it by {min(lacking)} too")
    if len(days) == 2 and days["since"] > days["until"]:
        raise Unanswerable(f"since {days['since']} is after until {days['until']}")
    if days and time_column is None:
        raise Unanswerable(
            f"{name} has no days, so --since and --until do not apply; split it by semester instead"
        )


def _near(name: str, names: Sequence[str]) -> str:
    """The names that resemble another name; all of them if none does."""
    near = get_close_matches(name, names, n=3)
    return f"similar: {', '.join(near)}" if near else f"there are: {', '.join(names)}"
