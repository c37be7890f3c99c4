"""Which statements an assistant may run: one SELECT on the tables shown to it.

DuckDB has no rights for users. So its own parser gives the statement as a tree, and each table and function
in the tree must be among those allowed here. Whatever a later version of DuckDB adds is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import duckdb

#: Functions without effects, without access to files and settings, and with results of bounded size.
FUNCTIONS = frozenset(Path(__file__).with_name("functions.txt").read_text(encoding="utf-8").split())
#: The parts of a statement that only read; WITH may also have parts that write.
READING = frozenset(("SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"))
TABLE_FUNCTIONS = frozenset(("range", "generate_series", "unnest"))
OPERATOR = re.compile(r"[^\w]+|is (not )?distinct from|__postfix|!__postfix", re.IGNORECASE)

#: The views of DuckDB itself, which need no schema.
INTERNAL = "SELECT view_name FROM duckdb_views() WHERE internal"


class Refused(Exception):
    """A statement that is not run. The message says to the assistant what to write instead."""


def check_statement(con: duckdb.DuckDBPyConnection, statement: str, tables: Collection[str]) -> None:
    """Refuse all but a single SELECT on `tables` (`schema.table`), with known functions. Raises Refused."""
    [(serialized,)] = con.execute("SELECT json_serialize_sql(?)", [statement]).fetchall()
    tree = json.loads(serialized)
    if tree["error"]:
        syntax = tree.get("error_type") == "parser"
        raise Refused(tree["error_message"] if syntax else "only SELECT is answered, without PIVOT and SHOW")
    if len(tree["statements"]) != 1:
        raise Refused("one statement at a time is answered")
    nodes = list(_nodes(tree))
    with_names = {entry["key"].lower() for node in nodes for entry in node.get("map", ()) if "key" in entry}
    internal = {name for (name,) in con.execute(INTERNAL).fetchall()}
    if taken := with_names & internal:
        raise Refused(f"give the table {min(taken)} of WITH another name")
    for node in nodes:
        kind = str(node.get("type"))
        if kind.endswith("_NODE") and kind not in READING:
            raise Refused("only SELECT is answered, in WITH too")
        if "function_name" in node:
            _check_function(node["function_name"].lower())
        match kind:
            case "SHOW_REF":
                raise Refused("use the tools list_tables and describe_table instead of SHOW and DESCRIBE")
            case "BASE_TABLE":
                _check_table(node, tables, with_names)
            case "TABLE_FUNCTION":
                name = node["function"]["function_name"].lower()
                if name not in TABLE_FUNCTIONS:
                    raise Refused(f"the function {name} is not available in FROM")


def _check_table(node: dict[str, Any], tables: Collection[str], with_names: Collection[str]) -> None:
    catalog, schema, name = (node[part].lower() for part in ("catalog_name", "schema_name", "table_name"))
    full = f"{schema}.{name}" if schema else name
    if catalog or not (full in tables or (not schema and full in with_names)):
        unqualified = [table for table in sorted(tables) if table.endswith(f".{name}")]
        hint = f"write {unqualified[0]}" if unqualified else "list_tables names the tables"
        raise Refused(f"there is no table {'.'.join(filter(None, (catalog, full)))}: {hint}")


def _check_function(name: str) -> None:
    if name not in FUNCTIONS and not OPERATOR.fullmatch(name):
        raise Refused(f"the function {name} is not available")


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Each object of a parsed statement."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node
