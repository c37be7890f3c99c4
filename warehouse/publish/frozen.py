"""Closed semesters in a file of their own: what a build takes from it, and what it makes anew there.

A table that is divided has the rows of closed semesters in the frozen file, and the others in the shard's.
Models that are not divided read both as one, and are made whole. The rows of a divided model in closed
semesters are made of such rows of other divided tables, and of what its yml names of the rest (`frozen` under
its `meta`): of these alone, so that they are made anew where one of them is another, and stay otherwise."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import duckdb

from warehouse.identifiers import listed, literal, quoted
from warehouse.lake.sql import transaction
from warehouse.publish.compiled_models import Check, Model, Narrowed, Project
from warehouse.publish.dbt_project import ModelsBroken
from warehouse.published.union import DIVIDED as DIVIDED_THERE

#: The private file of a build.
FILE = "frozen.duckdb"
#: Tables of the lake that are divided, of those that have slices by semester: the ones with many rows.
DIVIDED = ("attendance_records", "attendance_sessions", "scores")
#: Tables of a file that are divided with them.
TABLES = frozenset({*(f"raw.{name}" for name in DIVIDED), "quality.slices"})
#: In the frozen file: which semesters it has, by the ids of the models.
SEMESTERS = "closed_semesters"
#: The names of the two databases of a build; the first is that of the compiled SQL.
SHARD, FROZEN = "campus", "frozen"


class MixedSemesters(Exception):
    """Rows of closed semesters and of open ones cannot be told apart in some schools."""

    def __init__(self, model: str, schools: Iterable[int]) -> None:
        self.schools = frozenset(schools)
        super().__init__(f"{model}: schools {', '.join(map(str, sorted(self.schools)))}")


class Divided:
    """The project as a build with a frozen file runs it."""

    def __init__(self, project: Project) -> None:
        self._models = {model.name: model for model in project.models}
        self.tables = set(TABLES)
        #: Views of divided tables, which have the rows of both as these do.
        self._views = set[str]()
        for model in project.models:
            if model.frozen is not None:
                self.tables.add(model.name)
            elif model.kind == "view" and self._is_divided(model.inputs):
                if not self._views.isdisjoint(model.inputs):
                    raise ModelsBroken(
                        f"{model.name}: a view of a view of tables that are divided by semester"
                    )
                self._views.add(model.name)
        self.project = Project(
            tuple(map(self._model, project.models)), tuple(map(self._check, project.checks))
        )

    def _is_divided(self, names: Iterable[str]) -> bool:
        return not (self.tables | self._views).isdisjoint(names)

    def _model(self, model: Model) -> Model:
        """A model that is not divided reads the whole of the others. One that is, and a view of divided
        tables, mean those of the shard's file."""
        if self.includes(model) or not self._is_divided(model.inputs):
            return model
        return replace(model, sql=self._whole(model.sql, model.inputs))

    def _check(self, check: Check) -> Check:
        return replace(check, sql=self._whole(check.sql, check.inputs))

    def _whole(self, sql: str, inputs: Iterable[str]) -> str:
        for name in inputs:
            if name in self.tables:
                both = " UNION ALL ".join(f"FROM {_place(one, name)}" for one in (SHARD, FROZEN))
                sql = sql.replace(_place(SHARD, name), f"({both})")
            elif name in self._views:
                view = self._models[name]
                sql = sql.replace(_place(SHARD, name), f"({self._whole(view.sql, view.inputs)}\n)")
        return sql

    def includes(self, model: Model) -> bool:
        """Whether a model is a divided table, or a view of some."""
        return model.name in self.tables or model.name in self._views

    def closed(self, model: Model) -> str:
        """The query for the rows of a divided model in closed semesters; of a view as it is written."""
        return self._closed(model.sql, model.inputs, model) if model.frozen is not None else model.sql

    def _closed(self, sql: str, inputs: Iterable[str], model: Model) -> str:
        assert model.frozen is not None
        for name in inputs:
            if name in self.tables:
                made_of = _place(FROZEN, name)
            elif name in self._views:
                view = self._models[name]
                made_of = f"({self._closed(view.sql, view.inputs, model)}\n)"
            elif name in model.frozen.reads:
                made_of = f"({narrowed(name, model.frozen.reads[name])})"
            else:
                raise ModelsBroken(f"{model.name}: meta.frozen.reads says nothing of {name}")
            sql = sql.replace(_place(SHARD, name), made_of)
        return sql

    def divided_inputs(self, model: Model) -> list[str]:
        """The divided tables that a model reads, through views too."""
        views = (self._models[name] for name in model.inputs if name in self._views)
        names = [*model.inputs, *(name for view in views for name in view.inputs)]
        return [name for name in names if name in self.tables]


def narrowed(name: str, to: Narrowed) -> str:
    """The query for what closed semesters see of a table."""
    query = f"SELECT {listed(to.columns)} FROM {_place(SHARD, name)}"
    if "semester_id" in to.columns:
        query += f" SEMI JOIN {FROZEN}.quality.{SEMESTERS} USING (school_id, semester_id)"
    return f"{query} WHERE {to.where}" if to.where else query


@dataclass
class FrozenBuild:
    """The frozen file of a shard under way. `published`: the one to go on from; None: there is none. `file`:
    the new one, in private; it is there once anything in it is other than in the published one."""

    published: Path | None
    file: Path

    def forget(self) -> None:
        """Delete what a build has left that was not published."""
        for left in (self.file, self.file.with_name(f"{self.file.name}.wal")):
            left.unlink(missing_ok=True)

    def begin(self) -> Path:
        """The new file, to be written."""
        if not self.file.exists() and self.published is not None:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.published, self.file)
        return self.file

    def attach(self, con: duckdb.DuckDBPyConnection) -> None:
        """Show it to a build."""
        if self.file.exists():
            con.execute(f"ATTACH {literal(str(self.file))} AS {FROZEN}")
        else:
            con.execute(f"ATTACH {literal(str(self.published))} AS {FROZEN} (READ_ONLY)")

    def detach(self, con: duckdb.DuckDBPyConnection) -> None:
        """Be done with it, all of it on the disk."""
        if self.file.exists():
            con.execute(f"CHECKPOINT {FROZEN}")
        con.execute(f"DETACH {FROZEN}")

    def write(self, con: duckdb.DuckDBPyConnection) -> None:
        """Have the file that is attached be one that can be written."""
        if not self.file.exists():
            con.execute(f"DETACH {FROZEN}")
            self.begin()
            self.attach(con)


@dataclass
class Freezer:
    """Makes the rows of divided models in closed semesters, as far as what they are made of has changed."""

    con: duckdb.DuckDBPyConnection
    file: FrozenBuild
    divided: Divided

    @cached_property
    def _states(self) -> dict[str, str]:
        """By divided table a name for its rows."""
        raw = self.con.execute(f"SELECT table_name, content FROM {FROZEN}.quality.contents").fetchall()
        return dict(raw + self.con.execute(f"SELECT name, state FROM {FROZEN}.{DIVIDED_THERE}").fetchall())

    def freeze(self, model: Model) -> bool:
        """Make the rows of a model, and write down that it is divided; of a view nothing is made. False: the
        file has this already. Raises duckdb.Error."""
        sql = self.divided.closed(model)
        state = self._state(model, sql)
        if self._states.get(model.name) == state:
            return False
        self.file.write(self.con)
        with transaction(self.con):
            if model.frozen is not None:
                columns = listed([column.name for column in model.columns])
                self.con.execute(f"CREATE SCHEMA IF NOT EXISTS {FROZEN}.{quoted(model.schema)}")
                self.con.execute(
                    f"CREATE OR REPLACE TABLE {_place(FROZEN, model.name)} AS SELECT {columns} FROM ({sql})"
                )
            self.con.execute(f"DELETE FROM {FROZEN}.{DIVIDED_THERE} WHERE name = ?", [model.name])
            self.con.execute(f"INSERT INTO {FROZEN}.{DIVIDED_THERE} VALUES (?, ?)", [model.name, state])
        self._states[model.name] = state
        return True

    def _state(self, model: Model, sql: str) -> str:
        """A name for all that the rows are made of."""
        if model.frozen is None:
            return hashlib.sha256(sql.encode()).hexdigest()[:16]
        made_of: list[object] = [sql, *(self._states[name] for name in self.divided.divided_inputs(model))]
        for name, to in model.frozen.reads.items():
            query = f"SELECT count(*), sum(hash(held)) FROM ({narrowed(name, to)}) AS held"
            made_of.append(self.con.execute(query).fetchall())
        return hashlib.sha256(repr(made_of).encode()).hexdigest()[:16]

    def rows(self, model: Model) -> int:
        """How many rows of a divided model the file has."""
        [(rows,)] = self.con.execute(f"SELECT count(*) FROM {_place(FROZEN, model.name)}").fetchall()
        return int(rows)

    def check_apart(self, model: Model) -> None:
        """Raises MixedSemesters where a divided model has rows that belong in the other file."""
        assert model.frozen is not None
        shard, frozen = (_place(one, model.name) for one in (SHARD, FROZEN))
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


def _place(database: str, name: str) -> str:
    """`schema.table` of a database, spelled as dbt does."""
    schema, _, table = name.partition(".")
    return f'"{database}"."{schema}"."{table}"'
