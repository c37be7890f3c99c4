"""Labels of tables and columns: names in both languages and units, each stated once.

A contract states the label of a column of `raw`, a `Column` that of `quality`, a yml's `meta` that of a model
or seed, and the catalogue of measures that of a column that shows one. A model's column without a label
inherits it from the columns of the same name in the tables that the model reads, if these agree. Tables that
the model does not read never count: their `capacity` may have another unit.

The English name is that of the measure, or the name of the table or column in words."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from warehouse.lake.logs.tables import LOGS, MADE, Log
from warehouse.lake.tables import BOOKKEEPING, PARAMS, ROW_NUMBER, SCHOOL_ID, Column, Table
from warehouse.metrics import catalogue

#: The columns that the warehouse adds to the platform's rows.
ADDED = {column.name: column for column in (SCHOOL_ID, *BOOKKEEPING, ROW_NUMBER, PARAMS)}
#: The schemas with the platform's rows.
PLATFORM_SCHEMAS = ("raw", "datasets", "reports")

#: English names that words of the column's name do not give.
ENGLISH = {
    "absence_label": "Kind of absence",
    "academic_year_name": "Name of the academic year",
    "class_names": "Names of the classes",
    "discrimination_label": "Verdict on the item",
    "growth_se": "Standard error of the growth",
    "is_passed": "Passed",
    "item_rest_correlation": "Item-rest correlation",
    "lesson_name": "Name of the lesson",
    "p_value": "p-value",
    "rank_from_worst": "Rank from the worst",
    "score_percent": "Percent of the full score",
    "weekday_name": "Name of the weekday",
}
#: The spelling of abbreviations in names, and the languages of texts.
SPELLED = {
    **{word: word.upper() for word in ("auc", "ets", "gpa", "id", "mh", "sd", "url", "z")},
    "ids": "IDs",
    "en": "(English)",
    "zh": "(Chinese)",
}
#: Beginnings of names of tables that say how a table is modelled, not what is in it.
KINDS_OF_TABLES = ("dim_", "fct_", "bridge_")

Place = tuple[str, str]


@dataclass(frozen=True)
class Label:
    """The Chinese name and unit of a table or column. None: not stated; "": stated that there is none."""

    label_zh: str | None = None
    unit: str | None = None


class Labels:
    """Labels of tables and columns, stated or inherited.

    `manifest`: the compiled project; `columns`: those of the file as (schema, table, column); `tables`: those
    of `raw`."""

    def __init__(
        self,
        manifest: Mapping[str, Any],
        columns: Collection[tuple[str, str, str]],
        tables: Iterable[Table],
        logs: Iterable[Log] = (),
    ) -> None:
        self._columns = columns
        self._parents: dict[Place, tuple[Place, ...]] = {}
        self._readers: dict[Place, list[Place]] = {}
        self._stated: dict[tuple[str, ...], Label] = {}
        measures = catalogue().metrics
        self._cache: dict[tuple[str, str, str], Label] = {
            place: Label(measures[name].label_zh, measures[name].unit)
            for place, name in catalogue().shown_in.items()
        }
        nodes = {**manifest["nodes"], **manifest["sources"]}
        for node in nodes.values():
            self._read_node(node, nodes)
        for table in tables:
            self._stated["raw", table.name] = Label(table.label_zh)
            self._read_columns(("raw", table.name), table.columns)
        for log in (*LOGS, *MADE, *logs):
            self._stated["quality", log.name] = Label(log.label_zh)
            self._read_columns(("quality", log.name), log.columns)

    def of_table(self, schema: str, table: str) -> Label:
        """The stated label of a table."""
        return self._stated.get((schema, table), Label())

    def of_column(self, schema: str, table: str, column: str) -> Label:
        """The label of a column: stated, or else inherited."""
        place = (schema, table, column)
        if place not in self._cache:
            own, above = self.stated(*place), self.inherited(*place)
            self._cache[place] = Label(
                above.label_zh if own.label_zh is None else own.label_zh,
                above.unit if own.unit is None else own.unit,
            )
        return self._cache[place]

    def stated(self, schema: str, table: str, column: str) -> Label:
        """The label that is stated for a column."""
        added = ADDED.get(column) if schema in PLATFORM_SCHEMAS else None
        return _label(added) if added else self._stated.get((schema, table, column), Label())

    def inherited(self, schema: str, table: str, column: str) -> Label:
        """The label on which the columns of this name agree in the tables that a model reads."""
        labels = [
            self.of_column(*parent, column)
            for parent in self._parents.get((schema, table), ())
            if (*parent, column) in self._columns
        ]
        return _agreed_label(labels)

    def of_renamed(self, view: Place, column: str) -> Label:
        """The label of a column that a view of staging has renamed, as the models that read it state."""
        readers = self._readers.get(view, ())
        return _agreed_label(
            [self._stated[*reader, column] for reader in readers if (*reader, column) in self._stated]
        )

    def _read_columns(self, place: Place, columns: Iterable[Column]) -> None:
        for column in columns:
            self._stated[*place, column.name] = _label(column)

    def _read_node(self, node: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]]) -> None:
        place = place_of(node)
        above = node.get("depends_on", {}).get("nodes", ())
        self._parents[place] = tuple(place_of(nodes[name]) for name in above)
        for parent in self._parents[place]:
            self._readers.setdefault(parent, []).append(place)
        self._stated[place] = _label_in_yml(node)
        for name, column in node.get("columns", {}).items():
            self._stated[*place, name] = _label_in_yml(column)


def english_label(schema: str, table: str, column: str | None) -> str:
    """The English name of a table (no column) or of a column."""
    if column is None:
        kind = next((kind for kind in KINDS_OF_TABLES if table.startswith(kind)), "")
        return in_words(table.removeprefix(kind))
    measure = catalogue().shown_in.get((schema, table, column))
    return catalogue().metrics[measure].label if measure else in_words(column)


def in_words(name: str) -> str:
    """A name in words: student_id is Student ID, student_name Student, others_mean Mean of the others."""
    if name in ENGLISH:
        return ENGLISH[name]
    parts = [part for part in name.split("_") if part]
    if len(parts) > 1 and parts[-1] in ("name", "names"):
        parts[-2:] = [_plural(parts[-2]) if parts[-1] == "names" else parts[-2]]
    if len(parts) > 1 and parts[0] == "others":
        parts = [*parts[1:], "of the others"]
    label = " ".join(SPELLED.get(part, part) for part in parts) or name
    return label[0].upper() + label[1:]


def _plural(word: str) -> str:
    if re.search("[^aeiou]y$", word):
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "x", "ch", "sh")) else f"{word}s"


def place_of(node: Mapping[str, Any]) -> Place:
    """The schema and the name of a node of the project."""
    return (node["schema"], node["name"])


def _label(column: Column) -> Label:
    return Label(column.label_zh, column.unit)


def _label_in_yml(node: Mapping[str, Any]) -> Label:
    meta = node.get("config", {}).get("meta", {})
    return Label(meta.get("label_zh"), meta.get("unit"))


def _agreed_label(labels: Sequence[Label]) -> Label:
    return Label(_agreed(label.label_zh for label in labels), _agreed(label.unit for label in labels))


def _agreed(values: Iterable[str | None]) -> str | None:
    different = set(values)
    return different.pop() if len(different) == 1 else None
