"""Names in Chinese and units of tables and columns, each said in one place.

A column of `raw` has them beside its field in the contract, one of `quality` beside its `Column`, one of a
model or seed under `meta` of its yml. What is not said there, a column has of those of the same name in the
tables that its model reads, where these agree. A bare name decides nothing: what is called `capacity`
elsewhere may be measured in something else."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from warehouse.lake.log_tables import LOGS, MADE, Log
from warehouse.lake.tables import BOOKKEEPING, PARAMS, ROW_NUMBER, SCHOOL_ID, Column, Table

#: Ours in every table of the platform's rows.
OURS = {column.name: column for column in (SCHOOL_ID, *BOOKKEEPING, ROW_NUMBER, PARAMS)}
#: The schemas of such tables.
OF_THE_PLATFORM = ("raw", "datasets", "reports")

Place = tuple[str, str]


@dataclass(frozen=True)
class Label:
    """What is said of a table or column; None: nothing, "": that there is none."""

    label_zh: str | None = None
    unit: str | None = None


class Labels:
    """Labels of tables, and of columns by what their tables are made of.

    `manifest`: dbt's; `columns`: those of the file as (schema, table, column); `tables`: those of `raw`."""

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
        self._known: dict[tuple[str, str, str], Label] = {}
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
        """What is said of a table itself."""
        return self._stated.get((schema, table), Label())

    def of_column(self, schema: str, table: str, column: str) -> Label:
        """What is said of a column, else what it inherits."""
        place = (schema, table, column)
        if place not in self._known:
            own, above = self.stated(*place), self.inherited(*place)
            self._known[place] = Label(
                above.label_zh if own.label_zh is None else own.label_zh,
                above.unit if own.unit is None else own.unit,
            )
        return self._known[place]

    def stated(self, schema: str, table: str, column: str) -> Label:
        """What is said of a column itself."""
        ours = OURS.get(column) if schema in OF_THE_PLATFORM else None
        return _label(ours) if ours else self._stated.get((schema, table, column), Label())

    def inherited(self, schema: str, table: str, column: str) -> Label:
        """What the columns of this name agree on in the tables that a model reads."""
        above = [
            self.of_column(*parent, column)
            for parent in self._parents.get((schema, table), ())
            if (*parent, column) in self._columns
        ]
        return Label(_agreed(each.label_zh for each in above), _agreed(each.unit for each in above))

    def of_renamed(self, view: Place, column: str) -> Label:
        """What is said of a column that a view of staging has renamed: by the models that read it."""
        said = [
            self._stated[*reader, column]
            for reader in self._readers.get(view, ())
            if (*reader, column) in self._stated
        ]
        return Label(_agreed(each.label_zh for each in said), _agreed(each.unit for each in said))

    def _read_columns(self, place: Place, columns: Iterable[Column]) -> None:
        for column in columns:
            self._stated[*place, column.name] = _label(column)

    def _read_node(self, node: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]]) -> None:
        place = _place(node)
        above = node.get("depends_on", {}).get("nodes", ())
        self._parents[place] = tuple(_place(nodes[name]) for name in above)
        for parent in self._parents[place]:
            self._readers.setdefault(parent, []).append(place)
        self._stated[place] = _said(node)
        for name, column in node.get("columns", {}).items():
            self._stated[*place, name] = _said(column)


def _place(node: Mapping[str, Any]) -> Place:
    return (node["schema"], node["name"])


def _label(column: Column) -> Label:
    return Label(column.label_zh, column.unit)


def _said(node: Mapping[str, Any]) -> Label:
    meta = node.get("config", {}).get("meta", {})
    return Label(meta.get("label_zh"), meta.get("unit"))


def _agreed(values: Iterable[str | None]) -> str | None:
    different = set(values)
    return different.pop() if len(different) == 1 else None
