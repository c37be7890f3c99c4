"""contract.yaml: the published file as a document of the Open Data Contract Standard, version 3.1.

https://bitol-io.github.io/open-data-contract-standard/
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import yaml

from exports.source import records

#: The name of the export.
CONTRACT = "contract"
#: The schemas that readers may rely on. The others are as the platform and the schools have them.
SCHEMAS = ("core", "marts", "quality")
TABLES = """
    SELECT schema_name, table_name, data_type, description, label_zh
    FROM quality.dictionary WHERE schema_name IN $schemas AND column_name IS NULL ORDER BY ALL
"""
COLUMNS = """
    SELECT schema_name, table_name, column_name, data_type, description, label_zh, unit, privacy
    FROM quality.dictionary WHERE schema_name IN $schemas AND column_name IS NOT NULL
    ORDER BY schema_name, table_name, position
"""
RELATIONS = """
    SELECT schema_name, table_name, kind, columns, referenced_schema, referenced_table, referenced_columns
    FROM quality.relations
    WHERE schema_name IN $schemas AND condition IS NULL
        AND coalesce(referenced_schema, 'core') IN $schemas
    ORDER BY ALL
"""
CHECKS = "SELECT model, name FROM quality.check_results ORDER BY ALL"
PUBLICATION = "SELECT version, published_at FROM quality.publication"
#: The standard's types by DuckDB's.
LOGICAL = {
    "BOOLEAN": "boolean",
    "DATE": "date",
    "TIME": "time",
    "TIMESTAMP": "timestamp",
    "VARCHAR": "string",
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UBIGINT"), "integer"),
    **dict.fromkeys(("DECIMAL", "DOUBLE", "FLOAT"), "number"),
    **dict.fromkeys(("STRUCT", "MAP", "JSON", "UNION"), "object"),
}

Rows = dict[tuple[str, str], list[dict[str, Any]]]


def write_contract(con: duckdb.DuckDBPyConnection, path: Path, owners: Sequence[str]) -> int:
    """Write the contract of a published file; returns the number of tables. `owners`: of the data, as mail
    addresses or team:NAME."""
    contract = contract_of(con, owners)
    text = yaml.safe_dump(contract, sort_keys=False, allow_unicode=True, width=110)
    path.write_text(text, encoding="utf-8")
    return len(contract["schema"])


def contract_of(con: duckdb.DuckDBPyConnection, owners: Sequence[str]) -> dict[str, Any]:
    """The contract as the standard's document."""
    columns, relations = (_by_table(con, query) for query in (COLUMNS, RELATIONS))
    checks = defaultdict[str, list[str]](list)
    for check in records(con, CHECKS, {}):
        checks[check["model"]].append(check["name"])
    [publication] = records(con, PUBLICATION, {})
    return {
        "apiVersion": "v3.1.0",
        "kind": "DataContract",
        "id": "campus-warehouse",
        "name": "Campus Warehouse",
        "version": publication["version"] or "0",
        "status": "active",
        "description": {
            "purpose": "Attendance, scores, grades and early warnings of schools, from a school platform",
            "usage": "Read-only, with DuckDB. Null means not known. Join by the school and the key.",
            "limitations": "About children: columns have a privacy class (classification)",
        },
        "servers": [
            {"server": "published", "type": "duckdb", "database": "campus.duckdb", "schema": "marts"}
        ],
        "schema": [
            _table(table, columns, relations, checks[table["table_name"]])
            for table in records(con, TABLES, {"schemas": list(SCHEMAS)})
        ],
        "slaProperties": [
            {"property": "frequency", "value": 1, "unit": "d"},
            {
                "property": "latency",
                "value": 1,
                "unit": "d",
                "element": "freshness.as_of",
                "description": "quality.freshness has the age of each resource and school",
            },
        ],
        "team": {"name": "owners", "members": [{"username": owner} for owner in owners]},
    }


def _by_table(con: duckdb.DuckDBPyConnection, query: str) -> Rows:
    rows: Rows = defaultdict(list)
    for row in records(con, query, {"schemas": list(SCHEMAS)}):
        rows[row["schema_name"], row["table_name"]].append(row)
    return rows


def _table(table: dict[str, Any], columns: Rows, relations: Rows, checks: Sequence[str]) -> dict[str, Any]:
    key = table["schema_name"], table["table_name"]
    primary: list[str] = next((own["columns"] for own in relations[key] if own["kind"] == "primary key"), [])
    references = [own for own in relations[key] if own["kind"] == "foreign key"]
    described = {
        "name": key[1],
        "physicalName": ".".join(key),
        "physicalType": table["data_type"],
        "logicalType": "object",
        "businessName": table["label_zh"],
        "description": table["description"],
        "properties": [_column(column, primary) for column in columns[key]],
        "relationships": [
            {
                "type": "foreignKey",
                "from": [f"{key[1]}.{name}" for name in own["columns"]],
                "to": [f"{own['referenced_table']}.{name}" for name in own["referenced_columns"]],
            }
            for own in references
        ],
        "quality": [{"name": name, "type": "text", "description": name.replace("_", " ")} for name in checks],
    }
    return {name: value for name, value in described.items() if value}


def _column(column: dict[str, Any], primary: Sequence[str]) -> dict[str, Any]:
    name, data_type = column["column_name"], column["data_type"]
    described = {
        "name": name,
        "businessName": column["label_zh"],
        "physicalType": data_type,
        "logicalType": _logical(data_type),
        "description": column["description"],
        "classification": column["privacy"],
    }
    if data_type.endswith("[]"):
        described["items"] = {"logicalType": _logical(data_type[:-2])}
    if name in primary:
        described |= {"primaryKey": True, "primaryKeyPosition": primary.index(name) + 1, "required": True}
    if column["unit"]:
        described["customProperties"] = [{"property": "unit", "value": column["unit"]}]
    return {name: value for name, value in described.items() if value is not None}


def _logical(data_type: str) -> str:
    """The standard's type of a column. Others are text to it."""
    return "array" if data_type.endswith("[]") else LOGICAL.get(re.split(r"\W", data_type)[0], "string")
