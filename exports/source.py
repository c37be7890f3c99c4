"""The published file as exports read it: which schools are in it, and as of when it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

import duckdb

from exports.columns import english
from exports.sheets import Words
from exports.workbooks.queries import SHOWN
from warehouse.age import NOT_BY_SEMESTER, Age, age_of, read_in_part
from warehouse.published import reading
from warehouse.published.shards import Published

#: Enough to sort a table of any size; what goes beyond is spilled to disk.
MEMORY_MB = 256

#: How the slices of a school stood when the file was filled.
AS_FILLED = """
    SELECT
        _school_id, resource, slice, last.status, last.finished_at, last.requests,
        max(started_at) FILTER (complete AND status IN ('ok', 'warning')) AS complete_at,
        max(started_at) FILTER (complete AND "whole" AND status IN ('ok', 'warning')) AS whole_at
    FROM (
        SELECT *, max_by(load_log, finished_at) OVER (PARTITION BY resource, slice) AS last
        FROM quality.load_log WHERE _school_id = $school_id
    )
    GROUP BY ALL
"""
#: The same when a later night had found that the lake is as the file has it.
AS_PROVEN = """
    SELECT _school_id, resource, slice, status, finished_at, requests, complete_at, whole_at
    FROM read_parquet($proven) WHERE generation = $generation AND _school_id = $school_id
"""
#: The ids, in either interface, of earlier semesters that no sheet shows. No sheet may show a current one
#: either, since it was never loaded.
NOT_SHOWN = f"""
    WITH {SHOWN}, semesters AS (
        SELECT school_id, semester_id, v1_semester_id, is_current
        FROM core.dim_semester
        LEFT JOIN (FROM quality.semester_calendars SELECT *, _school_id AS school_id)
            USING (school_id, semester_id)
        WHERE school_id = $school_id
    ),
    ids AS (
        SELECT
            shown.semester_name IS NOT NULL OR coalesce(is_current, false) AS is_shown,
            unnest([semester_id, v1_semester_id]) AS id
        FROM semesters LEFT JOIN shown USING (school_id, semester_id)
    )
    SELECT id::VARCHAR AS id FROM ids GROUP BY id HAVING NOT bool_or(is_shown)
"""
#: Names of semesters, with their ids in the v3 and in the v1 interface.
SEMESTERS = """
    SELECT semester_id::VARCHAR AS id, v1_semester_id::VARCHAR AS v1_id, semester_name
    FROM core.dim_semester
    LEFT JOIN (FROM quality.semester_calendars SELECT *, _school_id AS school_id)
        USING (school_id, semester_id)
    WHERE school_id = $school_id AND semester_name IS NOT NULL
"""
#: How the resources begin whose semesters have v1 ids.
OF_V1 = ("v1_", "attendance_", "timetable_")
#: A resource of some of its semesters.
OF_SEMESTERS = Words("{} (semester {})", "{}（学期：{}）")
#: Of each table the resources that it stands on, and what it is called.
TABLES = """
    SELECT schema_name, table_name, stands_on, label_zh FROM quality.dictionary WHERE column_name IS NULL
"""


@dataclass(frozen=True)
class School:
    """A school of the published file."""

    id: int
    name: str


@dataclass(frozen=True)
class Loads:
    """The loads of a school that tell how old its data are."""

    #: Where its slices stand, without those of earlier semesters that are not shown.
    standings: tuple[Mapping[str, Any], ...] = ()
    #: The resources that a table (schema.table) stands on.
    made_of: Mapping[str, frozenset[str]] = field(default_factory=dict)
    #: Of resources.
    labels: Mapping[str, Words] = field(default_factory=dict)
    #: Names of semesters by their ids, in the v3 and in the v1 interface.
    semesters: Mapping[str, str] = field(default_factory=dict)
    v1_semesters: Mapping[str, str] = field(default_factory=dict)

    def age(self, tables: Iterable[str]) -> Age:
        """The age of what is made of these tables; where they are not known, of all."""
        return age_of(self._below(tables))

    def in_part(self, tables: Iterable[str]) -> tuple[date, Words] | None:
        """Since when the last loads have read only parts of what these tables are made of, and the resources;
        None: they read all of it, or nothing is known of whole loads."""
        found = read_in_part(self._below(tables))
        whole = [row["whole_at"] for row in found if row["whole_at"]]
        if not whole:
            return None
        return min(whole).date(), self.named(dict.fromkeys((row["resource"] for row in found), ()))

    def _below(self, tables: Iterable[str]) -> Iterator[Mapping[str, Any]]:
        wanted = frozenset[str]().union(*(self.made_of.get(table, ()) for table in tables))
        return (row for row in self.standings if not wanted or row["resource"] in wanted)

    def named(self, resources: Mapping[str, Sequence[str]]) -> Words:
        """Resources for people, each with the semesters (their ids) that are meant of it; none: all of it."""
        return in_a_row([self._named(name, ids) for name, ids in sorted(resources.items())])

    def _named(self, resource: str, ids: Sequence[str]) -> Words:
        label = self.labels.get(resource) or Words(english(resource), resource)
        if not ids:
            return label
        names = self.v1_semesters if resource.startswith(OF_V1) else self.semesters
        of = in_a_row(Words(name, name) for name in (names.get(id, id) for id in ids))
        return Words(OF_SEMESTERS.en.format(label.en, of.en), OF_SEMESTERS.zh.format(label.zh, of.zh))


@dataclass(frozen=True)
class Origin:
    """Where the rows of a file come from. `age`: of all that is in the file."""

    school: School
    generation: str
    published_at: datetime
    loads: Loads = field(default_factory=Loads)
    age: Age = field(default_factory=Age)

    def made_of(self, tables: Iterable[str]) -> Origin:
        """The same of a file that is made of these tables (schema.table)."""
        return replace(self, age=self.loads.age(tables))

    def alarm(
        self,
        words: Words,
        of: Mapping[str, Sequence[str]],
        parts: Iterable[tuple[Words, Iterable[str]]],
    ) -> Words | None:
        """What these resources, of which the last load failed, mean for a file; None: there are none.

        `of`: as in `Loads.named`. `words` have places for when that was (`at`), for the resources (`of`), and
        for those of the parts of the file that stand on them (`parts`), each given with its tables."""
        if not of:
            return None
        at, what = f"{max(self.age.failed[each] for each in of):%Y-%m-%d %H:%M}", self.loads.named(of)
        where = in_a_row(name for name, tables in parts if of.keys() & self.loads.age(tables).failed.keys())
        return Words(
            words.en.format(at=at, of=what.en, parts=where.en),
            words.zh.format(at=at, of=what.zh, parts=where.zh),
        )

    def not_loaded(self, tables: Iterable[str]) -> Words | None:
        """What was never loaded whole of what these tables stand on; None: all was."""
        never = self.loads.age(tables).never
        return self.loads.named(never) if never else None

    @property
    def day(self) -> date:
        """The date of the data."""
        return (self.age.as_of or self.published_at).date()

    def parameters(self, query: str) -> dict[str, int]:
        """What a query is given: DuckDB refuses a value for which there is no place."""
        return {"school_id": self.school.id} if "$school_id" in query else {}


def in_a_row(words: Iterable[Words]) -> Words:
    """Words one after the other."""
    each = list(words)
    return Words(", ".join(one.en for one in each), "、".join(one.zh for one in each))


@contextmanager
def opened(published: Published, scratch: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Read what is published; what is replaced meanwhile stays as it was for this reader. It spills to
    `scratch`."""
    config: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": f"{MEMORY_MB}MB",
        "threads": 2,
        "temp_directory": str(scratch),
        "autoinstall_known_extensions": False,
    }
    with reading.opened(published, config) as con:
        yield con


def schools(con: duckdb.DuckDBPyConnection) -> list[School]:
    """The schools that the platform still has, by id."""
    rows = con.execute("SELECT school_id, school_name FROM core.dim_school WHERE NOT is_deleted ORDER BY 1")
    # A school that the platform does not list is known by its id alone.
    return [School(id, name or str(id)) for id, name in rows.fetchall()]


def told_apart(names: Mapping[str, str]) -> dict[str, str]:
    """Names by key, each with its key where several have the same: what goes by names would be one."""
    often = Counter(names.values())
    return {key: f"{name} ({key})" if often[name] > 1 else name for key, name in names.items()}


def origin(con: duckdb.DuckDBPyConnection, proven: Path, school: School) -> Origin:
    """Where the rows of a school come from, and how old all of them are. `proven`: as of `proven_by`."""
    [(generation, published_at)] = con.execute(
        "SELECT generation, published_at FROM quality.publication"
    ).fetchall()
    loads = _loads(con, proven, generation, school.id)
    return Origin(school, generation, published_at, loads, loads.age(()))


def _loads(con: duckdb.DuckDBPyConnection, proven: Path, generation: str, school_id: int) -> Loads:
    given = {"school_id": school_id}
    later = given | {"proven": str(proven), "generation": generation}
    standings = (records(con, AS_PROVEN, later) if proven.exists() else []) or records(con, AS_FILLED, given)
    elsewhere = {row["id"] for row in records(con, NOT_SHOWN, given)}
    semesters = records(con, SEMESTERS, given)
    tables = records(con, TABLES, {})
    return Loads(
        tuple(
            row
            for row in standings
            if row["resource"].startswith(NOT_BY_SEMESTER)
            or elsewhere.isdisjoint(row["slice"].split(":")[1:2])
        ),
        {f"{row['schema_name']}.{row['table_name']}": frozenset(row["stands_on"] or ()) for row in tables},
        {
            row["table_name"]: Words(english(row["table_name"]), row["label_zh"] or row["table_name"])
            for row in tables
            if row["schema_name"] == "raw"
        },
        {row["id"]: row["semester_name"] for row in semesters},
        {row["v1_id"]: row["semester_name"] for row in semesters},
    )


def records(con: duckdb.DuckDBPyConnection, query: str, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of a query, by their columns."""
    found = con.execute(query, given)
    names = [name for name, *_ in found.description or ()]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]
