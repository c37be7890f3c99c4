"""Models of closed semesters: a build makes a semester at a time, and only those whose inputs have changed.

A night changes the open semester, so the rows of closed ones stay. A build needs the memory of one semester.
A model's yml (`meta.by_semester`) names the columns that the model reads of each input; the query gets no
others. The query gets the rows of the semester, of a table without semesters those of the school, or all."""

from __future__ import annotations

import hashlib
from collections import defaultdict

import duckdb
import pyarrow as pa

from warehouse.identifiers import listed
from warehouse.lake.logs.tables import Log
from warehouse.lake.tables import Column
from warehouse.publish.models.compiled_models import Model, Narrowed, compiled_name, replace_inputs

SEMESTER_STATES = Log(
    name="semester_states",
    comment="The version of the inputs of each closed semester, of models that are made by semester",
    label_zh="学期数据版本",
    columns=(
        Column("model", pa.string(), "Model, with its schema", label_zh="模型"),
        Column("school_id", pa.int64(), "School", label_zh="学校ID"),
        Column("semester_id", pa.int64(), "Semester", label_zh="学期ID"),
        Column("state", pa.string(), "Version of its inputs; changes with their rows", label_zh="数据版本"),
    ),
)
STATES = f"quality.{SEMESTER_STATES.name}"
CLOSED = "SELECT school_id, semester_id FROM core.dim_semester WHERE is_over ORDER BY ALL"
SCHOOL, SEMESTER = "school_id", "semester_id"

#: The ids of a school and of its semester.
Semester = tuple[int, int]


def make_semesters(con: duckdb.DuckDBPyConnection, model: Model, *, exists: bool) -> None:
    """Bring a model's table up to date with its inputs. `exists`: the file has the table."""
    # DuckDB expects few rows of a semester, and would run ASOF joins as nested loops.
    con.execute("SET asof_loop_join_threshold = 0")
    if not exists:
        con.execute(f"DELETE FROM {STATES} WHERE model = ?", [model.name])
        columns = listed([column.name for column in model.columns])
        con.execute(f"CREATE TABLE {model.relation} AS SELECT {columns} FROM ({model.sql}) LIMIT 0")
    query = f"SELECT school_id, semester_id, state FROM {STATES} WHERE model = ?"
    before = {
        (school, semester): state for school, semester, state in con.execute(query, [model.name]).fetchall()
    }
    states = _states(con, model)
    for school, semester in sorted(before.keys() | states.keys()):
        state = states.get((school, semester))
        if before.get((school, semester)) == state:
            continue
        of_semester = f"school_id = {school} AND semester_id = {semester}"
        con.execute(f"DELETE FROM {model.relation} WHERE {of_semester}")
        con.execute(f"DELETE FROM {STATES} WHERE model = ? AND {of_semester}", [model.name])
        if state is not None:
            con.execute(f"INSERT INTO {model.relation} BY NAME {_of_semester(model, school, semester)}")
            con.execute(f"INSERT INTO {STATES} VALUES (?, ?, ?, ?)", [model.name, school, semester, state])


def _states(con: duckdb.DuckDBPyConnection, model: Model) -> dict[Semester, str]:
    """By closed semester, a version of everything that its rows are made from."""
    closed: list[Semester] = con.execute(CLOSED).fetchall()
    made_of = defaultdict[Semester, list[object]](lambda: [model.sql])
    for name, part in _reads(model):
        query, keys = _rows(name, part), [key for key in (SCHOOL, SEMESTER) if key in _columns(part)]
        groups = con.execute(
            f"SELECT [{listed(keys)}], count(*), sum(hash(input)) FROM ({query}) AS input GROUP BY 1"
        ).fetchall()
        versions = {tuple(ids): version for ids, *version in groups}
        for semester in closed:
            made_of[semester].append((name, versions.get(semester[: len(keys)])))
    return {
        semester: hashlib.sha256(repr(made_of[semester]).encode()).hexdigest()[:16] for semester in closed
    }


def _of_semester(model: Model, school: int, semester: int) -> str:
    """The query for a model's rows of a semester."""
    of_semester = {SCHOOL: school, SEMESTER: semester}
    queries = dict[str, str]()
    for name, part in _reads(model):
        conditions = [f"{key} = {value}" for key, value in of_semester.items() if key in _columns(part)]
        condition = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        queries[name] = f"SELECT {listed(part.columns)} FROM ({_rows(name, part)}){condition}"
    return replace_inputs(model.sql, queries)


def _reads(model: Model) -> list[tuple[str, Narrowed]]:
    return sorted((model.by_semester or {}).items())


def _columns(part: Narrowed) -> tuple[str, ...]:
    return (*part.columns, SEMESTER) if part.semester_of else part.columns


def _rows(name: str, part: Narrowed) -> str:
    """The query for the columns of an input that the model reads, with the semester if there is any."""
    rows = f"SELECT {listed(_columns(part))} FROM {part.rows or compiled_name(name)}"
    if part.semester_of is not None:
        table, key = part.semester_of
        semesters = f"SELECT school_id, {key}, semester_id FROM {compiled_name(table)}"
        rows += f" JOIN ({semesters}) USING (school_id, {key})"
    return f"{rows} WHERE {part.condition}" if part.condition else rows
