"""What is said of a row is true: whether its question, its write or the look after it went wrong."""

import asyncio
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from campus.http.errors import (
    CampusError,
    Forbidden,
    NotFound,
    PlatformUnavailable,
    Refused,
    Transient,
    Unconfirmed,
)
from simulator.process import RunningSimulator, running
from tests.kits.writes.rosters import Town, pupil
from writeback.operations import Write
from writeback.roster.apply import Applied, Applier
from writeback.roster.plan import Plan, Step
from writeback.send.writer import Look, Written

AWAY = PlatformUnavailable("the platform is away", outage=True)


class OneUser:
    """Shows one user, and goes wrong where it is told to: at a question, by its number."""

    def __init__(self, user: Mapping[str, Any] | None, errors: Mapping[int, Exception]) -> None:
        self.user, self.errors, self.asked = user, errors, 0

    async def find(self, value: str, role: int, by: str = "outer_id", *, fresh: bool = False) -> list[Any]:
        self.asked += 1
        if self.asked in self.errors:
            raise self.errors[self.asked]
        return [] if self.user is None or self.user[by] != value else [self.user]

    def shown(self, answer: Any) -> Any:
        return answer or {}

    def sendable(self, person: Mapping[str, Any]) -> dict[str, Any]:
        return dict(person)


CREATE = Step(
    action="create", line=2, outer_id="a", role=1, after={"outer_id": "a", "usin": "1", "phone": "138"}
)
CHANGE = Step(
    action="change", line=3, outer_id="b", role=1, id=7, before={"phone": ""}, after={"phone": "138"}
)
THERE = {"id": 7, "outer_id": "b", "usin": "2", "phone": "", "status": 1, "role": 1}
DELETE = Step(action="delete", line=0, outer_id="b", role=1, id=7, before={"usin": "2", "status": 1})


def applied(
    step: Step,
    *,
    write: Exception | Written | None = None,
    questions: Mapping[int, Exception] | None = None,
    after: Mapping[str, Any] | None = None,
) -> tuple[Applied, int]:
    """Apply one step; how many requests were sent. write: what becomes of it; after: the user, then."""
    people = OneUser(None if step.action == "create" else THERE, questions or {})
    sent: list[Write] = []

    async def send(request: Write, row: str, look: Look | None = None) -> Written:
        sent.append(request)
        people.user = after or people.user
        if isinstance(write, Exception):
            raise write
        return write or Written(200, None)

    about = {
        "school_id": 101,
        "made_at": datetime(2026, 11, 23),
        "source": "",
        "sha256": "",
        "rows": 1,
        "people": 1,
    }
    plan = Plan(unchanged=0, steps=(step,), gone=(), refused=(), **about)  # type: ignore[arg-type]
    applier = Applier(plan, people, send, {})  # type: ignore[arg-type]
    return asyncio.run(applier.apply()), len(sent)


def outcome(result: Applied) -> tuple[str, str]:
    [row] = result.outcomes
    return row.outcome, row.words


@pytest.mark.parametrize("step", [CREATE, CHANGE, DELETE])
@pytest.mark.parametrize("error", [Transient("slow"), NotFound("gone"), Forbidden("no"), AWAY])
def test_a_question_that_fails_before_the_write_leaves_the_row_waiting(step: Step, error: Exception) -> None:
    result, sent = applied(step, questions={1: error})
    # What stops all of them is said once, by `stopped`.
    why = "the platform did not respond" if error is AWAY else str(error)
    assert outcome(result) == ("waiting", f"nothing was sent: {why}")
    assert sent == 0
    assert result.concerned == []
    assert bool(result.stopped) == isinstance(error, (Forbidden, PlatformUnavailable))
    assert result.away == isinstance(error, PlatformUnavailable)


@pytest.mark.parametrize(
    ("step", "error", "expected"),
    [
        (CREATE, Unconfirmed("lost"), "unconfirmed"),
        # It did not happen, by the writer's word.
        (CREATE, Transient("slow"), "waiting"),
        (CREATE, AWAY, "waiting"),
        (CREATE, Refused("no", quote="usin has been taken"), "refused"),
        (CHANGE, Transient("slow"), "unconfirmed"),
        (CHANGE, AWAY, "unconfirmed"),
        (DELETE, AWAY, "unconfirmed"),
        (CHANGE, NotFound("no such user"), "refused"),
    ],
)
def test_what_fails_in_the_write_says_what_may_have_happened(
    step: Step, error: Exception, expected: str
) -> None:
    result, sent = applied(step, write=error)
    assert (outcome(result)[0], sent) == (expected, 1)
    assert result.away == (error is AWAY)
    assert result.concerned == ([step] if expected == "unconfirmed" else [])


def test_a_write_that_is_forbidden_stops_all_and_says_so_once() -> None:
    result, _ = applied(CHANGE, write=Forbidden("status 403.", "Name the scope.", quote="no"))
    assert outcome(result) == ("refused", "no")
    assert result.stopped == "status 403. Name the scope."


def test_a_look_that_meets_no_platform_stops_all() -> None:
    """The address of the platform stands in `stopped`, and in no row."""
    lost = Unconfirmed("lost. A look at it failed: the platform is away")
    lost.__cause__ = AWAY
    result, _ = applied(CREATE, write=lost)
    assert outcome(result) == ("unconfirmed", "the platform did not respond")
    assert (result.stopped, result.away) == (str(AWAY), True)


@pytest.mark.parametrize("error", [Transient("slow"), AWAY, CampusError("what?")])
def test_a_look_after_the_write_that_fails_leaves_it_written(error: Exception) -> None:
    lost = Written(201, {"id": 9}, lost=True)
    result, _ = applied(CREATE, write=lost, questions={2: error})
    assert outcome(result) == ("written", "created")
    assert not result.stopped


def test_who_turns_up_at_the_last_look_is_written() -> None:
    result, _ = applied(CREATE, write=Unconfirmed("lost"), after={**THERE, "outer_id": "a"})
    assert outcome(result) == ("written", "created")


def test_a_field_that_the_platform_ignores_is_not_called_written() -> None:
    result, _ = applied(CHANGE, write=Written(200, dict(THERE)))
    assert outcome(result) == ("refused", "it was sent, and the platform does not take phone")


def test_an_answer_that_is_older_than_the_write_is_not_believed() -> None:
    result, _ = applied(CHANGE, write=Written(200, dict(THERE)), after={**THERE, "phone": "138"})
    assert outcome(result) == ("written", "changed phone")


@pytest.fixture(scope="module")
def platform() -> Iterator[RunningSimulator]:
    with running(schools=1, students=12, usin_twice="taken", deaf_user_field="email") as simulator:
        yield simulator


@pytest.fixture
def town(platform: RunningSimulator, tmp_path: Path) -> Iterator[Town]:
    yield Town(platform, tmp_path)
    platform.set_faults()


def test_who_was_made_twice_is_told(town: Town) -> None:
    """The first request is carried out after the look, and the platform takes the second one too."""
    late = {"kind": "late", "status": 504, "seconds": 0.2, "times": 1, "method": "POST"}
    plan = town.plan([pupil(1), pupil(2)])
    town.platform.set_faults({**late, "path": "/api/v1/reflections"})
    outcomes = {row_outcome.key: row_outcome for row_outcome in town.apply(plan, settling=1.0).outcomes}
    copies = {key: len(town.true(key)) for key in outcomes}
    assert sorted(copies.values()) == [1, 2]
    for key, row_outcome in outcomes.items():
        twice = copies[key] == 2
        assert row_outcome.outcome == ("unconfirmed" if twice else "written")
        assert ("Delete one there" in row_outcome.words) == twice


def test_a_guardian_finds_a_student_whose_answer_told_no_id(town: Town) -> None:
    family = [
        pupil(20),
        pupil(21, role="家长", graduates_in="", student_outer_id="new-20", guardian_role="母亲"),
    ]
    plan = town.plan(family)
    cut = {"kind": "truncated", "path": "/api/v1/reflections", "method": "POST", "times": 1}
    town.platform.set_faults(cut)
    assert {row_outcome.outcome for row_outcome in town.apply(plan).outcomes} == {"written"}
    [student], [guardian] = town.true("new-20"), town.true("new-21")
    assert guardian["student_id"] == student["id"]


def test_what_a_platform_does_not_take_of_a_user_is_told(town: Town) -> None:
    [made] = town.apply(town.plan([pupil(30, email="a@b.cn")])).outcomes
    assert (made.outcome, made.words) == ("written", "created; the platform does not take email")
    [changed] = town.apply(town.plan([pupil(30, email="a@b.cn", phone="138")])).outcomes
    assert (changed.outcome, changed.words) == (
        "refused",
        "it was sent, and the platform does not take email",
    )
    [again] = town.apply(town.plan([pupil(30, email="a@b.cn")])).outcomes
    assert again.outcome == "refused"


def test_a_platform_that_ignores_the_filter_is_read_a_few_times(tmp_path: Path) -> None:
    with running(schools=1, students=60, ignored=["outer_id"]) as platform:
        town = Town(platform, tmp_path)
        plan = town.plan([pupil(number) for number in range(60)])
        lost = {"kind": "after", "status": 504, "method": "POST", "probability": 0.4}
        platform.set_faults({**lost, "path": "/api/v1/reflections"})
        platform.clear_log()
        result = town.apply(plan)
        assert {row_outcome.outcome for row_outcome in result.outcomes} == {"written"}
        log = platform.log()
        lost_answers = sum(entry["fault"] == "after" for entry in log)
        # Each reading of everybody asks for guardians by themselves.
        readings = sum(
            (entry["query"].get("role"), entry["query"].get("status")) == ("8", None) for entry in log
        )
        assert lost_answers > 15
        # Each lost answer had a reading for the look, and another one after it.
        assert readings < lost_answers
