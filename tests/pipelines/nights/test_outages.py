"""A platform that is down ends a night with its first run and one message, and nothing is built for it."""

import json
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path

import dagster as dg
import pytest

from assets.shared.load_kind import HALTED_TAG, SLICES_FAILED, is_halted
from assets.shared.partitions import ATTENDANCE_WEEKS, PARTITIONS, SCHOOL_SEMESTERS
from loading.connection.connected import KNOWN_FOR, NOTE, known_since
from loading.partition_keys import week_key
from loading.tables import TABLES
from pipelines.cli.terminal.verdict import verdict
from pipelines.definitions import build_definitions
from pipelines.nights.school_night import night_config
from pipelines.nights.sync import JobEnd
from pipelines.runs.jobs import DISCOVERY
from pipelines.runs.launchers import LAUNCHER_TAG, own_tags
from pipelines.runs.partition_selection import night_tags
from pipelines.settings.settings import Settings
from simulator.process import RunningSimulator
from tests.kits.programs.command_line import campus
from tests.kits.worlds.night_ticks import carry_out, ended_discovery, tick
from tests.kits.worlds.world import World, publications, settings_for
from warehouse.lake.tables import Slice
from warehouse.load.logs.load_log import now, record_load

SCHOOLS = tuple(range(101, 121))
#: Nothing listens on the discard port.
NOBODY = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def alone(new_home: Callable[[], Path]) -> World:
    """A home that is pointed at a platform which is not there."""
    home = new_home()
    nobody = RunningSimulator(NOBODY, "c", "s", None)  # type: ignore[arg-type]
    instance = dg.DagsterInstance.ephemeral(tempdir=str(home))
    settings = settings_for(home, nobody).model_copy(update={"school_ids": SCHOOLS})
    return World(home, nobody, settings, instance, count(1))


def test_twenty_schools_of_a_platform_that_is_down_are_one_run_and_one_message(alone: World) -> None:
    load = alone.load(select=None)
    [end] = load.ends
    assert end.job == DISCOVERY and end.halted
    assert end.problem and end.problem.startswith(f"{NOBODY} has not responded") and "\n" not in end.problem
    assert load.log == []
    assert publications(build_definitions(alone.settings), alone.instance) == []


def test_the_next_run_knows_and_no_load_is_asked_for(alone: World) -> None:
    note = alone.home / NOTE
    content = json.loads(note.read_text())
    assert content["address"] == NOBODY and content["since"] <= content["seen_at"]
    note.write_text(json.dumps({**content, "since": content["since"] - 100}))
    end = alone.load(select=None).ends[0]
    # It asked for no longer than it takes to see that nothing has changed.
    assert end.problem and json.loads(note.read_text())["since"] < content["since"] - 50

    run = alone.instance.get_run_by_id(end.run_id)
    assert run is not None and run.tags[HALTED_TAG] == "true"
    result = tick(alone.settings, alone.instance)
    assert result.skipped is not None and result.skipped.startswith(
        "The discovery found the platform unavailable"
    )
    assert tick(alone.settings, alone.instance, result.cursor).requests == []


def test_a_platform_that_goes_away_ends_the_night_of_a_school_with_one_step(alone: World) -> None:
    for kind in PARTITIONS:
        keys = [week_key(101, 20, 1)] if kind is ATTENDANCE_WEEKS else ["101:20"]
        alone.instance.add_dynamic_partitions(kind.name or "", keys)
    entry = {"sync_id": "before", "started_at": now(), "status": "ok", "complete": True}
    record_load(alone.lake, TABLES["semesters"], Slice.of(_school_id=101), entry)
    night = dg.RunRequest(run_config=night_config({}), tags=night_tags(alone.lake, [101]))
    ended = carry_out(alone, night)
    assert [event.step_key for event in ended.all_events if event.is_step_failure] == ["1_base_data"]
    run = alone.instance.get_run_by_id(ended.run_id)
    assert run is not None and is_halted(run.tags)
    # Somebody who has it executed again, once the platform answers, gives it the same tags.
    assert not is_halted({**run.tags, **own_tags(run.tags)})


def test_no_load_is_asked_for_after_the_discovery_of_a_command(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions(SCHOOL_SEMESTERS.name or "", ["101:20"])
        ended_discovery(instance, {LAUNCHER_TAG: "campus sync of somebody"})
        assert tick(settings, instance).requests == []


def test_a_note_that_is_old_or_of_another_platform_says_nothing(alone: World) -> None:
    note, at = alone.home / "note.json", time.time()
    for content, expected in (
        ({"outage": True, "address": NOBODY, "since": at - 50, "seen_at": at - 20}, at - 50),
        ({"outage": True, "address": NOBODY, "since": at - 50, "seen_at": at - KNOWN_FOR - 1}, None),
        ({"outage": True, "address": "http://other", "since": at - 50, "seen_at": at - 20}, None),
        ({"outage": True, "address": NOBODY, "since": at, "seen_at": at + 3600}, None),
    ):
        note.write_text(json.dumps(content))
        assert known_since(note, NOBODY) == expected


def test_the_command_ends_with_a_line_that_says_all_of_it(tmp_path: Path) -> None:
    (tmp_path / "campus.yaml").write_text("platform: {max_attempts: 3}")
    environment = {
        "CAMPUS_HOME": str(tmp_path),
        "CAMPUS_BASE_URL": NOBODY,
        "CAMPUS_CLIENT_ID": "c",
        "CAMPUS_CLIENT_SECRET": "s",
        "CAMPUS_SCHOOL_IDS": ",".join(map(str, SCHOOLS)),
    }
    done = campus(tmp_path, "sync", **environment)
    assert done.exit_code == 1
    problem, last = done.stderr.splitlines()
    assert problem.startswith(f"discovery: {NOBODY} has not responded")
    assert last.startswith(f"FAILED: 0 of 20 schools loaded. {NOBODY} has not responded")
    assert "There are no data yet. campus doctor" in last
    assert done.stdout.splitlines() == ["Nothing has been loaded yet, so nothing is built."]


NIGHT = datetime(2026, 3, 2, 2, 0)


def row(school_id: int, slice: str, status: str) -> dict[str, object]:
    return {"_school_id": school_id, "resource": "students", "slice": slice, "status": status}


def standing(
    school_id: int, slice: str, at: datetime | None, resource: str = "students"
) -> dict[str, object]:
    ended = {"status": "ok" if at else "failed", "finished_at": at or NIGHT, "requests": 1}
    return {"_school_id": school_id, "resource": resource, "slice": slice, "complete_at": at, **ended}


def test_what_failed_of_a_night_is_told_with_its_age() -> None:
    log = [row(101, "101", "ok"), row(102, "102", "failed"), row(102, "102:20", "warning")]
    ends = [JobEnd("base_data", "r", f"1 {SLICES_FAILED}\nstudents 102: status 500.")]
    standings = [standing(101, "101", NIGHT), standing(102, "102", NIGHT - timedelta(days=3))]
    line = verdict(ends, log, standings, [101, 102])
    assert line.startswith("FAILED: 1 of 2 schools loaded whole, 2 of 3 slices. 1 failed; their rows stay")
    assert (
        "The failed slices are as of 2026-02-27 02:00 Asia/Shanghai. docs/reference/messages.md" in line
        and "\n" not in line
    )


def test_what_was_never_loaded_has_no_age() -> None:
    log = [row(101, "101", "ok"), row(102, "102", "failed"), row(103, "103", "failed")]
    standings = [standing(101, "101", NIGHT), standing(102, "102", None), standing(103, "103", NIGHT)]
    line = verdict([JobEnd("base_data", "r", "2 failed.")], log, standings, [101, 102, 103])
    assert (
        "The failed slices are as of 2026-03-02 02:00 Asia/Shanghai. Slices never loaded whole, so that "
        "their numbers are missing: 1." in line
    )


def test_schools_that_lack_something_are_named_where_there_are_many() -> None:
    log = [row(101, "101", "ok"), *(row(school, str(school), "failed") for school in (102, 103))]
    line = verdict([JobEnd("base_data", "r", "2 failed.")], log, [], [101, 102, 103])
    assert line.startswith(
        "FAILED: 1 of 3 schools loaded whole, but for 2 schools (102, 103), 1 of 3 slices."
    )


def test_a_night_that_was_cut_short_says_where_and_how_old_the_rest_is() -> None:
    ends = [JobEnd("base_data", "r", None), JobEnd("v1", "r", "http://x has not responded.", halted=True)]
    standings = [
        standing(101, "101", NIGHT),
        standing(102, "102", None),
        standing(102, "102:20", NIGHT - timedelta(days=1), "scores"),
    ]
    line = verdict(ends, [row(101, "101", "ok")], standings, [101, 102])
    assert line.startswith(
        "FAILED: stopped after 1 slices of 2 schools. http://x has not responded. The data"
    )
    assert "as of 2026-03-01 02:00" in line
    # The semesters had come before the platform went, and are not what people look at.
    standings = [standing(101, "101", NIGHT, "semesters"), standing(101, "101", NIGHT - timedelta(days=3))]
    assert "as of 2026-02-27 02:00" in verdict(ends, [row(101, "101", "ok")], standings, [101])
