"""Models that are made for changed schools and semesters only, beside models that are made whole."""

import os
import random
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import duckdb
import pytest

from tests.kits.worlds.world import World
from warehouse.identifiers import listed, literal
from warehouse.publish.build import opened_as_built
from warehouse.publish.models.compiled_models import (
    Model,
    Project,
    compiled_name,
    read_project,
    replace_inputs,
)
from warehouse.publish.models.dbt_project import compiled
from warehouse.publish.models.model_runner import Built, run
from warehouse.publish.models.sql_functions import register_functions
from warehouse.publish.publish import FILE
from warehouse.publish.whole_build import CHECK, MARKER, SECONDS_BETWEEN_WHOLE_BUILDS

SCHOOL, TWIN = 101, 901
#: Tables of the lake, as models read them.
LAKE = """
    SELECT schema_name || '.' || table_name, list(column_name)
    FROM duckdb_columns() WHERE schema_name IN ('raw', 'quality') GROUP BY ALL ORDER BY ALL
"""
STEPS = 3
#: The tables of which the twin of a school has fewer rows.
FEWER = {
    f"raw.{name}" for name in ("attendance_records", "grades", "scores", "students", "transcript_courses")
}

PROJECT = read_project(compiled())
BY_SEMESTER = [model for model in PROJECT.models if model.semester_inputs]
BY_SCHOOL = [
    model
    for model in PROJECT.models
    if model.kind == "table"
    and model.by_school
    and not model.after
    and model.name != "quality.reconciliation"
]


@pytest.fixture(scope="module")
def world(make_world: Callable[..., World]) -> World:
    """Two schools with two semesters, published."""
    made = make_world("demo", schools=2, students=40, semesters=2)
    assert made.load(select=None).problems == []
    assert made.publish().problem is None
    return made


@pytest.fixture(scope="module")
def published(world: World) -> Path:
    """The published file."""
    return world.home / FILE


def move(key: str) -> str:
    """SQL that moves a third of the rows, those with a key together, to another semester of their school."""
    return f"""
        CASE
            WHEN hash({key}, 1) % 3 > 0 THEN semester_id
            ELSE (
                SELECT list(semester_id ORDER BY hash(semester_id, {key}))[1]
                FROM core.dim_semester
                WHERE dim_semester.school_id = stored.school_id
            )
        END AS semester_id
    """


def move_together(columns: Mapping[str, str], number: int) -> str:
    """All rows of an assessment, else of a class or student, are in one semester: another for each input."""
    keys = ("assessment_id", "course_class_id", "student_id")
    key = next((key for key in keys if key in columns), "stored")
    return move(f"hash({key}, {number})")


def empty_values(columns: Mapping[str, str], _: int) -> str:
    """Only rows of the last semester have decimals and flags."""
    plain = [name for name, kind in columns.items() if kind.startswith(("DECIMAL", "DOUBLE", "BOOLEAN"))]
    last = "(SELECT max(semester_id) FROM core.dim_semester WHERE dim_semester.school_id = stored.school_id)"
    return (
        ", ".join(f'CASE WHEN semester_id = {last} THEN "{name}" END AS "{name}"' for name in plain)
        or "semester_id AS semester_id"
    )


#: By what is wrong with the rows of a model's semester inputs: SQL for the replaced columns of one of them.
FAULTS: Mapping[str, Callable[[Mapping[str, str], int], str]] = {
    "rows are moved": lambda _, number: move(f"hash(stored, {number})"),
    "groups are moved": move_together,
    "values of one semester": empty_values,
}


@contextmanager
def copied(file: Path, folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A copy of a published file, which has the name of a file that is built."""
    folder.mkdir(exist_ok=True)
    copy = Path(shutil.copy(file, folder / "campus.duckdb"))
    copy.chmod(0o600)
    with closing(duckdb.connect(str(copy))) as con:
        register_functions(con)
        yield con


@pytest.fixture(scope="module")
def moved(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """The file, to be read by `test_a_semester_needs_rows_of_that_semester`."""
    with copied(published, tmp_path_factory.mktemp("moved")) as con:
        yield con


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("model", BY_SEMESTER, ids=lambda model: model.name)
def test_a_semester_needs_rows_of_that_semester(
    moved: duckdb.DuckDBPyConnection, model: Model, fault: str
) -> None:
    """Also where rows that refer to each other lie in different semesters, and where only the last semester
    has values."""
    semesters = moved.execute("SELECT school_id, semester_id FROM core.dim_semester ORDER BY ALL").fetchall()
    assert len(semesters) == 4
    tables = {name: f"FROM temp.moved_{number}" for number, name in enumerate(model.semester_inputs)}
    for number, name in enumerate(model.semester_inputs):
        columns = dict(moved.execute(f"SELECT column_name, column_type FROM (DESCRIBE {name})").fetchall())
        replaced = FAULTS[fault](columns, number)
        query = f"SELECT * REPLACE ({replaced}) FROM {compiled_name(name)} AS stored"
        moved.execute(f"CREATE OR REPLACE TEMP TABLE moved_{number} AS {query}")
    queries = []
    for school, semester in semesters:
        condition = f"WHERE school_id = {school} AND semester_id = {semester}"
        limited = {name: f"{table} {condition}" for name, table in tables.items()}
        queries.append(f"SELECT * FROM ({replace_inputs(model.sql, limited)}) {condition}")
    assert_alike(moved, model, replace_inputs(model.sql, tables), queries)


@pytest.fixture(scope="module")
def twins(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """The file, with a school that has the ids and rows of another."""
    with copied(published, tmp_path_factory.mktemp("twins")) as con:
        lake = dict(con.execute(LAKE).fetchall())
        names = [name for name, columns in lake.items() if "_school_id" in columns]
        for name in names:
            con.execute(f"DELETE FROM {name} WHERE _school_id NOT IN ({SCHOOL}, 0)")
            # Other rates and means: a third of the facts are missing.
            some = "hash(stored) % 3 > 0" if name in FEWER else "true"
            con.execute(
                f"INSERT INTO {name} SELECT * REPLACE ({TWIN} AS _school_id) FROM {name} AS stored "
                f"WHERE _school_id = {SCHOOL} AND {some}"
            )
        con.execute("UPDATE raw.schools SET id = _school_id")
        assert problems(con, PROJECT, set(names)) == []
        yield con


@pytest.mark.parametrize("model", BY_SCHOOL, ids=lambda model: model.name)
def test_a_school_needs_rows_of_that_school(twins: duckdb.DuckDBPyConnection, model: Model) -> None:
    """Also where another school has the same ids."""
    columns = dict(
        twins.execute(
            LAKE.replace("'raw', 'quality'", "'raw', 'quality', 'staging', 'core', 'marts'")
        ).fetchall()
    )
    school_column = "_school_id" if model.name == "quality.reconciliation" else "school_id"
    queries = []
    for school in (SCHOOL, TWIN):
        limited = {}
        for name in model.inputs:
            column = next((key for key in ("school_id", "_school_id") if key in columns.get(name, ())), None)
            if column is not None:
                limited[name] = f"SELECT * FROM {compiled_name(name)} WHERE {column} = {school}"
        queries.append(
            f"SELECT * FROM ({replace_inputs(model.sql, limited)}) WHERE {school_column} = {school}"
        )
    assert_alike(twins, model, model.sql, queries)


def assert_alike(con: duckdb.DuckDBPyConnection, model: Model, whole: str, queries: list[str]) -> None:
    names = listed([column.name for column in model.columns])
    con.execute(f"CREATE OR REPLACE TEMP TABLE whole AS SELECT {names} FROM ({whole})")
    con.execute("CREATE OR REPLACE TEMP TABLE parts AS FROM whole LIMIT 0")
    for query in queries:
        con.execute(f"INSERT INTO parts SELECT {names} FROM ({query})")
    assert differing(con, "whole", "parts") == []


def differing(con: duckdb.DuckDBPyConnection, first: str, second: str) -> list[tuple[object, ...]]:
    """A few rows that only one of two tables has."""
    only = "(FROM {} EXCEPT ALL FROM {})"
    return con.execute(
        f"{only.format(first, second)} UNION ALL {only.format(second, first)} LIMIT 3"
    ).fetchall()


def problems(
    con: duckdb.DuckDBPyConnection,
    project: Project,
    changed: set[str],
    previous: duckdb.DuckDBPyConnection | None = None,
) -> list[str]:
    """Make the models; the models that could not be made."""
    made = [step for step in run(con, project, changed, previous=previous) if isinstance(step, Built)]
    return [f"{step.model.name}: {step.problem}" for step in made if step.problem]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_any_changes_built_step_by_step_are_a_whole_build(published: Path, tmp_path: Path, seed: int) -> None:
    """Rows of any tables of the platform vanish, come, change, or move to another semester."""
    chance, before = random.Random(seed), published
    for step in range(STEPS):
        with copied(before, tmp_path / f"step_{step}") as con:
            changed = {change(con, chance) for _ in range(chance.randint(1, 4))}
            with opened_as_built(before, tmp_path / "spill") as previous:
                assert problems(con, PROJECT, changed, previous) == []
        before = tmp_path / f"step_{step}" / "campus.duckdb"
        with copied(before, tmp_path / f"whole_{step}") as con:
            for schema in ("views", "oneroster", "marts", "core", "staging", "seeds"):
                con.execute(f"DROP SCHEMA {schema} CASCADE")
            con.execute("DROP TABLE quality.reconciliation")
            lake = {name for name, _ in con.execute(LAKE).fetchall()}
            assert problems(con, PROJECT, lake) == []
            con.execute(f"ATTACH {literal(str(before))} AS stepwise (READ_ONLY)")
            for model in PROJECT.models:
                if model.kind == "table":
                    rows = differing(con, compiled_name(model.name), compiled_name(model.name, "stepwise"))
                    assert rows == [], f"{model.name}, after changes of {', '.join(sorted(changed))}"


def change(con: duckdb.DuckDBPyConnection, chance: random.Random) -> str:
    """Change a few rows of a table of the platform; its name."""
    filled = [
        (name, columns)
        for name, columns in con.execute(LAKE.replace("'raw', 'quality'", "'raw'")).fetchall()
        if con.execute(f"SELECT count(*) FROM {name}").fetchall() != [(0,)] and name != "raw.schools"
    ]
    name, columns = chance.choice(filled)
    salt = chance.randrange(1 << 30)
    few = f"rowid IN (SELECT rowid FROM {name} ORDER BY hash(rowid, {salt}) LIMIT {chance.randint(1, 5)})"
    kind = chance.choice(["vanish", "change", "mark as deleted", "move"])
    plain = [column for column in columns if not column.startswith("_") and column != "id"]
    if kind == "move" and "_semester_id" in columns:
        con.execute(f"UPDATE {name} SET _semester_id = (SELECT max(_semester_id) FROM {name}) WHERE {few}")
    elif kind == "vanish":
        con.execute(f"DELETE FROM {name} WHERE {few}")
    elif kind == "mark as deleted":
        con.execute(f"UPDATE {name} SET _deleted_at = _synced_at WHERE {few}")
    else:
        column = chance.choice(plain)
        con.execute(f'UPDATE {name} SET "{column}" = (SELECT max("{column}") FROM {name}) WHERE {few}')
    return name


def check_of_whole_build(file: Path) -> list[tuple[object, ...]]:
    with closing(duckdb.connect(str(file), read_only=True)) as con:
        query = "SELECT status, message FROM quality.check_results WHERE name = ?"
        return con.execute(query, [CHECK]).fetchall()


@pytest.mark.slow
def test_a_weekly_build_from_nothing_finds_and_mends_a_wrong_row(world: World) -> None:
    """The fault: a row of the published file that no build of today would make."""
    file, marker = world.home / FILE, world.home / "build" / MARKER
    file.chmod(0o600)
    with closing(duckdb.connect(str(file))) as con:
        con.execute("UPDATE marts.grade_distribution SET mean = mean + 1 WHERE school_id = 102")
    [teacher, other] = [entry["key"] for entry in world.platform.rows("teachers", 101)][:2]
    world.platform.update("teachers", teacher, name="a change that the mart does not read")
    assert world.load(select=None).problems == [] and world.publish().problem is None
    assert check_of_whole_build(file) == [], "the last build from nothing was today"
    os.utime(marker, (0, time.time() - SECONDS_BETWEEN_WHOLE_BUILDS))
    for status in ("warn", "pass"):
        world.platform.update("teachers", other, name=f"another, before it {status}es")
        assert world.load(select=None).problems == [] and world.publish().problem is None
        [(stored, message)] = check_of_whole_build(file)
        assert stored == status, message
        assert message is None or "in marts.grade_distribution; " in str(message)
        os.utime(marker, (0, time.time() - SECONDS_BETWEEN_WHOLE_BUILDS))
