"""Which schools and semesters a model is made for, and that these are enough."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warehouse.publish.build import opened_as_built
from warehouse.publish.models.changed_rows import MOST_SCOPES, UNCHANGED, ChangedRows
from warehouse.publish.models.compiled_models import Model, Project
from warehouse.publish.models.model_runner import Built, run


def model(name: str, sql: str, *inputs: str, kind: str = "table") -> Model:
    return Model(name, kind, sql, sql, "", (), inputs)


MARKS = model(
    "staging.marks",
    'SELECT _school_id AS school_id, semester_id, student_id, mark FROM "campus"."raw"."marks"',
    "raw.marks",
    kind="view",
)
NAMES = model(
    "core.names", 'SELECT _school_id AS school_id, id, name FROM "campus"."raw"."students"', "raw.students"
)
SUMS = replace(
    model(
        "core.sums",
        "SELECT school_id, semester_id, student_id, name, sum(mark) AS points "
        'FROM "campus"."staging"."marks" JOIN "campus"."core"."names" USING (school_id) '
        "WHERE id = student_id GROUP BY ALL",
        "staging.marks",
        "core.names",
    ),
    semester_inputs=("staging.marks",),
)
LAST = model(
    "marts.last",
    'SELECT school_id, max(semester_id) AS semester_id, max(points) AS most FROM "campus"."core"."sums" '
    "GROUP BY school_id",
    "core.sums",
)
ALL = replace(
    model("marts.all", 'SELECT sum(points) AS points FROM "campus"."core"."sums"', "core.sums"),
    by_school=False,
)
PROJECT = Project((MARKS, NAMES, SUMS, LAST, ALL), ())

SCHOOLS, SEMESTERS, STUDENTS = (1, 2), (11, 12), (5, 6)
MARK = st.tuples(*map(st.sampled_from, (SCHOOLS, SEMESTERS, STUDENTS)), st.integers(0, 3))
NAME = st.tuples(st.sampled_from(SCHOOLS), st.sampled_from(STUDENTS), st.sampled_from("ab"))
#: The rows of raw.marks, and those of raw.students.
STATE = st.tuples(st.sets(MARK, max_size=6), st.sets(NAME, max_size=3))
State = tuple[set[tuple[int, int, int, int]], set[tuple[int, int, str]]]
TABLES = {
    "marks": "_school_id BIGINT, semester_id BIGINT, student_id BIGINT, mark BIGINT",
    "students": "_school_id BIGINT, id BIGINT, name VARCHAR",
}
FIRST: State = ({(1, 11, 5, 1), (1, 12, 5, 2), (2, 11, 5, 3)}, {(1, 5, "a"), (2, 5, "b")})


@contextmanager
def file_of(folder: Path, state: State, previous: Path | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """A file with these rows of `raw`, and with the models of another file."""
    folder.mkdir(parents=True)
    file = folder / "campus.duckdb"
    if previous is not None:
        shutil.copy(previous, file)
    with closing(duckdb.connect(str(file))) as con:
        con.execute("CREATE SCHEMA IF NOT EXISTS raw")
        for name, columns in TABLES.items():
            con.execute(f"CREATE OR REPLACE TABLE raw.{name} ({columns})")
        for mark in state[0]:
            con.execute("INSERT INTO raw.marks VALUES (?, ?, ?, ?)", mark)
        for student in state[1]:
            con.execute("INSERT INTO raw.students VALUES (?, ?, ?)", student)
        yield con


def built(folder: Path, state: State, previous: Path | None = None) -> list[Built]:
    """Build the models in `folder`, from what has changed since a file if there is one."""
    changed = {f"raw.{name}" for name in TABLES}
    with file_of(folder, state, previous) as con, ExitStack() as stack:
        before = stack.enter_context(opened_as_built(previous, folder / "spill")) if previous else None
        return [step for step in run(con, PROJECT, changed, previous=before) if isinstance(step, Built)]


def rows_of(folder: Path) -> dict[str, list[tuple[object, ...]]]:
    with closing(duckdb.connect(str(folder / "campus.duckdb"), read_only=True)) as con:
        return {
            step.name: con.execute(f"FROM {step.name} ORDER BY ALL").fetchall() for step in PROJECT.models
        }


@settings(max_examples=10)
@given(states=st.lists(STATE, min_size=2, max_size=4))
def test_steps_are_a_whole_build(states: list[State], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder, before = tmp_path_factory.mktemp("steps"), None
    for number, state in enumerate(states):
        assert all(step.problem is None for step in built(folder / f"{number}", state, before))
        before = folder / f"{number}" / "campus.duckdb"
    built(folder / "whole", states[-1])
    assert rows_of(folder / f"{len(states) - 1}") == rows_of(folder / "whole")


def scopes_of(tmp_path: Path, state: State, project: Project = PROJECT) -> dict[str, object]:
    """The scopes for which each model is made, after FIRST."""
    built(tmp_path / "first", FIRST)
    first = tmp_path / "first" / "campus.duckdb"
    scopes = dict[str, object]()
    with file_of(tmp_path / "next", state, first) as con, opened_as_built(first, tmp_path) as before:
        rows = ChangedRows(con, before, project, {f"raw.{name}" for name in TABLES}, by_scope=True)
        for step in project.models:
            scopes[step.name] = due = rows.find_scopes(step)
            if due != UNCHANGED:
                for _ in run(con, Project((step,), ()), step.inputs):
                    rows.note(step, due, exists=True)
    return scopes


def test_a_mark_of_a_semester_changes_that_semester(tmp_path: Path) -> None:
    marks, students = FIRST
    scopes = scopes_of(tmp_path, (marks - {(1, 12, 5, 2)} | {(1, 12, 5, 3)}, students))
    assert scopes == {
        "staging.marks": None,
        "core.names": frozenset(),
        "core.sums": {(1, 12)},
        "marts.last": {(1, None)},
        "marts.all": None,
    }


def test_a_name_changes_all_semesters_of_its_school(tmp_path: Path) -> None:
    marks, students = FIRST
    scopes = scopes_of(tmp_path, (marks, students - {(2, 5, "b")} | {(2, 5, "c")}))
    assert scopes["core.names"] == scopes["core.sums"] == {(2, None)}


def test_the_same_rows_in_another_order_change_nothing(tmp_path: Path) -> None:
    scopes = scopes_of(tmp_path, FIRST)
    assert [name for name, due in scopes.items() if due != UNCHANGED] == ["staging.marks"]


def test_statements_after_a_model_read_all_of_its_rows(tmp_path: Path) -> None:
    marks, students = FIRST
    counted = replace(SUMS, after=("CREATE OR REPLACE VIEW core.most AS SELECT max(points) FROM core.sums",))
    project = replace(PROJECT, models=(MARKS, NAMES, counted))
    scopes = scopes_of(tmp_path, (marks - {(1, 12, 5, 2)}, students), project)
    assert scopes["core.sums"] is None


def test_many_scopes_are_no_condition(tmp_path: Path) -> None:
    many = {(1, 100 + number, 5, 1) for number in range(MOST_SCOPES + 1)}
    assert scopes_of(tmp_path, (many, FIRST[1]))["core.sums"] is None
