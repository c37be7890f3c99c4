"""The dictionary of a built file as pages of the documentation: an index, and one page for each table."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb

from loading.tables import TABLES
from warehouse.publish.lineage import INTERFACE
from warehouse.publish.models.dbt_project import compiled

#: What every installation has alike, in the order of the index.
SCHEMAS = ("marts", "views", "core", "raw", "oneroster", "quality", "seeds")
ABOUT = {
    "marts": "Ready answers: each row has the names of its school and semester.",
    "views": "What sheets and pages show, by one query each.",
    "core": "Dimensions (`dim_`), facts (`fct_`) and links (`bridge_`), joined by `(school_id, ..._id)`.",
    "raw": "One table for each resource, with the platform's own field names.",
    "oneroster": "The files of OneRoster 1.2 as views, which `campus export oneroster` writes.",
    "quality": "What was loaded, set aside, checked, compared and published.",
    "seeds": "Thresholds, bands, scales and rules; a school may have rows of its own.",
}
#: In words, by the kind of a check of dbt. `kwargs` of the check are the fields.
RULES = {
    "unique_key": "No two rows share {columns}, and none of these is null.",
    "holds": "In each row: {condition}",
    "related": "Each {column_name} is a {field} of {to}.",
    "references": "Each value that is not null is a row of the other table: {to}.",
    "same_total": "{total} equals {other_total} of {of}.",
    "parts_make_the_whole": "For each {by}, {part} add up to {whole}.",
    "unfinished_is_last": "For each {by}, rows that are not complete come last along {along}.",
    "known_values": "{column_name} has no other values than {values}.",
    "has_defaults": "The default rows are there.",
    "fits_measure": "Numbers fit their columns exactly: {columns}.",
    "item_tree_depth": "Items have at most three levels.",
}
QUESTION = re.compile(r"^\*\*(\d+\. .+?)\*\*.*?```sql\n(.*?)```", re.MULTILINE | re.DOTALL)

Place = tuple[str, str]


def pages(file: Path, guide: str) -> dict[str, str]:
    """The text of each page, by its path below the folder of the dictionary. `guide`: the page for analysts,
    whose queries serve as examples."""
    query = "FROM quality.dictionary WHERE table_name NOT IN (SELECT name FROM quality.check_results)"
    with closing(duckdb.connect(str(file), read_only=True)) as con:
        rows = con.sql(f"{query} ORDER BY schema_name, table_name, position").to_arrow_table().to_pylist()
    tables = defaultdict[Place, list[dict[str, Any]]](list)
    for row in rows:
        if row["schema_name"] in SCHEMAS:
            tables[row["schema_name"], row["table_name"]].append(row)
    inputs = _inputs(compiled())
    checks = _checks(compiled())
    sources, conditions = _sources(file), _conditions(file)
    examples = _examples(guide)
    made = {"index.md": _index(tables)}
    for place, (about, *columns) in tables.items():
        readers = [other for other in tables if place in inputs.get(other, ())]
        made["/".join(place) + ".md"] = _page(
            about,
            columns,
            [other for other in inputs.get(place, ()) if other in tables],
            readers,
            checks.get(place, []),
            sources.get(place, {}),
            conditions.get(place, {}),
            examples.get(place) or _plain_example(place, [column["column_name"] for column in columns]),
        )
    return made


def examples_of(page: str) -> list[str]:
    return re.findall(r"```sql\n(.*?)```", page, re.DOTALL)


def _index(tables: Mapping[Place, list[dict[str, Any]]]) -> str:
    lines = [
        "# Dictionary",
        "",
        "A page for each table that all installations have; `make dictionary` writes them. A file has its",
        "own dictionary, with the datasets, reports and custom fields of its schools:",
        "`FROM quality.dictionary`.",
    ]
    for schema in SCHEMAS:
        lines += ["", f"## {schema}", "", ABOUT[schema], "", "| table | 中文 | what it is |", "|---|---|---|"]
        for (of_schema, name), (about, *_) in sorted(tables.items()):
            if of_schema == schema:
                cells = (f"[{name}]({schema}/{name}.md)", about["label_zh"], _sentence(about["description"]))
                lines.append("| " + " | ".join(map(_cell, cells)) + " |")
    return "\n".join(lines) + "\n"


def _page(
    about: Mapping[str, Any],
    columns: Iterable[Mapping[str, Any]],
    made_of: Iterable[Place],
    readers: Iterable[Place],
    checks: list[Mapping[str, Any]],
    sources: Mapping[Place | None, Mapping[str, list[str]]],
    conditions: Mapping[Place, list[str]],
    example: str,
) -> str:
    schema, table = about["schema_name"], about["table_name"]
    facts = {
        "key": _listed(_key(schema, table, checks)),
        "made of": ", ".join(_link(schema, place) for place in sorted(made_of)),
        "read by": ", ".join(_link(schema, place) for place in sorted(readers)),
        "resources": _listed(about["stands_on"] or ()) if schema != "raw" else "",
        "source": about["source"],
    }
    names = ("column_name", "label_zh", "data_type", "unit", "privacy", "description")
    lines = [
        f"# {schema}.{table}",
        "",
        f"**{about['label_zh']}** · {_sentence(about['description'])}",
        "",
        "| | |",
        "|---|---|",
        *(f"| {name} | {_cell(value)} |" for name, value in facts.items() if value),
        "",
        "## Columns",
        "",
        "| column | 中文 | type | unit | privacy | meaning |",
        "|---|---|---|---|---|---|",
        *("| " + " | ".join(_cell(column[name]) for name in names) + " |" for column in columns),
    ]
    if sources:
        lines += ["", "## Where it comes from", "", "| from | columns |", "|---|---|"]
        for place, made in sources.items():
            texts = (_made_of(place, column, origins) for column, origins in made.items())
            cells = (_source_name(schema, place), "; ".join(texts))
            lines.append("| " + " | ".join(map(_cell, cells)) + " |")
    if conditions:
        lines += [
            "",
            "## What chooses its rows",
            "",
            "| from | joined, filtered or grouped by |",
            "|---|---|",
        ]
        for place, chosen_by in conditions.items():
            cells = (_source_name(schema, place), _listed(chosen_by))
            lines.append("| " + " | ".join(map(_cell, cells)) + " |")
    if checks:
        lines += ["", "## Checks", "", "| check | if it fails | what it checks |", "|---|---|---|"]
        for check in checks:
            fails = "a warning" if check["config"]["severity"].lower() == "warn" else "nothing is published"
            lines.append(f"| {check['name']} | {fails} | {_cell(_rule(check))} |")
    lines += ["", "## Example", "", example]
    return "\n".join(lines).rstrip() + "\n"


#: The lineage of a kind. Views of staging are replaced by what they read.
SHOWN = """
    WITH RECURSIVE shown AS (
        FROM quality.lineage WHERE schema_name <> 'staging' AND ({})
        UNION
        SELECT shown.schema_name, shown.table_name, shown.column_name,
            above.source_schema, above.source_table,
            CASE WHEN shown.source_column IS NOT NULL THEN above.source_column END, shown.kind
        FROM shown JOIN quality.lineage AS above
            ON shown.source_schema = 'staging' AND above.kind = 'value'
            AND (above.schema_name, above.table_name) = (shown.source_schema, shown.source_table)
            AND (shown.source_column IS NULL OR above.column_name = shown.source_column)
    )
"""


def _sources(file: Path) -> dict[Place, dict[Place | None, dict[str, list[str]]]]:
    """By table and source table, the source columns of each column; None: no source."""
    query = (
        SHOWN.format("kind IS DISTINCT FROM 'condition'")
        + """
        SELECT shown.schema_name, table_name, source_schema, source_table, shown.column_name,
            list(DISTINCT source_column ORDER BY source_column) FILTER (source_column IS NOT NULL)
        FROM shown JOIN quality.dictionary AS dictionary USING (schema_name, table_name, column_name)
        WHERE source_schema IS DISTINCT FROM 'staging'
        GROUP BY ALL ORDER BY source_schema, source_table, any_value(position)
    """
    )
    sources = defaultdict[Place, dict[Place | None, dict[str, list[str]]]](dict)
    with closing(duckdb.connect(str(file), read_only=True)) as con:
        for schema, table, of_schema, of_table, column, columns in con.execute(query).fetchall():
            source = (of_schema, of_table) if of_schema else None
            sources[schema, table].setdefault(source, {})[column] = columns or []
    return sources


def _conditions(file: Path) -> dict[Place, dict[Place, list[str]]]:
    """By table and source table, the columns by which the rows of the table are chosen."""
    query = (
        SHOWN.format("kind = 'condition'")
        + """
        SELECT schema_name, table_name, source_schema, source_table,
            list(DISTINCT source_column ORDER BY source_column)
        FROM shown WHERE source_schema <> 'staging' AND source_column IS NOT NULL
        GROUP BY ALL ORDER BY source_schema, source_table
    """
    )
    conditions = defaultdict[Place, dict[Place, list[str]]](dict)
    with closing(duckdb.connect(str(file), read_only=True)) as con:
        for schema, table, of_schema, of_table, columns in con.execute(query).fetchall():
            conditions[schema, table][of_schema, of_table] = columns
    return conditions


def _source_name(schema: str, place: Place | None) -> str:
    if place is None:
        return "constants, and what the warehouse adds"
    return f"`{place[1]}`" if place[0] == INTERFACE else _link(schema, place)


def _made_of(source: Place | None, column: str, sources: list[str]) -> str:
    """A column with its sources, unless the source has the same name."""
    if sources == [column] or source is None:
        return f"`{column}`"
    nameless = "not a field" if source[0] == INTERFACE else "rows"
    return f"`{column}` ← {_listed(sources) or nameless}"


def _key(schema: str, table: str, checks: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    if schema == "raw":
        return ("_school_id", *TABLES[table].primary_key) if table in TABLES else ()
    keys = [tuple(_arguments(check)["columns"]) for check in checks if _kind(check) == "unique_key"]
    return keys[0] if keys else ()


def _inputs(project: Mapping[str, Any]) -> dict[Place, set[Place]]:
    """The tables that each model reads; views of staging are replaced by what they read."""
    nodes = project["sources"] | project["nodes"]

    def read(key: str) -> set[Place]:
        places = set[Place]()
        for name in nodes[key].get("depends_on", {}).get("nodes", ()):
            node = nodes[name]
            places |= read(name) if node["schema"] == "staging" else {(node["schema"], node["name"])}
        return places

    return {
        (node["schema"], node["name"]): read(key)
        for key, node in project["nodes"].items()
        if node["resource_type"] == "model"
    }


def _checks(project: Mapping[str, Any]) -> dict[Place, list[Mapping[str, Any]]]:
    nodes, checks = project["nodes"], defaultdict[Place, list[Mapping[str, Any]]](list)
    for node in nodes.values():
        if node["resource_type"] == "test" and node.get("attached_node") in nodes:
            of = nodes[node["attached_node"]]
            checks[of["schema"], of["name"]].append(node)
    return checks


def _kind(check: Mapping[str, Any]) -> str:
    return str((check.get("test_metadata") or {}).get("name", ""))


def _arguments(check: Mapping[str, Any]) -> dict[str, Any]:
    return dict((check.get("test_metadata") or {}).get("kwargs", {}))


def _rule(check: Mapping[str, Any]) -> str:
    if check["description"]:
        return str(check["description"])
    return RULES[_kind(check)].format(**{name: _argument(value) for name, value in _arguments(check).items()})


def _argument(value: Any) -> str:
    if isinstance(value, list):
        return _listed(value)
    if isinstance(value, dict):
        return _listed(f"{column}: {target}" for column, target in value.items())
    reference = re.fullmatch(r"ref\('(\w+)'\)", str(value))
    return f"`{reference[1] if reference else ' '.join(str(value).split())}`"


def _examples(guide: str) -> dict[Place, str]:
    """The first question of the guide that reads each table."""
    examples: dict[Place, str] = {}
    for title, query in QUESTION.findall(guide):
        for schema, table in re.findall(r"\b(?:FROM|JOIN) (\w+)\.(\w+)", query):
            link = f"*{title}* ([all questions](../../../how-to/analysts.md#thirty-six-questions))"
            examples.setdefault((schema, table), f"{link}\n\n```sql\n{query}```")
    return examples


def _plain_example(place: Place, columns: list[str]) -> str:
    schema, table = place
    conditions = {
        "is_current": "WHERE is_current\n",
        "_deleted_at": "WHERE _deleted_at IS NULL\n",
        "is_deleted": "WHERE NOT is_deleted\n",
    }
    condition = next((text for name, text in conditions.items() if name in columns), "")
    return f"```sql\nFROM {schema}.{table}\n{condition}LIMIT 20;\n```"


def _link(schema: str, place: Place) -> str:
    other, table = place
    return f"[{other}.{table}]({'' if other == schema else f'../{other}/'}{table}.md)"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _sentence(text: str | None) -> str:
    return f"{(text or '').rstrip('.')}."


def _cell(value: Any) -> str:
    return "" if value is None else str(value).replace("|", "\\|")
