"""contract_SCHEMA.yaml: a schema of the published file as a document of the Open Data Contract Standard 3.1.
A server of the standard has one schema, so each schema has a document.

https://bitol-io.github.io/open-data-contract-standard/
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import yaml

from exports.library.words import content_of
from warehouse.published.reading import records

#: The name of the export.
CONTRACT = "contract"
#: The schemas that readers may rely on. `datasets` has the tables of the platform's own datasets.
SCHEMAS = ("core", "marts", "views", "quality", "oneroster", "datasets")
CONTENT = content_of("contract", Path(__file__).parent)
QUERIES: Mapping[str, str] = CONTENT["queries"]
#: The standard's types by DuckDB's.
LOGICAL = {name: logical for logical, names in CONTENT["logical_types"].items() for name in names}

#: Rows by their table.
RowsByTable = dict[str, list[dict[str, Any]]]


def existing_schemas(con: duckdb.DuckDBPyConnection) -> list[str]:
    """The schemas of a published file that have a contract: those with tables."""
    return [schema for _, schema in con.execute(QUERIES["existing"], {"schemas": list(SCHEMAS)}).fetchall()]


def contract_file(schema: str) -> str:
    """The name of a schema's document."""
    return f"contract_{schema}.yaml"


def write_contract(con: duckdb.DuckDBPyConnection, path: Path, schema: str, owners: Sequence[str]) -> int:
    """Write the contract of a schema of a published file; returns the number of tables. `owners`: of the
    data, as mail addresses or team:NAME."""
    contract = _contract(con, schema, owners)
    text = yaml.safe_dump(contract, sort_keys=False, allow_unicode=True, width=110)
    path.write_text(text, encoding="utf-8")
    return len(contract["schema"])


def _contract(con: duckdb.DuckDBPyConnection, schema: str, owners: Sequence[str]) -> dict[str, Any]:
    """The contract as the standard's document."""
    columns, relations = (_by_table(con, name, schema) for name in ("columns", "relations"))
    checks = defaultdict[str, list[str]](list)
    for check in records(con, QUERIES["checks"], {}):
        checks[check["model"]].append(check["name"])
    [publication] = records(con, QUERIES["publication"], {})
    macros = records(con, QUERIES["macros"], {}) if schema == "marts" else []
    document = CONTENT["document"]
    return {
        **document,
        "id": document["id"].format(schema=schema),
        "name": document["name"].format(schema=schema),
        "version": publication["version"] or "0",
        "servers": [CONTENT["server"] | {"schema": schema}],
        "schema": [
            _table(table, columns, relations, checks[table["table_name"]])
            for table in records(con, QUERIES["tables"], {"schema": schema})
        ],
        "team": {"name": "owners", "members": [{"username": owner} for owner in owners]},
        **({"customProperties": [{"property": "macros", "value": macros}]} if macros else {}),
    }


def _by_table(con: duckdb.DuckDBPyConnection, name: str, schema: str) -> RowsByTable:
    rows: RowsByTable = defaultdict(list)
    for row in records(con, QUERIES[name], {"schema": schema}):
        rows[row["table_name"]].append(row)
    return rows


def _table(
    table: dict[str, Any], columns: RowsByTable, relations: RowsByTable, checks: Sequence[str]
) -> dict[str, Any]:
    name = table["table_name"]
    primary: list[str] = next((key["columns"] for key in relations[name] if key["kind"] == "primary key"), [])
    described = {
        "name": name,
        "physicalName": name,
        "physicalType": table["data_type"],
        "logicalType": "object",
        "businessName": table["label_zh"],
        "description": table["description"],
        "properties": [_column(column, primary, table["schema_name"]) for column in columns[name]],
        "relationships": [
            {
                "type": "foreignKey",
                "from": [f"{name}.{column}" for column in row["columns"]],
                "to": [f"{row['referenced_table']}.{column}" for column in row["referenced_columns"]],
            }
            for row in relations[name]
            if row["kind"] == "foreign key"
        ],
        "quality": [
            {"name": check, "type": "text", "description": check.replace("_", " ")} for check in checks
        ],
    }
    return {field: value for field, value in described.items() if value}


def _column(column: dict[str, Any], primary: Sequence[str], schema: str) -> dict[str, Any]:
    name, data_type = column["column_name"], column["data_type"]
    refers_to = column["refers_to"] or ""
    # The standard has no relationship to a table of another document.
    properties = {
        "unit": column["unit"],
        "refersTo": refers_to if not refers_to.startswith(f"{schema}.") else None,
    }
    described = {
        "name": name,
        "businessName": column["label_zh"],
        "physicalType": data_type,
        "logicalType": _logical(data_type),
        "description": column["description"],
        "classification": column["privacy"],
        "customProperties": [{"property": key, "value": value} for key, value in properties.items() if value],
    }
    if data_type.endswith("[]"):
        described["items"] = {"logicalType": _logical(data_type[:-2])}
    if name in primary:
        described |= {"primaryKey": True, "primaryKeyPosition": primary.index(name) + 1, "required": True}
    if column["allowed_values"]:
        # A value that the interface does not list is a warning.
        rule = {"metric": "invalidValues", "mustBe": 0, "severity": "warning"}
        described["quality"] = [rule | {"arguments": {"validValues": column["allowed_values"]}}]
    return {field: value for field, value in described.items() if value not in (None, [])}


def _logical(data_type: str) -> str:
    """The standard's type of a column. Others are text to it."""
    return "array" if data_type.endswith("[]") else LOGICAL.get(re.split(r"\W", data_type)[0], "string")
