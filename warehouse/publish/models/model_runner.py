"""Runs the compiled models and checks whose inputs have changed, on the private DuckDB file.

A model is made anew if an input changed, and counts as changed only if its rows did. So a night on which only
the date changed costs the few models that read the date.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import duckdb

from warehouse.identifiers import listed, literal, quoted, relation
from warehouse.lake.sql import transaction
from warehouse.publish.frozen import Divided, Freezer, FrozenBuild
from warehouse.publish.models.by_semester import make_semesters
from warehouse.publish.models.changed_rows import UNCHANGED, ChangedRows, Changes
from warehouse.publish.models.compiled_models import Check, Model, Project

EXISTING = """
    SELECT schema_name || '.' || table_name FROM duckdb_tables()
    WHERE NOT internal AND database_name = current_database()
    UNION ALL
    SELECT schema_name || '.' || view_name FROM duckdb_views()
    WHERE NOT internal AND database_name = current_database()
"""


@dataclass(frozen=True)
class Built:
    """The outcome of making a model."""

    model: Model
    seconds: float
    #: Why it could not be made; None: it was made.
    problem: str | None = None
    #: Whether its rows have changed.
    changed: bool = True
    #: The number of rows of a table; None: a view.
    rows: int | None = None


@dataclass(frozen=True)
class Checked:
    """The outcome of a check."""

    check: Check
    #: pass, warn, fail, or error if the query could not be run.
    status: str
    #: The number of rows that break it.
    failures: int | None
    message: str | None

    @property
    def forbids(self) -> bool:
        """Whether the file must not be published."""
        return self.status in ("fail", "error")


def run(
    con: duckdb.DuckDBPyConnection,
    project: Project,
    changed: Iterable[str],
    *,
    seeds_anew: bool = False,
    previous: duckdb.DuckDBPyConnection | None = None,
    frozen: FrozenBuild | None = None,
) -> Iterator[Built | Checked]:
    """Make the models whose inputs changed and run the checks whose inputs changed; yields each outcome.

    `changed`: the tables of the lake (`schema.table`) whose content changed since the models in the file were
    made. A model that the file lacks is made in any case, and so is each seed with `seeds_anew`. Models and
    checks that read a model with a problem are skipped. A file with a problem, or with a check that forbids
    it, must not be published. `previous`: the file as it was before the change; None: all rows count as
    changed. `frozen`: the file with the rows of closed semesters.

    Raises MixedSemesters."""
    # Imported only here: `campus status` knows this module, and needs neither numpy nor polars.
    from warehouse.publish.models.sql_functions import register_functions

    register_functions(con)
    freezer = None
    if frozen is not None:
        frozen.attach(con)
        freezer = Freezer(con, frozen, Divided(project))
        project = freezer.divided.project
    rows, broken = ChangedRows(con, previous, project, changed, by_scope=frozen is None), set[str]()
    existing = {name for (name,) in con.execute(EXISTING).fetchall()}
    due = _checks_by_last_input(project)

    def check_all(checks: Sequence[Check]) -> Iterator[Checked]:
        for check in checks:
            if rows.stale.intersection(check.inputs) and not broken.intersection(check.inputs):
                yield run_check(con, check)

    yield from check_all(due[""])
    for model in project.models:
        exists = model.name in existing and not (seeds_anew and model.kind == "seed")
        if broken.intersection(model.inputs):
            broken.add(model.name)
        elif (scopes := rows.find_scopes(model) if exists else None) != UNCHANGED:
            its_freezer = freezer if freezer and freezer.divided.includes(model) else None
            built = _build(con, model, its_freezer, rows, scopes, exists=model.name in existing)
            if built.problem is not None:
                broken.add(model.name)
            yield built
        yield from check_all(due[model.name])


def _checks_by_last_input(project: Project) -> Mapping[str, list[Check]]:
    """Group the checks by the last model that they read, which is still in memory then; checks that read the
    lake alone are under the empty name."""
    place = {model.name: number for number, model in enumerate(project.models)}
    due = defaultdict[str, list[Check]](list)
    for check in project.checks:
        models = (name for name in check.inputs if name in place)
        due[max(models, key=place.__getitem__, default="")].append(check)
    return due


def _build(
    con: duckdb.DuckDBPyConnection,
    model: Model,
    freezer: Freezer | None,
    rows: ChangedRows,
    scopes: Changes,
    *,
    exists: bool,
) -> Built:
    """Make a model's rows of scopes; None: all. Makes a divided model in both files."""
    began = time.monotonic()
    try:
        with transaction(con):
            _make(con, model, None if scopes is None else rows.limit_to_scopes(model, scopes), exists=exists)
        is_frozen_anew = freezer is not None and freezer.freeze(model)
        count = None if model.kind == "view" else _count(con, model.relation)
        if freezer is not None and model.frozen is not None and count is not None:
            freezer.check_apart(model)
            count += freezer.rows(model)
        changed = rows.note(model, scopes, exists=exists and not is_frozen_anew)
    except duckdb.Error as error:
        return Built(model, time.monotonic() - began, problem=str(error))
    problem = _breach(con, model) if model.is_contract else None
    return Built(model, time.monotonic() - began, problem, changed, count)


def _make(
    con: duckdb.DuckDBPyConnection, model: Model, scopes: tuple[str, str] | None, *, exists: bool
) -> None:
    """`scopes`: a query for some of the rows, and the condition that these rows meet; None: all rows."""
    if exists and model.kind == "view":
        # The same models made the view: it shows the rows that its inputs have now.
        return
    con.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(model.schema)}")
    if model.kind == "view":
        con.execute(f"CREATE VIEW {model.relation} AS {model.sql}")
    elif model.kind == "seed":
        types = {column.name: column.type or "varchar" for column in model.columns}
        con.register("seed", con.read_csv(model.sql, header=True, dtype=types))
        con.execute(f"CREATE OR REPLACE TABLE {model.relation} AS FROM seed")
    elif model.by_semester is not None:
        make_semesters(con, model, exists=exists)
    elif scopes is not None:
        query, condition = scopes
        con.execute(f"DELETE FROM {model.relation} WHERE {condition}")
        con.execute(f"INSERT INTO {model.relation} BY NAME {query}")
        return
    else:
        # Columns that the contract does not name come last, and break the contract.
        names = listed([column.name for column in model.columns])
        columns = f"{names}, * EXCLUDE ({names})" if model.is_contract else "*"
        con.execute(f"CREATE OR REPLACE TABLE {model.relation} AS SELECT {columns} FROM ({model.sql})")
    if model.documented:
        kind = "VIEW" if model.kind == "view" else "TABLE"
        con.execute(f"COMMENT ON {kind} {model.relation} IS {literal(model.comment)}")
        for column in model.columns:
            place = f"{model.relation}.{quoted(column.name)}"
            con.execute(f"COMMENT ON COLUMN {place} IS {literal(column.comment)}")
    for statement in model.after:
        con.execute(statement)


def _breach(con: duckdb.DuckDBPyConnection, model: Model) -> str | None:
    """How the table differs from the model's contract; None: it does not."""
    # duckdb_columns() would look at every column of the file each time.
    described = con.execute(f"DESCRIBE {model.relation}").fetchall()
    contract = {column.name: column.type or "" for column in model.columns}
    breaches = [
        f"{name} is {type}, its contract says {contract.get(name, 'nothing of it')}"
        for name, type, *_ in described
        if _normalized(type) != _normalized(contract.get(name, ""))
    ]
    return f"{model.name}: {'; '.join(breaches)}" if breaches else None


def _normalized(type: str) -> str:
    return type.replace(" ", "").upper()


def run_check(con: duckdb.DuckDBPyConnection, check: Check) -> Checked:
    """Run a check, and store the rows that break it if it says so."""
    try:
        failures = _count(con, f"({check.sql})")
        if check.keeps is not None:
            con.execute(f"DROP TABLE IF EXISTS {relation(check.keeps)}")
            # The table exists only if there are rows for somebody to mend.
            if failures:
                con.execute(f"CREATE TABLE {relation(check.keeps)} AS {check.sql}")
    except duckdb.Error as error:
        return Checked(check, "error", None, str(error))
    if not failures:
        return Checked(check, "pass", 0, None)
    table = f", see {check.keeps}" if check.keeps else ""
    message = f"{failures:,} {'row breaks' if failures == 1 else 'rows break'} it{table}"
    return Checked(check, "fail" if check.blocks else "warn", failures, message)


def _count(con: duckdb.DuckDBPyConnection, rows: str) -> int:
    [(count,)] = con.execute(f"SELECT count(*) FROM {rows}").fetchall()
    return int(count)
