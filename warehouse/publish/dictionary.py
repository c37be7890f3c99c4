"""The dictionary: every table and column of the published file, with type, meaning, unit and source.

Types and meanings are those of the file, where comments carry what contracts and models say; labels and units
are those of labels.py. The source of a model is the line `-- Source:` of its header.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa

from warehouse.identifiers import literal, quoted, relation
from warehouse.lake.log_tables import Log
from warehouse.lake.sql import create_table, transaction, view
from warehouse.lake.tables import BOOKKEEPING, SCHOOL_ID, Column, Table, comments
from warehouse.privacy import CLASSES
from warehouse.publish.dbt_project import ModelsBroken, source_of
from warehouse.publish.fill import CONTENTS
from warehouse.publish.labels import Label, Labels
from warehouse.publish.publish import CHECK_RESULTS, PUBLICATION

DICTIONARY = Log(
    name="dictionary",
    comment="Every table and column of this file: type, meaning, unit and source",
    label_zh="数据字典",
    columns=(
        Column("schema_name", pa.string(), "Schema", label_zh="模式"),
        Column("table_name", pa.string(), "Table or view", label_zh="表"),
        Column("column_name", pa.string(), "Column; null: the table itself", label_zh="列"),
        Column("position", pa.int32(), "Place of the column, from 1; 0: the table itself", label_zh="位置"),
        Column("data_type", pa.string(), "Type of the column; of a table: table or view", label_zh="类型"),
        Column("description", pa.string(), "Meaning", label_zh="说明"),
        Column("label_zh", pa.string(), "Name in Chinese", label_zh="中文名称"),
        Column("unit", pa.string(), "Unit, where it is measured in one", label_zh="读取单元"),
        Column("source", pa.string(), "Where it comes from", label_zh="来源"),
        Column(
            "stands_on",
            pa.list_(pa.string()),
            "Of a table the resources of load_log that it is made of, models in between left out",
            label_zh="依据的资源",
        ),
        Column(
            "privacy",
            pa.string(),
            "What a column says of people (docs/reference/privacy.md); null: nobody has classified it",
            label_zh="隐私类别",
        ),
    ),
)

#: Where the tables of a schema come from that have nothing more particular to say.
SOURCES = {
    "datasets": "the platform's dataset of this name",
    "reports": "the platform's report of this name",
    "seeds": "warehouse/dbt/seeds",
    "quality": "the warehouse's own account",
}
OF_A_CHECK = "The rows behind the warning of the check of this name"

CATALOG = """
    WITH relations AS (
        SELECT schema_name, table_name, 'table' AS data_type, comment
        FROM duckdb_tables() WHERE NOT temporary
        UNION ALL
        SELECT schema_name, view_name, 'view', comment
        FROM duckdb_views() WHERE NOT internal AND NOT temporary
    )
    SELECT
        schema_name, table_name, NULL AS column_name, 0 AS position, data_type, comment AS description
    FROM relations
    UNION ALL
    SELECT schema_name, table_name, column_name, column_index, columns.data_type, columns.comment
    FROM duckdb_columns() AS columns
    SEMI JOIN relations USING (schema_name, table_name)
    ORDER BY ALL
"""


@dataclass(frozen=True)
class Said:
    """What a model or its column says of itself; empty: nothing."""

    description: str = ""
    source: str = ""


def record_dictionary(
    con: duckdb.DuckDBPyConnection,
    project: Mapping[str, Any],
    tables: Iterable[Table],
    endpoints: Mapping[str, str],
) -> None:
    """Write the dictionary into a file not yet published. `project`: compiled; `tables`: those of `raw`;
    `endpoints`: the path of the interface that each of them is read from."""
    tables = tuple(tables)
    view(con, "held", [], DICTIONARY.lake_schema)
    con.execute("DROP TABLE IF EXISTS quality.dictionary")
    create_table(con, "quality.dictionary", "FROM held", DICTIONARY.comment, comments(DICTIONARY.columns))
    catalog = con.sql(CATALOG).to_arrow_table().to_pylist()
    columns = {(row["schema_name"], row["table_name"], row["column_name"]) for row in catalog}
    labels = Labels(project, columns, tables, (CONTENTS, CHECK_RESULTS, PUBLICATION, DICTIONARY))
    rows = list(
        _entries(
            catalog,
            _said_by_models(project),
            labels,
            endpoints,
            _made_of(project),
            _beside_views(project),
            privacy_classes(project, tables),
        )
    )
    con.register("entries", pa.Table.from_pylist(rows, schema=DICTIONARY.lake_schema))
    con.execute("INSERT INTO quality.dictionary FROM entries")
    _comment_on_views(con, catalog, rows)


def _comment_on_views(
    con: duckdb.DuckDBPyConnection, catalog: Iterable[Mapping[str, Any]], rows: Iterable[Mapping[str, Any]]
) -> None:
    """Write what the dictionary says of columns of staging into the file, where nothing is written yet: a
    view has the comments of its columns until it is made anew."""
    with transaction(con):
        for held, row in zip(catalog, rows, strict=True):
            is_bare = row["column_name"] and row["description"] and not held["description"]
            if row["schema_name"] == "staging" and is_bare:
                place = relation(f"staging.{row['table_name']}") + "." + quoted(row["column_name"])
                con.execute(f"COMMENT ON COLUMN {place} IS {literal(row['description'])}")


def _entries(
    catalog: list[dict[str, Any]],
    models: Mapping[tuple[str, ...], Said],
    labels: Labels,
    endpoints: Mapping[str, str],
    made_of: Mapping[str, set[str]],
    beside: Mapping[str, list[tuple[str, str]]],
    privacy: Mapping[tuple[str, str, str], str],
) -> Iterator[dict[str, Any]]:
    told = {key: said.description for key, said in models.items() if len(key) == 3 and said.description}
    told |= {
        (row["schema_name"], row["table_name"], row["column_name"]): row["description"] for row in catalog
    }
    by_name = {key[2]: text for key, text in told.items() if key[0] == "core"}
    # Rules in force are each of one school, those of a seed may be of all.
    told = {key: text for key, text in told.items() if (key[0], key[2]) != ("seeds", "school_id")}
    for row in catalog:
        schema, table, column = row["schema_name"], row["table_name"], row["column_name"]
        of_table = models.get((schema, table), Said())
        said = of_table if column is None else models.get((schema, table, column), Said())
        # A view of staging says only of those columns anything that are described nowhere near it.
        elsewhere = None
        if schema == "staging":
            near = (told.get((*place, column)) for place in beside.get(table, ()))
            elsewhere = next(filter(None, near), by_name.get(column))
        label = _label(labels, schema, table, column)
        endpoint = endpoints.get(table, "") if schema == "raw" else ""
        source = said.source or of_table.source or endpoint or SOURCES.get(schema)
        description = row["description"] or said.description or elsewhere
        if not description and schema == "quality" and column is None:
            description = OF_A_CHECK
        yield {
            **row,
            "description": description or None,
            "label_zh": label.label_zh or None,
            "unit": label.unit or None,
            "source": source,
            "stands_on": None if column else sorted(_resources(made_of, schema, table)),
            "privacy": privacy.get((schema, table, column)) if column else None,
        }


def privacy_classes(project: Mapping[str, Any], tables: Iterable[Table]) -> dict[tuple[str, str, str], str]:
    """The privacy class of each classified column, by schema, table and column: of `raw` as the contracts
    state it, of models as their yml does. `project`: compiled. The thresholds in `seeds` name nobody.

    Raises ModelsBroken where a yml names no class of warehouse.privacy, or classifies a column twice."""
    classes = {
        ("raw", table.name, column.name): column.privacy
        for table in tables
        for column in (*table.columns, SCHOOL_ID, *BOOKKEEPING)
        if column.privacy
    }
    for node in project["nodes"].values():
        if node["resource_type"] == "seed":
            classes |= {(node["schema"], node["name"], column): "plain" for column in node["columns"]}
        stated = node.get("config", {}).get("meta", {}).get("privacy", {})
        for privacy_class, columns in stated.items():
            for column in columns:
                place = (node["schema"], node["name"], column)
                if privacy_class not in CLASSES or place in classes:
                    raise ModelsBroken(
                        f"{node['name']}: meta.privacy of {column}: {privacy_class} is no class of "
                        "warehouse/privacy.py, or the second one of the column"
                    )
                classes[place] = privacy_class
    return classes


def _resources(made_of: Mapping[str, set[str]], schema: str, table: str) -> set[str]:
    """The tables of the lake that a table stands on, as the load log calls them."""
    if schema == "raw":
        return {table}
    name = f"{schema}.{table}"
    # A dataset that did not move is not asked for: what says so is the list of datasets.
    of_the_platform = {"datasets": {name, "datasets"}, "reports": {name}}
    return of_the_platform.get(schema) or made_of.get(name, set())


def _made_of(project: Mapping[str, Any]) -> dict[str, set[str]]:
    """The tables of `raw` that each model is made of, by `schema.model`."""
    nodes = project["sources"] | project["nodes"]

    @cache
    def below(key: str) -> frozenset[str]:
        node = nodes[key]
        if node.get("source_name") == "raw":
            return frozenset({node["name"]})
        return frozenset().union(*map(below, node.get("depends_on", {}).get("nodes", ())))

    models = {key: node for key, node in project["nodes"].items() if node["resource_type"] == "model"}
    return {f"{node['schema']}.{node['name']}": set(below(key)) for key, node in models.items()}


def _beside_views(project: Mapping[str, Any]) -> dict[str, list[tuple[str, str]]]:
    """The tables beside each view of staging, as schema and table: those of core that read it, dimensions and
    facts first, and those that it reads."""
    nodes = project["sources"] | project["nodes"]
    readers, read = dict[str, list[tuple[str, str]]](), dict[str, list[tuple[str, str]]]()
    for node in project["nodes"].values():
        inputs = [nodes[key] for key in node.get("depends_on", {}).get("nodes", ())]
        if node["resource_type"] == "model" and node["schema"] == "staging":
            read[node["name"]] = [(one["schema"], one["name"]) for one in inputs]
        for one in inputs:
            if node["resource_type"] == "model" and node["schema"] == "core":
                readers.setdefault(one["name"], []).append(("core", node["name"]))
    order = ("dim_", "fct_")
    first = {
        view: sorted(found, key=lambda place: (not place[1].startswith(order), place))
        for view, found in readers.items()
    }
    return {view: first.get(view, []) + read[view] for view in read}


def _label(labels: Labels, schema: str, table: str, column: str | None) -> Label:
    if column is None:
        return labels.of_table(schema, table)
    label = labels.of_column(schema, table, column)
    if schema == "staging" and not label.label_zh:
        return labels.of_renamed((schema, table), column)
    return label


def _said_by_models(project: Mapping[str, Any]) -> dict[tuple[str, ...], Said]:
    """By schema and table, and by schema, table and column."""
    found: dict[tuple[str, ...], Said] = {}
    for node in project["nodes"].values():
        if node["resource_type"] in ("model", "seed"):
            where = (node["schema"], node["name"])
            source = _source(source_of(node)) or ", ".join(_read(node))
            found[where] = _said(node, source)
            for name, column in node["columns"].items():
                found[(*where, name)] = _said(column, "")
    return found


def _said(node: Mapping[str, Any], source: str) -> Said:
    meta = node.get("config", {}).get("meta") or node.get("meta") or {}
    return Said(node["description"], meta.get("source") or source)


def _source(code: str) -> str:
    """What the header of a model says behind `-- Source:`, up to the end of the comment."""
    found = re.search(r"^-- Source: (.*(?:\n--   .*)*)", code, re.MULTILINE)
    return re.sub(r"\n--\s+", " ", found[1]).rstrip(".") if found else ""


def _read(node: Mapping[str, Any]) -> list[str]:
    """The tables that a model without such a header reads, of names like model.campus.dim_term."""
    return [".".join(name.split(".")[2:]) for name in node.get("depends_on", {}).get("nodes", ())]
