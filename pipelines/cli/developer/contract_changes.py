"""What a change of the published tables breaks for their readers, compared with the last release."""

from collections.abc import Mapping
from typing import Any

#: Types by column, and the columns of the key.
Promise = Mapping[str, Any]


def promises(contract: Mapping[str, Any]) -> dict[str, Promise]:
    """What a contract (exports/contract.py) promises of each table, by `schema.table`."""
    return {
        table["physicalName"]: {
            "key": [column["name"] for column in table["properties"] if column.get("primaryKey")],
            "columns": {column["name"]: column["physicalType"] for column in table["properties"]},
        }
        for table in contract["schema"]
    }


def breaking_changes(before: Mapping[str, Promise], now: Mapping[str, Promise]) -> dict[str, str]:
    """The changes that break a reader's query or join, by the name of the table or column. A new table or
    column breaks nothing."""
    changes: dict[str, str] = {}
    for table, promise in before.items():
        if table not in now:
            changes[table] = "is gone"
            continue
        columns = now[table]["columns"]
        for column, data_type in promise["columns"].items():
            if column not in columns:
                changes[f"{table}.{column}"] = "is gone"
            elif columns[column] != data_type:
                changes[f"{table}.{column}"] = f"was {data_type} and is {columns[column]}"
        if promise["key"] and set(promise["key"]) != set(now[table]["key"]):
            changes[table] = f"had the key {promise['key']} and has {now[table]['key']}"
    return changes
