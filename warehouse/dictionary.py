"""The dictionary: every table and column of the published file, with type, meaning, unit and source.

Types and meanings are those of the file, where comments carry what contracts and models say. Chinese labels
and units are what the models' yml says, else those of labels.csv, which goes by the name of a column (or of a
table, as `schema.table`). The source of a model is the line `-- Source:` of its header.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from warehouse.logs import Log
from warehouse.sql import create_table, view
from warehouse.tables import Column, comments

LABELS = Path(__file__).parent / "labels.csv"

DICTIONARY = Log(
    name="dictionary",
    comment="Every table and column of this file: type, meaning, unit and source",
    columns=(
        Column("schema_name", pa.string(), "Schema"),
        Column("table_name", pa.string(), "Table or view"),
        Column("column_name", pa.string(), "Column; null: the table itself"),
        Column("position", pa.int32(), "Place of the column, from 1; 0: the table itself"),
        Column("data_type", pa.string(), "Type of the column; of a table: table or view"),
        Column("description", pa.string(), "Meaning"),
        Column("label_zh", pa.string(), "Name in Chinese"),
        Column("unit", pa.string(), "Unit, where it is measured in one"),
        Column("source", pa.string(), "Where it comes from"),
    ),
)

#: Where the tables of a schema come from that have nothing more particular to say.
SOURCES = {
    "datasets": "the platform's dataset of this name",
    "reports": "the platform's report of this name",
    "seeds": "warehouse/dbt/seeds",
    "quality": "the warehouse's own account",
}
#: Whose columns the platform defines.
AS_DEFINED = ("datasets", "reports")
OF_A_CHECK = "The rows behind the warning of the check of this name"
#: What every installation has alike, in the order in which a page shows it.
EVERYWHERE = ("marts", "core", "raw", "quality", "seeds")

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
    """What is said of a table or column beside its type; empty: nothing."""

    description: str = ""
    label_zh: str = ""
    unit: str = ""
    source: str = ""


def record_dictionary(path: Path, manifest: Path, endpoints: Mapping[str, str]) -> None:
    """Write the dictionary into a file not yet published. `manifest` is dbt's; `endpoints`: the path of the
    interface that each table of `raw` is read from."""
    with closing(duckdb.connect(str(path))) as con:
        view(con, "held", [], DICTIONARY.lake_schema)
        con.execute("DROP TABLE IF EXISTS quality.dictionary")
        create_table(con, "quality.dictionary", "FROM held", DICTIONARY.comment, comments(DICTIONARY.columns))
        catalog = con.sql(CATALOG).to_arrow_table().to_pylist()
        rows = _entries(catalog, _said_by_models(manifest), _labels(), endpoints)
        con.register("entries", pa.Table.from_pylist(list(rows), schema=DICTIONARY.lake_schema))
        con.execute("INSERT INTO quality.dictionary FROM entries")


def page(path: Path) -> str:
    """The dictionary of a built file as a page, without what only one installation has."""
    query = "FROM quality.dictionary WHERE table_name NOT IN (SELECT name FROM quality.check_results)"
    with closing(duckdb.connect(str(path), read_only=True)) as con:
        rows = con.sql(f"{query} ORDER BY schema_name, table_name, position").to_arrow_table().to_pylist()
    lines = [
        "# Dictionary",
        "",
        "Every table and column that all installations have; `make dictionary` writes this page. A file has",
        "its own, with the datasets, reports and custom fields of the schools: `FROM quality.dictionary`.",
    ]
    for schema in EVERYWHERE:
        lines += ["", f"## {schema}"]
        for row in rows:
            if row["schema_name"] == schema:
                lines += _lines(row)
    return "\n".join(lines) + "\n"


def _lines(row: Mapping[str, Any]) -> list[str]:
    cells = {name: _cell(value) for name, value in row.items()}
    if row["column_name"] is None:
        about = f"{cells['description']}. Source: {cells['source']}."
        return [
            "",
            f"### {cells['schema_name']}.{cells['table_name']} {cells['label_zh']}",
            "",
            about.replace("..", "."),
            "",
            "| column | | type | unit | meaning |",
            "|---|---|---|---|---|",
        ]
    names = ("column_name", "label_zh", "data_type", "unit", "description")
    return ["| " + " | ".join(cells[name] for name in names) + " |"]


def _cell(value: Any) -> str:
    return "" if value is None else str(value).replace("|", "\\|")


def _entries(
    catalog: list[dict[str, Any]],
    models: Mapping[tuple[str, ...], Said],
    labels: Mapping[str, Said],
    endpoints: Mapping[str, str],
) -> Iterator[dict[str, Any]]:
    by_name = {key[-1]: said for key, said in models.items() if len(key) == 3}
    for row in catalog:
        schema, table, column = row["schema_name"], row["table_name"], row["column_name"]
        of_table = models.get((schema, table), Said())
        said = of_table if column is None else models.get((schema, table, column), Said())
        # Views of staging say nothing of their columns, which are those of seeds and core.
        elsewhere = by_name.get(column, Said()) if schema == "staging" else Said()
        common = labels.get(f"{schema}.{table}" if column is None else column, Said())
        if schema in AS_DEFINED and column is not None and not column.startswith("_"):
            # Of the platform's own fields, the platform says what they mean; a name tells nothing.
            common = Said()
        endpoint = endpoints.get(table, "") if schema == "raw" else ""
        source = said.source or of_table.source or endpoint or SOURCES.get(schema)
        description = row["description"] or said.description or elsewhere.description
        if not description and schema == "quality" and column is None:
            description = OF_A_CHECK
        if not description and schema == "staging":
            description = f"As in {source}"
        yield {
            **row,
            "description": description or None,
            "label_zh": said.label_zh or elsewhere.label_zh or common.label_zh or None,
            "unit": said.unit or elsewhere.unit or common.unit or None,
            "source": source,
        }


def _said_by_models(manifest: Path) -> dict[tuple[str, ...], Said]:
    """By schema and table, and by schema, table and column."""
    found: dict[tuple[str, ...], Said] = {}
    for node in json.loads(manifest.read_text(encoding="utf-8"))["nodes"].values():
        if node["resource_type"] in ("model", "seed"):
            where = (node["schema"], node["name"])
            source = _source(node.get("raw_code") or "") or ", ".join(_read(node))
            found[where] = _said(node, source)
            for name, column in node["columns"].items():
                found[(*where, name)] = _said(column, "")
    return found


def _said(node: Mapping[str, Any], source: str) -> Said:
    meta = node.get("config", {}).get("meta") or node.get("meta") or {}
    return Said(
        node["description"], meta.get("label_zh", ""), meta.get("unit", ""), meta.get("source") or source
    )


def _source(code: str) -> str:
    """What the header of a model says behind `-- Source:`, up to the end of the comment."""
    found = re.search(r"^-- Source: (.*(?:\n--   .*)*)", code, re.MULTILINE)
    return re.sub(r"\n--\s+", " ", found[1]).rstrip(".") if found else ""


def _read(node: Mapping[str, Any]) -> list[str]:
    """The tables that a model without such a header reads, of names like model.campus.dim_term."""
    return [".".join(name.split(".")[2:]) for name in node.get("depends_on", {}).get("nodes", ())]


def _labels() -> dict[str, Said]:
    with LABELS.open(encoding="utf-8", newline="") as file:
        return {row["name"]: Said(label_zh=row["label_zh"], unit=row["unit"]) for row in csv.DictReader(file)}
