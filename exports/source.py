"""Reads the published file for exports: its schools, and the age of its data."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

import duckdb

from exports.library.view_rows import ViewRows, read_rows
from exports.library.words import phrase
from exports.spreadsheet.columns import NAMED_BY_PLATFORM, table_label
from exports.spreadsheet.sheets import Words
from warehouse.age import NOT_BY_SEMESTER, Age, age_of, incomplete_slices
from warehouse.published import reading
from warehouse.published.contents import read_publication, read_schools, read_standings, read_tables
from warehouse.published.shards import Published

#: The memory limit. Larger sorts spill to disk.
MEMORY_MB = 256

#: Prefixes of resources with v1 semester ids.
OF_V1 = ("v1_", "attendance_", "timetable_")
#: The semesters of a school, with their ids in the v3 and in the v1 interface.
SEMESTERS = ViewRows(view="semester")


@dataclass(frozen=True)
class School:
    """A school of the published file."""

    id: int
    name: str


@dataclass(frozen=True)
class Loads:
    """The loads of a school, for the age of its data."""

    #: The statuses of its slices, without earlier semesters that are not shown.
    standings: tuple[Mapping[str, Any], ...] = ()
    #: The resources that a table (schema.table) is made of.
    made_of: Mapping[str, frozenset[str]] = field(default_factory=dict)
    #: The labels of resources.
    labels: Mapping[str, Words] = field(default_factory=dict)
    #: Names of semesters by their ids, in the v3 and in the v1 interface.
    semesters: Mapping[str, str] = field(default_factory=dict)
    v1_semesters: Mapping[str, str] = field(default_factory=dict)

    def age(self, tables: Iterable[str]) -> Age:
        """The age of the data of these tables. Where the tables are unknown, of all data."""
        return age_of(self._below(tables))

    def in_part(self, tables: Iterable[str]) -> tuple[date, Words] | None:
        """The resources of these tables that the last loads read in part, and the day since when. None: the
        last loads read everything, or no whole load is known."""
        partial = incomplete_slices(self._below(tables))
        whole = [row["whole_at"] for row in partial if row["whole_at"]]
        if not whole:
            return None
        return min(whole).date(), self.named(dict.fromkeys((row["resource"] for row in partial), ()))

    def _below(self, tables: Iterable[str]) -> Iterator[Mapping[str, Any]]:
        resources = frozenset[str]().union(*(self.made_of.get(table, ()) for table in tables))
        return (row for row in self.standings if not resources or row["resource"] in resources)

    def named(self, resources: Mapping[str, Sequence[str]]) -> Words:
        """The labels of resources with the names of their semesters. No semesters: the whole resource."""
        return joined([self._named(name, ids) for name, ids in sorted(resources.items())])

    def _named(self, resource: str, ids: Sequence[str]) -> Words:
        name = resource.rpartition(".")[2]
        label = self.labels.get(resource, Words(name, name))
        if not ids:
            return label
        names = self.v1_semesters if resource.startswith(OF_V1) else self.semesters
        of = joined(Words(name, name) for name in (names.get(id, id) for id in ids))
        return phrase("with_semesters").format(label, of)


@dataclass(frozen=True)
class Origin:
    """The source of a file's rows."""

    school: School
    generation: str
    published_at: datetime
    loads: Loads = field(default_factory=Loads)
    #: The age of the data in the file.
    age: Age = field(default_factory=Age)
    #: The pages of a site, by key, whose rows are read. Empty: those of the whole school.
    pages: tuple[str, ...] = ()

    def made_of(self, tables: Iterable[str]) -> Origin:
        """The source of a file that is made of these tables (schema.table)."""
        return replace(self, age=self.loads.age(tables))

    def alarm(
        self,
        words: Words,
        of: Mapping[str, Sequence[str]],
        affected: Words,
        sections: Iterable[tuple[Words, Iterable[str]]],
    ) -> Words | None:
        """A message about resources whose last load failed. None: there are none.

        Args:
            words: Has the fields `at` (time of the failure) and `of` (resources).
            of: As in `Loads.named`.
            affected: The sentence that names the affected sections; left out where there are none.
            sections: The sections of the file with their tables."""
        if not of:
            return None
        at = f"{max(self.age.failed[resource] for resource in of):%Y-%m-%d %H:%M}"
        names = joined(name for name, tables in sections if of.keys() & self.loads.age(tables).failed.keys())
        alarm = words.format(at=at, of=self.loads.named(of))
        return alarm + affected.format(names) if names.en else alarm

    def not_loaded(self, tables: Iterable[str]) -> Words | None:
        """The resources of these tables that were never loaded whole. None: there are none."""
        never = self.loads.age(tables).never
        return self.loads.named(never) if never else None

    @property
    def day(self) -> date:
        """The date of the data."""
        return (self.age.as_of or self.published_at).date()

    def parameters(self, query: str) -> dict[str, Any]:
        """The parameters of a query. DuckDB refuses a parameter that the query does not use."""
        values = {"school_id": self.school.id, "pages": list(self.pages)}
        return {name: value for name, value in values.items() if f"${name}" in query}


def joined(words: Iterable[Words]) -> Words:
    """A list of texts as one text."""
    texts, comma = list(words), phrase("comma")
    return Words(comma.en.join(text.en for text in texts), comma.zh.join(text.zh for text in texts))


@contextmanager
def open_source(published: Published, scratch: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the published file. This reader keeps a file that is replaced meanwhile. Spills to `scratch`."""
    with reading.opened(published, reader_config(scratch)) as con:
        yield con


def reader_config(
    scratch: Path, memory_mb: int = MEMORY_MB
) -> dict[str, str | bool | int | float | list[str]]:
    """DuckDB's settings of a reader that spills to `scratch`."""
    return {
        "memory_limit": f"{memory_mb}MB",
        "threads": 2,
        "temp_directory": str(scratch),
        "autoinstall_known_extensions": False,
    }


def schools(con: duckdb.DuckDBPyConnection) -> list[School]:
    """The schools that the platform still has, by id."""
    return [School(id, name) for id, name in read_schools(con).items()]


def distinct_names(names: Mapping[str, str]) -> dict[str, str]:
    """Names by key. Equal names get their keys, since names identify rows of charts."""
    often = Counter(names.values())
    return {key: f"{name} ({key})" if often[name] > 1 else name for key, name in names.items()}


def origins(con: duckdb.DuckDBPyConnection, proven: Path, schools: Sequence[School]) -> dict[int, Origin]:
    """Read the sources of schools' rows, and their age, by school id. `proven`: as of `proven_by`."""
    generation, published_at = read_publication(con)
    loads = _loads(con, proven, generation, [school.id for school in schools])
    return {
        school.id: Origin(school, generation, published_at, loads[school.id], loads[school.id].age(()))
        for school in schools
    }


def _loads(
    con: duckdb.DuckDBPyConnection, proven: Path, generation: str, school_ids: Sequence[int]
) -> dict[int, Loads]:
    standings = read_standings(con, proven, generation, school_ids)
    semesters = defaultdict[int, list[dict[str, Any]]](list)
    for row in read_rows(con, SEMESTERS, school_ids):
        semesters[row["school_id"]].append(row)
    tables = read_tables(con)
    made_of = {
        f"{row['schema_name']}.{row['table_name']}": frozenset(row["stands_on"] or ()) for row in tables
    }
    labels = resource_labels(tables)
    loads = {}
    for id in school_ids:
        hidden = _not_shown(semesters[id])
        shown = tuple(
            row
            for row in standings.get(id, ())
            if row["resource"].startswith(NOT_BY_SEMESTER) or hidden.isdisjoint(row["slice"].split(":")[1:2])
        )
        names, v1_names = (
            {str(row[id_column]): row["semester_name"] for row in semesters[id] if row["semester_name"]}
            for id_column in ("semester_id", "v1_semester_id")
        )
        loads[id] = Loads(shown, made_of, labels, names, v1_names)
    return loads


def resource_labels(tables: Iterable[Mapping[str, Any]]) -> dict[str, Words]:
    """The labels of resources, by the tables of the published file. The load log names resources of `raw`
    without the schema."""
    return {
        f"{row['schema_name']}.{row['table_name']}".removeprefix("raw."): table_label(
            *(row[name] for name in ("schema_name", "table_name", "description", "label_en", "label_zh"))
        )
        for row in tables
        if row["schema_name"] in ("raw", *NAMED_BY_PLATFORM)
    }


def _not_shown(semesters: Iterable[Mapping[str, Any]]) -> set[str]:
    """The v3 and v1 ids of earlier semesters that no sheet shows. A current semester that was never loaded
    counts as shown."""
    ids: dict[bool, set[str]] = {True: set(), False: set()}
    for row in semesters:
        ids[row["is_shown"] or bool(row["is_current"])] |= {
            str(row[name]) for name in ("semester_id", "v1_semester_id")
        }
    return ids[False] - ids[True]
