"""Homes of earlier versions, whose partitions and slices were written `101|20`: the next sync renames them,
and neither loads anything again nor leaves anything out for it."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import dagster as dg
import pytest
from deltalake import write_deltalake
from world import EARLY, World, instance_at

from assets.partition_renames import put_in_order
from assets.partitions import PARTITIONS
from assets.resource_assets import asset_key
from campus.registry import BASE_DATA
from loading.runtime import SYNC_ID_TAG
from pipelines import definitions
from pipelines.definitions import load_definitions
from pipelines.due import RANGE_END, RANGE_START
from pipelines.options import ReportOptions
from pipelines.resources import open_runtime
from warehouse.lake.delta import Lake
from warehouse.lake.log_tables import CHANGES, DRIFT, LOAD_LOG, LOGS, PAST_ROWS, STANDINGS, Log
from warehouse.load.drift import MOMENTS

LABELLED = [log for log in LOGS if "slice" in log.lake_schema.names]
SCORES = 'key:"raw/scores"'
ATTENDANCE = 'group:"attendance"'
# An earlier version kept no past of rows.
OF_THEN = [log for log in LABELLED if log != PAST_ROWS]
COUNTS = ("slice_version", "received", "new", "changed", "vanished", "returned", "requests")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def home(make_world: Callable[..., World]) -> World:
    """A home with everything that has partitions; attendance twice, so that what is late is in."""
    made = make_world(schools=1, students=12, today=EARLY)
    chosen = made.settings.options.model_copy(update={"reports": (ReportOptions(report="student_summary"),)})
    made = replace(made, settings=made.settings.model_copy(update={"options": chosen}))
    for select in (None, ATTENDANCE):
        assert made.load(select=select).problems == []
    return made


@contextmanager
def aged(world: World) -> Iterator[World]:
    """The home as an earlier version would have left it, in Dagster's storage and in the lake's logs."""
    before = world.instance
    with instance_at(world.home) as instance:
        for definition in PARTITIONS:
            name = definition.name or ""
            keys = before.get_dynamic_partitions(name)
            assert keys, name
            instance.add_dynamic_partitions(name, [key.replace(":", "|") for key in keys])
        for asset in before.all_asset_keys():
            for key in sorted(before.get_materialized_partitions(asset)):
                event = dg.AssetMaterialization(
                    asset, partition=key.replace(":", "|"), metadata=shown(before, asset, key)
                )
                instance.report_runless_asset_event(event)
        for log in OF_THEN:
            file_as_before(world.lake, log)
            world.lake.open(log).update(updates={"slice": "replace(slice, ':', '|')"})
        shutil.rmtree(world.lake.uri(STANDINGS))
        shutil.rmtree(world.lake.uri(DRIFT))
        shutil.rmtree(world.lake.uri(PAST_ROWS))
        # What is migrated is migrated when the home is opened.
        yield replace(world, instance=instance, opened={})


def file_as_before(lake: Lake, log: Log) -> None:
    """A log as it was filed when each slice had files of its own."""
    if log != CHANGES:
        partitions = ["resource", "slice"] if log != LOAD_LOG else []
        opened = lake.open(log)
        write_deltalake(
            opened,
            lake.scan(log, opened, log.row_schema.names),
            mode="overwrite",
            schema_mode="overwrite",
            partition_by=partitions,
        )
        assert lake.open(log).metadata().partition_columns == partitions


def shown(instance: dg.DagsterInstance, asset: dg.AssetKey, key: str) -> dict[str, Any]:
    """The metadata of the only or last materialization of a partition."""
    wanted = dg.AssetRecordsFilter(asset_key=asset, asset_partitions=[key])
    [record, *_] = instance.fetch_materializations(wanted, limit=10).records
    assert record.asset_materialization is not None
    return dict(record.asset_materialization.metadata)


def keys_of(world: World) -> list[str]:
    """All partition keys that Dagster knows."""
    return [key for each in PARTITIONS for key in world.instance.get_dynamic_partitions(each.name or "")]


def asked(log: list[dict[str, Any]]) -> dict[tuple[str, str], list[Any]]:
    """What a load made of each slice and what it cost."""
    return {(row["resource"], row["slice"]): [row[name] for name in COUNTS] for row in log}


def test_the_next_sync_is_as_any_other(home: World) -> None:
    usual = home.load(select=None)
    before, keys = asked(usual.log), keys_of(home)
    known = {log.name: home.log(log.name) for log in OF_THEN}
    # What is decided once, is told once and stands in the plan: it is no difference that the next sync finds.
    drift = {(row["resource"], row["field"]) for row in home.log("drift") if row["kind"] not in MOMENTS}
    with aged(home) as old:
        assert all("|" in key for key in keys_of(old))
        load = old.load(select=None)
        assert load.problems == []
        assert asked(load.log) == before
        assert keys_of(old) == keys
        for asset in old.instance.all_asset_keys():
            made = home.instance.get_materialized_partitions(asset)
            assert old.instance.get_materialized_partitions(asset) >= made
    assert {(row["resource"], row["field"], row["sync_id"]) for row in home.log("drift")} == {
        (*one, None) for one in drift
    }
    for log in OF_THEN:
        assert not [row for row in home.log(log.name) if "|" in row["slice"]], log.name
        assert len(home.log(log.name)) == len(known[log.name]) + len(load.log) * (log.name == "load_log")


def test_the_discovery_renames_and_says_so_once(home: World) -> None:
    with aged(home) as old:
        loaded = home.instance.get_materialized_partitions(asset_key("grades"))
        [key, *_] = sorted(loaded)
        rows = shown(home.instance, asset_key("grades"), key)["dagster/partition_row_count"]
        # As after a crash: this one had been told already.
        told = dg.AssetMaterialization(asset_key("scores"), partition=key, metadata={"status": "ok"})
        old.instance.report_runless_asset_event(told)
        [words] = put_in_order(old.instance)
        assert words.startswith(f"{len(keys_of(home))} partition keys are renamed") and "|" not in "".join(
            keys_of(old)
        )
        grades = shown(old.instance, asset_key("grades"), key)
        assert grades["dagster/partition_row_count"] == rows and {"loaded", "loaded by"} <= grades.keys()
        assert shown(old.instance, asset_key("scores"), key).keys() == {"status"}
        assert put_in_order(old.instance) == []


def test_a_partition_that_a_person_has_added_is_told_and_taken_out(home: World) -> None:
    for each in PARTITIONS:
        home.instance.add_dynamic_partitions(each.name or "", ["grade 7", "101:next"])
    keys = keys_of(home)
    assert "'grade 7' is none that the platform has. Run the job discovery" in asked_by_hand(home, "grade 7")
    load = home.load()
    assert load.problems == []
    assert keys_of(home) == [key for key in keys if key not in ("grade 7", "101:next")]


def test_what_a_sync_had_committed_before_is_not_read_again(home: World) -> None:
    by_semester = {spec.name for spec in BASE_DATA if spec.sliced_by == "semester"}
    load = home.load("interrupted")
    with aged(home) as old:
        again = old.load("interrupted")
    assert again.problems == []
    assert asked(again.log).keys() == asked(load.log).keys()
    once = [row for row in again.log if row["resource"] in by_semester]
    assert once == [row for row in load.log if row["resource"] in by_semester]


def test_changes_are_counted_on(home: World) -> None:
    [score, *_] = [row for row in home.held("scores") if row["score"] is not None]
    versions = {row["slice"]: row["slice_version"] for row in home.load(select=SCORES).log}
    home.platform.update("scores", score["id"], score="1.25")
    with aged(home) as old:
        load = old.load(select=SCORES)
    [entry] = [row for row in load.log if row["resource"] == "scores" and row["changed"]]
    assert entry["slice_version"] == versions[entry["slice"]] + 1
    mine = [row for row in home.log("changes") if row["key"] == str(score["id"]) and row["field"] == "score"]
    assert [(row["slice"], row["slice_version"]) for row in mine] == [
        (entry["slice"], entry["slice_version"])
    ]


def test_a_partition_that_is_asked_for_by_its_old_key_says_what_to_do(home: World) -> None:
    with aged(home) as old:
        said = asked_by_hand(old, old.partitions[0])
    assert "'101:10101' now. Run the job discovery" in said


def asked_by_hand(world: World, key: str) -> str:
    """Why a run of one partition fails."""
    with open_runtime(world.settings) as runtime:
        tags = {SYNC_ID_TAG: "by hand", RANGE_START: key, RANGE_END: key}
        job = load_definitions(world.settings, runtime).resolve_job_def(definitions.BASE_DATA)
        run = job.execute_in_process(instance=world.instance, tags=tags, raise_on_error=False)
    [failure] = [event for event in run.all_events if event.is_step_failure]
    said: Any = failure.event_specific_data
    return str(said.user_failure_data.description)
