"""Names and texts in SQL, and the names of columns that the warehouse itself adds. Pure."""

from collections.abc import Sequence

#: Beside the fields of a report: the platform's order of its rows, and which of its results they are of.
ROW_NUMBER, PARAMS = "_row_number", "_params"


def quoted(name: str) -> str:
    """An identifier, whatever the platform called its field."""
    return '"' + name.replace('"', '""') + '"'


def relation(name: str) -> str:
    """The quoted form of `schema.table`; all behind the first dot is the table's name."""
    schema, _, table = name.partition(".")
    return f"{quoted(schema)}.{quoted(table)}"


def folded(name: str) -> str:
    """What DuckDB knows a name by: it takes A to Z for a to z, and nothing else."""
    return name.encode().lower().decode()


def literal(text: str) -> str:
    """A text constant, for where SQL takes no parameter."""
    return "'" + text.replace("'", "''") + "'"


def listed(names: Sequence[str], prefix: str = "") -> str:
    """`prefix`.a, `prefix`.b for a select list."""
    return ", ".join(f"{prefix}{quoted(name)}" for name in names)
