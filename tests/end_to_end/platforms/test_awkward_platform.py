"""A platform that decided everything in its most awkward way ends in the marts of a plain one."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import duckdb
import pytest

from tests.kits.platforms.awkward import AWKWARD
from tests.kits.worlds.world import World

SCHOOL = 101
SMALL = {"schools": 1, "students": 12, "semesters": 2, "core_subjects": 4, "dataset_rows": 200}

# Columns whose meaning is not the school's but the load's, or the platform's own way to put it.
EXCLUDED = {
    # When a sync saw it, and the version of our own table that shows it.
    "marts.grade_change": ["seen_at", "slice_version"],
    "marts.grade_history": ["known_from", "known_to"],
    "core.known_since": ["known_since"],
    "core.bridge_class_member": ["stored_at"],
    "core.dim_assessment_item": ["synced_at"],
    "core.fct_attendance": ["synced_at"],
    # The ids and names of v1 are others here, so that a class is known by its code.
    "core.bridge_v1_semester": ["v1_semester_id", "semester_name"],
    "core.dim_teaching_class": ["v1_class_id", "matched_by"],
    # Kept as the platform spells it: its values are not listed.
    "core.dim_admin_class": ["status"],
    # Some platforms count fewer of their rows, and there is less to compare.
    "marts.platform_agreement": ["compared", "agreeing", "agreement_rate", "unknown", "reason"],
    # `decimals` fixed has two digits, and a rate more: this platform rounds it.
    "core.fct_grade": ["gained_score_rate"],
}
# When a row was loaded, and what no contract names, or was not taken as it came.
OURS = ["_synced_at", "_extra"]
# A dataset without a key, whose pages have another order in each answer, never end, and are not counted.
UNREADABLE = "entry_log"

TABLES = "select table_name from duckdb_tables() where (database_name, schema_name) = (?, ?) order by 1"


def corrected(world: World) -> None:
    """A second night, in which grades have changed."""
    grades = [row for row in world.platform.rows("grades", SCHOOL) if row["row"]["published_at"]][:4]
    for entry in grades[1:]:
        score = str(Decimal(entry["row"]["real_score"]) / 2)
        world.platform.update("grades", entry["key"], score=score, real_score=score)
    world.platform.delete("grades", grades[0]["key"])
    assert world.load(select='key:"raw/grades"').problems == []


@pytest.fixture(scope="module")
def plain(make_world: Callable[..., World]) -> World:
    world = make_world("demo", **SMALL)
    assert world.load(select=None).problems == []
    corrected(world)
    assert world.publish().problem is None
    return world


@pytest.fixture(scope="module")
def awkward(make_world: Callable[..., World]) -> World:
    world = make_world("demo", **SMALL, **AWKWARD)
    [problem] = world.load(select=None).problems
    assert UNREADABLE in problem and "without an end" in problem
    corrected(world)
    assert world.publish().problem is None
    return world


@pytest.fixture(scope="module")
def both(plain: World, awkward: World) -> Iterator[duckdb.DuckDBPyConnection]:
    """The two published files, as databases `plain` and `awkward`."""
    with duckdb.connect() as connection:
        for name, world in (("plain", plain), ("awkward", awkward)):
            connection.execute(f"attach '{world.settings.published}' as {name} (read_only)")
        yield connection


def tables(both: duckdb.DuckDBPyConnection, schema: str) -> list[str]:
    """The tables of a schema, which are the same in both."""
    plain, awkward = (
        [name for (name,) in both.execute(TABLES, [database, schema]).fetchall()]
        for database in ("plain", "awkward")
    )
    assert plain == awkward
    return [name for name in plain if name != UNREADABLE]


def different(both: duckdb.DuckDBPyConnection, table: str, excluded: list[str]) -> list[tuple[Any, ...]]:
    """Some of the rows that one of the two has and the other has not, or not as often."""
    columns = f"* exclude ({', '.join(excluded)})" if excluded else "*"
    plain, awkward = (f"select {columns} from {database}.{table}" for database in ("plain", "awkward"))
    return both.execute(
        f"(select 'plain', * from ({plain} except all {awkward}) limit 3)"
        f" union all (select 'awkward', * from ({awkward} except all {plain}) limit 3)"
    ).fetchall()


@pytest.mark.parametrize("schema", ["marts", "core", "datasets"])
def test_an_awkward_platform_ends_in_what_a_plain_one_does(
    both: duckdb.DuckDBPyConnection, schema: str
) -> None:
    excluded = OURS if schema == "datasets" else []
    differing = {
        name: rows
        for name in tables(both, schema)
        if (rows := different(both, f'{schema}."{name}"', EXCLUDED.get(f"{schema}.{name}", excluded)))
    }
    assert differing == {}


def test_there_is_something_to_compare(both: duckdb.DuckDBPyConnection) -> None:
    empty = [
        name
        for name in tables(both, "marts")
        if both.execute(f"select count(*) from plain.marts.{name}").fetchone() == (0,)
    ]
    # Twelve students are too few for a score; no talks are logged, and one class has nobody to clash with.
    assert empty == [
        "early_warning_score_calibration",
        "early_warning_score_judgement",
        "intervention_outcome",
        "timetable_clash",
    ]
