"""Faults of every kind: what is read is what is there, or the account names what failed."""

from collections.abc import Iterator
from typing import Any

import pytest

from campus.registry import BASE_DATA, RESOURCES, SCHOOLS
from simulator.process import RunningSimulator, running
from tests.kits.platforms.in_process import platform
from tests.kits.readings.base_data import PLATFORM, SCHOOL, Found, Row, by_key, read_all, truth, unsettle
from tests.kits.waiting import until

Fault = dict[str, Any]

READ_TIMEOUT = 2.0
KINDS: list[Fault] = [
    {"kind": "status", "status": 500},
    {"kind": "status", "status": 408},
    {"kind": "status", "status": 429, "retry_after": 0.01},
    {"kind": "status", "status": 503, "retry_after": 1, "retry_after_form": "date", "times": 1},
    {"kind": "reset"},
    {"kind": "truncated"},
    {"kind": "html"},
    {"kind": "revoked"},
    {"kind": "slow", "seconds": 0.02},
    {"kind": "slow", "seconds": 3 * READ_TIMEOUT, "times": 3},
]
UNIT = {"scores": "item_id", "assessments": "class_id", "class_members": "class_id", "terms": "type"}

NAMES = [spec.name for spec in (SCHOOLS, *BASE_DATA)]


@pytest.fixture(scope="module")
def unsettled() -> Iterator[tuple[RunningSimulator, int]]:
    with running(**PLATFORM) as simulator:
        yield simulator, unsettle(simulator)


@pytest.fixture(scope="module")
def whole(unsettled: tuple[RunningSimulator, int]) -> dict[str, dict[Any, Row]]:
    return {name: by_key(name, truth(unsettled[0], name, unsettled[1])) for name in NAMES}


def read_with(
    unsettled: tuple[RunningSimulator, int], faults: list[Fault], **settings: Any
) -> dict[str, Found]:
    simulator, semester_id = unsettled
    simulator.set_faults(*faults)
    simulator.clear_log()
    try:
        return read_all(simulator, semester_id, read_timeout=READ_TIMEOUT, **settings)
    finally:
        simulator.set_faults()
        # A slow answer is logged when it is sent.
        until(lambda: any(request["fault"] for request in simulator.log()), "a fault is logged")


@pytest.mark.parametrize("fault", KINDS, ids=lambda fault: " ".join(map(str, fault.values())))
def test_a_fault_now_and_then_changes_nothing(
    unsettled: tuple[RunningSimulator, int], whole: dict[str, dict[Any, Row]], fault: Fault
) -> None:
    readings = read_with(unsettled, [{"probability": 0.1, **fault}])
    assert {name: reading.trouble for name, reading in readings.items() if reading.trouble} == {}
    assert all(reading.account.complete and not reading.account.bad for reading in readings.values())
    assert {name: by_key(name, reading.rows) for name, reading in readings.items()} == whole


def test_all_faults_together_change_nothing_either(
    unsettled: tuple[RunningSimulator, int], whole: dict[str, dict[Any, Row]]
) -> None:
    readings = read_with(unsettled, [{"probability": 0.05, **fault} for fault in KINDS])
    assert {name: reading.trouble for name, reading in readings.items() if reading.trouble} == {}
    assert {name: by_key(name, reading.rows) for name, reading in readings.items()} == whole


@pytest.mark.parametrize("kind", ["status", "reset", "truncated", "html"])
def test_a_platform_that_fails_more_than_we_bear_leaves_out_just_what_is_named(
    unsettled: tuple[RunningSimulator, int], whole: dict[str, dict[Any, Row]], kind: str
) -> None:
    readings = read_with(
        unsettled, [{"kind": kind, "probability": 0.5, "path": "/api/v3/*s/*s*"}], max_attempts=2
    )
    assert any(reading.trouble for reading in readings.values())
    for name, reading in readings.items():
        rows = by_key(name, reading.rows)
        assert rows.items() <= whole[name].items()
        if name in UNIT and not reading.error and not parents_failed(readings, name):
            failed = set(reading.account.failed)
            assert rows == {key: row for key, row in whole[name].items() if row[UNIT[name]] not in failed}


def parents_failed(readings: dict[str, Found], name: str) -> bool:
    parent = RESOURCES[name].child_of
    return parent is not None and (bool(readings[parent].trouble) or parents_failed(readings, parent))


PAGED = ("structures", "reflections", "students", "teachers")


@pytest.mark.parametrize("change", ["shrink", "grow", "balanced"])
@pytest.mark.parametrize("headers", ["present", "absent"])
def test_no_row_is_called_gone_because_others_move_while_we_page(change: str, headers: str) -> None:
    options = PLATFORM | {"unpaged": "ignored", "pagination_headers": headers, "max_per_page": 7}
    with platform(**options) as (simulator, _):
        semester_id = unsettle(simulator)
        before = {name: by_key(name, truth(simulator, name, semester_id)) for name in PAGED}
        simulator.set_faults({"kind": "moving", "change": change, "probability": 0.1, "times": 4})
        readings = read_all(simulator, semester_id, max_attempts=4)
        assert any(request["fault"] for request in simulator.log())
        after = {name: by_key(name, truth(simulator, name, semester_id)) for name in PAGED}
    assert before != after
    for name in PAGED:
        stayed = before[name].keys() & after[name].keys()
        if readings[name].account.complete:
            assert stayed <= by_key(name, readings[name].rows).keys()


def test_one_school_is_what_is_asked_for(unsettled: tuple[RunningSimulator, int]) -> None:
    simulator, semester_id = unsettled
    simulator.clear_log()
    read_all(simulator, semester_id)
    requests = [request for request in simulator.log() if "tokens" not in request["path"]]
    assert {request["school"] for request in requests} == {str(SCHOOL)}
    targets = [(request["path"], tuple(sorted(request["query"].items()))) for request in requests]
    assert len(set(targets)) == len(targets), "no request is sent twice without a fault"
