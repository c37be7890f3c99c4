"""Datasets of a platform that misbehaves, of one that changes meanwhile, and a sync that is killed."""

import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest

from tests.kits.programs.processes import environment_for
from tests.kits.worlds.dataset_world import (
    ONLY_DATASETS,
    asked,
    damaged,
    differences,
    discovered,
    planned,
    segments,
    shown,
    sync,
)
from tests.kits.worlds.world import Load, World, world
from warehouse.load.logs.load_log import slice_statuses

ROWS = 300
WIDTH = 50
PATIENCE = 60.0  # seconds, on a busy machine
#: The command line, with a load log that is written slice by slice.
CAMPUS = """
from pipelines.cli.main import main
from warehouse.load.logs import writer
writer.SECONDS = writer.QUIET_SECONDS = 0.0
main()
"""
INCLUDE = ("big_scores", "course_catalog", "entry_log")


@pytest.fixture(scope="module")
def school(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A platform of many small segments, never synced before; it lists datasets without their fields."""
    options = {"students": 8, "dataset_rows": ROWS, "max_per_page": 20, "dataset_list_fields": "bare"}
    with world(tmp_path_factory.mktemp("home"), **options) as school:
        config = f"datasets: {{include: {list(INCLUDE)}, segment_rows: {WIDTH}, segments_at_a_time: 2}}"
        (school.home / "campus.yaml").write_text(config)
        yield school


def again(world: World, **options: Any) -> Load:
    return sync(world, include=INCLUDE, segment_rows=WIDTH, **options)


def done(world: World) -> set[int]:
    """The segments of big_scores that are loaded: a kill may come between the load log and the standings."""
    statuses = slice_statuses(world.lake, 101).get("datasets.big_scores", {})
    return {int(slice.split(":")[1]) for slice in statuses}


def test_a_killed_sync_goes_on_with_the_segments_that_are_missing(school: World) -> None:
    school.platform.set_faults({"kind": "slow", "seconds": 0.5, "path": "*/big_scores/records"})
    environment = environment_for(school.home, school.platform)
    command = [sys.executable, "-c", CAMPUS, "sync", "--select", ONLY_DATASETS]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + PATIENCE
        while len(done(school)) < 2 and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.2)
        process.kill()
    school.platform.set_faults()
    loaded = done(school)
    every = set(range(ROWS // WIDTH + 1))
    assert set() < loaded < every

    school.platform.clear_log()
    load = again(school)
    assert load.problems == []
    in_full = {
        int(request["query"]["id_egt"]) // WIDTH
        for request in asked(school, "big_scores")
        if "id_elt" in request["query"] and not {"updated_at_egt", "per_page"} & request["query"].keys()
    }
    assert in_full == every - loaded
    assert differences(school) == {}


def test_retries_are_logged_and_shown(school: World) -> None:
    school.platform.set_faults({"kind": "html", "path": "*/big_scores/records", "probability": 0.1})
    load = again(school, full=True)
    school.platform.set_faults()
    retries = {number: row["retries"] for number, row in segments(load, "big_scores").items()}
    assert load.problems == [] and sum(retries.values()) > 0
    assert {number: shown(school, f"101:big_scores:{number:04}")["retries"] for number in retries} == retries


def test_what_is_read_by_pages_goes_to_segments_at_the_operators_word_alone(school: World) -> None:
    include = (*INCLUDE, "library_loans")
    records = "*/library_loans/records"
    school.platform.set_faults({"kind": "status", "status": 422, "path": records, "times": 1})
    assert sync(school, include=include, segment_rows=WIDTH).problems == []
    assert planned(school)["library_loans"].mode == "pages"
    assert differences(school) == {}

    school.platform.set_faults()
    assert sync(school, include=include, segment_rows=WIDTH).problems == []
    assert planned(school)["library_loans"].mode == "pages"
    notes = discovered(school)["notes"]
    assert "library_loans: it is still read by pages, though it can now be read by segments" in notes
    assert differences(school) == {}

    assert sync(school, include=include, segment_rows=WIDTH, accept_vanished=True).problems == []
    assert planned(school)["library_loans"].mode == "segments"
    assert differences(school) == {}

    school.platform.set_faults({"kind": "status", "status": 422, "path": records, "times": 1})
    [problem] = sync(school, include=include, segment_rows=WIDTH).problems
    assert re.search("dataset 'library_loans': its segments cannot be asked for, as .*status 422", problem)
    assert planned(school)["library_loans"].mode == "segments"


def test_a_table_that_is_damaged_is_named_and_the_others_load(school: World) -> None:
    assert again(school).problems == []
    school.platform.update("datasets/course_catalog", 1003, parent=101, title="später")
    school.platform.update("datasets/big_scores", 10, parent=101, remark="jetzt")
    with damaged(school, "course_catalog"):
        [problem] = again(school).problems
    assert "school 101: lake table datasets.course_catalog cannot be read: " in problem
    assert differences(school).keys() == {"course_catalog"}
    assert again(school).problems == []
    assert differences(school) == {}


def test_older_records_in_an_answer_are_no_proof_that_all_came(
    school: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert again(school).problems == []
    school.platform.update("datasets/big_scores", 9, parent=101, remark="spät")
    monkeypatch.setattr("campus.datasets.records._has_older", lambda *_: True)
    assert again(school).problems == []
    assert differences(school) == {}


@contextmanager
def changing(world: World) -> Iterator[list[str]]:
    """Rows of all datasets come, go and change while the block lasts."""
    dice, stop, did = Random(5), threading.Event(), list[str]()
    names = [f"datasets/{name}" for name in INCLUDE]
    keys = {name: [entry["key"] for entry in world.platform.rows(name, 101)] for name in names}

    def change() -> None:
        while not stop.wait(0.03):
            name, kind = dice.choice(names), dice.choice(["insert", "update", "destroy"])
            key = dice.choice(keys[name])
            if kind == "insert":
                entry = world.platform.insert(name, 101, first=name.endswith("catalog"))
                keys[name].append(entry["key"])
            elif kind == "update":
                world.platform.update(name, key, parent=101)
            else:
                world.platform.destroy(name, key, parent=101)
                keys[name].remove(key)
            did.append(kind)

    thread = threading.Thread(target=change, daemon=True)
    thread.start()
    try:
        yield did
    finally:
        stop.set()
        thread.join()


def test_after_syncs_of_changing_rows_the_next_one_makes_them_equal(school: World) -> None:
    with changing(school) as did:
        loads = [again(school, full=full, accept_vanished=True) for full in (True, False)]
    assert len(did) > 20
    for load in loads:
        for problem in load.problems:
            # A list that is read by pages cannot be proven while it moves.
            assert "sync again" in problem and "big_scores" not in problem
        read = [row for row in load.log if row["received"]]
        assert all(row["received"] == row["loaded"] + row["quarantined"] + row["duplicates"] for row in read)
    assert again(school, accept_vanished=True).problems == []
    assert differences(school) == {}
