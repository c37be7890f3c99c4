"""A night is one run a school, asked for some schools at a time, and one publication once all have ended."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path

import dagster as dg
import pytest

from assets.loads import ATTENDANCE, BASE_DATA, INPUTS, LOADS, V1
from assets.shared.load_kind import LOADED_WHOLE, asset_key
from assets.shared.partitions import SCHOOL_SEMESTERS
from loading.connection.runtime import SYNC_ID_TAG
from loading.partition_keys import partition_key, school_of
from loading.tables import TABLES
from pipelines.automation.nightly import SCHOOLS_PER_TICK
from pipelines.nights import run_state
from pipelines.nights.run_state import ALL_REQUESTED_TAG, RUN_KEY_TAG, awaits_load_requests
from pipelines.nights.school_night import STEPS
from pipelines.publication import after_loads
from pipelines.publication.after_loads import publish_after_loads
from pipelines.resources import runtime_without_platform
from pipelines.runs.jobs import DISCOVERY, MAINTENANCE, PUBLISH, SCHOOL_NIGHT
from pipelines.runs.writer_locks import writing
from pipelines.settings.options import Options, RunOptions
from pipelines.settings.settings import Settings
from tests.kits.worlds.night_ticks import LOOKED, Tick, carry_out, ended_discovery, tick
from tests.kits.worlds.world import World
from warehouse.lake.tables import Slice
from warehouse.load.logs.load_log import now, record_load
from warehouse.publish.build import models_version

NIGHT = "night-20260302-0200"
MANY = range(101, 161)


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as dagster_instance:
        yield dagster_instance


@pytest.fixture(scope="module")
def home(new_home: Callable[[], Path]) -> Settings:
    """A home in which nothing is loaded."""
    settings = Settings(home=new_home())
    runtime_without_platform(settings)
    return settings


def add_schools(instance: dg.DagsterInstance, *schools: int) -> None:
    keys = [partition_key(school_id, 20) for school_id in schools]
    instance.add_dynamic_partitions(SCHOOL_SEMESTERS.name or "", keys)


def ticks_until_all_are_asked(settings: Settings, instance: dg.DagsterInstance, cursor: str) -> list[Tick]:
    ticks: list[Tick] = []
    while not ticks or ticks[-1].requests:
        ticks.append(tick(settings, instance, cursor))
        cursor = ticks[-1].cursor or ""
    return ticks


def test_sixty_schools_are_asked_for_once_each_and_some_at_a_time(
    home: Settings, instance: dg.DagsterInstance
) -> None:
    add_schools(instance, *MANY)
    run = ended_discovery(instance, {SYNC_ID_TAG: NIGHT})
    results = ticks_until_all_are_asked(home, instance, LOOKED)
    assert [len(result.requests) for result in results] == [SCHOOLS_PER_TICK, SCHOOLS_PER_TICK, 10, 0]
    assert [school for result in results for school in result.schools] == list(MANY)
    assert len({launch.run_key for result in results for launch in result.requests}) == len(MANY)
    assert {launch.tags[SYNC_ID_TAG] for result in results for launch in result.requests} == {NIGHT}
    assert [
        launch.run_id for launch in instance.get_runs(dg.RunsFilter(tags={ALL_REQUESTED_TAG: run.run_id}))
    ] == [run.run_id]
    # A cursor that was lost with the daemon asks for the same runs, which Dagster makes once.
    again = tick(home, instance, results[0].cursor)
    assert [launch.run_key for launch in again.requests] == [launch.run_key for launch in results[1].requests]
    assert (
        tick(home, instance, results[-1].cursor).skipped == "All loads of the last discovery are requested."
    )


def test_what_was_discovered_before_the_first_look_has_been_seen_to(
    home: Settings, instance: dg.DagsterInstance
) -> None:
    add_schools(instance, 101)
    ended_discovery(instance)
    first = tick(home, instance, None)
    assert first.requests == [] and tick(home, instance, first.cursor).requests == []
    ended_discovery(instance)
    assert tick(home, instance, first.cursor).schools == [101]


def test_a_school_that_is_added_later_comes_with_its_discovery(
    home: Settings, instance: dg.DagsterInstance
) -> None:
    add_schools(instance, 102, 103)
    ended_discovery(instance)
    first = tick(home, instance)
    add_schools(instance, 101)
    assert tick(home, instance, first.cursor).requests == []
    ended_discovery(instance, failed=True)
    assert tick(home, instance, first.cursor).schools == [101, 102, 103]


def test_only_schools_that_the_settings_name_are_asked_for(
    home: Settings, instance: dg.DagsterInstance
) -> None:
    add_schools(instance, *MANY)
    ended_discovery(instance)
    mine = home.model_copy(update={"school_ids": (103, 150)})
    assert tick(mine, instance).schools == [103, 150]


def test_a_discovery_that_is_executed_again_is_followed_by_its_own_loads(
    home: Settings, instance: dg.DagsterInstance
) -> None:
    add_schools(instance, 101)
    run = ended_discovery(instance, {SYNC_ID_TAG: NIGHT})
    results = ticks_until_all_are_asked(home, instance, LOOKED)
    assert not awaits_load_requests(instance, DISCOVERY)
    [tags] = [stored_run.tags for stored_run in instance.get_runs(dg.RunsFilter(run_ids=[run.run_id]))]
    ended_discovery(instance, tags)
    assert awaits_load_requests(instance, DISCOVERY)
    assert tick(home, instance, results[-1].cursor).schools == [101]


def test_tiny_schools_share_runs(home: Settings, instance: dg.DagsterInstance) -> None:
    add_schools(instance, *MANY)
    ended_discovery(instance)
    shared = home.model_copy(update={"options": Options(runs=RunOptions(schools_per_run=10))})
    results = ticks_until_all_are_asked(shared, instance, LOOKED)
    assert [school for result in results for school in result.schools] == list(MANY)
    assert [len(keys) for result in results for keys in result.partitions(BASE_DATA)] == [10] * 6


def asked_publication(settings: Settings, instance: dg.DagsterInstance) -> str | None:
    """Why no publication is asked for now; None: it is. The maintenance that comes before it is carried
    out."""
    sensor = publish_after_loads(
        settings, DISCOVERY, dg.define_asset_job(MAINTENANCE), dg.define_asset_job(PUBLISH)
    )
    evaluation = sensor.evaluate_tick(dg.build_sensor_context(instance=instance))
    for request in evaluation.run_requests or []:
        if request.job_name == MAINTENANCE:
            run = under_way(instance, MAINTENANCE, {**request.tags, RUN_KEY_TAG: request.run_key or ""})
            assert asked_publication(settings, instance) == "A run of maintenance is under way."
            # Whether it succeeds or not.
            instance.report_run_failed(run)
            return asked_publication(settings, instance)
    return None if evaluation.run_requests else evaluation.skip_message


def under_way(instance: dg.DagsterInstance, job: str, tags: dict[str, str]) -> dg.DagsterRun:
    return instance.create_run_for_job(
        dg.GraphDefinition(name=job).to_job(), tags=tags, status=dg.DagsterRunStatus.STARTED
    )


def without_the_night(_file: Path, loads: Mapping[str, datetime]) -> dict[str, datetime]:
    return {cause: at for cause, at in loads.items() if cause != NIGHT}


A_NIGHT, WAITS = "A night is under way.", "The loads under way are waited for."


def test_a_publication_waits_for_its_own_cause_from_the_discovery_to_the_last_load(
    new_home: Callable[[], Path], instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(home=new_home())
    lake = runtime_without_platform(settings).lake
    add_schools(instance, 101, 102)
    entry = {"sync_id": NIGHT, "started_at": now(), "status": "ok", "complete": True}
    record_load(lake, TABLES["semesters"], Slice.of(_school_id=101), entry)

    ended_discovery(instance, {SYNC_ID_TAG: NIGHT})
    assert asked_publication(settings, instance) == A_NIGHT, "no load has been asked for"
    first = tick(settings, instance)
    assert len(first.requests) == 2 and asked_publication(settings, instance) == A_NIGHT
    runs = [under_way(instance, SCHOOL_NIGHT, dict(request.tags)) for request in first.requests]
    tick(settings, instance, first.cursor)
    assert asked_publication(settings, instance) == A_NIGHT
    instance.report_run_failed(runs[0])
    assert asked_publication(settings, instance) == A_NIGHT

    backfill = under_way(instance, ATTENDANCE, {"dagster/backfill": "years"})
    entry |= {"sync_id": "years"}
    record_load(lake, TABLES["students"], Slice.of(_school_id=102), entry)
    instance.report_run_canceled(runs[1])
    assert asked_publication(settings, instance) is None, "the backfill of years holds up no night"
    assert asked_publication(settings, instance) is None
    assert instance.get_runs_count(dg.RunsFilter(job_name=MAINTENANCE)) == 1, "once a night"

    # What the backfill had loaded by then is in that file, and more of it is waited for.
    monkeypatch.setattr(after_loads, "made_by", lambda _file: models_version(settings.home))
    monkeypatch.setattr(after_loads, "is_published", lambda *_: False)
    monkeypatch.setattr(
        after_loads, "_unpublished", lambda _, loads: {k: v for k, v in loads.items() if k != NIGHT}
    )
    assert asked_publication(settings, instance) == WAITS
    instance.report_run_canceled(backfill)
    assert asked_publication(settings, instance) is None


def test_a_publication_does_not_wait_for_ever_for_loads_that_nobody_asks_for(
    home: Settings, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_schools(instance, 101)
    ended_discovery(instance, {SYNC_ID_TAG: NIGHT})
    assert awaits_load_requests(instance, DISCOVERY)
    monkeypatch.setattr(run_state, "REQUESTS_WITHIN", 0.0)
    assert not awaits_load_requests(instance, DISCOVERY)


def test_a_command_publishes_itself(home: Settings, instance: dg.DagsterInstance) -> None:
    with writing(home, "campus sync", alone=True, patience=0, notify=print):
        assert asked_publication(home, instance) == "A command is under way, which publishes itself."


@pytest.fixture(scope="module")
def district(make_world: Callable[..., World]) -> World:
    """Two schools of which nothing is loaded but what discovery reads."""
    world = make_world("two_schools", datasets=True, checks=True)
    world.settings = world.settings.model_copy(update={"reports": ("student_summary",)})
    assert world.discover().success
    return world


def loaded(world: World, school_id: int) -> set[str]:
    """The loads of a school that Dagster shows partitions of."""
    return {
        load.name
        for load in LOADS
        for key in load.assets.keys
        for partition in world.instance.get_materialized_partitions(key)
        if school_of(partition) == school_id
    }


def test_a_load_that_fails_holds_up_neither_the_next_ones_nor_other_schools(district: World) -> None:
    first, second = tick(district.settings, district.instance).requests
    district.platform.set_faults({"kind": "status", "status": 403, "path": "/api/v3/reflection/teachers"})
    failed = carry_out(district, first)
    district.platform.set_faults()
    assert [event.step_key for event in failed.all_events if event.is_step_failure] == ["1_base_data"]
    assert [record.step_key for record in failed.all_events if record.is_step_start] == list(STEPS)
    # No school keeps a file in the home.
    everything = {load.name for load in LOADS} - {INPUTS}
    assert loaded(district, 101) == everything
    assert loaded(district, 102) == {BASE_DATA, V1}, "whose semesters the discovery has listed"
    assert carry_out(district, second).success
    assert loaded(district, 102) == everything
    checks = district.instance.event_log_storage.get_asset_check_execution_history(
        dg.AssetCheckKey(asset_key("teachers"), LOADED_WHOLE), limit=2
    )
    assert [record.status.value for record in checks] == ["SUCCEEDED", "FAILED"]


def test_a_run_that_is_made_again_asks_for_nothing_that_it_has_committed(district: World) -> None:
    ended_discovery(district.instance, {SYNC_ID_TAG: "another night"})
    request = tick(district.settings, district.instance).requests[0]
    assert carry_out(district, request).success
    district.platform.clear_log()
    again = carry_out(district, request)
    assert again.success and not [entry for entry in district.platform.log() if "oauth" not in entry["path"]]


def test_a_person_who_starts_a_night_by_hand_gets_all_schools(district: World) -> None:
    before = len(district.log("load_log"))
    assert carry_out(district, dg.RunRequest(run_config={}, tags={})).success
    rows = district.log("load_log")
    assert {row["_school_id"] for row in rows[: len(rows) - before]} == {101, 102}
