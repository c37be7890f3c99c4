"""Faults while a school is read: what is read is there, and the account names what failed."""

from collections.abc import Iterator
from typing import Any

import pytest

from campus.registry import BASE_DATA, RESOURCES, SCHOOLS
from simulator.process import RunningSimulator, running
from tests.kits.platforms.in_process import platform
from tests.kits.readings.base_data import PLATFORM, Found, Row, by_key, read_all, truth, unsettle

UNIT = {"scores": "item_id", "assessments": "class_id", "class_members": "class_id", "terms": "type"}

NAMES = [spec.name for spec in (SCHOOLS, *BASE_DATA)]


@pytest.fixture(scope="module")
def unsettled() -> Iterator[tuple[RunningSimulator, int]]:
    with running(**PLATFORM) as simulator:
        yield simulator, unsettle(simulator)


@pytest.fixture(scope="module")
def whole(unsettled: tuple[RunningSimulator, int]) -> dict[str, dict[Any, Row]]:
    return {name: by_key(name, truth(unsettled[0], name, unsettled[1])) for name in NAMES}


@pytest.mark.parametrize("kind", ["status", "reset", "truncated", "html"])
def test_a_platform_that_fails_more_than_we_bear_leaves_out_just_what_is_named(
    unsettled: tuple[RunningSimulator, int], whole: dict[str, dict[Any, Row]], kind: str
) -> None:
    simulator, semester_id = unsettled
    simulator.set_faults({"kind": kind, "probability": 0.5, "path": "/api/v3/*s/*s*"})
    readings = read_all(simulator, semester_id, max_attempts=2)
    simulator.set_faults()
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
