"""Plans an extract: each column is kept, keyed, made coarser or dropped, by its privacy class."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import duckdb

from exports.suppression import FLAG
from exports.tables import SCHOOL_COLUMNS
from warehouse.identifiers import among, literal, quoted, relation
from warehouse.privacy import CLASSES, GUARDIANS, PERSONAL, SMALL_GROUP
from warehouse.published.reading import records

Treatment = Literal["kept", "keyed", "day", "grouped", "screened", "small groups blank", "coarse", "dropped"]
#: What an extract protects from: standard removes what names people; in a strong extract, several students
#: share each row (coarse.py makes the rows of coarse.yml).
Protection = Literal["standard", "strong"]

#: The schemas of an extract unless the request names tables.
SCHEMAS = ("core", "marts")
#: Types that may contain anything.
NESTED = re.compile(r"STRUCT\(|MAP\(|UNION\(|JSON|VARIANT|BLOB")
NUMBERS = re.compile(r"(TINY|SMALL|BIG|HUGE|U\w*)?INT(EGER)?$|DECIMAL\(|DOUBLE$|FLOAT$")

#: Tables whose numbers are times, also in other tables: weeks, weekdays and lessons.
CALENDAR = ("core.dim_date", "core.dim_lesson")

CATALOG = """
    SELECT schema_name || '.' || table_name AS full_name, column_name, data_type, privacy, description
    FROM quality.dictionary
    WHERE column_name IS NOT NULL
    ORDER BY schema_name, table_name, position
"""
#: The refusal of a path where a file is.
TAKEN = "{} exists already: name another file, or give --force"


#: The dictionary's entries of a table, by column.
Entries = dict[str, dict[str, Any]]


class ExtractRefused(Exception):
    """An extract that cannot be made as requested. The message says what to do."""


@dataclass(frozen=True)
class ExtractRequest:
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
class ExtractColumn:
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
class ExtractTable:
    """A table of an extract with all its columns, including dropped columns."""

    name: str
    columns: tuple[ExtractColumn, ...]
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
    con: duckdb.DuckDBPyConnection, request: ExtractRequest, tables: Sequence[str] | None = None
) -> list[ExtractTable]:
    """The tables of an extract of the opened published file. `tables`: instead of those of the request.

    Raises ExtractRefused where the request names something that does not exist, or classifies a column that
    has a class."""
    catalog = defaultdict[str, Entries](dict)
    for entry in records(con, CATALOG):
        catalog[entry["full_name"]][entry["column_name"]] = entry
    allowed = [name for name in catalog if name.partition(".")[0] in SCHEMAS or name in request.declared]
    if tables is None:
        _check(request, catalog, allowed)
    existing = [id for (id,) in con.execute("SELECT school_id FROM core.dim_school ORDER BY ALL").fetchall()]
    if unknown := [school_id for school_id in request.schools if school_id not in existing]:
        raise ExtractRefused(
            f"there is no school {', '.join(map(str, unknown))} in the published file; there are "
            f"{', '.join(map(str, existing)) or 'none'}"
        )
    calendar = {column for table in CALENDAR for column in catalog[table]}
    planned = [
        ExtractTable(name, tuple(_columns(name, catalog[name], request, calendar)), relation(name))
        for name in tables or request.tables or allowed
    ]
    if request.schools and (unlimited := [table.name for table in planned if table.school_column is None]):
        raise ExtractRefused(f"{', '.join(unlimited)}: no column names the school; leave out --school")
    return [table for table in planned if any(column.treatment != "dropped" for column in table.columns)]


def _check(request: ExtractRequest, catalog: Mapping[str, Entries], allowed: Collection[str]) -> None:
    for table in request.tables:
        if table not in allowed:
            raise ExtractRefused(
                f"an extract cannot have {table}: it has tables of core and marts, and datasets and reports "
                "whose columns campus.yaml classifies (extracts.tables)"
            )
    for table, classes in request.declared.items():
        for column in classes:
            if column not in catalog.get(table, {}):
                raise ExtractRefused(f"extracts.tables in campus.yaml: {table} has no column {column}")
            if (privacy := catalog[table][column]["privacy"]) is not None:
                raise ExtractRefused(
                    f"extracts.tables in campus.yaml: {table}.{column} is classified already: {privacy}"
                )


def _columns(
    table: str, entries: Entries, request: ExtractRequest, calendar: Collection[str]
) -> Iterator[ExtractColumn]:
    declared = request.declared.get(table, {})
    classes = {name: declared.get(name, entry["privacy"]) for name, entry in entries.items()}
    if declared and "_school_id" in classes:
        classes["_school_id"] = "id"
    is_grouped = "people" in classes.values() or FLAG in classes
    for name, entry in entries.items():
        how, reason = treatment(
            entry["data_type"],
            classes[name],
            is_grouped=is_grouped and name not in calendar,
            hides_schools=request.hides_schools,
        )
        description = entry["description"] or ""
        yield ExtractColumn(name, entry["data_type"], classes[name] or "", description, how, reason)


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


def condition(table: ExtractTable, request: ExtractRequest) -> str:
    """SQL for the rows of a table that an extract has."""
    conditions = []
    if request.schools:
        assert table.school_column is not None
        conditions.append(among(table.school_column, request.schools))
    if request.semesters and "semester_id" in {column.name for column in table.columns}:
        conditions.append(among("semester_id", request.semesters))
    guardians = ", ".join(map(literal, GUARDIANS))
    for name in table.of_class("kind"):
        conditions.append(f"coalesce(CAST({quoted(name)} AS VARCHAR), '') NOT IN ({guardians})")
    return " AND ".join(conditions) or "true"
