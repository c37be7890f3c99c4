"""What the tools of an assistant answer: tables, columns, numbers and where they come from."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from math import log
from typing import Any

from pipelines.assistant.session import Session
from pipelines.assistant.statements import Refused
from warehouse.identifiers import quoted, relation
from warehouse.metrics import catalogue

TABLES = """
    SELECT schema_name || '.' || table_name AS name, description, label_zh
    FROM quality.dictionary WHERE column_name IS NULL ORDER BY name
"""
COLUMNS = """
    SELECT column_name AS name, data_type, description, label_zh, unit, privacy
    FROM quality.dictionary
    WHERE schema_name || '.' || table_name = $name AND column_name IS NOT NULL ORDER BY position
"""
ABOUT = """
    SELECT description, label_zh, source, stands_on
    FROM quality.dictionary WHERE schema_name || '.' || table_name = $name AND column_name IS NULL
"""
#: The oldest moment of which a school's rows of a table are.
AS_OF = """
    SELECT min(as_of) AS as_of FROM (
        SELECT _school_id, resource, max(as_of) AS as_of FROM quality.freshness
        WHERE list_contains($resources, resource) GROUP BY ALL
    )
"""
KEYS = """
    SELECT kind, columns, condition, cardinality,
        referenced_schema || '.' || referenced_table AS referenced_table, referenced_columns
    FROM quality.relations WHERE schema_name || '.' || table_name = $name
"""
CHECKS = "SELECT name, status, failures, checked_at FROM quality.check_results WHERE model = $name"
SOURCES = """
    SELECT source_schema, source_table, source_column, kind FROM quality.lineage
    WHERE schema_name || '.' || table_name = $name AND column_name = $column
"""
METRICS = """
    SELECT metric, label_en, label_zh, definition, definition_zh, expression, unit, dimensions, time_column,
        shown_in, schema_name || '.' || table_name AS table_name
    FROM quality.metrics
"""
ENTRIES = """
    SELECT schema_name || '.' || table_name AS table_name, column_name, description, label_zh
    FROM quality.dictionary
"""
#: Classes of columns whose values are shown as those that are allowed: they tell of no single person.
ENUMERABLE = ("plain", "kind")
#: More values than these are no list to choose from.
MOST_VALUES = 20
#: Rows of a table of which values are looked up.
MOST_ROWS = 5_000_000
MOST_MATCHES = 10
CHINESE = re.compile(r"[\u4e00-\u9fff]+")
#: What the name of a table says before the thing that its rows are.
KIND = re.compile(r"^\w+\.(dim_|fct_|bridge_)?")
#: Words of questions that say nothing about what is looked for.
STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        "and are did does each for from had has have how many most much show that the their there these this "
        "was were what when where which who whom whose why with",
    )
)


def _rows_if(session: Session, table: str, query: str, **parameters: Any) -> list[dict[str, Any]]:
    """The rows of a query on a table that the files of some audiences lack."""
    return session.rows(query, **parameters) if table in session.tables else []


def list_tables(session: Session) -> list[dict[str, Any]]:
    """All tables with their meanings."""
    return session.rows(TABLES)


def list_metrics(session: Session) -> list[dict[str, Any]]:
    """All measures with their definitions, and what splits them."""
    return _rows_if(session, "quality.metrics", f"{METRICS} ORDER BY metric")


def describe_table(session: Session, name: str) -> dict[str, Any]:
    """Meaning, age, keys and columns of a table, with the values of columns that have few. Raises Refused."""
    name = _full_name(session, name)
    [about] = session.rows(ABOUT, name=name)
    columns = session.rows(COLUMNS, name=name)
    with session.limited(session.con):
        [(rows,)] = session.con.execute(f"SELECT count(*) FROM {relation(name)}").fetchall()
        for column in columns:
            is_listed = column["data_type"] in ("VARCHAR", "BOOLEAN") and column["privacy"] in ENUMERABLE
            if is_listed and rows <= MOST_ROWS and (values := _values(session, name, column["name"])):
                column["values"] = values
    return {
        "name": name,
        "meaning": about["description"],
        "label_zh": about["label_zh"],
        "source": about["source"],
        "rows": rows,
        "as_of": _as_of(session, about["stands_on"]),
        "keys": [
            key
            for key in _rows_if(session, "quality.relations", KEYS, name=name)
            if {*key["columns"]} <= {*session.tables[name]}
        ],
        "columns": columns,
    }


def find(session: Session, words: str) -> dict[str, Any]:
    """Measures, and tables with the columns that fit, by words of their names and meanings, best first. Words
    of the catalogue's thesaurus stand for those that names and meanings use.

    A word that few tables have counts more, and a name more than a meaning. Words count by their first
    letters, and Chinese ones by each pair of characters."""
    stems = _stems(" ".join([words, *catalogue().meant_by(words)]))
    metrics = _fitting_metrics(session, stems)
    tables, columns = _fitting_tables(session, stems)
    best = [table | {"columns": columns[table["name"]][:MOST_VALUES]} for table in tables[:MOST_MATCHES]]
    is_cut = {
        f"metrics beyond {MOST_MATCHES}": len(metrics) > MOST_MATCHES,
        f"tables beyond {MOST_MATCHES}": len(tables) > MOST_MATCHES,
        f"columns of a table beyond {MOST_VALUES}": any(
            len(columns[table["name"]]) > MOST_VALUES for table in best
        ),
    }
    cut = [text for text, applies in is_cut.items() if applies]
    return {"metrics": metrics[:MOST_MATCHES], "tables": best, "cut": cut}


def _fitting_metrics(session: Session, stems: Collection[str]) -> list[dict[str, Any]]:
    fitting = [
        (sum(_has(" ".join(map(str, metric.values())).lower(), stem) for stem in stems), metric)
        for metric in list_metrics(session)
    ]
    ranked = sorted(fitting, key=lambda entry: -entry[0])
    return [metric for count, metric in ranked if count]


def _fitting_tables(
    session: Session, stems: Collection[str]
) -> tuple[list[dict[str, Any]], Mapping[str, list[str]]]:
    """The tables, best first, and the columns that fit by table."""
    texts, columns = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for entry in session.rows(ENTRIES):
        table, column = entry["table_name"], entry["column_name"]
        text = f"{column or table} {entry['label_zh'] or ''} {entry['description'] or ''}".lower()
        texts[table].append(text if column else f"{text} {text}")
        if column and any(_has(text, stem) for stem in stems):
            columns[table].append(column)
    scores = dict.fromkeys(texts, 0.0)
    for stem in stems:
        counts = {table: sum(_has(text, stem) for text in of_table) for table, of_table in texts.items()}
        tables = sum(map(bool, counts.values()))
        for table, count in counts.items():
            if count:
                in_name = _has(f"{table} {texts[table][0]}", stem)
                name = KIND.sub("", table).split("_")
                of_name = sum(_has(word, stem) for word in name) / len(name)
                weight = 1 + 2 * in_name + 3 * of_name + count / len(texts[table])
                scores[table] += log(len(texts) / tables) * weight
    for table in scores:
        scores[table] *= 1.5 if table.startswith("marts.") else 1
    fitting = [table for table in session.rows(TABLES) if scores[table["name"]]]
    return sorted(fitting, key=lambda table: -scores[table["name"]]), columns


def explain(session: Session, table: str, column: str) -> dict[str, Any]:
    """The definition of a column, where its values come from, and what its table's checks found. Raises
    Refused."""
    name = _full_name(session, table)
    if column not in session.tables[name]:
        raise Refused(f"{name} has no column {column}: describe_table lists its columns")
    [entry] = [row for row in session.rows(COLUMNS, name=name) if row["name"] == column]
    [about] = session.rows(ABOUT, name=name)
    shown_in = f"{name}.{column}"
    return {
        **entry,
        "table": name,
        "source": about["source"],
        "as_of": _as_of(session, about["stands_on"]),
        "comes_from": _rows_if(session, "quality.lineage", SOURCES, name=name, column=column),
        "metrics": [metric for metric in list_metrics(session) if shown_in in metric["shown_in"]],
        "checks": _rows_if(session, "quality.check_results", CHECKS, name=name.partition(".")[2]),
    }


def _full_name(session: Session, name: str) -> str:
    """The full name of a table, given with or without its schema. Raises Refused."""
    name = name.strip().lower()
    names = [table for table in session.tables if name in (table, table.partition(".")[2])]
    if len(names) != 1:
        raise Refused(f"there is no table {name}: list_tables names the tables")
    return names[0]


def _values(session: Session, table: str, column: str) -> list[Any]:
    """The values of a column; none if there are too many."""
    query = (
        f"SELECT DISTINCT {quoted(column)} FROM {relation(table)} "
        f"WHERE {quoted(column)} IS NOT NULL LIMIT {MOST_VALUES + 1}"
    )
    values = [value for (value,) in session.con.execute(query).fetchall()]
    return sorted(values) if len(values) <= MOST_VALUES else []


def _as_of(session: Session, resources: list[str] | None) -> str | None:
    rows = _rows_if(session, "quality.freshness", AS_OF, resources=resources or [])
    return next((row["as_of"] for row in rows), None)


def _stems(words: str) -> set[str]:
    """The beginnings of English words in lower case, and the pairs of neighbouring Chinese characters."""
    english = set(re.findall(r"[a-z0-9]{3,}", words.lower())) - STOP_WORDS
    stems = {word[:5] for word in english}
    for text in CHINESE.findall(words):
        stems |= {text[start : start + 2] for start in range(max(1, len(text) - 1))}
    return stems


def _has(text: str, stem: str) -> bool:
    """Whether a text has a Chinese part, or an English word that begins so."""
    return re.search(stem if CHINESE.match(stem) else rf"\b{stem}", text.replace("_", " ")) is not None
