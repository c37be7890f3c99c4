"""What a change of the published tables breaks for their readers, compared with the last release."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

#: Of a table: its meaning, the columns of its key, and by column its type, unit, meaning, values and whether
#: it is required. Of a macro: its meaning, unit, parameters and dimensions.
Promise = Mapping[str, Any]


def promises(contracts: Iterable[Mapping[str, Any]]) -> dict[str, Promise]:
    """What contracts (exports/contract.py) promise of each table and macro, by `schema.name`."""
    promised: dict[str, Promise] = {}
    for contract in contracts:
        [server] = contract["servers"]
        for table in contract["schema"]:
            promised[f"{server['schema']}.{table['name']}"] = {
                "meaning": table.get("description"),
                "key": [column["name"] for column in table["properties"] if column.get("primaryKey")],
                "columns": {column["name"]: _column(column) for column in table["properties"]},
            }
        for macro in _custom(contract).get("macros", ()):
            promised[f"{server['schema']}.{macro['name']}"] = {
                "meaning": macro["description"],
                "unit": macro["unit"],
                "parameters": macro["parameters"],
                "dimensions": macro["dimensions"],
            }
    return promised


def _column(column: Mapping[str, Any]) -> dict[str, Any]:
    values = [rule["arguments"]["validValues"] for rule in column.get("quality", ()) if "arguments" in rule]
    described = {
        "type": column["physicalType"],
        "unit": _custom(column).get("unit"),
        "meaning": column.get("description"),
        "values": values[0] if values else None,
        "required": column.get("required"),
    }
    return {field: value for field, value in described.items() if value is not None}


def _custom(element: Mapping[str, Any]) -> dict[str, Any]:
    return {entry["property"]: entry["value"] for entry in element.get("customProperties", ())}


def breaking_changes(before: Mapping[str, Promise], now: Mapping[str, Promise]) -> dict[str, str]:
    """The changes that break a reader's query, join or understanding, by the name of the table, column or
    macro. A new table, column or macro breaks nothing."""
    changes: dict[str, list[str]] = {}
    for table, promise in before.items():
        if table not in now:
            changes[table] = ["is gone"]
            continue
        changes[table] = [
            *_changed(promise, now[table], ("unit", "meaning")),
            *_changed_key(promise, now[table]),
        ]
        for field in ("parameters", "dimensions"):
            if gone := set(promise.get(field, ())) - set(now[table].get(field, ())):
                changes[table].append(f"lacks the {field} {sorted(gone)}")
        columns = now[table].get("columns", {})
        for column, promised in promise.get("columns", {}).items():
            changes[f"{table}.{column}"] = list(_changed_column(promised, columns.get(column)))
    return {name: "; ".join(texts) for name, texts in changes.items() if texts}


def _changed_key(before: Promise, now: Promise) -> Iterator[str]:
    if before.get("key") and set(before["key"]) != set(now["key"]):
        yield f"had the key {before['key']} and has {now['key']}"


def _changed_column(before: Promise, now: Promise | None) -> Iterator[str]:
    if now is None:
        yield "is gone"
        return
    yield from _changed(before, now, ("type", "unit", "meaning", "values"))
    if before.get("required") and not now.get("required"):
        yield "was never null and may be null"


def _changed(before: Promise, now: Promise, fields: Iterable[str]) -> Iterator[str]:
    for field in fields:
        if before.get(field) != now.get(field):
            yield f"{field} was {before.get(field)} and is {now.get(field)}"
