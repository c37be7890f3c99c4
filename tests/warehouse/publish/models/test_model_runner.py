"""The runner of compiled models: what is made anew, what is checked, and what a failure leaves out."""

from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from warehouse.publish.build import opened_as_built
from warehouse.publish.models.compiled_models import Check, Model, ModelColumn, Project
from warehouse.publish.models.model_runner import Built, Checked, run


def model(name: str, sql: str, *inputs: str, kind: str = "table") -> Model:
    return Model(name, kind, sql, sql, "", (), inputs)


CLASSES = model("core.classes", "SELECT id, id % 2 AS grade FROM raw.classes", "raw.classes")
GRADES = model("core.grades", "SELECT DISTINCT grade FROM core.classes", "core.classes")
SIZES = model("marts.sizes", "SELECT grade FROM core.grades", "core.grades")
DAYS = model("core.days", "SELECT day FROM raw.days", "raw.days", kind="view")
KEY = Check(
    "sizes_key",
    "marts.sizes",
    "SELECT grade FROM marts.sizes GROUP BY grade HAVING count(*) > 1",
    ("marts.sizes",),
    True,
    None,
)
FEW = Check(
    "few_days",
    "core.days",
    "SELECT day FROM core.days WHERE day > 7",
    ("core.days",),
    False,
    "quality.few_days",
)
PROJECT = Project((CLASSES, GRADES, SIZES, DAYS), (KEY, FEW))


@pytest.fixture
def con() -> duckdb.DuckDBPyConnection:
    """A file with `raw`, on which nothing was built."""
    made = duckdb.connect()
    made.execute("CREATE SCHEMA raw; CREATE SCHEMA quality")
    made.execute("CREATE TABLE raw.classes AS SELECT unnest([1, 2]) AS id")
    made.execute("CREATE TABLE raw.days AS SELECT unnest([1, 8]) AS day")
    return made


def names(done: list[Built | Checked]) -> list[str]:
    return [step.check.name if isinstance(step, Checked) else step.model.name for step in done]


def test_all_is_made_where_nothing_is(con: duckdb.DuckDBPyConnection) -> None:
    done = list(run(con, PROJECT, {"raw.classes", "raw.days"}))
    made = ["core.classes", "core.grades", "marts.sizes", "sizes_key", "core.days", "few_days"]
    assert names(done) == made
    assert con.sql("FROM marts.sizes ORDER BY ALL").fetchall() == [(0,), (1,)]
    assert list(run(con, PROJECT, set())) == []


def test_what_stays_the_same_is_not_built_upon(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    list(run(con, PROJECT, {"raw.classes", "raw.days"}))
    con.execute(f"ATTACH '{tmp_path / 'before.duckdb'}' AS before; COPY FROM DATABASE memory TO before")
    con.execute("DETACH before; INSERT INTO raw.classes VALUES (3)")
    with opened_as_built(tmp_path / "before.duckdb", tmp_path) as previous:
        done = list(run(con, PROJECT, {"raw.classes"}, previous=previous))
    assert names(done) == ["core.classes", "core.grades"]
    assert [step.changed for step in done if isinstance(step, Built)] == [True, False]


def test_a_check_that_warns_keeps_its_rows_until_it_passes(con: duckdb.DuckDBPyConnection) -> None:
    steps = [step for step in run(con, PROJECT, {"raw.days"}) if isinstance(step, Checked)]
    warned = {step.check.name: (step.status, step.failures, step.message) for step in steps}
    assert warned["few_days"] == ("warn", 1, "1 row breaks it, see quality.few_days")
    assert con.sql("FROM quality.few_days").fetchall() == [(8,)]
    con.execute("DELETE FROM raw.days WHERE day = 8")
    [_, again] = run(con, PROJECT, {"raw.days"})
    assert isinstance(again, Checked) and again.status == "pass"
    with pytest.raises(duckdb.CatalogException):
        con.sql("FROM quality.few_days")


def test_a_check_that_blocks_forbids_the_file(con: duckdb.DuckDBPyConnection) -> None:
    twice = replace(SIZES, sql="SELECT 1 AS grade FROM core.classes", inputs=("core.classes", "core.grades"))
    done = list(run(con, replace(PROJECT, models=(CLASSES, GRADES, twice, DAYS)), {"raw.classes"}))
    assert [step.check.name for step in done if isinstance(step, Checked) and step.forbids] == ["sizes_key"]


def test_what_stands_on_a_model_that_cannot_be_made_is_left_out(con: duckdb.DuckDBPyConnection) -> None:
    wrong = replace(GRADES, sql="SELECT nothing FROM core.classes")
    done = list(run(con, replace(PROJECT, models=(CLASSES, wrong, SIZES, DAYS)), {"raw.classes", "raw.days"}))
    assert names(done) == ["core.classes", "core.grades", "core.days", "few_days"]
    [problem] = [step.problem for step in done if isinstance(step, Built) and step.problem]
    assert "nothing" in problem


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT 1::BIGINT AS a, 'x' AS b", None),
        ("SELECT 'x' AS b, 1::BIGINT AS a", None),
        ("SELECT 1 AS a, 'x' AS b", "a is INTEGER, its contract says bigint"),
        ("SELECT 1::BIGINT AS a, 'x' AS b, 2 AS c", "c is INTEGER, its contract says nothing of it"),
        ("SELECT 1::BIGINT AS a", "Binder Error"),
    ],
)
def test_a_table_is_as_its_contract_says(con: duckdb.DuckDBPyConnection, sql: str, said: str | None) -> None:
    columns = (ModelColumn("a", "bigint", ""), ModelColumn("b", "varchar", ""))
    [built] = run(con, Project((replace(model("core.t", sql), columns=columns, is_contract=True),), ()), ())
    assert isinstance(built, Built)
    assert (built.problem is None) if said is None else (said in str(built.problem))
    if said is None:
        assert con.sql("FROM core.t").columns == ["a", "b"]
