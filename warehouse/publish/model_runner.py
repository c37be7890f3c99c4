"""Runs the compiled models and checks on the private DuckDB file, as far as what they read has changed.

A model is made anew where an input changed, and counts as changed itself only where its rows did. So a night
on which nothing changed but the date costs the few models that read the date.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import duckdb

from warehouse.identifiers import listed, literal, quoted, relation
from warehouse.lake.sql import transaction
from warehouse.publish.compiled_models import Check, Model, Project
from warehouse.publish.frozen import Divided, Freezer, FrozenBuild

HELD = """
    SELECT schema_name || '.' || table_name FROM duckdb_tables()
    WHERE NOT internal AND database_name = current_database()
    UNION ALL
    SELECT schema_name || '.' || view_name FROM duckdb_views()
    WHERE NOT internal AND database_name = current_database()
"""


@dataclass(frozen=True)
class Built:
    """A model that was made. `problem`: why it could not be. `changed`: its rows are not what they were.
    `rows`: of a table, how many."""

    model: Model
    seconds: float
    problem: str | None = None
    changed: bool = True
    rows: int | None = None


@dataclass(frozen=True)
class Checked:
    """What a check found. `status`: pass, warn, fail, or error where its query could not be run; `failures`:
    the rows that break it."""

    check: Check
    status: str
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
    frozen: FrozenBuild | None = None,
) -> Iterator[Built | Checked]:
    """Make the models that read what changed and run the checks of what they read; yields each as it is done.

    `changed`: the tables of the lake (`schema.table`) whose content is not what the models in the file were
    made of. A model that the file lacks is made in any case, and each seed with `seeds_anew`. What stands
    on a model that could not be made is left out. A file with a problem, or with a check that forbids it,
    must not be published. `frozen`: the file that has the rows of closed semesters.

    Raises MixedSemesters."""
    freezer = None
    if frozen is not None:
        frozen.attach(con)
        freezer = Freezer(con, frozen, Divided(project))
        project = freezer.divided.project
    stale, broken = set(changed), set[str]()
    held = {name for (name,) in con.execute(HELD).fetchall()}
    due = _checks_by_last_input(project)

    def check_all(checks: Sequence[Check]) -> Iterator[Checked]:
        for one in checks:
            if stale.intersection(one.inputs) and not broken.intersection(one.inputs):
                yield check(con, one)

    yield from check_all(due[""])
    for model in project.models:
        if broken.intersection(model.inputs):
            broken.add(model.name)
        elif (
            stale.intersection(model.inputs)
            or model.name not in held
            or (seeds_anew and model.kind == "seed")
        ):
            mine = freezer if freezer and freezer.divided.includes(model) else None
            built = _build(con, model, mine, is_held=model.name in held)
            if built.problem is not None:
                broken.add(model.name)
            elif built.changed:
                stale.add(model.name)
            yield built
        yield from check_all(due[model.name])


def _checks_by_last_input(project: Project) -> Mapping[str, list[Check]]:
    """The checks by the last of the models that they read, while that is still in memory; those that read the
    lake alone by the empty name."""
    place = {model.name: number for number, model in enumerate(project.models)}
    due = defaultdict[str, list[Check]](list)
    for check in project.checks:
        models = (name for name in check.inputs if name in place)
        due[max(models, key=place.__getitem__, default="")].append(check)
    return due


def _build(con: duckdb.DuckDBPyConnection, model: Model, freezer: Freezer | None, *, is_held: bool) -> Built:
    """Make a model; where it is divided, in both files."""
    began = time.monotonic()
    try:
        before = _content(con, model) if is_held else None
        with transaction(con):
            _make(con, model)
        after = _content(con, model) if is_held else None
        changed = after is None or before != after
        rows = None if model.kind == "view" else _count(con, model.relation)
        if freezer is not None:
            changed = freezer.freeze(model) or changed
            if model.frozen is not None:
                freezer.check_apart(model)
                rows = _count(con, model.relation) + freezer.rows(model)
    except duckdb.Error as error:
        return Built(model, time.monotonic() - began, problem=str(error))
    problem = _breach(con, model) if model.is_contract else None
    return Built(model, time.monotonic() - began, problem, changed, rows)


def _make(con: duckdb.DuckDBPyConnection, model: Model) -> None:
    con.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(model.schema)}")
    if model.kind == "view":
        con.execute(f"CREATE OR REPLACE VIEW {model.relation} AS {model.sql}")
    elif model.kind == "seed":
        types = {column.name: column.type or "varchar" for column in model.columns}
        con.register("seed", con.read_csv(model.sql, header=True, dtype=types))
        con.execute(f"CREATE OR REPLACE TABLE {model.relation} AS FROM seed")
    else:
        # In the contract's order; what it does not name comes last, and is found to be a breach of it.
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


def _content(con: duckdb.DuckDBPyConnection, model: Model) -> tuple[int, int] | None:
    """What tells the rows of a table from others, in whatever order; None: a view, which is what it reads."""
    if model.kind == "view":
        return None
    query = f"SELECT count(*), coalesce(sum(hash(held)), 0) FROM {model.relation} AS held"
    [(rows, hashes)] = con.execute(query).fetchall()
    return int(rows), int(hashes)


def _breach(con: duckdb.DuckDBPyConnection, model: Model) -> str | None:
    """Where the table is not as the model's contract says."""
    # Not by duckdb_columns, which looks at every column of the file each time.
    described = con.execute(f"DESCRIBE {model.relation}").fetchall()
    found: dict[str, str] = {name: type for name, type, *_ in described}
    said = {column.name: column.type or "" for column in model.columns}
    others = [
        f"{name} is {type}, its contract says {said.get(name, 'nothing of it')}"
        for name, type in found.items()
        if _spelled(type) != _spelled(said.get(name, ""))
    ]
    return f"{model.name}: {'; '.join(others)}" if others else None


def _spelled(type: str) -> str:
    return type.replace(" ", "").upper()


def check(con: duckdb.DuckDBPyConnection, one: Check) -> Checked:
    """Run one check, and keep the rows that break it where it says so."""
    try:
        failures = _count(con, f"({one.sql})")
        if one.keeps is not None:
            con.execute(f"DROP TABLE IF EXISTS {relation(one.keeps)}")
            # A table there is a finding: the rows are for those who can mend them.
            if failures:
                con.execute(f"CREATE TABLE {relation(one.keeps)} AS {one.sql}")
    except duckdb.Error as error:
        return Checked(one, "error", None, str(error))
    if not failures:
        return Checked(one, "pass", 0, None)
    where = f", see {one.keeps}" if one.keeps else ""
    message = f"{failures:,} {'row breaks' if failures == 1 else 'rows break'} it{where}"
    return Checked(one, "fail" if one.blocks else "warn", failures, message)


def _count(con: duckdb.DuckDBPyConnection, rows: str) -> int:
    [(count,)] = con.execute(f"SELECT count(*) FROM {rows}").fetchall()
    return int(count)
