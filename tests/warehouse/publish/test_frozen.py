"""Models whose rows of closed semesters are in a file of their own: when these are made anew, and of what."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from warehouse.publish.frozen import TABLES, Divided, FrozenBuild, MixedSemesters
from warehouse.publish.models.compiled_models import (
    Check,
    Frozen,
    Model,
    ModelColumn,
    Narrowed,
    Project,
    read_project,
)
from warehouse.publish.models.dbt_project import ModelsBroken, compiled
from warehouse.publish.models.model_runner import Checked, run


def model(name: str, sql: str, *inputs: str, kind: str = "table", frozen: Frozen | None = None) -> Model:
    """A model; `sql` has {} for each input."""
    places = ('"campus"."{}"."{}"'.format(*relation.split(".")) for relation in inputs)
    columns = tuple(ModelColumn(column, None, "") for column in SHOWN) if frozen else ()
    return Model(name, kind, sql.format(*places), sql, "", columns, inputs, frozen=frozen)


SHOWN = ("school_id", "id", "semester_id", "title")
ITEMS = model("core.items", "SELECT * FROM {}", "raw.items")
SCORES = model("staging.scores", "SELECT * FROM {} WHERE alive", "raw.scores", kind="view")
GIVEN = model(
    "core.given",
    "WITH items AS (SELECT * FROM {}) "
    "SELECT scores.school_id, scores.id, items.semester_id, items.title "
    "FROM {} AS scores LEFT JOIN items USING (school_id, item)",
    "core.items",
    "staging.scores",
    frozen=Frozen({"core.items": Narrowed(("school_id", "item", "semester_id", "title"))}, ("id",)),
)
COUNTED = model("marts.counted", "SELECT count(*) AS rows FROM {}", "core.given")
SEEN = model("marts.seen", "SELECT count(*) AS rows FROM {}", "staging.scores")
KEY = Check("no_score", "core.given", 'SELECT * FROM "campus"."core"."given"', ("core.given",), False, None)
PROJECT = Project((ITEMS, SCORES, GIVEN, COUNTED, SEEN), (KEY,))


@pytest.fixture
def con(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A shard's file with a score of semester 21, beside a frozen file with two of semester 20."""
    with closing(duckdb.connect(str(tmp_path / "frozen.duckdb"))) as frozen:
        frozen.execute("CREATE SCHEMA raw; CREATE SCHEMA quality")
        frozen.execute("CREATE TABLE quality.closed_semesters AS SELECT 1 AS school_id, 20 AS semester_id")
        frozen.execute("CREATE TABLE quality.divided (name VARCHAR, state VARCHAR)")
        frozen.execute("CREATE TABLE quality.contents AS SELECT 'raw.scores' AS table_name, 'a' AS content")
        frozen.execute(
            "CREATE TABLE raw.scores AS "
            "SELECT 1 AS school_id, unnest([1, 2]) AS id, id AS item, true AS alive"
        )
    with closing(duckdb.connect(str(tmp_path / "campus.duckdb"))) as con:
        con.execute("CREATE SCHEMA raw; CREATE SCHEMA quality")
        con.execute("CREATE TABLE raw.scores AS SELECT 1 AS school_id, 3 AS id, 3 AS item, true AS alive")
        con.execute(
            "CREATE TABLE raw.items AS SELECT 1 AS school_id, unnest([1, 2, 3]) AS item, "
            "unnest([20, 20, 21]) AS semester_id, 'Item' AS title, 0 AS rank"
        )
        yield con


def build(con: duckdb.DuckDBPyConnection, folder: Path, *changed: str, project: Project = PROJECT) -> bool:
    """Run the models as a build does that goes on from the frozen file; whether that was made anew."""
    frozen = FrozenBuild(folder / "frozen.duckdb", folder / "private" / "frozen.duckdb")
    frozen.file.unlink(missing_ok=True)
    done = list(run(con, project, changed, frozen=frozen))
    assert [step.problem for step in done if not isinstance(step, Checked) and step.problem] == []
    frozen.detach(con)
    if frozen.file.exists():
        frozen.file.replace(folder / "frozen.duckdb")
        return True
    return False


def both(con: duckdb.DuckDBPyConnection, folder: Path) -> list[tuple[int, str]]:
    """Id and title of each row of core.given, those of the frozen file first."""
    with closing(duckdb.connect(str(folder / "frozen.duckdb"), read_only=True)) as frozen:
        rows = frozen.sql("SELECT id, title FROM core.given ORDER BY ALL").fetchall()
    return rows + con.sql("SELECT id, title FROM core.given ORDER BY ALL").fetchall()


def test_each_file_has_its_rows_and_what_is_not_divided_counts_both(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    assert build(con, tmp_path, "raw.scores", "raw.items")
    assert both(con, tmp_path) == [(1, "Item"), (2, "Item"), (3, "Item")]
    assert con.sql("FROM marts.counted").fetchall() == con.sql("FROM marts.seen").fetchall() == [(3,)]
    assert con.sql("SELECT count(*) FROM staging.scores").fetchall() == [(1,)]


def test_closed_rows_are_made_anew_where_what_they_are_made_of_is_another(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    assert build(con, tmp_path, "raw.scores", "raw.items")
    con.execute("UPDATE raw.items SET title = 'Quiz' WHERE semester_id = 21")
    con.execute("UPDATE raw.items SET rank = 7")
    assert not build(con, tmp_path, "raw.scores", "raw.items")
    assert both(con, tmp_path) == [(1, "Item"), (2, "Item"), (3, "Quiz")]
    con.execute("UPDATE raw.items SET title = 'Test' WHERE item = 1")
    assert build(con, tmp_path, "raw.items")
    assert both(con, tmp_path) == [(1, "Test"), (2, "Item"), (3, "Quiz")]


def test_a_file_that_is_read_is_not_written(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    build(con, tmp_path, "raw.scores", "raw.items")
    before = (tmp_path / "frozen.duckdb").read_bytes()
    con.execute("INSERT INTO raw.scores VALUES (1, 4, 3, true)")
    assert not build(con, tmp_path, "raw.scores")
    assert (tmp_path / "frozen.duckdb").read_bytes() == before
    assert con.sql("FROM marts.counted").fetchall() == [(4,)]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE raw.items SET semester_id = 21 WHERE item = 1",
        "UPDATE raw.items SET semester_id = 20 WHERE item = 3",
        "DELETE FROM raw.items WHERE item = 2",
        "UPDATE raw.scores SET id = 1",
    ],
)
def test_rows_that_belong_in_the_other_file_are_seen(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, change: str
) -> None:
    build(con, tmp_path, "raw.scores", "raw.items")
    con.execute(change)
    with pytest.raises(MixedSemesters) as raised:
        build(con, tmp_path, "raw.scores", "raw.items")
    assert raised.value.schools == {1}


def test_what_a_divided_model_reads_is_told() -> None:
    silent = replace(GIVEN, frozen=Frozen({}))
    with pytest.raises(ModelsBroken, match="does not name core"):
        Divided(Project((ITEMS, SCORES, silent), ())).closed(silent)


def test_each_divided_model_of_ours_tells_all_that_it_reads() -> None:
    project = read_project(compiled())
    divided = Divided(project)
    frozen_models = [frozen_model for frozen_model in project.models if frozen_model.frozen]
    assert {frozen_model.name for frozen_model in frozen_models} == divided.tables - TABLES
    for frozen_model in frozen_models:
        assert {"school_id", "semester_id"} <= {column.name for column in frozen_model.columns}
        assert divided.divided_inputs(frozen_model) and divided.closed(frozen_model)


def test_a_column_that_is_not_told_cannot_be_read(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    reads = {"core.items": Narrowed(("school_id", "item", "semester_id"))}
    blind = replace(GIVEN, frozen=Frozen(reads))
    frozen = FrozenBuild(tmp_path / "frozen.duckdb", tmp_path / "private" / "frozen.duckdb")
    done = list(run(con, Project((ITEMS, SCORES, blind), ()), {"raw.scores", "raw.items"}, frozen=frozen))
    [problem] = [step.problem for step in done if not isinstance(step, Checked) and step.problem]
    assert "title" in problem
