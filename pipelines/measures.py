"""Answers by the measures of the published file."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from typing import Any

import duckdb

from warehouse.identifiers import literal, quoted
from warehouse.metrics import catalogue
from warehouse.privacy import SMALL_GROUP
from warehouse.publish.metrics import limits, query_of
from warehouse.small_groups import hidden_groups, is_few, revealing_sums

NOT_KNOWN = "not known"
SINGLE_PEOPLE = "{} shows single people: it needs --personal, or mcp.personal of campus.yaml for an assistant"
#: The last columns of a measure's query.
NUMBERS = ("value", "students", "numerator", "denominator")
STUDENTS = NUMBERS.index("students") - len(NUMBERS)
SMALL = "fewer than {} students"
REVEALING = "would reveal a group of fewer than {} students"
#: Columns that choose lessons rather than people.
TIMES = ("month", "week", "weekday", "lesson", "date")
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


@dataclass(frozen=True)
class Filter:
    """Rows of a measure by a column of its dimensions."""

    column: str
    #: The values that count, or the least and the greatest, both included.
    values: tuple[str, ...]
    is_range: bool = False

    @property
    def condition(self) -> str:
        """SQL for the rows that count. Texts become values of the column's type."""
        texts = list(map(literal, self.values))
        if self.is_range:
            return f"{quoted(self.column)} BETWEEN {texts[0]} AND {texts[1]}"
        return f"{quoted(self.column)} IN ({', '.join(texts)})"


def measured(
    con: duckdb.DuckDBPyConnection,
    name: str,
    by: Sequence[str],
    days: Mapping[str, date],
    schools: Collection[int],
    filters: Sequence[Filter] = (),
    *,
    personal: bool,
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The columns and the rows of a measure, a row for each group. The last columns are the value, its
    numerator and denominator, the number of students and a note. A small group has none of these numbers, and
    neither has a group that would reveal a small one: the next of its total, or what filters leave of it. A
    filter on a column of the split chooses rows of the answer without it, with what they show.

    Args:
        con: On a published file.
        by: Dimensions.
        days: `since` and `until`, both included; a missing one sets no limit.
        schools: Only these; none: all.
        filters: Only rows that fit all of them.
        personal: Whether groups may be single people.

    Raises Unanswerable, duckdb.Error."""
    _check(con, name, by, days, filters, personal=personal)
    parameters = {key: literal(day.isoformat()) for key, day in days.items()}
    if schools:
        parameters["schools"] = str(sorted(schools))
    conditions = limits(name, parameters)
    filter_conditions = [filter_.condition for filter_ in filters]
    columns, rows = _groups(con, name, by, [*conditions, *filter_conditions])
    is_personal = any(map(_is_personal, by)) or any(
        filter_.column in _personal_columns() for filter_ in filters
    )
    [(of_schools,)] = con.execute(SMALLEST).fetchall()
    smallest = 0 if is_personal else max(SMALL_GROUP, int(of_schools or 0))
    # Without a split, a measure that nothing is known of is a row, too.
    rows = rows or ([(None,) * len(NUMBERS)] if not by else [])
    counts = [row[STUDENTS] for row in rows]
    hidden = hidden_groups(counts, _totals(columns, by, rows), smallest)
    if filters and smallest:
        # The same groups without the filters, less the answer, are what the filters leave out.
        excluded = f"NOT coalesce({' AND '.join(filter_conditions)}, false)"
        _, rows_left_out = _groups(con, name, by, [*conditions, excluded])
        few = {row[: len(columns)] for row in rows_left_out if is_few(row[STUDENTS], smallest)}
        hidden |= {position for position, row in enumerate(rows) if row[: len(columns)] in few}
        hidden |= _revealing(con, name, by, conditions, filters, columns, rows, smallest)
    noted = [
        (*row[: len(columns)], *_noted(row[len(columns) :], smallest, is_hidden=position in hidden))
        for position, row in enumerate(rows)
    ]
    return [*columns, name, "numerator", "denominator", "students", "note"], noted


def _groups(
    con: duckdb.DuckDBPyConnection, name: str, by: Sequence[str], conditions: Sequence[str]
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The columns that name a group, and the rows: these, and NUMBERS. Raises Unanswerable, duckdb.Error."""
    split = f"CAST([{', '.join(map(literal, by))}] AS VARCHAR[])"
    try:
        result = con.execute(f"SELECT * EXCLUDE (metric) FROM ({query_of(name, split, conditions)})")
    except duckdb.ConversionException as error:
        [problem, *_] = str(error).splitlines()
        raise Unanswerable(f"a value of a filter does not fit its column: {problem}") from error
    columns = [column for column, *_ in result.description or ()]
    return columns[: -len(NUMBERS)], result.fetchall()


def _revealing(
    con: duckdb.DuckDBPyConnection,
    name: str,
    by: Sequence[str],
    conditions: Sequence[str],
    filters: Sequence[Filter],
    columns: Sequence[str],
    rows: Sequence[tuple[Any, ...]],
    smallest: int,
) -> set[int]:
    """The positions of the rows that filters make of parts of groups, such as classes of a cohort, so that
    they reveal a part that a split by these parts hides."""
    outer = [filter_ for filter_ in filters if filter_.column not in columns]
    choosing = [filter_ for filter_ in outer if filter_.column not in TIMES]
    conditions = [*conditions, *(filter_.condition for filter_ in outer if filter_.column in TIMES)]
    touched = catalogue().split_of([filter_.column for filter_ in choosing])
    parts_by = [*by, *(key for key in catalogue().dimensions_of(name) if key in touched)]
    part_columns, parts = _groups(con, name, parts_by, conditions)
    _, chosen_parts = _groups(
        con, name, parts_by, [*conditions, *(filter_.condition for filter_ in choosing)]
    )
    position_of = {part[: len(part_columns)]: position for position, part in enumerate(parts)}
    # A split by cohort, too, gives a class the cohort names of its students: they are no key.
    keys = [column for column in columns if column != "cohort_name"]
    positions = defaultdict[tuple[Any, ...], set[int]](set)
    for part in chosen_parts:
        key = tuple(part[part_columns.index(column)] for column in keys)
        positions[key].add(position_of[part[: len(part_columns)]])
    sums = [positions[tuple(row[columns.index(column)] for column in keys)] for row in rows]
    counts = [part[STUDENTS] for part in parts]
    return revealing_sums(sums, counts, _totals(part_columns, parts_by, parts), smallest)


def _totals(
    columns: Sequence[str], by: Sequence[str], rows: Sequence[tuple[Any, ...]]
) -> list[list[tuple[Any, ...]]]:
    """For each total over the groups of a dimension, the total that each row is part of: of classes, their
    cohort, their school and all. Totals of few groups come first, so that hidden groups are near."""
    dimensions = catalogue().dimensions
    totals = []
    for dimension in by:
        wider_columns = [dimensions[wider].columns for wider in catalogue().wider_than(dimension)]
        for remaining in ([], *wider_columns):
            summed = set(dimensions[dimension].columns) - set(remaining)
            positions = [position for position, column in enumerate(columns) if column not in summed]
            totals.append([tuple(row[position] for position in positions) for row in rows])
    return sorted(totals, key=lambda keys: len(set(keys)), reverse=True)


def _is_personal(dimension: str) -> bool:
    dimensions = catalogue().dimensions
    return dimension in dimensions and dimensions[dimension].is_personal


def _personal_columns() -> set[str]:
    """The columns that only dimensions of single people have."""
    columns: dict[bool, set[str]] = {True: set(), False: set()}
    for dimension in catalogue().dimensions.values():
        columns[dimension.is_personal].update(dimension.columns)
    return columns[True] - columns[False]


def _noted(numbers: tuple[Any, ...], smallest: int, *, is_hidden: bool) -> tuple[Any, ...]:
    """The numbers of a group and a note. A hidden group shows no number."""
    value, students, numerator, denominator = numbers
    if is_hidden:
        note = SMALL if is_few(students, smallest) else REVEALING
        return None, None, None, None, note.format(smallest)
    if value is None:
        return None, None, None, students, NOT_KNOWN
    return value, numerator, denominator, students, ""


def _check(
    con: duckdb.DuckDBPyConnection,
    name: str,
    by: Sequence[str],
    days: Mapping[str, date],
    filters: Sequence[Filter],
    *,
    personal: bool,
) -> None:
    measures: dict[str, tuple[list[str], str | None]] = {
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
            raise Unanswerable(SINGLE_PEOPLE.format(f"a split by {dimension}"))
    columns = {column for dimension in dimensions for column in catalogue().dimensions[dimension].columns}
    for column in (filter_.column for filter_ in filters):
        if column not in columns:
            raise Unanswerable(f"{name} cannot be filtered by {column}; {_near(column, sorted(columns))}")
        if column in _personal_columns() and not personal:
            raise Unanswerable(SINGLE_PEOPLE.format(f"a filter on {column}"))
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
