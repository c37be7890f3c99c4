"""Plans an extract: each column is kept, keyed, made coarser or dropped, by its privacy class."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import duckdb

from exports.suppression import FLAG
from warehouse.identifiers import quoted, relation
from warehouse.privacy import CLASSES, GUARDIANS, PERSONAL, SMALL_GROUP

Treatment = Literal["kept", "keyed", "day", "grouped", "screened", "small groups blank", "coarse", "dropped"]
#: What an extract protects from: standard removes what names people; in a strong extract, several students
#: share each row (coarse.py).
Protection = Literal["standard", "strong"]

#: The schemas of an extract unless the request names tables.
SCHEMAS = ("core", "marts")
#: The column with the school of a row is the first that a table has: a dataset may have both.
SCHOOL_COLUMNS = ("_school_id", "school_id")
#: Types that may contain anything.
NESTED = re.compile(r"STRUCT\(|MAP\(|UNION\(|JSON|VARIANT|BLOB")
NUMBERS = re.compile(r"(TINY|SMALL|BIG|HUGE|U\w*)?INT(EGER)?$|DECIMAL\(|DOUBLE$|FLOAT$")

#: Tables whose numbers are times, also in other tables: weeks, weekdays and lessons.
CALENDAR = ("core.dim_date", "core.dim_lesson")

CATALOG = """
    SELECT schema_name || '.' || table_name, column_name, data_type, privacy, description
    FROM quality.dictionary
    WHERE column_name IS NOT NULL
    ORDER BY schema_name, table_name, position
"""
#: The refusal of a path where a file is.
TAKEN = "{} exists already: name another file, or give --force"


class ExtractRefused(Exception):
    """An extract that cannot be made as requested. The message says what to do."""


@dataclass(frozen=True)
class Request:
    """The requested content of an extract."""

    #: Only these schools; empty: all.
    schools: tuple[int, ...] = ()
    #: Only these semesters, in tables that have a semester; empty: all.
    semesters: tuple[int, ...] = ()
    #: Only these tables (`schema.table`); empty: all of core and marts, and those of `declared`.
    tables: tuple[str, ...] = ()
    #: Ids of schools, classes and other things are keyed, and their names dropped.
    hides_schools: bool = False
    #: By table of a dataset or report, the privacy classes of columns that the operator releases.
    declared: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    protection: Protection = "standard"


@dataclass(frozen=True)
class Column:
    """A column of the published file with its treatment."""

    name: str
    type: str
    privacy: str
    description: str
    treatment: Treatment
    reason: str

    @property
    def is_list(self) -> bool:
        """Whether each value is a list."""
        return self.type.endswith("[]")


@dataclass(frozen=True)
class Table:
    """A table of an extract with all its columns, including dropped columns."""

    name: str
    columns: tuple[Column, ...]
    #: SQL for the relation with its rows.
    source: str

    def of_class(self, privacy: str) -> list[str]:
        """The names of the columns of a privacy class."""
        return [column.name for column in self.columns if column.privacy == privacy]

    @property
    def school_column(self) -> str | None:
        """The column that names the school of a row."""
        names = {column.name for column in self.columns}
        return next((name for name in SCHOOL_COLUMNS if name in names), None)


def plan(
    con: duckdb.DuckDBPyConnection, request: Request, tables: Sequence[str] | None = None
) -> list[Table]:
    """The tables of an extract of the opened published file. `tables`: instead of those of the request.

    Raises ExtractRefused where the request names something that does not exist, or classifies a column that
    has a class."""
    catalog: dict[str, list[tuple[str, str, str | None, str]]] = {}
    for table, name, type_, privacy, description in con.execute(CATALOG).fetchall():
        catalog.setdefault(table, []).append((name, type_, privacy, description or ""))
    allowed = [name for name in catalog if name.partition(".")[0] in SCHEMAS or name in request.declared]
    if tables is None:
        _check(request, catalog, allowed)
    existing = {row[0] for row in con.execute("SELECT school_id FROM core.dim_school").fetchall()}
    if unknown := [school_id for school_id in request.schools if school_id not in existing]:
        raise ExtractRefused(
            f"there is no school {', '.join(map(str, unknown))} in the published file; there are "
            f"{', '.join(map(str, sorted(existing))) or 'none'}"
        )
    calendar = {row[0] for table in CALENDAR for row in catalog.get(table, ())}
    planned = [
        Table(
            name,
            tuple(_columns(catalog[name], request, request.declared.get(name, {}), calendar)),
            relation(name),
        )
        for name in tables or request.tables or allowed
    ]
    if request.schools and (unlimited := [table.name for table in planned if table.school_column is None]):
        raise ExtractRefused(f"{', '.join(unlimited)}: no column names the school; leave out --school")
    return [table for table in planned if any(column.treatment != "dropped" for column in table.columns)]


def _check(
    request: Request, catalog: Mapping[str, Sequence[tuple[object, ...]]], allowed: Sequence[str]
) -> None:
    for table in request.tables:
        if table not in allowed:
            raise ExtractRefused(
                f"an extract cannot have {table}: it has tables of core and marts, and datasets and reports "
                "whose columns campus.yaml classifies (extracts.tables)"
            )
    for table, columns in request.declared.items():
        there = {str(row[0]): row[2] for row in catalog.get(table, ())}
        for column in columns:
            if column not in there:
                raise ExtractRefused(f"extracts.tables in campus.yaml: {table} has no column {column}")
            if there[column] is not None:
                raise ExtractRefused(
                    f"extracts.tables in campus.yaml: {table}.{column} is classified already: {there[column]}"
                )


def _columns(
    columns: Iterable[tuple[str, str, str | None, str]],
    request: Request,
    declared: Mapping[str, str],
    calendar: Collection[str],
) -> Iterable[Column]:
    columns = [(name, type_, declared.get(name, privacy), about) for name, type_, privacy, about in columns]
    is_grouped = any(privacy == "people" for _, _, privacy, _ in columns) or FLAG in {
        row[0] for row in columns
    }
    for name, type_, privacy, description in columns:
        if declared and name == "_school_id":
            privacy = "id"
        how, reason = treatment(
            type_,
            privacy,
            is_grouped=is_grouped and name not in calendar,
            hides_schools=request.hides_schools,
        )
        yield Column(name, type_, privacy or "", description, how, reason)


def treatment(
    type_: str, privacy: str | None, *, is_grouped: bool, hides_schools: bool
) -> tuple[Treatment, str]:
    """What becomes of a column, and why. `is_grouped`: its numbers are blank in rows about few people."""
    if privacy is None:
        return "dropped", "it is not classified"
    reason = CLASSES[privacy]
    if privacy in PERSONAL or privacy == "uncounted":
        return "dropped", reason
    if NESTED.search(type_):
        return "dropped", "a value of this type may contain anything"
    if privacy in ("person", "record") or (privacy == "id" and hides_schools):
        return "keyed", reason
    if privacy == "label":
        if hides_schools:
            return "dropped", "tells which school it is"
        return "screened", "null where it holds the name or number of a person"
    if privacy == "moment":
        if type_ in ("TIMESTAMP", "DATE"):
            return "day", "the day alone: the second would identify the row on the platform"
        return "dropped", "a time of this type cannot be made coarser"
    if privacy == "trait":
        return "grouped", f"null in cohorts where fewer than {SMALL_GROUP} students share their traits"
    if is_grouped and privacy in ("plain", "people") and NUMBERS.match(type_):
        return "small groups blank", f"null where the row is about fewer than {SMALL_GROUP} people"
    return "kept", reason


def condition(table: Table, request: Request) -> str:
    """SQL for the rows of a table that an extract has."""
    parts = []
    if request.schools:
        assert table.school_column is not None
        parts.append(f"{quoted(table.school_column)} IN ({', '.join(map(str, request.schools))})")
    if request.semesters and "semester_id" in {column.name for column in table.columns}:
        parts.append(f"semester_id IN ({', '.join(map(str, request.semesters))})")
    for name in table.of_class("kind"):
        guardians = ", ".join(f"'{value}'" for value in GUARDIANS)
        parts.append(f"coalesce(CAST({quoted(name)} AS VARCHAR), '') NOT IN ({guardians})")
    return " AND ".join(parts) or "true"
