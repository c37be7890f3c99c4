"""Differences between two DuckDB files in words: tables, columns, types, comments, and each cell."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import duckdb

#: What differs from run to run, by pattern of the table and column: the expression to compare instead. The
#: reason stands above each.
EXCEPTED_COLUMNS: dict[tuple[str, str], str] = {
    # Dagster chooses ids of runs at random.
    ("*.load_log", "run_id"): "NULL",
    ("*.maintenance", "run_id"): "NULL",
    # Files of the lake have random ids, so that their sizes differ by some bytes.
    ("*.maintenance", "bytes"): "NULL",
    # A sync leaves a file more or less where rows of logs were not ready together.
    ("*.maintenance", "files"): "NULL",
    # Versions of content come from the names of the lake's files, which are random.
    ("quality.contents", "content"): "NULL",
    ("quality.divided", "state"): "NULL",
    ("main.standings", "state"): "NULL",
    ("quality.semester_states", "state"): "NULL",
    # The time to the microsecond.
    ("quality.publication", "generation"): "NULL",
    # Ids of writes are random, and who wrote includes the process.
    ("*.writes", "write_id"): "NULL",
    ("*.writes", "asked_by"): "regexp_replace(asked_by, 'process [0-9]+', 'process')",
}
#: Differing rows that are searched for the most similar pair.
ROWS_TO_PAIR = 500
#: Cells of a row that a message shows.
SHOWN_CELLS = 4
LONGEST_CELL = 60

RELATIONS = """
    SELECT schema_name || '.' || table_name AS name, 'table' AS kind, comment FROM duckdb_tables()
    WHERE database_name = $database AND NOT internal
    UNION ALL
    SELECT schema_name || '.' || view_name, 'view', comment FROM duckdb_views()
    WHERE database_name = $database AND NOT internal
    UNION ALL
    SELECT
        schema_name || '.' || function_name, 'macro', string_agg(macro_definition ORDER BY macro_definition)
    FROM duckdb_functions() WHERE database_name = $database AND NOT internal GROUP BY ALL
"""
COLUMNS = """
    SELECT schema_name || '.' || table_name, column_name, data_type, comment FROM duckdb_columns()
    WHERE database_name = $database AND NOT internal ORDER BY column_index
"""
Row = tuple[Any, ...]
Window = tuple[datetime, datetime]


@dataclass(frozen=True)
class Relation:
    """A table, a view or a macro of one of the files."""

    kind: str
    #: Of a macro its definition.
    comment: str | None
    #: By name, type and comment, in their order.
    columns: dict[str, tuple[str, str | None]]


@dataclass
class DatabaseComparison:
    """A comparison of two files. `uncertain` are the times that depend on how fast a run was, if any."""

    connection: duckdb.DuckDBPyConnection
    uncertain: Window | None = None
    counts: Counter[str] = field(default_factory=Counter)

    def differences(self) -> Iterator[str]:
        """A line for each difference."""
        base, present = self._relations("base"), self._relations("present")
        for name in sorted(base.keys() | present.keys()):
            if name not in present:
                yield f"{name}: the {base[name].kind} is gone"
            elif name not in base:
                yield f"{name}: the {present[name].kind} is new"
            else:
                yield from (f"{name}: {line}" for line in self._between(name, base[name], present[name]))

    def _between(self, name: str, base: Relation, present: Relation) -> Iterator[str]:
        if base.kind != present.kind:
            yield f"was a {base.kind}, is a {present.kind}"
            return
        if base.comment != present.comment:
            label = "definition" if base.kind == "macro" else "comment"
            yield f"{label} {change(base.comment, present.comment)}"
        if base.kind == "macro":
            self.counts["macros"] += 1
            return
        yield from column_differences(base, present)
        compared = [column for column in base.columns if column in present.columns]
        try:
            if compared:
                yield from self._row_differences(name, compared, base)
        except duckdb.Error as error:
            yield f"not readable: {shortened(error)}"

    def _row_differences(self, name: str, columns: Sequence[str], base: Relation) -> Iterator[str]:
        shown = ", ".join(self._expression(name, column, base.columns[column][0]) for column in columns)
        of_base, of_present = (
            f"SELECT {shown} FROM {database}.{quoted(name)}" for database in ("base", "present")
        )
        [(rows,)] = self.connection.execute(f"SELECT count(*) FROM present.{quoted(name)}").fetchall()
        self.counts["tables"] += 1
        self.counts["rows"] += rows
        self.counts["cells"] += rows * len(columns)
        # Much faster than to subtract all rows.
        if self._digest(of_base) == self._digest(of_present):
            return
        gone = self.connection.execute(f"{of_base} EXCEPT ALL {of_present}").fetchall()
        new = self.connection.execute(f"{of_present} EXCEPT ALL {of_base}").fetchall()
        if gone or new:
            differing = [
                column
                for index, column in enumerate(columns)
                if Counter(repr(row[index]) for row in gone) != Counter(repr(row[index]) for row in new)
            ]
            names = ", ".join(differing) or "several columns together"
            yield f"{len(gone)} rows of base and {len(new)} of present differ, in {names}"
            yield describe_rows(columns, gone, new)

    def _digest(self, query: str) -> list[Row]:
        """The number of rows, and the sum of their hashes."""
        return self.connection.execute(f"SELECT count(*), sum(hash(r)) FROM ({query}) AS r").fetchall()

    def _expression(self, table: str, column: str, kind: str) -> str:
        """The SQL of a column, without what differs from run to run."""
        name = f'"{column}"'
        for (pattern, excepted), expression in EXCEPTED_COLUMNS.items():
            if column == excepted and fnmatch(table, pattern):
                return f"{expression} AS {name}"
        if self.uncertain is None:
            return name
        if kind.startswith("TIMESTAMP"):
            first, last = self.uncertain
            within = f"BETWEEN TIMESTAMP '{first}' AND TIMESTAMP '{last}'"
            # Some times are by the platform's clock, some by UTC.
            return (
                f"CASE WHEN {name}::TIMESTAMP {within} OR {name}::TIMESTAMP + INTERVAL 8 HOUR {within} "
                f"THEN NULL ELSE {name} END AS {name}"
            )
        if kind == "VARCHAR":
            day = self.uncertain[0].date()
            times = rf"sync-\d{{8}}-\d{{6}}|{day}[ T]\d\d:\d\d:\d\d(\.\d+)?"
            return f"regexp_replace({name}, '{times}', 'TIME', 'g') AS {name}"
        return name

    def _relations(self, database: str) -> dict[str, Relation]:
        columns = defaultdict[str, dict[str, tuple[str, str | None]]](dict)
        parameters = {"database": database}
        for name, column, kind, comment in self.connection.execute(COLUMNS, parameters).fetchall():
            columns[name][column] = kind, comment
        rows = self.connection.execute(RELATIONS, parameters).fetchall()
        return {
            name: Relation(kind, comment, columns[name] if kind != "macro" else {})
            for name, kind, comment in rows
        }


def database_differences(
    base: Path, present: Path, counts: Counter[str], uncertain: Window | None = None
) -> Iterator[str]:
    """A line for each difference between two DuckDB files. Adds tables, rows and cells to `counts`."""
    with duckdb.connect() as connection:
        for name, path in (("base", base), ("present", present)):
            connection.execute(f"ATTACH '{path}' AS {name} (READ_ONLY)")
        yield from DatabaseComparison(connection, uncertain, counts).differences()


def column_differences(base: Relation, present: Relation) -> Iterator[str]:
    """A line for each difference of columns."""
    for column in base.columns:
        if column not in present.columns:
            yield f"column {column} is gone"
    for column, (kind, comment) in present.columns.items():
        if column not in base.columns:
            yield f"column {column} is new"
            continue
        base_kind, base_comment = base.columns[column]
        if kind != base_kind:
            yield f"column {column}: type {base_kind} -> {kind}"
        if comment != base_comment:
            yield f"column {column}: comment {change(base_comment, comment)}"
    common = [column for column in base.columns if column in present.columns]
    if common != [column for column in present.columns if column in base.columns]:
        yield f"columns stand in another order: {', '.join(present.columns)}"


def describe_rows(columns: Sequence[str], gone: Sequence[Row], new: Sequence[Row]) -> str:
    """The first differing row, beside the most similar row of the present version."""
    if not gone or not new:
        row = (gone or new)[0]
        return f"first row that is {'gone' if gone else 'new'}: {cells(columns, row, range(len(columns)))}"
    row = gone[0]
    similar = max(new[:ROWS_TO_PAIR], key=lambda candidate: sum(map(equal, row, candidate)))
    changed = [index for index in range(len(columns)) if not equal(row[index], similar[index])]
    same = [index for index in range(len(columns)) if index not in changed and row[index] is not None]
    changes = [f"{columns[index]} {change(row[index], similar[index])}" for index in changed[:SHOWN_CELLS]]
    return f"first: ({cells(columns, row, same)}) {'; '.join(changes)}"


def equal(first: Any, second: Any) -> bool:
    """Whether two cells are the same. Not a number equals itself."""
    return bool(first == second) or repr(first) == repr(second)


def cells(columns: Sequence[str], row: Row, indexes: Sequence[int]) -> str:
    """Some cells of a row in words."""
    return ", ".join(f"{columns[index]} {shortened(row[index])}" for index in indexes[:SHOWN_CELLS])


def change(before: Any, after: Any) -> str:
    """A change of a value in words, from the first difference on if the values are long."""
    first, second = str(before), str(after)
    if max(len(first), len(second)) > LONGEST_CELL:
        start = next(
            (index for index, pair in enumerate(zip(first, second, strict=False)) if pair[0] != pair[1]),
            min(len(first), len(second)),
        )
        first, second = (("…" if start > 10 else "") + text[max(0, start - 10) :] for text in (first, second))
    return f"{shortened(first)} -> {shortened(second)}"


def shortened(value: Any) -> str:
    """A value as text of bounded length."""
    text = str(value).replace("\n", " ")
    return text if len(text) <= LONGEST_CELL else text[:LONGEST_CELL] + "…"


def quoted(name: str) -> str:
    """A name of schema and table in SQL."""
    schema, _, table = name.partition(".")
    return f'"{schema}"."{table}"'
