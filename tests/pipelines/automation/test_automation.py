"""What Dagster is given: jobs, the nightly schedule, and sensors that load and publish by themselves."""

from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import dagster as dg
import pyarrow as pa
import pytest
from deltalake import write_deltalake

from assets.loads import ATTENDANCE, BASE_DATA, DATASET_RECORDS, DATASETS, ORDER, REPORT_RECORDS, REPORTS, V1
from assets.publication.models import PUBLISHED
from assets.shared.dagster_private import CHOSEN_ASSETS
from assets.shared.load_kind import LOADED_WHOLE, NO_DRIFT, asset_key
from assets.shared.partitions import HOW_TO_READ, PARTITIONS
from campus.registry import ATTENDANCE as ATTENDANCE_RESOURCES
from campus.registry import BASE_DATA as BASE_RESOURCES
from campus.registry import DATASET_METADATA, REPORT_METADATA, SCHOOLS, V1_DATA
from loading.connection.runtime import FULL_TAG, SYNC_ID_TAG
from loading.partition_keys import school_of
from loading.tables import TABLES
from pipelines.definitions import build_definitions
from pipelines.notices.automation import STATUS
from pipelines.runs.jobs import DISCOVERY, EXPORTS, MAINTENANCE, PUBLISH, SCHOOL_NIGHT, SITE_JOB
from pipelines.runs.partition_selection import SCHOOL_TAG
from pipelines.settings.options import ExportOptions, Options, PublishOptions
from tests.kits.worlds.clock import clock_at
from tests.kits.worlds.night_ticks import Tick, cause_of_tick, tick
from tests.kits.worlds.world import World, publications
from warehouse.lake.logs.tables import QUARANTINE, RETIRED
from warehouse.lake.tables import Slice
from warehouse.load.logs.load_log import now, record_load
from warehouse.publish.models.dbt_project import compiled

SHANGHAI = ZoneInfo("Asia/Shanghai")


@pytest.fixture(scope="module")
def definitions(district: World) -> dg.Definitions:
    """What Dagster is given for the district."""
    return build_definitions(district.settings)


@pytest.fixture(scope="module")
def district(make_world: Callable[..., World]) -> World:
    """Two schools of two semesters each; nothing is loaded but the semesters."""
    world = make_world("district")
    assert world.discover().success
    return world


def test_the_definitions_that_dagster_loads_are_whole(definitions: dg.Definitions) -> None:
    dg.Definitions.validate_loadable(definitions)
    repository = definitions.get_repository_def()
    jobs = (DISCOVERY, BASE_DATA, V1, ATTENDANCE, DATASETS, REPORTS, PUBLISH)
    assert {*jobs, SCHOOL_NIGHT} <= set(repository.job_names)
    executors = {job.executor_def for job in repository.get_all_jobs()}
    assert executors == {definitions.executor}, "the process of each run has a lock"
    assert all(job.description for job in (repository.get_job(name) for name in jobs))


def test_each_asset_has_a_group_and_a_description(definitions: dg.Definitions) -> None:
    graph = definitions.resolve_asset_graph()
    nodes = {key: graph.get(key) for key in graph.get_all_asset_keys()}
    metadata = (*DATASET_METADATA, *REPORT_METADATA)
    resources = (SCHOOLS, *BASE_RESOURCES, *V1_DATA, *ATTENDANCE_RESOURCES, *metadata)
    assert {asset_key(spec.name) for spec in resources} | {DATASET_RECORDS, PUBLISHED} <= nodes.keys()
    groups = {"base_data", "v1", "attendance", "datasets", "staging", "core", "marts", "seeds", "published"}
    assert {node.group_name for node in nodes.values()} >= groups | {"discovery", "oneroster", "quality"}
    assert "default" not in {node.group_name for node in nodes.values()}
    assert [key for key, node in nodes.items() if list(node.owners) != ["team:campus"]] == []
    assert [key for key, node in nodes.items() if not node.description] == []
    # How a model is made stands beside what it is.
    assert [key for key, node in nodes.items() if "```" in node.description] == []
    assert "```sql" in nodes[dg.AssetKey(["core", "dim_student"])].metadata["sql"].value


def test_a_group_is_materialized_without_assets_of_others(definitions: dg.Definitions) -> None:
    """Dagster warns where a step makes assets that were not chosen."""
    graph = definitions.resolve_asset_graph()
    loaded = [key for key in graph.materializable_asset_keys if key.path[0] in ("raw", "datasets", "reports")]
    assert len(loaded) > 30
    for key in loaded:
        together = graph.get(key).execution_set_asset_keys
        assert {graph.get(neighbour).group_name for neighbour in together} == {graph.get(key).group_name}


def test_base_data_is_drawn_in_the_recommended_order(definitions: dg.Definitions) -> None:
    """Each group of the order is one level of the graph, below the group before it."""
    graph = definitions.resolve_asset_graph()
    groups = [{asset_key(name) for name in names} for names in ORDER]
    base_data = set().union(*groups)
    levels = [base_data.intersection(level) for level in graph.toposorted_asset_keys_by_level]
    assert [level for level in levels if level] == groups
    for above, below in pairwise(groups):
        assert all(above <= graph.get(key).parent_keys for key in below)


@pytest.mark.parametrize("schools_per_shard", [None, 1])
def test_no_step_waits_for_an_optional_output(district: World, schools_per_shard: int | None) -> None:
    """Dagster skips such a step in silence if the output is not made: the lake was never maintained."""
    options = Options(
        publish=PublishOptions(schools_per_shard=schools_per_shard), exports=ExportOptions(site=("head",))
    )
    settings = district.settings.model_copy(update={"options": options})
    repository = build_definitions(settings).get_repository_def()
    # A person's choice of assets has a job of its own.
    jobs = [repository.get_job(name) for name in repository.job_names if name != CHOSEN_ASSETS]
    assert {MAINTENANCE, PUBLISH, EXPORTS, SITE_JOB} <= {job.name for job in jobs}
    waiting = [
        f"{job.name}: {node.name} waits for {output.output_name}"
        for job in jobs
        for node in job.graph.nodes
        for outputs in job.graph.dependency_structure.input_to_upstream_outputs_for_node(node.name).values()
        for output in outputs
        if not output.output_def.is_required
    ]
    assert waiting == []


def test_no_step_of_a_persons_choice_is_skipped(make_world: Callable[..., World]) -> None:
    """The log of talks follows the students in one run, and the models follow both."""
    world = make_world("small")
    assert world.discover().success
    job = build_definitions(world.settings).resolve_implicit_global_asset_job_def()
    result = job.execute_in_process(
        instance=world.instance,
        partition_key=world.partitions[0],
        asset_selection=[asset_key("students"), asset_key("interventions"), PUBLISHED],
        raise_on_error=False,
    )
    steps = {event.step_key for event in result.all_events if event.is_step_success}
    assert steps == {"load_base_data", "load_inputs", "models"}
    assert [event.step_key for event in result.all_events if event.is_step_skipped] == []


def test_loads_follow_the_drawn_dependencies(definitions: dg.Definitions) -> None:
    graph = definitions.resolve_asset_graph()
    assert [name for names in ORDER for name in names] == [spec.name for spec in BASE_RESOURCES]
    loaded = [asset_key(spec.name) for spec in (*BASE_RESOURCES, *V1_DATA, *ATTENDANCE_RESOURCES)]
    for place, key in enumerate(loaded):
        assert graph.get(key).parent_keys <= {asset_key(SCHOOLS.name), *loaded[:place]}, key
    assert asset_key("user_fields") in graph.get(asset_key("v1_users")).parent_keys


def test_keys_of_partitions_are_explained(definitions: dg.Definitions) -> None:
    graph = definitions.resolve_asset_graph()
    loaded = [graph.get(key) for key in graph.get_all_asset_keys() if graph.get(key).is_partitioned]
    assert len(loaded) > 20
    assert [node.key for node in loaded if "Partitions: `101:" not in (node.description or "")] == []
    assert set(HOW_TO_READ) == set(PARTITIONS)


def test_a_check_by_itself_goes_by_the_last_load(make_world: Callable[..., World]) -> None:
    """A run of a check has no partitions, and failed for that."""
    world = make_world("small")
    assert world.load(select='key:"raw/terms"').problems == []
    before = world.lake.version(TABLES["terms"])
    definitions = build_definitions(world.settings)
    for name, passed in (("terms", True), ("scores", False)):
        asset = asset_key(name)
        check = dg.AssetSelection.checks(
            *(dg.AssetCheckKey(asset, asset_check) for asset_check in (LOADED_WHOLE, NO_DRIFT))
        )
        job = dg.define_asset_job("one_check", check)
        done = (
            dg.Definitions.merge(definitions, dg.Definitions(jobs=[job]))
            .resolve_job_def("one_check")
            .execute_in_process(instance=world.instance)
        )
        evaluations = {
            asset_check.check_name: asset_check for asset_check in done.get_asset_check_evaluations()
        }
        assert done.success and evaluations.keys() == {LOADED_WHOLE, NO_DRIFT}
        assert evaluations[LOADED_WHOLE].passed is passed
    assert world.lake.version(TABLES["terms"]) == before


def test_what_each_night_makes_has_a_freshness_policy_and_nothing_else(definitions: dg.Definitions) -> None:
    graph = definitions.resolve_asset_graph()
    dated = {key for key in graph.materializable_asset_keys if graph.get(key).freshness_policy}
    nightly = (SCHOOLS, *BASE_RESOURCES, *V1_DATA, *DATASET_METADATA, *REPORT_METADATA)
    assert dated == {asset_key(spec.name) for spec in nightly} | {DATASET_RECORDS, REPORT_RECORDS, STATUS}


def test_each_check_of_the_models_and_of_the_loads_is_one_of_dagster(
    definitions: dg.Definitions,
) -> None:
    of_models = {node["name"] for node in compiled()["nodes"].values() if node["resource_type"] == "test"}
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


def after_discovery(world: World) -> Tick:
    """What is asked for once a discovery has ended."""
    discovery = world.discover()
    result = tick(world.settings, world.instance)
    assert cause_of_tick(result) == discovery.dagster_run.tags[SYNC_ID_TAG]
    assert {request.tags[FULL_TAG] for request in result.requests} == {"false"}
    return result


def test_a_first_night_loads_every_semester_in_one_run_a_school(district: World) -> None:
    result = after_discovery(district)
    assert result.schools == [101, 102] and len({request.run_key for request in result.requests}) == 2
    for job in (BASE_DATA, V1):
        assert result.partitions(job) == [district.partitions[:2], district.partitions[2:]]
    names = [entry["row"]["name"] for entry in district.platform.rows("schools", 0)]
    assert [request.tags[SCHOOL_TAG] for request in result.requests] == [f"101 {names[0]}", f"102 {names[1]}"]


def test_later_nights_load_the_current_semester_and_all_after_seven_days(district: World) -> None:
    # Every clock here is behind today's, at whatever hour this runs: the next tests load by today's.
    first = now().date() - timedelta(days=8)
    with clock_at(first):
        assert district.load(select='group:"base_data" or group:"v1"').problems == []
    current = [[key] for key in district.partitions[1::2]]
    every = [district.partitions[:2], district.partitions[2:]]
    for days, expected in ((0, current), (6, current), (7, every)):
        with clock_at(first + timedelta(days)):
            requested = after_discovery(district)
        assert [requested.partitions(job) for job in (BASE_DATA, V1)] == [expected, expected]


def test_a_semester_that_was_retired_and_is_back_is_loaded_by_night(district: World) -> None:
    older, current, *others = district.partitions
    assert district.load().problems == []
    assert after_discovery(district).partitions(BASE_DATA) == [[current], [others[1]]]
    slice = Slice.of(_school_id=school_of(older), _semester_id=int(older.split(":")[1]))
    entry = {"sync_id": "night", "started_at": now(), "status": RETIRED, "complete": True}
    record_load(district.lake, TABLES["classes"], slice, entry)
    assert after_discovery(district).partitions(BASE_DATA)[0] == [older, current]
    assert district.load().problems == []
    assert after_discovery(district).partitions(BASE_DATA) == [[current], [others[1]]]


def test_a_semester_with_rows_in_quarantine_is_loaded_again_by_night(district: World) -> None:
    older, current, *others = district.partitions
    slice = Slice.of(_school_id=school_of(older), _semester_id=int(older.split(":")[1]))
    row = {
        "resource": "grades",
        "_school_id": school_of(older),
        "slice": str(slice),
        "key": "[1]",
        "reason": "text in a number",
        "raw": "{}",
    }
    rows = pa.Table.from_pylist([row], schema=QUARANTINE.lake_schema)
    write_deltalake(district.lake.open(QUARANTINE), rows, mode="append")
    assert after_discovery(district).partitions(BASE_DATA)[0] == [older, current]
    assert district.load().problems == []
    assert district.log("quarantine") == []
    assert after_discovery(district).partitions(BASE_DATA) == [[current], [others[1]]]


def test_a_failed_discovery_holds_no_school_back(district: World) -> None:
    district.platform.set_faults({"kind": "status", "status": 403, "path": "/api/v3/system/semesters"})
    result = after_discovery(district)
    district.platform.set_faults()
    assert result.schools == [101, 102]


def test_a_publication_is_asked_for_once_the_loads_have_ended(
    district: World, definitions: dg.Definitions
) -> None:
    def asked() -> list[str | None]:
        return publications(definitions, district.instance)

    assert asked() == [], "the loads after a discovery are still to be asked for"
    assert tick(
        district.settings, district.instance, tick(district.settings, district.instance).cursor
    ).skipped
    assert len(asked()) == 1 and asked() == asked(), "one run for a key, however often it is asked for"
    under_way = district.instance.create_run_for_job(
        definitions.resolve_job_def(PUBLISH), status=dg.DagsterRunStatus.STARTED
    )
    assert asked() == []
    district.instance.report_run_failed(under_way)
    assert len(asked()) == 1
