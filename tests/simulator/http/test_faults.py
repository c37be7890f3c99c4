"""Each fault goes wrong in its own way, as often as asked and no oftener."""

import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
import msgspec
import pytest

from simulator.http.faults import Fault, FaultPlan, Faults
from simulator.launch import SimulatorError
from simulator.messages import Request
from simulator.process import RunningSimulator, running
from tests.kits.platforms.simulated import client
from tests.kits.waiting import PATIENCE

STUDENTS = "/api/v3/reflection/students"


@pytest.fixture(scope="module")
def faulty() -> Iterator[RunningSimulator]:
    """A simulator of its own, since faults strike everybody."""
    with running(schools=1, students=60) as started:
        yield started


@pytest.fixture
def school(faulty: RunningSimulator) -> Iterator[httpx.Client]:
    with client(faulty, scope="school.101 student.read_all semester.read") as session:
        yield session
    faulty.set_faults()
    faulty.clear_log()


def test_status_with_retry_after(faulty: RunningSimulator, school: httpx.Client) -> None:
    faulty.set_faults({"kind": "status", "status": 503, "retry_after": 3})
    answer = school.get(STUDENTS)
    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == "3"
    assert answer.json()["message"]
    faulty.set_faults({"kind": "status", "status": 429, "retry_after": 60, "retry_after_form": "date"})
    answer = school.get(STUDENTS)
    assert answer.status_code == 429
    assert 50 < parsedate_to_datetime(answer.headers["Retry-After"]).timestamp() - time.time() < 70
    faulty.set_faults({"kind": "status", "status": 500})
    assert "Retry-After" not in school.get(STUDENTS).headers


def test_reset_in_the_middle_of_the_body(faulty: RunningSimulator, school: httpx.Client) -> None:
    faulty.set_faults({"kind": "reset"})
    with pytest.raises(httpx.RemoteProtocolError, match="without sending complete"):
        school.get(STUDENTS)


def test_truncated_json_looks_complete_to_http(faulty: RunningSimulator, school: httpx.Client) -> None:
    whole = school.get(STUDENTS).content
    faulty.set_faults({"kind": "truncated"})
    answer = school.get(STUDENTS)
    assert answer.status_code == 200
    assert int(answer.headers["content-length"]) == len(answer.content)
    assert whole.startswith(answer.content)
    with pytest.raises(ValueError, match=r"."):
        answer.json()


def test_slow(faulty: RunningSimulator, school: httpx.Client) -> None:
    faulty.set_faults({"kind": "slow", "seconds": 0.3})
    start = time.monotonic()
    assert school.get(STUDENTS).status_code == 200
    assert time.monotonic() - start >= 0.3
    faulty.set_faults({"kind": "slow", "seconds": PATIENCE})
    with pytest.raises(httpx.ReadTimeout):
        school.get(STUDENTS, timeout=httpx.Timeout(None, read=0.1))


def test_an_html_page_with_status_200(faulty: RunningSimulator, school: httpx.Client) -> None:
    faulty.set_faults({"kind": "html"})
    answer = school.get(STUDENTS)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/html")


def test_a_revoked_token_stays_revoked(faulty: RunningSimulator, school: httpx.Client) -> None:
    faulty.set_faults({"kind": "revoked", "times": 1})
    assert school.get(STUDENTS).status_code == 401
    assert school.get(STUDENTS).status_code == 401
    with client(faulty, scope="school.101 student.read_all") as other:
        assert other.get(STUDENTS).status_code == 200


@pytest.mark.parametrize(
    ("counts", "total"), [("zero", "0"), ("true", "58"), ("none", None)], ids=["zero", "true", "none"]
)
def test_an_answer_without_its_rows(
    faulty: RunningSimulator, school: httpx.Client, counts: str, total: str | None
) -> None:
    whole = school.get(STUDENTS)
    assert len(whole.json()) == 20 and whole.headers["X-Pagination-Total-Count"] == "58"
    faulty.set_faults({"kind": "empty", "counts": counts, "times": 1})
    answer = school.get(STUDENTS)
    assert (answer.status_code, answer.json()) == (200, [])
    assert answer.headers.get("X-Pagination-Total-Count") == total
    assert school.get(STUDENTS).json() == whole.json()


@pytest.mark.parametrize(("counted", "total"), [(False, "58"), (True, "59")])
def test_an_answer_with_its_first_row_twice(
    faulty: RunningSimulator, school: httpx.Client, counted: bool, total: str
) -> None:
    whole = school.get(STUDENTS).json()
    faulty.set_faults({"kind": "repeated", "counted": counted, "times": 1})
    answer = school.get(STUDENTS)
    assert answer.json() == [whole[0], *whole]
    assert answer.headers["X-Pagination-Total-Count"] == total
    assert school.get(STUDENTS).json() == whole


@pytest.mark.parametrize("counts", ["zero", "true"])
def test_an_object_without_the_rows_in_it(faulty: RunningSimulator, counts: str) -> None:
    with client(faulty, scope="school.101 class.read") as reader:
        class_id = faulty.rows("classes", 101)[0]["key"]
        path = f"/api/v3/class-assessment/classes/{class_id}/assessment"
        whole = reader.get(path, params={"expand": "items"}).json()
        faulty.set_faults({"kind": "empty", "counts": counts})
        actual = reader.get(path, params={"expand": "items"}).json()
        faulty.set_faults({"kind": "empty", "objects": "list"})
        assert reader.get(path, params={"expand": "items"}).json() == []
        faulty.set_faults()
    assert whole["items"] and whole["item_num"]
    assert actual == {**whole, "items": [], "item_num": 0 if counts == "zero" else whole["item_num"]}


def test_empty_answers_are_a_share_that_the_seed_chooses(
    faulty: RunningSimulator, school: httpx.Client
) -> None:
    def empties(seed: int) -> list[bool]:
        faulty.set_faults({"kind": "empty", "probability": 0.2, "path": STUDENTS}, seed=seed)
        return [not school.get(STUDENTS).json() for _ in range(100)]

    first = empties(1)
    assert 8 <= sum(first) <= 35
    assert empties(1) == first != empties(2)
    assert school.get("/api/v3/system/semesters").json()


def read_pages(school: httpx.Client) -> tuple[list[int], list[str]]:
    """What a reader who trusts the page numbers gets, and the totals that it was told."""
    ids: list[int] = []
    totals: list[str] = []
    page = 1
    while True:
        answer = school.get(STUDENTS, params={"page": page, "per_page": 10}).raise_for_status()
        if not answer.json():
            return ids, totals
        ids += [row["id"] for row in answer.json()]
        totals.append(answer.headers["X-Pagination-Total-Count"])
        page += 1


@pytest.mark.parametrize(
    ("change", "missed", "twice", "steady"),
    [("shrink", 1, 0, False), ("grow", 0, 1, False), ("balanced", 1, 0, True)],
)
def test_rows_move_while_somebody_pages(
    faulty: RunningSimulator, school: httpx.Client, change: str, missed: int, twice: int, steady: bool
) -> None:
    def truth() -> set[int]:
        return {entry["key"] for entry in faulty.rows("students", 101) if not entry["trashed"]}

    before = truth()
    faulty.set_faults({"kind": "moving", "change": change, "times": 1, "path": STUDENTS})
    ids, totals = read_pages(school)
    after = truth()
    assert len(after) - len(before) == {"shrink": -1, "grow": 1, "balanced": 0}[change]
    # A new row in front of what was read already is missed too, but that is no slip: it was not there yet.
    assert len((before & after) - set(ids)) == missed
    assert len(ids) - len(set(ids)) == twice
    assert (len(set(totals)) == 1) is steady


def test_paths_times_and_the_log(unsettled: RunningSimulator) -> None:
    """On a simulator of its own: the others' may still be noting what an earlier test tore off."""
    unsettled.set_faults(
        {"kind": "status", "path": "/api/v3/reflection/*", "times": 2},
        {"kind": "html", "path": "/api/v3/system/*"},
    )
    with client(unsettled) as school:
        unsettled.clear_log()
        statuses = [school.get(STUDENTS).status_code for _ in range(4)]
        assert statuses == [500, 500, 200, 200]
        semesters = school.get("/api/v3/system/semesters", params={"page": 1})
    assert semesters.headers["content-type"] == "text/html; charset=utf-8"
    log = unsettled.log()
    assert [(entry["path"], entry["status"], entry["fault"]) for entry in log] == [
        (STUDENTS, 500, "status"),
        (STUDENTS, 500, "status"),
        (STUDENTS, 200, None),
        (STUDENTS, 200, None),
        ("/api/v3/system/semesters", 200, "html"),
    ]
    assert log[-1]["query"] == {"page": "1"}
    assert log[-1]["school"] == "101"
    assert log[-1]["method"] == "GET"


def test_the_wrong_fault_is_refused(faulty: RunningSimulator) -> None:
    with pytest.raises(SimulatorError, match="kind"):
        faulty.set_faults({"kind": "earthquake"})
    with pytest.raises(SimulatorError, match="sometimes"):
        faulty.set_faults({"kind": "slow", "sometimes": True})


def strikes(targets: list[str], seed: int, **fault: Any) -> list[bool]:
    plan = FaultPlan([msgspec.convert({"kind": "html", **fault}, Fault)], seed=seed)
    faults = Faults(plan)
    return [faults.strike(Request("GET", target, target, {}, {})) is not None for target in targets]


def test_strikes_depend_on_the_seed_and_the_requests_alone() -> None:
    targets = [f"/rows/{number}" for number in range(300)] * 2
    once = strikes(targets, 1, probability=0.3)
    assert once == strikes(targets, 1, probability=0.3)
    assert once != strikes(targets, 2, probability=0.3)
    assert 120 < sum(once) < 240
    assert once[:300] != once[300:]  # a repeated request has its own luck
    backwards = strikes(targets[299::-1], 1, probability=0.3)
    assert backwards[::-1] == once[:300]  # the order of different requests does not matter
    assert not any(strikes(targets, 1, probability=0.0))
