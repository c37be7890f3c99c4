"""A school that the platform does not have: it is named with the schools that there are, nothing of it is
written, and what was written of one that the settings named goes."""

from collections.abc import Callable
from typing import Any

import dagster as dg
import pytest
import uvloop

from assets.loads import BASE_DATA
from assets.shared.load_kind import asset_key
from assets.shared.partitions import SCHOOL_SEMESTERS
from loading.discovery.listing import mistyped_schools
from loading.partition_keys import school_of
from loading.tables import TABLES
from pipelines.cli.actions.load import run_load
from pipelines.cli.terminal.display import USAGE
from pipelines.definitions import load_definitions
from pipelines.lake.opening import lake_of
from pipelines.nights.school_night import night_config
from pipelines.runs.jobs import SCHOOL_NIGHT
from pipelines.settings.settings import Settings
from pipelines.status.report import status_of
from tests.kits.programs.command_line import campus
from tests.kits.worlds.world import World
from warehouse.lake.logs.tables import LOGS
from warehouse.lake.tables import Slice
from warehouse.load.logs.load_log import now, record_failure, record_load
from warehouse.load.logs.writer import standing_rows
from warehouse.load.slice_reading import Cause

ONE_TABLE = 'key:"raw/students"'


@pytest.fixture(scope="module")
def district(load_world: Callable[..., World]) -> World:
    """Two schools that are loaded."""
    return load_world("two_schools", select=ONE_TABLE)


def state(world: World) -> tuple[list[dict[str, Any]], list[str], int]:
    """What a mistyped id must not change: the standings, the partitions and the runs."""
    return standing_rows(world.lake), world.partitions, world.instance.get_runs_count()


def test_a_mistyped_school_writes_nothing(
    district: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(district.home / "dagster"))
    before = state(district)
    ended = run_load(district.settings, (101, 999), ONE_TABLE)
    assert ended.status == USAGE
    said = " ".join(capsys.readouterr().err.split())
    assert "there is no school 999: the platform lists 101, 102." in said and "--school" in said
    assert state(district) == before


@pytest.mark.parametrize("schools_header", ["optional", "required"])
def test_settings_that_name_no_school_of_the_platform_fail_the_discovery(
    make_world: Callable[..., World], schools_header: str
) -> None:
    world = make_world("two_schools", schools_header=schools_header)
    assert world.load(select=ONE_TABLE, school_ids=(101,)).problems == []
    load = world.load(select=ONE_TABLE, school_ids=(999, 101))
    [problem] = load.problems
    assert "no school 999: the platform lists 101, 102" in problem and "CAMPUS_SCHOOL_IDS" in problem
    assert {row["_school_id"] for row in load.log} == {101}, "the other one is loaded"


def test_a_school_that_is_not_listed_and_answers_is_loaded(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world("two_schools")
    monkeypatch.setattr("loading.discovery.listing.Listing.ids", property(lambda _: [101]))
    assert world.load(select=ONE_TABLE, school_ids=(101, 102)).problems == []
    assert {row["_school_id"] for row in world.held("students")} == {101, 102}


LIST_REFUSED = {"kind": "status", "status": 403, "path": "/api/v1/schools"}


def test_without_a_list_an_unknown_school_writes_nothing(
    district: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(district.home / "dagster"))
    before = state(district)
    district.platform.set_faults(LIST_REFUSED)
    ended = run_load(district.settings, (101, 999), ONE_TABLE)
    district.platform.set_faults()
    assert ended.status == USAGE
    said = " ".join(capsys.readouterr().err.split())
    assert "it is not known whether there is a school 999: the platform shows no semesters of it" in said
    assert "/api/v1/schools: status 403" in said and "grants it user.read" in said
    assert "name the school in CAMPUS_SCHOOL_IDS if it is there. Nothing was loaded." in said
    assert state(district) == before


def test_without_a_list_schools_that_answer_or_are_named_are_loaded(
    make_world: Callable[..., World],
) -> None:
    world = make_world("two_schools")
    world.platform.set_faults(LIST_REFUSED)
    runtime, _ = world.opened_as_is()
    assert uvloop.run(mistyped_schools(runtime, (101,), ())) is None, "it was never loaded, and answers"
    assert uvloop.run(mistyped_schools(runtime, (999,), (999,))) is None, "the settings name it"
    world.platform.set_faults()


def test_failures_of_a_school_that_is_not_there_are_explained_and_go(district: World) -> None:
    lake = district.lake
    record_failure(
        lake,
        TABLES["semesters"],
        Slice.of(_school_id=999),
        Cause("old", "r", now()),
        "status 403",
    )
    district.instance.add_dynamic_partitions(SCHOOL_SEMESTERS.name or "", ["999:1"])
    district.settings.published.touch()
    lines = [line for line in status_of(district.settings).to_do if "999" in line]
    assert lines == [
        "School 999 was never loaded, for the reasons above; docs/reference/messages.md says what to do "
        "about each. The next campus sync removes a school that the platform does not list and no setting "
        "names."
    ]
    assert district.load(select=ONE_TABLE).problems == []
    assert 999 not in {school_of(key) for key in district.partitions}
    assert 999 not in {school.school_id for school in status_of(district.settings).schools}
    assert 999 in {row["_school_id"] for row in district.log("load_log")}, "the log says what was tried"


def test_a_partition_that_somebody_made_up_asks_the_platform_nothing(district: World) -> None:
    name = SCHOOL_SEMESTERS.name or ""
    district.instance.add_dynamic_partitions(name, ["998:1"])
    before = standing_rows(district.lake)
    district.platform.clear_log()
    runtime, _ = district.opened_as_is()
    definitions = load_definitions(district.settings, runtime)
    by_asset: dict[str, Any] = {"partition_key": "998:1"}
    by_night: dict[str, Any] = {"run_config": night_config({BASE_DATA: ["998:1"]}, [asset_key("students")])}
    for job, how in ((BASE_DATA, by_asset), (SCHOOL_NIGHT, by_night)):
        with dg.partition_loading_context(dynamic_partitions_store=district.instance):
            run = definitions.resolve_job_def(job).execute_in_process(
                instance=district.instance, raise_on_error=False, **how
            )
        assert not run.success
        said = [str(event.event_specific_data) for event in run.all_events if event.is_step_failure]
        assert "'998:1' is of a school that the discovery has not found; it has found 101, 102" in said[0]
    assert standing_rows(district.lake) == before
    assert district.platform.log() == []
    assert district.load(select=ONE_TABLE).problems == []
    assert "998:1" not in district.partitions


@pytest.mark.parametrize(
    "command",
    [
        ("quarantine", "list"),
        ("quarantine", "replay"),
        ("swipes", "now", "--classroom", "1", "--student", "1", "--dry-run"),
    ],
)
def test_commands_say_which_schools_there_are(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster"))
    settings = Settings(home=tmp_path)
    lake = lake_of(settings)
    lake.ensure(LOGS)
    entry = {"sync_id": "s", "started_at": now(), "status": "ok", "complete": True}
    record_load(lake, TABLES["students"], Slice.of(_school_id=101), entry)
    done = campus(
        tmp_path,
        *command,
        "--school",
        "999",
        CAMPUS_HOME=str(tmp_path),
        CAMPUS_BASE_URL="http://127.0.0.1:9",
        CAMPUS_CLIENT_ID="c",
        CAMPUS_CLIENT_SECRET="s",
    )
    assert done.exit_code == USAGE
    assert "there is no school 999 here; there are 101" in " ".join(done.stderr.split())
