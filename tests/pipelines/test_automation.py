"""What Dagster is given: jobs, the nightly schedule, and sensors that load and publish by themselves."""

import json
from collections.abc import Callable
from datetime import datetime
from zoneinfo import ZoneInfo

import dagster as dg
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from world import World, publications

from assets.datasets import RECORDS
from assets.drift_checks import NO_DRIFT
from assets.models import PUBLISHED
from assets.partitions import DATASET_SEGMENTS
from assets.reports import RECORDS as REPORT_RECORDS
from assets.resource_assets import LOADED_WHOLE, asset_key
from campus.registry import ATTENDANCE as ATTENDANCE_RESOURCES
from campus.registry import BASE_DATA as BASE_RESOURCES
from campus.registry import DATASET_METADATA, REPORT_METADATA, SCHOOLS, V1_DATA
from loading.partition_keys import week_key
from loading.runtime import FULL_TAG, SYNC_ID_TAG
from loading.tables import TABLES
from pipelines.automation import EVERY_SEMESTER_TAG
from pipelines.definitions import (
    ATTENDANCE,
    BASE_DATA,
    DATASETS,
    DISCOVERY,
    PUBLISH,
    REPORTS,
    V1,
    build_definitions,
    load_definitions,
)
from pipelines.due import SCHOOL_TAG, PartitionRange, school_of
from pipelines.notices.automation import STATUS
from warehouse.lake.log_tables import QUARANTINE, RETIRED
from warehouse.lake.tables import Slice
from warehouse.load.load_log import now, record_load

SHANGHAI = ZoneInfo("Asia/Shanghai")


@pytest.fixture(scope="module")
def definitions(district: World) -> dg.Definitions:
    """What Dagster is given for the district."""
    return build_definitions(district.settings)


@pytest.fixture(scope="module")
def district(make_world: Callable[..., World]) -> World:
    """Two schools of two semesters each; nothing is loaded but the semesters."""
    world = make_world(schools=2, semesters=2, students=12)
    assert world.discover().success
    return world


def test_the_definitions_that_dagster_loads_are_whole(definitions: dg.Definitions) -> None:
    dg.Definitions.validate_loadable(definitions)
    repository = definitions.get_repository_def()
    jobs = (DISCOVERY, BASE_DATA, V1, ATTENDANCE, DATASETS, REPORTS, PUBLISH)
    assert set(jobs) <= set(repository.job_names)
    assert all(job.description for job in (repository.get_job(name) for name in jobs))


def test_each_asset_has_a_group_and_a_description(definitions: dg.Definitions) -> None:
    graph = definitions.resolve_asset_graph()
    nodes = {key: graph.get(key) for key in graph.materializable_asset_keys}
    metadata = (*DATASET_METADATA, *REPORT_METADATA)
    resources = (SCHOOLS, *BASE_RESOURCES, *V1_DATA, *ATTENDANCE_RESOURCES, *metadata)
    assert {asset_key(spec.name) for spec in resources} | {RECORDS, PUBLISHED} <= nodes.keys()
    groups = {"base_data", "v1", "attendance", "datasets", "staging", "core", "marts", "seeds", "published"}
    assert {node.group_name for node in nodes.values()} >= groups
    assert [key for key, node in nodes.items() if not node.description] == []
    # How a model is made stands beside what it is.
    assert [key for key, node in nodes.items() if "```" in node.description] == []
    assert "```sql" in nodes[dg.AssetKey(["core", "dim_student"])].metadata["sql"].value


def test_what_each_night_makes_has_a_freshness_policy_and_nothing_else(definitions: dg.Definitions) -> None:
    graph = definitions.resolve_asset_graph()
    dated = {key for key in graph.materializable_asset_keys if graph.get(key).freshness_policy}
    nightly = (SCHOOLS, *BASE_RESOURCES, *V1_DATA, *DATASET_METADATA, *REPORT_METADATA)
    assert dated == {asset_key(spec.name) for spec in nightly} | {RECORDS, REPORT_RECORDS, STATUS}


def test_each_check_of_the_models_and_of_the_loads_is_one_of_dagster(
    district: World, definitions: dg.Definitions
) -> None:
    [parsed] = district.home.glob("dbt/*/manifest.json")
    nodes = json.loads(parsed.read_text(encoding="utf-8"))["nodes"].values()
    of_models = {node["name"] for node in nodes if node["resource_type"] == "test"}
    keys = definitions.resolve_asset_graph().asset_check_keys
    assert {key.name for key in keys} == of_models | {LOADED_WHOLE, NO_DRIFT}
    assert {key.asset_key for key in keys if key.name == LOADED_WHOLE} == {
        key.asset_key for key in keys if key.name == NO_DRIFT
    }


def test_the_schedule_runs_at_two_in_shanghai_and_names_the_night(
    district: World, definitions: dg.Definitions
) -> None:
    schedule = definitions.resolve_schedule_def("nightly")
    assert (schedule.cron_schedule, schedule.execution_timezone) == ("0 2 * * *", "Asia/Shanghai")
    assert schedule.default_status is dg.DefaultScheduleStatus.RUNNING
    two = datetime(2026, 11, 22, 2, tzinfo=SHANGHAI)
    context = dg.build_schedule_context(
        district.instance, scheduled_execution_time=two.astimezone(ZoneInfo("UTC"))
    )
    [request] = schedule.evaluate_tick(context).run_requests or []
    assert (request.run_key, request.tags[SYNC_ID_TAG]) == ("night-20261122-0200", "night-20261122-0200")
    assert request.tags[EVERY_SEMESTER_TAG] == "true", "a Sunday"


def requested_loads(
    world: World, ended: dg.ExecuteInProcessResult, *, weekly: bool, job: str = BASE_DATA
) -> list[tuple[str, str]]:
    """The ranges that the sensor asks for once a discovery has ended."""
    definitions = load_definitions(world.settings)
    sensor = definitions.resolve_sensor_def(
        f"loads_after_discovery_{'success' if ended.success else 'failure'}"
    )
    event = next(event for event in reversed(ended.all_events) if event.is_job_event)
    context = dg.build_run_status_sensor_context(
        sensor.name,
        dagster_event=event,
        dagster_instance=world.instance,
        dagster_run=ended.dagster_run.with_tags(
            {**ended.dagster_run.tags, EVERY_SEMESTER_TAG: str(weekly).lower()}
        ),
    )
    assert isinstance(sensor, dg.RunStatusSensorDefinition)
    requests = list(sensor(context))
    assert len({request.run_key for request in requests}) == len(requests)
    assert {request.tags[SYNC_ID_TAG] for request in requests} == {ended.dagster_run.tags[SYNC_ID_TAG]}
    return [
        tuple(value for name, value in request.tags.items() if "range" in name)
        for request in requests
        if request.job_name == job
    ]


@pytest.mark.parametrize("job", [BASE_DATA, V1])
def test_a_first_night_loads_every_semester_in_one_run_a_school(district: World, job: str) -> None:
    found = district.discover()
    first, second = district.partitions[:2], district.partitions[2:]
    whole = [(first[0], first[1]), (second[0], second[1])]
    assert requested_loads(district, found, weekly=False, job=job) == whole


def test_later_nights_load_the_current_semester_and_once_a_week_all(district: World) -> None:
    assert district.load(select='group:"base_data" or group:"v1"').problems == []
    found = district.discover()
    current = [(key, key) for key in district.partitions[1::2]]
    for job in (BASE_DATA, V1):
        assert requested_loads(district, found, weekly=False, job=job) == current
        assert len(requested_loads(district, found, weekly=True, job=job)) == 2


def test_a_semester_that_was_retired_and_is_back_is_loaded_by_night(district: World) -> None:
    older, current, *others = district.partitions
    slice = Slice.of(_school_id=school_of(older), _semester_id=int(older.split(":")[1]))
    entry = {"sync_id": "night", "started_at": now(), "status": RETIRED, "complete": True}
    record_load(district.lake, TABLES["classes"], slice, entry)
    assert requested_loads(district, district.discover(), weekly=False)[0] == (older, current)
    assert district.load().problems == []
    ranges = [(key, key) for key in (current, others[1])]
    assert requested_loads(district, district.discover(), weekly=False) == ranges


def test_a_semester_with_rows_in_quarantine_is_loaded_again_by_night(district: World) -> None:
    older, current, *others = district.partitions
    slice = Slice.of(_school_id=school_of(older), _semester_id=int(older.split(":")[1]))
    row = {
        "resource": "grades",
        "_school_id": school_of(older),
        "slice": str(slice),
        "key": "[1]",
        "reason": "text in a number, by an earlier version",
        "raw": "{}",
    }
    rows = pa.Table.from_pylist([row], schema=QUARANTINE.lake_schema)
    write_deltalake(district.lake.open(QUARANTINE), rows, mode="append")
    assert requested_loads(district, district.discover(), weekly=False)[0] == (older, current)
    assert district.load().problems == []
    assert district.log("quarantine") == []
    ranges = [(key, key) for key in (current, others[1])]
    assert requested_loads(district, district.discover(), weekly=False) == ranges


def test_every_night_loads_the_datasets_of_each_school_in_one_run(district: World) -> None:
    keys = district.instance.get_dynamic_partitions(DATASET_SEGMENTS.name or "")
    schools = [[key for key in keys if key.startswith(f"{school_id}:")] for school_id in (101, 102)]
    found = requested_loads(district, district.discover(), weekly=False, job=DATASETS)
    assert found == [(school[0], school[-1]) for school in schools]


def requested_weeks(world: World, run: dg.DagsterRun, event: dg.DagsterEvent) -> list[dict[str, str]]:
    """The tags of the runs of attendance that are asked for once `run`, of classes, has ended."""
    sensor = load_definitions(world.settings).resolve_sensor_def("attendance_after_classes_success")
    context = dg.build_run_status_sensor_context(
        sensor.name, dagster_event=event, dagster_instance=world.instance, dagster_run=run
    )
    assert isinstance(sensor, dg.RunStatusSensorDefinition)
    requests = [one for one in sensor(context) if isinstance(one, dg.RunRequest)]
    assert all(request.job_name == ATTENDANCE for request in requests)
    return [dict(request.tags) for request in requests]


def test_attendance_is_asked_for_once_the_classes_of_its_school_are_loaded(district: World) -> None:
    assert district.load(select='key:"raw/v1_semesters" or key:"raw/timetable_days"').problems == []
    definitions = load_definitions(district.settings)
    event = next(event for event in district.discover().all_events if event.is_job_event)
    night = {SYNC_ID_TAG: "a night", FULL_TAG: "false"}

    def run(job: str, key: str, status: dg.DagsterRunStatus, tags: dict[str, str] = night) -> dg.DagsterRun:
        return district.instance.create_run_for_job(
            definitions.resolve_job_def(job),
            status=status,
            tags=tags | PartitionRange(school_of(key), key, key).tags,
        )

    base = run(BASE_DATA, "101:10101", dg.DagsterRunStatus.SUCCESS)
    assert requested_weeks(district, base, event) == [], "the v1 generation is still to come"
    under_way = run(V1, "101:10101", dg.DagsterRunStatus.STARTED)
    run(V1, "102:10201", dg.DagsterRunStatus.SUCCESS)
    assert requested_weeks(district, base, event) == []
    district.instance.report_run_failed(under_way)
    first, last = week_key(101, 10101, 1), week_key(101, 10102, 13)
    [school] = [entry["row"]["name"] for entry in district.platform.rows("schools", 0) if entry["key"] == 101]
    weeks = PartitionRange(101, first, last).tags | {SCHOOL_TAG: f"101 {school}"}
    assert requested_weeks(district, base, event) == [night | weeks], "what has begun and was never loaded"

    by_hand = run(V1, "101:10101", dg.DagsterRunStatus.SUCCESS, {})
    assert requested_weeks(district, by_hand, event) == []
    sunday = {SYNC_ID_TAG: "a Sunday", FULL_TAG: "true"}
    run(BASE_DATA, "101:10101", dg.DagsterRunStatus.SUCCESS, sunday)
    ended = run(V1, "101:10101", dg.DagsterRunStatus.SUCCESS, sunday)
    assert requested_weeks(district, ended, event) == [sunday | weeks]


def test_a_failed_discovery_holds_no_school_back(district: World) -> None:
    district.platform.set_faults({"kind": "status", "status": 403, "path": "/api/v3/system/semesters"})
    failed = district.discover()
    district.platform.set_faults()
    assert not failed.success
    assert len(requested_loads(district, failed, weekly=False)) == 2


def test_a_publication_is_asked_for_once_the_loads_have_ended(
    district: World, definitions: dg.Definitions
) -> None:
    def asked() -> list[str | None]:
        return publications(definitions, district.instance)

    assert len(asked()) == 1 and asked() == asked(), "one run for a key, however often it is asked for"
    under_way = district.instance.create_run_for_job(
        definitions.resolve_job_def(PUBLISH), status=dg.DagsterRunStatus.STARTED
    )
    assert asked() == []
    district.instance.report_run_failed(under_way)
    assert len(asked()) == 1
