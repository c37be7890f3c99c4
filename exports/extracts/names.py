"""Finds names of people in the names of things: a class "Maths with Zhang Wei" would undo a pseudonym."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import duckdb

from warehouse.identifiers import literal, quoted, relation

#: The schemas with people's names and numbers as the platform sent them.
SCHEMAS = ("raw", "core")
NAMING = """
    SELECT schema_name || '.' || table_name, column_name, privacy = 'name'
    FROM quality.dictionary
    WHERE list_contains($schemas, schema_name) AND data_type = 'VARCHAR'
        AND privacy IN ('name', 'number', 'phone', 'email')
"""
#: Shorter names and numbers are parts of many words, and identify nobody.
SHORTEST_NAME, SHORTEST_NUMBER = 2, 4


def names_of_people(con: duckdb.DuckDBPyConnection) -> set[str]:
    """The names, numbers, phone numbers and email addresses in a published file, folded."""
    names = set[str]()
    for table, column, is_name in con.execute(NAMING, {"schemas": list(SCHEMAS)}).fetchall():
        shortest = SHORTEST_NAME if is_name else SHORTEST_NUMBER
        values = con.execute(f"SELECT DISTINCT {quoted(column)} FROM {relation(table)}").fetchall()
        names |= {text for (value,) in values if value and len(text := folded(value)) >= shortest}
    return names


def labels_that_name(
    con: duckdb.DuckDBPyConnection, source: str, column: str, names: Collection[str], *, is_list: bool
) -> list[str]:
    """The texts of a column, or members of its lists, that contain one of `names`.

    `source`: SQL after FROM."""
    value = f"unnest({quoted(column)})" if is_list else quoted(column)
    rows = con.execute(f"SELECT DISTINCT {value} AS value FROM {source}").fetchall()
    return values_that_name([value for (value,) in rows if value is not None], names)


def values_that_name(values: Iterable[str], names: Collection[str]) -> list[str]:
    """The values that contain one of `names` (folded), regardless of case and spaces."""
    names = frozenset(names)
    lengths = sorted({len(name) for name in names})
    return [value for value in values if _contains(folded(value), names, lengths)]


def folded(text: str) -> str:
    """A text without spaces, in one case."""
    return "".join(text.split()).casefold()


def _contains(text: str, names: frozenset[str], lengths: Iterable[int]) -> bool:
    return any(
        text[start : start + length] in names for length in lengths for start in range(len(text) - length + 1)
    )


def blanked(column: str, is_list: bool, values: Collection[str]) -> str:
    """SQL for a column without these values, or for lists without these members."""
    listed = ", ".join(map(literal, values))
    if is_list:
        return f"list_filter({quoted(column)}, lambda member: member NOT IN ({listed}))"
    return f"CASE WHEN {quoted(column)} NOT IN ({listed}) THEN {quoted(column)} END"
