"""What a list hides is asked for, however its statuses are spelt; what hides nothing costs few questions."""

import asyncio
from typing import Any

import pyarrow as pa
import pytest

from campus.decoding.page import batch_schema
from campus.plan.units import SliceQuery
from campus.registry import RESOURCES
from campus.sources.gathered import Collector
from campus.sources.slice import read_slice
from simulator.process import RunningSimulator
from tests.kits.platforms.in_process import client, platform

SCHOOL = 101
SMALL: dict[str, Any] = {"schools": 1, "students": 160, "semesters": 1}
ADMIN_CLASSES = RESOURCES["admin_classes"]


def read_classes(query: SliceQuery, **settings: Any) -> tuple[dict[int, dict[str, Any]], Collector]:
    """The administrative classes by id."""
    batches: list[pa.RecordBatch] = []
    collector = Collector(ADMIN_CLASSES, "", batches.append)

    async def read_them() -> None:
        async with client([ADMIN_CLASSES], **settings) as session:
            await read_slice(session, query, [collector])

    asyncio.run(read_them())
    rows = pa.Table.from_batches(batches, batch_schema(ADMIN_CLASSES.contract)).to_pylist()
    return {row["id"]: row for row in rows}, collector


def archived_one(simulator: RunningSimulator) -> int:
    """Archives a class of the school."""
    key = int(simulator.rows("admin_classes", SCHOOL)[0]["key"])
    simulator.update("admin_classes", key, status="archived")
    return key


@pytest.mark.parametrize(
    ("readings", "query", "settings"),
    [
        ({}, {}, {}),
        ({"pagination_headers": "absent"}, {}, {}),
        ({"admin_class_status": "numbers"}, {}, {}),
        ({"admin_class_status": "numbers", "unknown_status": "ignored"}, {}, {}),
        ({"unknown_status": "ignored", "pagination_headers": "absent"}, {}, {}),
        ({"unknown_status": "422"}, {}, {}),
        ({"unknown_status": "500"}, {}, {}),
        # A spelling that the school's users have, one that the settings name.
        ({"admin_class_status": "own"}, {"statuses": ("on", "off")}, {}),
        ({"admin_class_status": "own", "unknown_status": "422"}, {}, {"archived_statuses": ("off",)}),
    ],
    ids=str,
)
def test_a_hidden_class_is_found_by_its_status(
    readings: dict[str, str], query: dict[str, Any], settings: dict[str, Any]
) -> None:
    with platform(**SMALL, archived="by_status", **readings) as (simulator, _):
        key = archived_one(simulator)
        classes, collector = read_classes(SliceQuery(SCHOOL, **query), **settings)
        expected = {row["key"] for row in simulator.rows("admin_classes", SCHOOL)}
    assert classes.keys() == expected and classes[key]["students"]
    assert classes[key]["status"] not in {row["status"] for id_, row in classes.items() if id_ != key}
    assert {drift.kind for drift in collector.account.drift} >= {"hidden_by_default"}
    assert collector.account.complete and collector.account.server_total in (None, len(expected))


def test_a_held_class_that_no_status_shows_is_found_by_its_id() -> None:
    with platform(**SMALL, archived="by_id", admin_class_status="own") as (simulator, _):
        key = archived_one(simulator)
        gone = int(simulator.rows("admin_classes", SCHOOL)[1]["key"])
        simulator.destroy("admin_classes", gone)
        without, _ = read_classes(SliceQuery(SCHOOL))
        classes, _ = read_classes(SliceQuery(SCHOOL, stored_ids=frozenset({key, gone, *without})))
    assert key not in without and classes.keys() == {*without, key}


def test_a_list_that_hides_nothing_costs_a_row_for_each_value() -> None:
    with platform(**SMALL) as (simulator, _):
        archived_one(simulator)
        simulator.clear_log()
        _, collector = read_classes(SliceQuery(SCHOOL))
        requests = [entry for entry in simulator.log() if entry["path"].endswith("admin_classes")]
    # Each value once, and again where the answer had no row.
    assert {entry["query"].get("status") for entry in requests} == {
        None,
        *(value for _, value in ADMIN_CLASSES.hidden_filters),
    }
    assert len(requests) <= 1 + 2 * len(ADMIN_CLASSES.hidden_filters)
    assert "hidden_by_default" not in {drift.kind for drift in collector.account.drift}


def test_what_the_platform_does_not_take_is_asked_for_once() -> None:
    with platform(**SMALL | {"schools": 2}, unknown_status="422", admin_class_status="own") as (simulator, _):

        async def read_both() -> None:
            async with client([ADMIN_CLASSES]) as session:
                for school_id in (SCHOOL, SCHOOL + 1):
                    await read_slice(session, SliceQuery(school_id), [Collector(ADMIN_CLASSES)])

        asyncio.run(read_both())
        refused = [entry for entry in simulator.log() if entry["status"] == 422]
    assert len(refused) == len(ADMIN_CLASSES.hidden_filters)
