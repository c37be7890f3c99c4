"""What is true of the datasets of a platform, typed by its metadata without any code of `campus`."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

Row = Mapping[str, Any]
# The true rows of a resource of the school, as RunningSimulator.rows gives them, decimals exactly.
Rows = Callable[[str], Sequence[Row]]


def day_of(sent: str) -> date:
    """A date, or the moment at which it begins, in UTC where it says so."""
    moment = datetime.fromisoformat(sent)
    return (moment + timedelta(hours=8)).date() if moment.tzinfo else moment.date()


TYPES: dict[str, Callable[[Any], Any]] = {
    "integer": int,
    "decimal": lambda sent: Decimal(str(sent)),
    "string": str,
    "text": str,
    "enum": lambda sent: sent,
    "date": day_of,
    "timestamp": datetime.fromisoformat,
    "boolean": lambda sent: {"true": True, "false": False}.get(sent, bool(sent)),
}


def names(rows: Rows) -> list[str]:
    """The datasets of the school."""
    return [entry["row"]["name"] for entry in rows("datasets")]


def fields_of(rows: Rows, name: str) -> list[Row]:
    """The metadata of a dataset's fields, by position."""
    mine = [entry["row"] for entry in rows("dataset_fields") if entry["row"]["dataset"] == name]
    return sorted(mine, key=lambda field: field["position"])


def true_rows(rows: Rows, name: str) -> list[dict[str, Any]]:
    """The records of a dataset by its own field names, each value as a column of its type holds it."""
    fields = fields_of(rows, name)
    return [
        {field["name"]: value_of(field, entry["row"][field["name"]]) for field in fields}
        for entry in rows(f"datasets/{name}")
    ]


def value_of(field: Row, sent: Any) -> Any:
    """What a column of a field holds of a JSON value; of a type that is unknown, JSON in one spelling."""
    if sent is None:
        return None
    if field["type"] == "enum" and {type(choice) for choice in field["enum"] or ""} == {int}:
        # Text has no place in its column.
        return sent if isinstance(sent, int) else None
    if field["type"] in TYPES:
        return TYPES[field["type"]](sent)
    return canonical(sent if isinstance(sent, str) else json.dumps(sent))


def canonical(text: str) -> str:
    """JSON in one spelling; text that is none stays what it is."""
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except ValueError:
        return text


def spelt(rows: Rows, name: str, read_rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Records that were read, what is JSON in them in the spelling of `true_rows`."""
    untyped = {field["name"] for field in fields_of(rows, name) if field["type"] not in TYPES}
    return [
        {key: canonical(value) if key in untyped and value else value for key, value in row.items()}
        for row in read_rows
    ]


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Rows of the same names, of any kind, duplicates and nulls too, in one order."""
    return sorted(rows, key=lambda row: repr([_plain(row[name]) for name in sorted(row)]))


def _plain(value: Any) -> Any:
    """A number as it is spelt whatever column it is in."""
    if type(value) is not Decimal:
        return value
    return int(value) if value == value.to_integral_value() else value.normalize()
