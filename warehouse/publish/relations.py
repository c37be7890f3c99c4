"""The keys and references of the published file's models, as `quality.relations`.

The yml files declare them by the checks `unique_key`, `related` and `references`, which each
build runs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from warehouse.lake.logs.tables import Log
from warehouse.lake.sql import create_table, view
from warehouse.lake.tables import TIMESTAMP, Column, comments

RELATIONS = Log(
    name="relations",
    comment="Keys of tables, and the tables that their columns refer to; each is checked",
    label_zh="表间关系",
    columns=(
        Column("schema_name", pa.string(), "Schema", label_zh="模式"),
        Column("table_name", pa.string(), "Table", label_zh="表"),
        Column(
            "kind",
            pa.string(),
            "primary key; unique key: a further key, or a key with columns that may be null; foreign key",
            label_zh="类型",
        ),
        Column("columns", pa.list_(pa.string()), "Columns of the key or reference", label_zh="列"),
        Column(
            "condition", pa.string(), "The rows that it holds for, in SQL; null: all", label_zh="适用条件"
        ),
        Column("referenced_schema", pa.string(), "Of a foreign key: schema", label_zh="被引用模式"),
        Column("referenced_table", pa.string(), "Of a foreign key: table or view", label_zh="被引用表"),
        Column(
            "referenced_columns",
            pa.list_(pa.string()),
            "Of a foreign key: columns, in the order of `columns`",
            label_zh="被引用列",
        ),
        Column("cardinality", pa.string(), "Of a foreign key: many to one, or one to one", label_zh="基数"),
        Column("check_name", pa.string(), "Its check, as in check_results", label_zh="检查名称"),
        Column("checked_at", TIMESTAMP, "Time of the last check", label_zh="检查时间"),
    ),
)
SCHOOL = "school_id"
#: A part of a key that may be null, such as coalesce(week, 0).
NULLABLE = re.compile(r"coalesce\((\w+),.*\)")
KINDS = ("primary key", "unique key", "foreign key")
#: A rule of the check `holds` that lists the values of a column, maybe beside null.
LISTED_VALUES = re.compile(r"(?:coalesce\()?(\w+) in \(('[^()]*')\)(?:, true\))?")


def record_relations(con: duckdb.DuckDBPyConnection, project: Mapping[str, Any]) -> None:
    """Write `quality.relations` into a file whose checks are recorded. `project`: compiled."""
    view(con, "empty", [], RELATIONS.lake_schema)
    con.execute("DROP TABLE IF EXISTS quality.relations")
    create_table(con, "quality.relations", "FROM empty", RELATIONS.comment, comments(RELATIONS.columns))
    con.register("declared", pa.Table.from_pylist(relations(project), schema=RELATIONS.lake_schema))
    con.execute(
        """
        INSERT INTO quality.relations
        SELECT declared.* REPLACE (check_results.checked_at AS checked_at)
        FROM declared LEFT JOIN quality.check_results ON check_results.name = declared.check_name
        """
    )


def relations(project: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of `quality.relations` without times: by table, first its keys. `project`: compiled."""
    nodes = project["nodes"]
    checks = [
        (nodes[node["attached_node"]], node, node["test_metadata"])
        for node in nodes.values()
        if node.get("test_metadata") and node.get("attached_node") in nodes
    ]
    keys = [
        _key(_row(table, check), test["kwargs"]["columns"])
        for table, check, test in checks
        if test["name"] == "unique_key"
    ]
    schemas = {node["name"]: node["schema"] for node in nodes.values()}
    references = [
        _reference(_row(table, check), *reference, schemas, keys)
        for table, check, test in checks
        for reference in _arguments(test)
    ]
    return sorted(
        [*keys, *references],
        key=lambda row: (row["schema_name"], row["table_name"], KINDS.index(row["kind"])),
    )


def allowed_values(project: Mapping[str, Any]) -> dict[tuple[str, str, str], list[str]]:
    """By schema, table and column, the values that the checks `known_values` and `holds` allow. `project`:
    compiled."""
    nodes = project["nodes"]
    values: dict[tuple[str, str, str], list[str]] = {}
    for node in nodes.values():
        test, table = node.get("test_metadata") or {"name": ""}, nodes.get(node.get("attached_node"))
        if table is None or node["config"].get("where"):
            continue
        model = (table["schema"], table["name"])
        if test["name"] == "known_values":
            values[*model, test["kwargs"]["column_name"]] = [*map(str, test["kwargs"]["values"])]
        elif test["name"] == "holds":
            for rule in re.split(r"\s+and\s+", test["kwargs"]["condition"].strip()):
                if match := LISTED_VALUES.fullmatch(rule):
                    values[*model, match[1]] = re.findall(r"'([^']*)'", match[2])
    return values


def _row(table: Mapping[str, Any], check: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "schema_name": table["schema"],
        "table_name": table["name"],
        "condition": check["config"].get("where"),
        "check_name": check["name"],
    }


def _key(row: dict[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    nullable = [NULLABLE.fullmatch(column) for column in columns]
    # Checks are listed by name, so their names say which of several keys comes first.
    is_primary = row["check_name"] == f"{row['table_name']}_key" and not any(nullable)
    return {
        **row,
        "kind": "primary key" if is_primary else "unique key",
        "columns": [match[1] if match else column for match, column in zip(nullable, columns, strict=True)],
    }


def _arguments(test: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The column, table and column there of each reference that a check tests; empty: it tests none."""
    arguments = test["kwargs"]
    if test["name"] == "related":
        table = arguments["to"].removeprefix("ref('").removesuffix("')")
        return [(arguments["column_name"], table, arguments["field"])]
    if test["name"] == "references":
        targets = ((column, target.partition(".")) for column, target in arguments["to"].items())
        return [(column, table, field) for column, (table, _, field) in targets]
    return []


def _reference(
    row: dict[str, Any],
    column: str,
    referenced: str,
    field: str,
    schemas: Mapping[str, str],
    keys: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    """A foreign key, with the school in front."""
    columns = list(dict.fromkeys((SCHOOL, column)))
    is_unique = any(
        key["table_name"] == row["table_name"]
        and key["condition"] is None
        and set(key["columns"]) <= set(columns)
        for key in keys
    )
    return {
        **row,
        "kind": "foreign key",
        "columns": columns,
        "referenced_schema": schemas[referenced],
        "referenced_table": referenced,
        "referenced_columns": list(dict.fromkeys((SCHOOL, field))),
        "cardinality": "one to one" if is_unique else "many to one",
    }
