"""Closed semesters in a frozen file: which rows a build reads from it, and which it makes anew.

A divided table has its rows of closed semesters in the frozen file, and its other rows in the shard's file.
A model that is not divided reads both files as one table. A divided model makes its rows of closed semesters
from the frozen rows of other divided tables, and from the columns of other tables that its yml names
(`meta.frozen`). These rows are made anew only if one of these inputs has changed."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path

import duckdb

from warehouse.identifiers import listed, literal, quoted
from warehouse.lake.sql import transaction, version_of
from warehouse.publish.models.compiled_models import Check, Model, Narrowed, Project, compiled_name
from warehouse.publish.models.dbt_project import DATABASE, ModelsBroken
from warehouse.published.union import DIVIDED as DIVIDED_THERE

#: The private file of a build.
FILE = "frozen.duckdb"
#: The divided tables of the lake: those with slices by semester and many rows.
DIVIDED = ("attendance_records", "attendance_sessions", "scores")
#: The divided tables of a file that no model makes.
TABLES = frozenset({*(f"raw.{name}" for name in DIVIDED), "quality.slices"})
#: The table of the frozen file that lists its semesters, by the ids of the models.
SEMESTERS = "closed_semesters"
#: The database beside the build's own.
FROZEN = "frozen"


class MixedSemesters(Exception):
    """In some schools, rows belong to a closed semester and to an open one."""

    def __init__(self, model: str, schools: Iterable[int]) -> None:
        self.schools = frozenset(schools)
        super().__init__(f"{model}: schools {', '.join(map(str, sorted(self.schools)))}")


class Divided:
    """The project as a build with a frozen file runs it."""

    def __init__(self, project: Project) -> None:
        self._models = {model.name: model for model in project.models}
        self.tables = set(TABLES)
        #: Views of divided tables, or of such views, which are divided like them.
        self._views = set[str]()
        for model in project.models:
            if model.frozen is not None:
                self.tables.add(model.name)
            elif model.kind == "view" and self._is_divided(model.inputs):
                self._views.add(model.name)
        self.project = Project(
            tuple(map(self._model, project.models)), tuple(map(self._check, project.checks))
        )

    def _is_divided(self, names: Iterable[str]) -> bool:
        return not (self.tables | self._views).isdisjoint(names)

    def _model(self, model: Model) -> Model:
        """The model with SQL for both files. A divided model, or a view of divided tables, reads the shard's
        file alone."""
        if self.includes(model) or not self._is_divided(model.inputs):
            return model
        if model.by_semester is not None:
            reads = model.by_semester.items()
            of_both = {
                name: replace(part, rows=self._whole(compiled_name(name), [name])) for name, part in reads
            }
            return replace(model, by_semester=of_both)
        return replace(model, sql=self._whole(model.sql, model.inputs))

    def _check(self, check: Check) -> Check:
        return replace(check, sql=self._whole(check.sql, check.inputs))

    def _whole(self, sql: str, inputs: Iterable[str]) -> str:
        for name in inputs:
            if name in self.tables:
                both = f"FROM {compiled_name(name)} UNION ALL FROM {compiled_name(name, FROZEN)}"
                sql = sql.replace(compiled_name(name), f"({both})")
            elif name in self._views:
                view = self._models[name]
                sql = sql.replace(compiled_name(name), f"({self._whole(view.sql, view.inputs)}\n)")
        return sql

    def includes(self, model: Model) -> bool:
        """Whether a model is a divided table, or a view of divided tables."""
        return model.name in self.tables or model.name in self._views

    def closed(self, model: Model) -> str:
        """The query for a divided model's rows in closed semesters; for a view, its own SQL."""
        return self._closed(model.sql, model.inputs, model) if model.frozen is not None else model.sql

    def _closed(self, sql: str, inputs: Iterable[str], model: Model) -> str:
        assert model.frozen is not None
        for name in inputs:
            if name in self.tables:
                made_of = compiled_name(name, FROZEN)
            elif name in self._views:
                view = self._models[name]
                made_of = f"({self._closed(view.sql, view.inputs, model)}\n)"
            elif name in model.frozen.reads:
                made_of = f"({narrowed(name, model.frozen.reads[name])})"
            else:
                raise ModelsBroken(f"{model.name}: meta.frozen.reads does not name {name}")
            sql = sql.replace(compiled_name(name), made_of)
        return sql

    def divided_inputs(self, model: Model) -> list[str]:
        """The divided tables that a model reads, through views too."""
        below = [self.divided_inputs(self._models[name]) for name in model.inputs if name in self._views]
        return [name for name in model.inputs if name in self.tables] + [*chain.from_iterable(below)]


def narrowed(name: str, to: Narrowed) -> str:
    """The query for the rows and columns of a table that closed semesters read."""
    query = f"SELECT {listed(to.columns)} FROM {compiled_name(name)}"
    if "semester_id" in to.columns:
        query += f" SEMI JOIN {FROZEN}.quality.{SEMESTERS} USING (school_id, semester_id)"
    return f"{query} WHERE {to.condition}" if to.condition else query


@dataclass
class FrozenBuild:
    """A shard's frozen file during a build."""

    #: The published file to start from; None: there is none.
    published: Path | None
    #: The new, private file; exists once its content differs from the published file.
    file: Path

    def forget(self) -> None:
        """Delete the private file of an earlier build."""
        for left in (self.file, self.file.with_name(f"{self.file.name}.wal")):
            left.unlink(missing_ok=True)

    def begin(self) -> Path:
        """The new file, ready to be written: a copy of the published file, if there is one."""
        if not self.file.exists() and self.published is not None:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.published, self.file)
        return self.file

    def attach(self, con: duckdb.DuckDBPyConnection) -> None:
        """Attach the new file to a build; without one, the published file read-only."""
        if self.file.exists():
            con.execute(f"ATTACH {literal(str(self.file))} AS {FROZEN}")
        else:
            con.execute(f"ATTACH {literal(str(self.published))} AS {FROZEN} (READ_ONLY)")

    def detach(self, con: duckdb.DuckDBPyConnection) -> None:
        """Write everything to disk and detach the file."""
        if self.file.exists():
            con.execute(f"CHECKPOINT {FROZEN}")
        con.execute(f"DETACH {FROZEN}")

    def write(self, con: duckdb.DuckDBPyConnection) -> None:
        """Make the attached file writable: replace the published file by the new one."""
        if not self.file.exists():
            con.execute(f"DETACH {FROZEN}")
            self.begin()
            self.attach(con)


@dataclass
class Freezer:
    """Makes the rows of divided models in closed semesters, if their inputs have changed."""

    con: duckdb.DuckDBPyConnection
    file: FrozenBuild
    divided: Divided

    @cached_property
    def _states(self) -> dict[str, str]:
        """By divided table, the version of its rows."""
        raw = self.con.execute(f"SELECT table_name, content FROM {FROZEN}.quality.contents").fetchall()
        return dict(raw + self.con.execute(f"SELECT name, state FROM {FROZEN}.{DIVIDED_THERE}").fetchall())

    def freeze(self, model: Model) -> bool:
        """Make a model's rows, and record that it is divided; a view is only recorded.

        Returns False if the file has them already. Raises duckdb.Error."""
        sql = self.divided.closed(model)
        state = self._state(model, sql)
        if self._states.get(model.name) == state:
            return False
        self.file.write(self.con)
        with transaction(self.con):
            if model.frozen is not None:
                columns = listed([column.name for column in model.columns])
                self.con.execute(f"CREATE SCHEMA IF NOT EXISTS {FROZEN}.{quoted(model.schema)}")
                table = compiled_name(model.name, FROZEN)
                self.con.execute(f"CREATE OR REPLACE TABLE {table} AS SELECT {columns} FROM ({sql})")
            self.con.execute(f"DELETE FROM {FROZEN}.{DIVIDED_THERE} WHERE name = ?", [model.name])
            self.con.execute(f"INSERT INTO {FROZEN}.{DIVIDED_THERE} VALUES (?, ?)", [model.name, state])
        self._states[model.name] = state
        return True

    def _state(self, model: Model, sql: str) -> str:
        """A version of everything that the rows are made from."""
        if model.frozen is None:
            return hashlib.sha256(sql.encode()).hexdigest()[:16]
        made_of: list[object] = [sql, *(self._states[name] for name in self.divided.divided_inputs(model))]
        for name, to in model.frozen.reads.items():
            made_of.append(version_of(self.con, narrowed(name, to)))
        return hashlib.sha256(repr(made_of).encode()).hexdigest()[:16]

    def rows(self, model: Model) -> int:
        """The number of a divided model's rows in the file."""
        [(rows,)] = self.con.execute(f"SELECT count(*) FROM {compiled_name(model.name, FROZEN)}").fetchall()
        return int(rows)

    def check_apart(self, model: Model) -> None:
        """Raises MixedSemesters if a divided model has rows that belong in the other file."""
        assert model.frozen is not None
        shard, frozen = (compiled_name(model.name, database) for database in (DATABASE, FROZEN))
        semesters = f"{FROZEN}.quality.{SEMESTERS}"
        queries = [
            f"SELECT school_id FROM (SELECT DISTINCT school_id, semester_id FROM {shard}) "
            f"SEMI JOIN {semesters} USING (school_id, semester_id)",
            f"SELECT school_id FROM (SELECT DISTINCT school_id, semester_id FROM {frozen}) "
            f"ANTI JOIN {semesters} USING (school_id, semester_id)",
        ]
        queries += [
            f"SELECT school_id FROM (SELECT school_id, {column} FROM {shard} "
            f"INTERSECT SELECT school_id, {column} FROM {frozen})"
            for column in map(quoted, model.frozen.apart)
        ]
        mixed = {school for query in queries for (school,) in self.con.execute(query).fetchall()}
        if mixed:
            raise MixedSemesters(model.name, mixed)
