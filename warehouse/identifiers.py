"""Quoting of SQL names and texts, and names of columns that the warehouse adds. Pure."""

from collections.abc import Iterable, Sequence

#: Columns added to the fields of a report: the platform's row order, and the parameters of the query.
ROW_NUMBER, PARAMS = "_row_number", "_params"


def quoted(name: str) -> str:
    """Quote an identifier, which may hold any characters."""
    return '"' + name.replace('"', '""') + '"'


def relation(name: str) -> str:
    """Quote `schema.table`; everything after the first dot is the table's name."""
    schema, _, table = name.partition(".")
    return f"{quoted(schema)}.{quoted(table)}"


def folded(name: str) -> str:
    """Fold the case of a name as DuckDB does: only A to Z become a to z."""
    return name.encode().lower().decode()


def literal(text: str) -> str:
    """Quote a text constant, where SQL takes no parameter."""
    return "'" + text.replace("'", "''") + "'"


def listed(names: Sequence[str], prefix: str = "") -> str:
    """Join quoted names for a select list; `prefix` (such as `t.`) goes before each."""
    return ", ".join(f"{prefix}{quoted(name)}" for name in names)


def among(column: str, ids: Iterable[int]) -> str:
    """The condition that a column has one of these ids."""
    return f"{quoted(column)} IN ({', '.join(map(str, ids))})"
