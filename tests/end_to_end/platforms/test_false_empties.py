"""A platform that says now and then that there is nothing where there is something: what a sync loads is
exact, or the sync fails and says what it could not confirm. Nothing that is there ever counts as deleted."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from loading.connection.capabilities import forget_capabilities
from loading.tables import TABLES
from pipelines.settings.options import DatasetOptions, Options, PlatformOptions
from tests.kits.cases import the_rest_slow
from tests.kits.worlds.dataset_world import ONLY_DATASETS, planned
from tests.kits.worlds.world import (
    EARLY,
    Load,
    World,
    differences,
    give_ready_lake,
    instance_at,
    settings_for,
)
from warehouse.load.logs.dataset_plans import dataset_tables

SHARE = 0.2
# What empty answers count: nothing, not at all, or what is there; and whether an object keeps what it has
# beside its lists, or comes as an empty list.
KINDS = [("zero", "emptied"), ("none", "list"), ("true", "emptied")]
OPTIONS = Options(platform=PlatformOptions(max_attempts=4), datasets=DatasetOptions(segment_rows=50))
Rows = dict[str, list[str]]


@pytest.fixture(scope="module")
def well(make_world: Callable[..., World]) -> World:
    """A platform that is well, and all that it has."""
    world = make_world(students=8, dataset_rows=200, today=EARLY)
    assert world.load(select=None, options=OPTIONS).problems == []
    return world


@contextmanager
def another_home(world: World, folder: Path) -> Iterator[World]:
    """A new home of the same platform, which no answer has contradicted yet."""
    settings = settings_for(folder, world.platform)
    give_ready_lake(settings)
    with instance_at(folder) as instance:
        yield World(folder, world.platform, settings, instance, count(1))


def load(world: World, seed: int = 1, select: str | None = None, **fault: Any) -> Load:
    """A sync, whole or of these assets, of a platform with this fault."""
    world.platform.clear_log()
    world.platform.set_faults({"kind": "empty", "probability": SHARE, **fault}, seed=seed)
    loaded = world.load(select=select, options=OPTIONS)
    world.platform.set_faults()
    assert [entry for entry in world.platform.log() if entry["fault"]], "no answer was empty by mistake"
    return loaded


def held(world: World) -> Rows:
    """All rows of the lake, tombstones too, without when they were loaded or seen to be gone."""
    tables = [*TABLES.values(), *dataset_tables(world.lake)]
    return {
        table.name: sorted(
            repr({**row, "_synced_at": None, "_deleted_at": row.get("_deleted_at") is not None})
            for row in world.lake.read(table, alive=False).to_pylist()
        )
        for table in tables
        if world.lake.holds(table)
    }


def other_tables(world: World, true: Rows) -> set[str]:
    """The tables that are not as they should be."""
    rows = held(world)
    return {name for name in rows.keys() | true.keys() if rows.get(name, []) != true.get(name, [])}


@pytest.mark.parametrize(("counts", "objects"), the_rest_slow(1, KINDS))
@pytest.mark.parametrize("seed", the_rest_slow(1, [1, 2]))
def test_a_first_sync_of_it_is_exact_or_fails(
    well: World, tmp_path: Path, seed: int, counts: str, objects: str
) -> None:
    true = held(well)
    with another_home(well, tmp_path) as sick:
        loaded = load(sick, seed, counts=counts, objects=objects)
        other = other_tables(sick, true)
        assert not other or loaded.problems
        named = "\n".join(loaded.problems)
        assert all(name.removeprefix("datasets.") in named for name in other)


def test_a_night_of_it_deletes_nothing_and_retires_no_segment(well: World, tmp_path: Path) -> None:
    with another_home(well, tmp_path) as sick:
        assert sick.load(select=None, options=OPTIONS).problems == []
        segments = {name: plan.segments for name, plan in planned(sick).items()}
        for night in range(2):
            forget_capabilities(sick.home)
            loaded = load(sick, 10 + night)
            assert loaded.total("vanished") == 0
            assert {name: plan.segments for name, plan in planned(sick).items()} == segments
        assert differences(sick) == {}


def test_a_platform_that_has_nothing_any_more_loses_no_plan_and_no_row(well: World, tmp_path: Path) -> None:
    """However often it says so: that all is gone at once is not taken for its deletion."""
    with another_home(well, tmp_path) as sick:
        assert sick.load(select=ONLY_DATASETS, options=OPTIONS).problems == []
        before, segments = held(sick), {name: plan.segments for name, plan in planned(sick).items()}
        problems = load(sick, probability=1.0, select=ONLY_DATASETS).problems
        assert "the platform lists no schools" in "\n".join(problems)
        problems = load(sick, probability=1.0, select=ONLY_DATASETS, path="/v3/uds/datasets").problems
        assert "the platform lists no datasets, and there were archive_cards, " in "\n".join(problems)
        assert "--accept-vanished" in "\n".join(problems)
        assert {name: plan.segments for name, plan in planned(sick).items()} == segments
        assert held(sick) == before
        # They are back where the list is.
        assert sick.load(select=ONLY_DATASETS, options=OPTIONS).problems == []
        assert held(sick) == before
