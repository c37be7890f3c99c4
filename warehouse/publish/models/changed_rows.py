"""Which schools and semesters of a table have changed since the last publication, and which of them a model
is made for.

A school's rows of a model are made from that school's rows of its inputs, but for seeds, unless its yml says
`grain: all`. A semester's rows need of the inputs that the yml names (`semester_inputs`) only those of the
same semester. So where a few schools or semesters of its inputs have changed, a model is made for these only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import duckdb

from warehouse.identifiers import relation
from warehouse.publish.models.compiled_models import Model, Project, compiled_name, replace_inputs

#: A school, and one of its semesters; None: the whole school.
Scope = tuple[int, int | None]
#: The scopes of which a table has other rows than before; None: any rows.
Changes = frozenset[Scope] | None
UNCHANGED: Changes = frozenset()

#: Where more scopes have changed, all rows are made: the condition would be long.
MOST_SCOPES = 64
SCHOOL_COLUMNS, SEMESTER = ("school_id", "_school_id"), "semester_id"
KEY_COLUMNS = f"""
    SELECT schema_name || '.' || table_name, list(column_name)
    FROM duckdb_columns()
    WHERE NOT internal AND database_name = current_database()
        AND column_name IN ({", ".join(f"'{name}'" for name in (*SCHOOL_COLUMNS, SEMESTER))})
    GROUP BY ALL
"""


class ChangedRows:
    """What has changed in the file of a build.

    Args:
        previous: The published file that the build started from. None: nothing is compared.
        changed: The tables of the lake (`schema.table`) whose content has changed.
        by_scope: Whether models may be made for some schools and semesters."""

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        previous: duckdb.DuckDBPyConnection | None,
        project: Project,
        changed: Iterable[str],
        *,
        by_scope: bool,
    ) -> None:
        self._con, self._previous, self._by_scope = con, previous, by_scope and previous is not None
        self._seeds = {model.name for model in project.models if model.kind == "seed"}
        self._columns: Mapping[str, list[str]] = dict(con.execute(KEY_COLUMNS).fetchall())
        #: The tables that may have changed; what is not compared yet has no changes here.
        self.stale = {*changed}
        self._changes = dict[str, Changes]()

    def find_scopes(self, model: Model) -> Changes:
        """The scopes of which a model has to be made; UNCHANGED: of none."""
        if not self.stale.intersection(model.inputs):
            return UNCHANGED
        if not self._by_scope or model.kind == "view":
            return None
        scopes = set[Scope]()
        for name in model.inputs:
            changes = self._find_changes(name)
            if changes is None:
                return None
            is_by_semester = name in model.semester_inputs
            scopes |= changes if is_by_semester else {(school, None) for school, _ in changes}
        whole = {school for school, semester in scopes if semester is None}
        few = frozenset(scope for scope in scopes if scope[1] is None or scope[0] not in whole)
        # Statements after the model read all of its rows.
        is_divided = model.by_school and not model.after and self._school_column(model.name) is not None
        return few if not few or (is_divided and len(few) <= MOST_SCOPES) else None

    def note(self, model: Model, scopes: Changes, *, exists: bool) -> bool:
        """Note that a model was made for these scopes. Returns whether its rows may have changed.

        Args:
            exists: Whether the published file has all other rows."""
        if not exists or model.kind != "view":
            self._changes[model.name] = self._compare(model.name, scopes) if exists else None
        # A view is compared once a model reads it.
        if self._changes.get(model.name) == UNCHANGED:
            return False
        self.stale.add(model.name)
        return True

    def limit_to_scopes(self, model: Model, scopes: frozenset[Scope]) -> tuple[str, str]:
        """The query for a model's rows of scopes, and their condition."""
        schools = frozenset((school, None) for school, _ in scopes)
        queries = dict[str, str]()
        for name in model.inputs:
            of_input = scopes if name in model.semester_inputs else schools
            if name not in self._seeds and self._school_column(name) is not None:
                queries[name] = f"SELECT * FROM {compiled_name(name)} WHERE {self._condition(name, of_input)}"
        sql = replace_inputs(model.sql, queries)
        condition = self._condition(model.name, scopes)
        return f"SELECT * FROM ({sql}) WHERE {condition}", condition

    def _condition(self, name: str, scopes: frozenset[Scope]) -> str:
        """SQL for the rows of scopes in a table with schools."""
        column = self._school_column(name)
        conditions = [
            f"{column} = {school}" + ("" if semester is None else f" AND {SEMESTER} = {semester}")
            for school, semester in sorted(scopes, key=repr)
        ]
        return " OR ".join(map("({})".format, conditions))

    def _find_changes(self, name: str) -> Changes:
        if name not in self.stale:
            return UNCHANGED
        if name not in self._changes:
            self._changes[name] = self._compare(name, None)
        return self._changes[name]

    def _compare(self, name: str, scopes: Changes) -> Changes:
        """The scopes of a table whose rows differ from the published file.

        Args:
            scopes: Only these are looked at. None: all."""
        if self._previous is None:
            return None
        try:
            before, after = (self._versions(con, name, scopes) for con in (self._previous, self._con))
        except duckdb.Error:
            # The published file lacks the table, or a view fails: the model that reads the view reports that.
            return None
        changed = {scope for scope in before.keys() | after.keys() if before.get(scope) != after.get(scope)}
        # A scope without a school may be any row.
        return None if any(school is None for school, _ in changed) else frozenset(changed)

    def _versions(
        self, con: duckdb.DuckDBPyConnection, name: str, scopes: Changes
    ) -> dict[tuple[int, int | None], tuple[int, int]]:
        """By scope, the number and the hash of a table's rows, in any order."""
        school = self._school_column(name) or "NULL"
        semester = SEMESTER if SEMESTER in self._columns.get(name, ()) else "NULL"
        condition = "true" if scopes is None else self._condition(name, scopes)
        rows = con.execute(
            f"SELECT {school}, {semester}, count(*), sum(hash(stored)) FROM {relation(name)} AS stored "
            f"WHERE {condition} GROUP BY ALL"
        ).fetchall()
        return {(school, semester): (count, hashes) for school, semester, count, hashes in rows}

    def _school_column(self, name: str) -> str | None:
        return next((column for column in SCHOOL_COLUMNS if column in self._columns.get(name, ())), None)
