"""National id numbers are kept only where a setting asks for them, passwords never; what was kept can be
forgotten."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from loading.custom_fields import users_table
from loading.datasets.tables import planned_tables
from loading.tables import TABLES
from tests.kits.worlds.world import World
from warehouse.publish.fill import build_raw

NUMBER, PASSWORD = "11010119900307ZZZZ", "correct-horse"
SELECT = " or ".join(
    f'key:"raw/{name}"' for name in ("students", "user_fields", "v1_users", "v1_admin_classes")
)


def load(world: World, **changes: Any) -> Any:
    return world.load(select=SELECT, **changes)


@pytest.fixture(scope="module")
def careless(make_world: Callable[..., World]) -> World:
    """Two schools that send id numbers and passwords wherever a row has room for them; loaded once."""
    world = make_world("two_schools")
    secrets = {"idcard": NUMBER, "password": PASSWORD}
    for school_id in (101, 102):
        for name, value in secrets.items():
            world.platform.insert("user_fields", school_id, name=name, label=name, role=1, type=1)
            for resource in ("students", "v1_users", "v1_admin_classes"):
                for entry in world.platform.rows(resource, school_id):
                    world.platform.update(resource, entry["key"], **{name: value})
    world.platform.update("v1_users", broken_user(world), id=None)
    [problem] = load(world).problems
    assert "1 of 38 rows are in quality.quarantine" in problem
    return world


def broken_user(world: World) -> int:
    """One of many, so that its quarantine is a failure by its share alone."""
    return int(world.platform.rows("v1_users", 101)[-1]["key"])


def texts(home: Path) -> Iterator[tuple[Path, str]]:
    """All that a home holds as text, Parquet and DuckDB files row by row."""
    for path in home.rglob("*"):
        if path.suffix == ".parquet":
            yield path, str(pq.read_table(path, partitioning=None).to_pylist())
        elif path.is_file():
            yield path, path.read_bytes().decode(errors="replace")


def stored(world: World) -> dict[tuple[int, int], str | None]:
    """The id number of every user in the lake, tombstones too."""
    rows = world.held("v1_users", alive=False)
    return {(row["_school_id"], row["id"]): row["idcard"] for row in rows}


def test_a_home_holds_no_id_number_and_no_password(careless: World) -> None:
    assert len(careless.log("quarantine")) == 1
    assert [str(path) for path, text in texts(careless.home) if NUMBER in text or PASSWORD in text] == []
    assert set(stored(careless).values()) == {None}


def test_the_published_file_has_the_column_empty_and_marks_what_is_personal(
    careless: World, tmp_path: Path
) -> None:
    file = tmp_path / "file.duckdb"
    tables = TABLES | {"v1_users": users_table(careless.lake)}
    build_raw(careless.lake, list(tables.values()), file, defined=planned_tables(careless.lake))
    with duckdb.connect(str(file), read_only=True) as connection:
        names = connection.execute("SELECT schema, name FROM (SHOW ALL TABLES)").fetchall()
        for schema, name in names:
            matches = connection.execute(
                f'SELECT count(*) FROM {schema}."{name}" AS t WHERE contains(t::VARCHAR, $1)'
                " OR contains(t::VARCHAR, $2)",
                [NUMBER, PASSWORD],
            ).fetchone()
            assert matches == (0,), name
        counts = connection.execute("SELECT count(*), count(idcard) FROM raw.v1_users").fetchone()
        marked = connection.execute(
            "SELECT table_name, column_name FROM duckdb_columns() WHERE comment LIKE '%(personal)'"
        ).fetchall()
    assert counts and counts[0] > 20 and counts[1] == 0
    personal = {"idcard", "phone", "email", "avatar_url", "student_id", "guardian_role", "boarding"}
    assert {("v1_users", name) for name in personal} | {("students", "name")} <= set(marked)
    assert ("v1_users", "status") not in marked and ("v1_classes", "csin") not in marked


def test_a_setting_keeps_id_numbers_and_forgets_them_again(careless: World) -> None:
    before = stored(careless)
    load(careless, keep_id_numbers=True)
    id_numbers = stored(careless)
    assert id_numbers.keys() == before.keys() and set(id_numbers.values()) == {NUMBER}
    assert any(NUMBER in text for _, text in texts(careless.home))
    for log in ("quarantine", "drift", "changes", "load_log"):
        assert NUMBER not in str(careless.log(log)) and PASSWORD not in str(careless.log(log))

    # A user who is gone, one whose row is broken from now on, and a school that is read no longer.
    platform = careless.platform
    gone, bad = (entry["key"] for entry in platform.rows("v1_users", 101)[:2])
    platform.update("v1_users", broken_user(careless), id=broken_user(careless))
    platform.destroy("reflections", gone)
    load(careless, keep_id_numbers=True)
    platform.update("v1_users", bad, id=None)
    load(careless, keep_id_numbers=True)
    assert stored(careless)[101, gone] == stored(careless)[101, bad] == NUMBER
    [tombstone] = [row for row in careless.held("v1_users", alive=False) if row["id"] == gone]
    assert tombstone["_deleted_at"]

    load(careless, school_ids=(101,))
    # The user whose row could not be read at first is among them by now.
    assert stored(careless) == before | {(101, broken_user(careless)): None}
    assert {row["id"]: row["_deleted_at"] for row in careless.held("v1_users", alive=False)}[gone]
