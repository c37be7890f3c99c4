"""The tables of a strong extract: rows of students without keys, each shared by several students.

Weeks stand in place of dates, and bands in place of marks. A row that too few students share becomes coarser
step by step, and is left out in the end. So each row equals, in all its columns, rows of enough students of
the same school, and no column leads from one row of a student to another row of the student."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb

from exports.extracts.plan import (
    ExtractColumn,
    ExtractRefused,
    ExtractRequest,
    ExtractTable,
    condition,
    plan,
    treatment,
)
from exports.library.view_rows import Data
from exports.library.words import content_of
from warehouse.identifiers import listed, quoted
from warehouse.privacy import SMALL_GROUP

SCHEMA = "coarse"


class CoarseColumn(Data):
    """A column of a table with rows of students."""

    type: str
    privacy: str
    meaning: str
    band: tuple[int, ...] = ()

    def value(self, name: str) -> str:
        """SQL for the column of this name: the lower end of the number's band, if it has bands."""
        bands = " ".join(f"WHEN {quoted(name)} >= {lower_end} THEN {lower_end}" for lower_end in self.band)
        return f"CASE {bands} END AS {quoted(name)}" if bands else quoted(name)


class CoarseTable(Data):
    """A table with rows of students."""

    columns: tuple[str, ...]
    query: str
    steps: tuple[dict[str, str], ...]


class CoarseTables(Data):
    """The file coarse.yml, which says what its fields are."""

    about_nobody: tuple[str, ...]
    columns: dict[str, CoarseColumn]
    tables: dict[str, CoarseTable]


COARSE = CoarseTables.model_validate(content_of("coarse", Path(__file__).parent))


@dataclass(frozen=True)
class Coarsening:
    """What has become of the rows of a table."""

    table: str
    rows: int
    #: Rows whose columns became coarser, by the names of these columns.
    generalized: Mapping[str, int]
    suppressed: int
    #: The fewest students who share a row. None: there is no row.
    fewest_sharing: int | None

    @property
    def suppressed_share(self) -> float | None:
        """The share of the rows that are left out. None: there was no row."""
        return self.suppressed / self.rows if self.rows else None


def plan_coarse(con: duckdb.DuckDBPyConnection, request: ExtractRequest) -> list[ExtractTable]:
    """The tables of a strong extract. Raises ExtractRefused where the request names another table."""
    full_names = {f"{SCHEMA}.{name}": name for name in COARSE.tables}
    available = (*full_names, *COARSE.about_nobody)
    if unknown := [name for name in request.tables if name not in available]:
        raise ExtractRefused(
            f"a strong extract cannot have {', '.join(unknown)}: it has {', '.join(available)}"
        )
    requested = request.tables or available
    coarse = [
        ExtractTable(full_name, tuple(_columns(COARSE.tables[name], request)), f"temp.{quoted(name)}")
        for full_name, name in full_names.items()
        if full_name in requested
    ]
    return coarse + [table for table in plan(con, request, COARSE.about_nobody) if table.name in requested]


def _columns(table: CoarseTable, request: ExtractRequest) -> Iterator[ExtractColumn]:
    for name in table.columns:
        column = COARSE.columns[name]
        how, reason = treatment(
            column.type, column.privacy, is_grouped=False, hides_schools=request.hides_schools
        )
        if column.privacy == "plain":
            how, reason = "coarse", f"each row is shared by {SMALL_GROUP} students or more"
        yield ExtractColumn(name, column.type, column.privacy, column.meaning, how, reason)


def coarsen(
    con: duckdb.DuckDBPyConnection, tables: list[ExtractTable], request: ExtractRequest
) -> list[Coarsening]:
    """Make the rows of the coarse tables, as temporary tables, of what the request selects."""
    return [_coarsened(con, table, request) for table in tables if table.name.startswith(f"{SCHEMA}.")]


def _coarsened(con: duckdb.DuckDBPyConnection, table: ExtractTable, request: ExtractRequest) -> Coarsening:
    coarse = COARSE.tables[table.name.removeprefix(f"{SCHEMA}.")]
    columns = listed(coarse.columns)
    values = ", ".join(COARSE.columns[name].value(name) for name in coarse.columns)
    requested = condition(table, request)
    _make(con, "unshared", f"SELECT student_id, {values} FROM ({coarse.query}) WHERE {requested}")
    _make(con, table.source, "FROM unshared LIMIT 0")
    [(rows,)] = con.execute("SELECT count(*) FROM unshared").fetchall()
    generalized, coarser, sharing = dict[str, int](), list[str](), list[int]()
    for step in ({}, *coarse.steps):
        coarser += step
        if step:
            replaced = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in step.items())
            _make(con, "unshared", f"SELECT * REPLACE ({replaced}) FROM unshared")
        # A student with several equal rows is a single student.
        size = f"count(DISTINCT student_id) OVER (PARTITION BY {columns})"
        _make(con, "sized", f"SELECT *, {size} AS sharing FROM unshared")
        enough = f"FROM sized WHERE sharing >= {SMALL_GROUP}"
        [(shared, fewest)] = con.execute(f"SELECT count(*), min(sharing) {enough}").fetchall()
        con.execute(f"INSERT INTO {table.source} SELECT * EXCLUDE (sharing) {enough}")
        if shared:
            sharing.append(fewest)
        if step and shared:
            generalized[", ".join(coarser)] = shared
        _make(con, "unshared", f"SELECT * EXCLUDE (sharing) FROM sized WHERE sharing < {SMALL_GROUP}")
    [(suppressed,)] = con.execute("SELECT count(*) FROM unshared").fetchall()
    return Coarsening(table.name, rows, generalized, suppressed, min(sharing, default=None))


def _make(con: duckdb.DuckDBPyConnection, table: str, query: str) -> None:
    con.execute(f"CREATE OR REPLACE TEMP TABLE {table} AS {query}")
