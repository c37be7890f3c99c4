"""A sync writes its logs together, also where a person ends it."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from pipelines.nights import sync
from tests.kits.worlds.world import World
from warehouse.lake.logs.tables import LOGS, STANDINGS

BOUND = 3  # one at discovery's end, one at the sync's, one more where either took long


def test_a_sync_of_two_schools_commits_to_no_log_slice_by_slice(make_world: Callable[..., World]) -> None:
    world = make_world("two_schools", datasets=True)
    # What a slice's own commit replaces is written down with it, where a row is replaced at all.
    logs = [log for log in (*LOGS, STANDINGS) if log.name not in ("changes", "past_rows")]
    before = {log.name: 0 for log in logs}
    for _ in range(2):
        load = world.load()
        assert load.problems == [] and len(load.log) > 30
        after = {log.name: world.lake.version(log) for log in logs}
        assert all(after[name] - before[name] <= BOUND for name in after), (before, after)
        before = after
    assert len(world.lake.files(STANDINGS)) == 2


def test_a_night_without_changes_takes_ten_commits(make_world: Callable[..., World]) -> None:
    world = make_world("small", datasets=True)
    # The second still writes statistics of the sessions in the trailing window.
    for _ in range(2):
        assert world.load().problems == []
    tables = sorted({path.parent.parent for path in Path(world.lake.root).rglob("_delta_log/*.json")})
    before = [_version(table) for table in tables]
    assert world.load().problems == []
    made = {table.name: _version(table) - was for table, was in zip(tables, before, strict=True)}
    assert sum(made.values()) <= 10, {name: count for name, count in made.items() if count}


def test_what_was_committed_before_an_interrupt_is_not_read_again(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, execute = make_world("small", datasets=True), sync._execute

    def interrupted(*arguments: Any, **options: Any) -> Any:
        execute(*arguments, **options)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(sync, "_execute", interrupted)
        world.load("stopped")
    before = {(row["resource"], row["slice"]): row["finished_at"] for row in world.log("load_log")}
    assert ("semesters", "101") in before
    again = world.load("stopped")
    assert again.problems == []
    # Of each slice the first of its loads.
    assert {
        (row["resource"], row["slice"]): row["finished_at"] for row in reversed(again.log)
    }.items() >= before.items()
    loads = Counter((row["resource"], row["slice"]) for row in again.log)
    # What there is to load is always listed.
    listed = {"schools", "datasets", "dataset_fields", "dataset_relations"}
    assert {key for key in before if loads[key] > 1} <= {(name, "101") for name in listed}
    assert loads["semesters", "101"] == 1


def _version(table: Path) -> int:
    return DeltaTable(str(table)).version()
