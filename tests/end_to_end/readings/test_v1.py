"""Whatever the platform made of what the specification leaves open in v1: what is read is what is there."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pytest

from campus.account import Account
from campus.decoding.nested import together_with
from campus.decoding.page import batch_schema
from campus.http.client import Client
from campus.http.errors import CampusError
from campus.plan.custom_fields import CustomField, with_custom_fields
from campus.plan.units import SliceQuery
from campus.registry import RESOURCES, V1_DATA, ResourceSpec
from campus.sources.gathered import Collector
from campus.sources.slice import read_slice
from campus.sources.units import GIVE_UP_AFTER
from tests.kits.platforms.in_process import client, platform
from tests.kits.truth.v1_truth import Asked, truth

Row = dict[str, Any]
Options = dict[str, Any]

SCHOOL = 101
SMALL: Options = {"schools": 1, "students": 8, "semesters": 1, "v1_max_per_page": 10}
DEVICES = ("pad-101-1", "nobody's/pad")
CARDS = ("card-101000019", "卡 1")
NAMES = [spec.name for spec in V1_DATA]


@dataclass
class Found:
    """What reading one resource came to. `told`: what an operator is told where it is not whole."""

    rows: list[Row]
    told: str
    drift: set[str]


def read_all(semester_id: int, **settings: Any) -> dict[str, Found]:
    """Everything of v1 but attendance, in the order of the registry."""
    return asyncio.run(_read_all(semester_id, settings))


async def _read_all(semester_id: int, settings: Options) -> dict[str, Found]:
    readings: dict[str, Found] = {}
    query = SliceQuery(SCHOOL, semester_id, devices=DEVICES, cards=CARDS, client_id="tests")
    async with client(V1_DATA, **settings) as session:
        for spec in V1_DATA:
            if spec.name not in readings:
                parents = readings[spec.child_of].rows if spec.child_of else []
                ids = (row["id"] for row in parents if row.get("role", 1) == 1)
                specs = [_with_fields(resource, readings) for resource in together_with(spec, V1_DATA)]
                readings |= await _read(session, specs, replace(query, parents=tuple(sorted(ids))))
    return readings


def _with_fields(spec: ResourceSpec, readings: dict[str, Found]) -> ResourceSpec:
    if spec.fields_from is None:
        return spec
    fields = (CustomField(r["name"], r["label"], r["options"]) for r in readings[spec.fields_from].rows)
    return with_custom_fields(spec, fields, keep_id_numbers=False)


async def _read(session: Client, specs: Sequence[ResourceSpec], query: SliceQuery) -> dict[str, Found]:
    batches: dict[str, list[pa.RecordBatch]] = {spec.name: [] for spec in specs}
    collectors = [Collector(spec, spec.name, batches[spec.name].append) for spec in specs]
    error = ""
    try:
        await read_slice(session, query, collectors)
    except CampusError as raised:
        error = str(raised)
    return {
        spec.name: Found(
            pa.Table.from_batches(batches[spec.name], batch_schema(spec.contract)).to_pylist(),
            error or _told(collector.account),
            {drift.kind for drift in collector.account.drift},
        )
        for spec, collector in zip(specs, collectors, strict=True)
    }


def _told(account: Account) -> str:
    assert account.bad == []
    return "; ".join([*account.failed.values(), *([] if account.complete else account.proofs)])


def by_key(name: str, rows: list[Row]) -> dict[tuple[Any, ...], Row]:
    """Rows by key, what no column holds as plain values; a row may come twice, but not in two versions."""
    rows_by_key: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        extra = row["_extra"]
        plain = {column: value for column, value in row.items() if not column.startswith("_trashed")}
        plain["_extra"] = json.loads(extra) if isinstance(extra, str) else extra
        assert (
            rows_by_key.setdefault(tuple(row[part] for part in RESOURCES[name].primary_key), plain) == plain
        )
    return rows_by_key


# A choice of the platform, or several at once; and where an operator is told that something is amiss, which
# may be missing. tests/end_to_end/requests has every pair of choices.
BY_PARENT = "transcripts transcript_semesters transcript_courses v1_class_students"
READINGS: list[tuple[Options, str]] = [
    ({}, ""),
    ({"v1_pagination_headers": "absent", "page_past_end": "last"}, ""),
    ({"v1_pagination_headers": "absent", "page_past_end": "404", "v1_max_per_page": 10}, ""),
    ({"per_page": "refused", "v1_max_per_page": 20}, ""),
    ({"v1_admin_class_students": "empty", "student_ids": "rid"}, ""),
    ({"v1_admin_class_students": "nowhere"}, ""),
    ({"left_users": "archived", "archived": "by_status", "v1_pagination_headers": "absent"}, ""),
    ({"v1_students": "nested", "student_ids": "rid", "extra_fields": "some"}, ""),
    ({"ignored": ["semester_id"], "semesters": 2}, "v1_classes"),
    ({"ignored": ["$per-page"]}, ""),
    # Guardians come only to those who ask for them.
    ({"ignored": ["role"]}, "v1_users"),
    ({"ignored": ["$page"], "v1_max_per_page": 7}, "v1_users v1_classes " + BY_PARENT),
]


@pytest.mark.parametrize(("options", "lost"), READINGS, ids=str)
def test_v1_is_read_as_it_is(options: Options, lost: str) -> None:
    with platform(**SMALL | options) as (simulator, session):
        semester_id = simulator.rows("v1_semesters", SCHOOL)[-1]["row"]["id"]
        simulator.delete("reflections", simulator.rows("students", SCHOOL)[3]["key"])
        readings = read_all(semester_id)
        expected = truth(
            Asked(simulator, session, SCHOOL, semester_id=semester_id, devices=DEVICES, cards=CARDS)
        )
    told = {
        name for name, reading in readings.items() if reading.told or "ignored_parameter" in reading.drift
    }
    assert told <= set(lost.split()) and bool(told) == bool(lost)
    for name, reading in readings.items():
        rows, true = by_key(name, reading.rows), by_key(name, expected[name])
        assert rows.items() <= true.items()
        assert name in lost.split() or rows == true, name


ADMIN_CLASSES = "v1_admin_classes"


def test_a_class_that_cannot_be_asked_alone_is_named_and_one_that_is_refused_loads_as_listed() -> None:
    with platform(**SMALL | {"students": 160, "v1_admin_class_students": "alone"}) as (simulator, _):
        down, refused = (row["key"] for row in simulator.rows(ADMIN_CLASSES, SCHOOL)[:2])
        simulator.set_faults(
            {"kind": "status", "status": 503, "path": f"*/admin-classes/{down}"},
            {"kind": "status", "status": 403, "path": f"*/admin-classes/{refused}"},
        )
        collector, reading = asyncio.run(_admin_classes())
    assert collector.account.failed.keys() == {down}
    assert {row["id"]: bool(row["students"]) for row in reading.rows if row["id"] != refused} == {
        row["id"]: True for row in reading.rows if row["id"] != refused
    }
    [as_listed] = [row for row in reading.rows if row["id"] == refused]
    assert as_listed["students"] is None and as_listed["name"]
    assert "not_shown" in reading.drift


def test_details_of_a_platform_that_is_down_are_given_up() -> None:
    with platform(**SMALL | {"students": 2400, "v1_admin_class_students": "alone"}) as (simulator, _):
        classes = {row["key"] for row in simulator.rows(ADMIN_CLASSES, SCHOOL)}
        simulator.set_faults({"kind": "status", "status": 503, "path": "*/admin-classes/*"})
        simulator.clear_log()
        collector, listed = asyncio.run(_admin_classes(concurrency=4))
        requested = {entry["path"] for entry in simulator.log() if "/admin-classes/" in entry["path"]}
    assert len(requested) < GIVE_UP_AFTER + 4 < len(classes)
    assert collector.account.failed.keys() == classes
    assert listed.rows == []


def test_a_list_in_which_some_class_has_students_is_asked_for_once() -> None:
    with platform(**SMALL | {"students": 160}) as (simulator, _):
        empty = simulator.rows(ADMIN_CLASSES, SCHOOL)[0]["key"]
        simulator.update(ADMIN_CLASSES, empty, students=[])
        simulator.clear_log()
        _, reading = asyncio.run(_admin_classes())
        requests = [entry for entry in simulator.log() if "admin-classes" in entry["path"]]
    assert len(requests) == 1
    assert [row["students"] == [] for row in reading.rows] == [True] + [False] * (len(reading.rows) - 1)


async def _admin_classes(**settings: Any) -> tuple[Collector, Found]:
    spec = RESOURCES[ADMIN_CLASSES]
    batches: list[pa.RecordBatch] = []
    collector = Collector(spec, "", batches.append)
    async with client([spec], **settings) as session:
        await read_slice(session, SliceQuery(SCHOOL), [collector])
    rows = pa.Table.from_batches(batches, batch_schema(spec.contract)).to_pylist()
    return collector, Found(rows, "", {drift.kind for drift in collector.account.drift})


@pytest.mark.parametrize("refused", ["refuse", "drop"])
@pytest.mark.parametrize(
    "scopes", [{"v1_scopes": "each", "class_scope": "klass.read"}, {"v1_scopes": "user.read"}], ids=str
)
def test_any_of_the_scopes_that_may_open_classes_does(scopes: Options, refused: str) -> None:
    with platform(**SMALL, **scopes, refused_scopes=refused) as (simulator, _):
        semester_id = simulator.rows("semesters", SCHOOL)[-1]["key"]
        classes = asyncio.run(_classes_alone(semester_id))
    assert not classes.told and classes.rows


async def _classes_alone(semester_id: int) -> Found:
    spec = RESOURCES["v1_classes"]
    async with client([spec]) as session:
        return (await _read(session, [spec], SliceQuery(SCHOOL, semester_id)))[spec.name]


def test_a_scope_that_the_client_lacks_is_named_and_the_rest_is_read() -> None:
    with platform(**SMALL, v1_scopes="each", scopes=["user.read"]) as (simulator, _):
        readings = read_all(simulator.rows("semesters", SCHOOL)[-1]["key"])
    told = {name: reading.told for name, reading in readings.items() if reading.told}
    assert {"v1_users", "user_fields", "cards", "app_updates"} & told.keys() == set()
    assert "class.read" in told["v1_classes"] and "403" in told["v1_classes"]
    assert readings["v1_users"].rows and not readings["v1_classes"].rows
