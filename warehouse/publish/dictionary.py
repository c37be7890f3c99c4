"""The dictionary: every table and column of the published file, with type, meaning, unit and source.

Types and meanings come from the file, whose comments have the texts of contracts and models; labels and units
come from labels.py. A model's source is the line `-- Source:` of its header.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa

from warehouse.identifiers import literal, quoted, relation
from warehouse.lake.logs.tables import Log
from warehouse.lake.sql import create_table, transaction, view
from warehouse.lake.tables import BOOKKEEPING, SCHOOL_ID, Column, Table, comments
from warehouse.privacy import CLASSES
from warehouse.publish.fill import CONTENTS
from warehouse.publish.labels import Label, Labels, Place, english_label, place_of
from warehouse.publish.lineage import LINEAGE
from warehouse.publish.metrics import METRICS
from warehouse.publish.models.by_semester import SEMESTER_STATES
from warehouse.publish.models.dbt_project import ModelsBroken, source_of
from warehouse.publish.publish import CHECK_RESULTS, PUBLICATION
from warehouse.publish.relations import RELATIONS, allowed_values, relations

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
        Column("label_en", pa.string(), "Name in English", label_zh="英文名称"),
        Column("unit", pa.string(), "Unit of measurement; null: none", label_zh="计量单位"),
        Column("source", pa.string(), "Origin of the values", label_zh="来源"),
        Column(
            "stands_on",
            pa.list_(pa.string()),
            "Of a table: the resources of load_log that it is made from, directly or through models",
            label_zh="依据的资源",
        ),
        Column(
            "privacy",
            pa.string(),
            "Privacy class of a column (docs/reference/privacy.md); null: not classified",
            label_zh="隐私类别",
        ),
        Column(
            "is_key",
            pa.bool_(),
            "Of a column: part of the table's first key in `relations`; null: the table has no key there",
            label_zh="是否键列",
        ),
        Column(
            "refers_to",
            pa.string(),
            "Column that it refers to in `relations`, as schema.table.column; with the school; null: none",
            label_zh="引用列",
        ),
        Column(
            "allowed_values",
            pa.list_(pa.string()),
            "Values of a column that a check allows beside null; null: no check lists them",
            label_zh="允许值",
        ),
    ),
)

#: The default source of the tables of a schema.
SOURCES = {
    "datasets": "the platform's dataset of this name",
    "reports": "the platform's report of this name",
    "seeds": "warehouse/dbt/seeds",
    "quality": "the warehouse itself",
}
#: The schemas of views whose columns are described, labelled and classified by the tables that they read.
INHERITING = ("staging", "views")
FAILED_ROWS = "The rows that break the check of this name"

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
class ModelText:
    """The description and source in the yml and header of a model, or of its column; empty: none."""

    description: str = ""
    source: str = ""


def record_dictionary(
    con: duckdb.DuckDBPyConnection,
    project: Mapping[str, Any],
    tables: Iterable[Table],
    endpoints: Mapping[str, str],
) -> None:
    """Write the dictionary into a file that is not yet published.

    `project`: compiled; `tables`: those of `raw`; `endpoints`: by table, the path of the interface that it is
    read from."""
    tables = tuple(tables)
    view(con, "empty", [], DICTIONARY.lake_schema)
    con.execute("DROP TABLE IF EXISTS quality.dictionary")
    create_table(con, "quality.dictionary", "FROM empty", DICTIONARY.comment, comments(DICTIONARY.columns))
    catalog = con.sql(CATALOG).to_arrow_table().to_pylist()
    columns = {(row["schema_name"], row["table_name"], row["column_name"]) for row in catalog}
    labels = Labels(
        project,
        columns,
        tables,
        (CONTENTS, SEMESTER_STATES, CHECK_RESULTS, PUBLICATION, RELATIONS, LINEAGE, METRICS, DICTIONARY),
    )
    rows = list(
        _entries(
            catalog,
            _model_texts(project),
            labels,
            endpoints,
            _inputs_of_models(project),
            _tables_beside_views(project),
            privacy_classes(project, tables),
            *_keys_and_references(project),
            allowed_values(project),
        )
    )
    con.register("entries", pa.Table.from_pylist(rows, schema=DICTIONARY.lake_schema))
    con.execute("INSERT INTO quality.dictionary FROM entries")
    _comment_on_views(con, catalog, rows)


def _comment_on_views(
    con: duckdb.DuckDBPyConnection, catalog: Iterable[Mapping[str, Any]], rows: Iterable[Mapping[str, Any]]
) -> None:
    """Comment the columns of views from the dictionary. Columns with a comment are skipped: a view keeps
    its comments until it is made anew."""
    with transaction(con):
        for entry, row in zip(catalog, rows, strict=True):
            is_bare = row["column_name"] and row["description"] and not entry["description"]
            if row["schema_name"] in INHERITING and is_bare:
                view_name = relation(f"{row['schema_name']}.{row['table_name']}")
                place = f"{view_name}.{quoted(row['column_name'])}"
                con.execute(f"COMMENT ON COLUMN {place} IS {literal(row['description'])}")


def _entries(
    catalog: list[dict[str, Any]],
    models: Mapping[tuple[str, ...], ModelText],
    labels: Labels,
    endpoints: Mapping[str, str],
    inputs: Mapping[str, set[str]],
    beside: Mapping[Place, list[Place]],
    privacy: Mapping[tuple[str, str, str], str],
    keys: Mapping[tuple[str, str], Sequence[str]],
    references: Mapping[tuple[str, str, str], str],
    values: Mapping[tuple[str, str, str], Sequence[str]],
) -> Iterator[dict[str, Any]]:
    described = {key: text.description for key, text in models.items() if len(key) == 3 and text.description}
    # A view has comments from an earlier dictionary where it inherits, and an attached table has none.
    described |= {
        (row["schema_name"], row["table_name"], row["column_name"]): row["description"]
        for row in catalog
        if row["schema_name"] not in INHERITING and row["description"]
    }
    by_name = {key[2]: description for key, description in described.items() if key[0] == "core"}
    # A rule in force belongs to one school, a seed's row may be for all: the description does not carry over.
    described = {
        key: description
        for key, description in described.items()
        if (key[0], key[2]) != ("seeds", "school_id")
    }
    for row in catalog:
        schema, table, column = row["schema_name"], row["table_name"], row["column_name"]
        table_text = models.get((schema, table), ModelText())
        text = table_text if column is None else models.get((schema, table, column), ModelText())
        # The yml of a view of staging or views describes only the columns that no table beside it describes.
        elsewhere, near, named = None, list[Place](), (schema, table)
        if schema in INHERITING and column:
            near = [place for place in beside.get((schema, table), ()) if described.get((*place, column))]
            elsewhere = described[*near[0], column] if near else None
            if schema == "staging":
                elsewhere = elsewhere or by_name.get(column)
            elif near and not text.description:
                named = near[0]
        label = _label(labels, *named, column)
        classes = (privacy.get((*place, column)) for place in ((schema, table), *near)) if column else ()
        endpoint = endpoints.get(table, "") if schema == "raw" else ""
        source = text.source or table_text.source or endpoint or SOURCES.get(schema)
        description = row["description"] or text.description or elsewhere
        if not description and schema == "quality" and column is None:
            description = FAILED_ROWS
        yield {
            **row,
            "description": description or None,
            "label_zh": label.label_zh or None,
            "label_en": english_label(*named, column),
            "unit": label.unit or None,
            "source": source,
            "stands_on": None if column else sorted(_resources(inputs, schema, table)),
            "privacy": next(filter(None, classes), None),
            "is_key": column in keys[schema, table] if column and (schema, table) in keys else None,
            "refers_to": references.get((schema, table, column)) if column else None,
            "allowed_values": values.get((schema, table, column)) if column else None,
        }


def _keys_and_references(
    project: Mapping[str, Any],
) -> tuple[dict[tuple[str, str], list[str]], dict[tuple[str, str, str], str]]:
    """By table, the columns of its first key; by column, the column that it refers to."""
    keys, references = dict[tuple[str, str], list[str]](), dict[tuple[str, str, str], str]()
    for row in relations(project):
        table = (row["schema_name"], row["table_name"])
        if row["kind"] == "foreign key":
            referenced = (row["referenced_schema"], row["referenced_table"], row["referenced_columns"][-1])
            references[*table, row["columns"][-1]] = ".".join(referenced)
        elif row["condition"] is None:
            keys.setdefault(table, row["columns"])
    return keys, references


def privacy_classes(project: Mapping[str, Any], tables: Iterable[Table]) -> dict[tuple[str, str, str], str]:
    """The privacy class of each classified column, by schema, table and column.

    Contracts state the classes of `raw`, ymls those of models; the thresholds in `seeds` name nobody.
    `project`: compiled.

    Raises ModelsBroken if a yml names an unknown class, or classifies a column twice."""
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
                        f"{node['name']}: meta.privacy of {column}: {privacy_class} is not a class of "
                        "warehouse/privacy.py, or is the column's second class"
                    )
                classes[place] = privacy_class
    return classes


def _resources(inputs: Mapping[str, set[str]], schema: str, table: str) -> set[str]:
    """The tables of the lake that a table is made from, by their names in the load log."""
    name = f"{schema}.{table}"
    match schema:
        case "raw":
            return {table}
        case "datasets":
            # An unchanged dataset is not requested; the list of datasets shows that it is unchanged.
            return {name, "datasets"}
        case "reports":
            return {name}
        case _:
            return inputs.get(name, set())


def _inputs_of_models(project: Mapping[str, Any]) -> dict[str, set[str]]:
    """The tables of `raw` that each model is made from, by `schema.model`. A model whose meta has
    `only_chooses_rows` decides which semester is shown: the figures of what reads it are not made from it."""
    nodes = project["sources"] | project["nodes"]

    @cache
    def below(key: str) -> frozenset[str]:
        node = nodes[key]
        if node.get("source_name") == "raw":
            return frozenset({node["name"]})
        inputs = node.get("depends_on", {}).get("nodes", ())
        return frozenset().union(*(below(name) for name in inputs if not _only_chooses_rows(nodes[name])))

    models = {key: node for key, node in project["nodes"].items() if node["resource_type"] == "model"}
    return {f"{node['schema']}.{node['name']}": set(below(key)) for key, node in models.items()}


def _only_chooses_rows(node: Mapping[str, Any]) -> bool:
    return bool(node.get("config", {}).get("meta", {}).get("only_chooses_rows"))


def _tables_beside_views(project: Mapping[str, Any]) -> dict[Place, list[Place]]:
    """By view, the tables around it: of a view of staging, the tables of core that read it (dimensions and
    facts first); then the tables that it reads, and for a view of views those that these read, too."""
    nodes = project["sources"] | project["nodes"]
    readers, read = dict[Place, list[Place]](), dict[Place, list[Place]]()
    for node in project["nodes"].values():
        if node["resource_type"] != "model":
            continue
        inputs = [place_of(nodes[key]) for key in node.get("depends_on", {}).get("nodes", ())]
        if node["schema"] in INHERITING:
            read[place_of(node)] = inputs
        for table in inputs:
            if node["schema"] == "core" and table[0] == "staging":
                readers.setdefault(table, []).append(place_of(node))
    first = ("dim_", "fct_")
    ordered = {
        view: sorted(places, key=lambda place: (not place[1].startswith(first), place))
        for view, places in readers.items()
    }

    def below(view: Place) -> list[Place]:
        tables = read.get(view, []) if view[0] == "views" else []
        return list(dict.fromkeys([*tables, *(lower for table in tables for lower in below(table))]))

    return {view: ordered.get(view, []) + (below(view) or read[view]) for view in read}


def _label(labels: Labels, schema: str, table: str, column: str | None) -> Label:
    if column is None:
        return labels.of_table(schema, table)
    label = labels.of_column(schema, table, column)
    if schema == "staging" and not label.label_zh:
        return labels.of_renamed((schema, table), column)
    return label


def _model_texts(project: Mapping[str, Any]) -> dict[tuple[str, ...], ModelText]:
    """By schema and table, and by schema, table and column."""
    texts: dict[tuple[str, ...], ModelText] = {}
    for node in project["nodes"].values():
        if node["resource_type"] in ("model", "seed"):
            table = (node["schema"], node["name"])
            source = _source_in_header(source_of(node)) or ", ".join(_inputs(node))
            texts[table] = _model_text(node, source)
            for name, column in node["columns"].items():
                texts[(*table, name)] = _model_text(column, "")
    return texts


def _model_text(node: Mapping[str, Any], source: str) -> ModelText:
    meta = node.get("config", {}).get("meta") or node.get("meta") or {}
    return ModelText(node["description"], meta.get("source") or source)


def _source_in_header(code: str) -> str:
    """The text after `-- Source:` in the header of a model, up to the end of the comment."""
    match = re.search(r"^-- Source: (.*(?:\n--   .*)*)", code, re.MULTILINE)
    return re.sub(r"\n--\s+", " ", match[1]).rstrip(".") if match else ""


def _inputs(node: Mapping[str, Any]) -> list[str]:
    """The names of the tables that a node reads, such as dim_term of model.campus.dim_term."""
    return [".".join(name.split(".")[2:]) for name in node.get("depends_on", {}).get("nodes", ())]
