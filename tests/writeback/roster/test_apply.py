"""A plan carried out on a running platform: that and nothing else, whatever kind of platform it is."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from campus.contracts.v1_people import UserField
from simulator.process import RunningSimulator, running
from tests.kits.writes.rosters import SCHOOL, Town, pupil
from warehouse.lake.logs.tables import WRITES
from writeback.roster.apply import Applied
from writeback.roster.plan import Plan, PlanOptions
from writeback.roster.rows import Reading
from writeback.store.location import store_path

CHANGING = ("POST", "PATCH", "PUT", "DELETE")
ALL = PlanOptions(delete=True, max_deleted=1.0)


@pytest.fixture(scope="module")
def platform() -> Iterator[RunningSimulator]:
    """A platform that the tests share, each with people of its own."""
    with running(schools=1, students=12) as simulator:
        yield simulator


@pytest.fixture
def town(platform: RunningSimulator, tmp_path: Path) -> Iterator[Town]:
    yield Town(platform, tmp_path)
    platform.set_faults()


def people(numbers: range, **fields: str) -> list[dict[str, str]]:
    return [pupil(number, **fields) for number in numbers]


def made(town: Town, rows: list[dict[str, str]]) -> None:
    """Bring these to the platform."""
    assert fates(town.apply(town.plan(rows))) == {"written": len(rows)}


def fates(applied: Applied) -> Counter[str]:
    return Counter(outcome.outcome for outcome in applied.outcomes)


def told(applied: Applied) -> dict[str, tuple[str, str]]:
    """The outcome of each row, and why."""
    return {outcome.key: (outcome.outcome, outcome.words) for outcome in applied.outcomes}


def one(town: Town, number: int) -> dict[str, Any]:
    [user] = town.true(f"new-{number}")
    return user


def writes(platform: RunningSimulator) -> list[str]:
    return [
        entry["method"]
        for entry in platform.log()
        if entry["method"] in CHANGING and entry["path"].startswith("/api/v1/")
    ]


def test_a_row_that_moved_since_the_plan_is_refused_and_left_alone(town: Town) -> None:
    made(town, people(range(100, 104)))
    plan = town.plan(people(range(100, 104), phone="138"))
    # One has another phone by now, one the planned one, one another name, which is none of the plan's.
    town.platform.update("reflections", one(town, 100)["id"], phone="139")
    town.platform.update("reflections", one(town, 101)["id"], phone="138")
    town.platform.update("reflections", one(town, 102)["id"], name="别人")
    applied = town.apply(plan)
    assert told(applied) == {
        "new-100": (
            "refused",
            "phone changed on the platform since the plan; nothing was written; make a new plan",
        ),
        "new-101": ("unchanged", "changed before"),
        "new-102": ("written", "changed phone"),
        "new-103": ("written", "changed phone"),
    }
    assert [one(town, number)["phone"] for number in range(100, 104)] == ["139", "138", "138", "138"]
    assert one(town, 102)["name"] == "别人"


def test_a_user_whom_somebody_else_made_since_the_plan_is_left_alone(town: Town) -> None:
    plan = town.plan(people(range(110, 112)))
    made(town, [pupil(110, name="他人"), pupil(119, outer_id="new-112", usin="N000111")])
    applied = told(town.apply(plan))
    assert applied["new-110"][0] == "refused"
    assert "has this outer_id by now; nothing was written" in applied["new-110"][1]
    # The number was taken: the platform's own words.
    assert applied["new-111"] == ("refused", "usin has been taken")
    assert one(town, 110)["name"] == "他人"
    assert town.true("new-111") == []


def test_a_user_who_lost_the_outer_id_or_shares_it_since_the_plan_is_left_alone(town: Town) -> None:
    made(town, people(range(120, 123)))
    plan = town.plan(people(range(120, 123), name="新名"))
    town.platform.update("reflections", one(town, 120)["id"], outer_id="moved-120")
    town.platform.update("reflections", one(town, 121)["id"], outer_id="new-122")
    applied = told(town.apply(plan))
    assert {outcome for outcome, _ in applied.values()} == {"refused"}
    assert "has not this outer_id any more" in applied["new-120"][1]
    assert "has not this outer_id any more" in applied["new-121"][1]
    assert applied["new-122"][1].startswith("2 users have this outer_id now: ")
    assert not [person for person in town.true_people() if person["name"] == "新名"]


def test_a_plan_that_is_applied_twice_writes_once(town: Town) -> None:
    made(town, people(range(130, 132)))
    plan = town.plan([pupil(130, phone="138"), pupil(131), pupil(132)])
    assert fates(town.apply(plan)) == {"written": 2}
    town.platform.clear_log()
    again = town.apply(plan)
    assert told(again) == {
        "new-130": ("unchanged", "changed before"),
        "new-132": ("unchanged", "made before"),
    }
    assert writes(town.platform) == []


def test_a_user_without_an_outer_id_is_found_by_number_and_given_it(town: Town) -> None:
    made(town, people(range(140, 142)))
    for number in (140, 141):
        town.platform.update("reflections", one(town, number)["id"], outer_id=None)
    plan = town.plan(people(range(140, 142)), PlanOptions(link_by_usin=True))
    # Of one the number has moved since, so that nobody can tell who is meant.
    [moved] = [user for user in town.true_people() if user["usin"] == "N000141"]
    town.platform.update("reflections", moved["id"], usin="N999141")
    applied = told(town.apply(plan))
    assert applied["new-140"] == ("written", "changed outer_id")
    assert applied["new-141"][0] == "refused"
    assert one(town, 140)["usin"] == "N000140"
    assert told(town.apply(plan))["new-140"] == ("unchanged", "changed before")


def family(number: int, **fields: str) -> list[dict[str, str]]:
    """A guardian, and below in the file the student."""
    student = pupil(number, **fields)
    guardian = pupil(
        number + 1,
        role="家长",
        graduates_in="",
        student_outer_id=student["outer_id"],
        guardian_role="母亲",
    )
    return [guardian, student]


def test_guardians_come_after_their_students(town: Town) -> None:
    plan = town.plan([*family(150), *family(152)])
    assert fates(town.apply(plan)) == {"written": 4}
    for number in (150, 152):
        assert one(town, number + 1)["student_id"] == one(town, number)["id"]
        assert one(town, number + 1)["guardian_role"] == 2
    assert town.plan([*family(150), *family(152)]).unchanged == 4


def test_a_guardian_of_whom_only_the_student_was_made_is_made_by_the_next_run(town: Town) -> None:
    plan = town.plan(family(160))
    made(town, [pupil(160)])
    assert told(town.apply(plan)) == {
        "new-160": ("unchanged", "made before"),
        "new-161": ("written", "created"),
    }
    assert one(town, 161)["student_id"] == one(town, 160)["id"]


def test_a_guardian_is_refused_whose_student_is(town: Town) -> None:
    plan = town.plan(family(170))
    made(town, [pupil(179, usin="N000170")])
    applied = told(town.apply(plan))
    assert applied["new-170"] == ("refused", "usin has been taken")
    assert applied["new-171"] == ("refused", "the student new-170 could not be made")
    assert town.true("new-171") == []


def test_custom_fields_are_written_and_read_again(town: Town) -> None:
    town.fields = {("boarding", 1): UserField(name="boarding", role=1, type=2, options=["走读", "住校"])}
    made(town, [pupil(180, boarding="住校")])
    assert one(town, 180)["boarding"] == "住校"
    assert town.plan([pupil(180, boarding="住校")]).unchanged == 1


def test_what_is_cleared_is_empty_on_the_platform(town: Town) -> None:
    made(town, [pupil(190, phone="138", entered_at="2025-09-01")])
    rows, reading = [pupil(190, phone="", entered_at="")], Reading(empty="clear")
    assert fates(town.apply(town.plan(rows, reading=reading))) == {"written": 1}
    assert not one(town, 190)["phone"]
    assert not one(town, 190)["entered_at"]
    assert town.plan(rows, reading=reading).unchanged == 1


def test_a_dry_run_writes_nothing_and_says_what_it_would(town: Town) -> None:
    made(town, people(range(200, 202)))
    rows = [pupil(200, phone="138"), *family(202)]
    plan = town.plan(rows, PlanOptions(delete=True, max_deleted=1.0, handful=0))
    deletions = len(plan.of("delete"))
    assert deletions > 0
    before = town.true_people()
    town.platform.clear_log()
    applied = town.apply(plan, dry=True)
    assert fates(applied) == {"waiting": 3 + deletions}
    assert Counter(outcome.words for outcome in applied.outcomes) == {
        "change phone": 1,
        "create": 2,
        "delete": deletions,
    }
    assert writes(town.platform) == []
    assert town.true_people() == before


def test_too_many_refusals_leave_the_rest(town: Town) -> None:
    rows = people(range(300, 340))
    plan = town.plan(rows)
    # The same numbers, under other outer_ids.
    made(town, [dict(row, outer_id=f"other-{row['usin']}") for row in rows[:20]])
    applied = town.apply(plan, at_a_time=1)
    assert fates(applied) == {"refused": 11, "waiting": 29}
    assert applied.stopped == (
        "11 of 11 rows were refused, more than the share of 5% that passes (writes.roster.max_refused_share)"
    )
    assert not any(town.true(row["outer_id"]) for row in rows)
    # A person may let them be; whose number is free comes then.
    assert fates(town.apply(plan, max_refused=0.5)) == {"refused": 20, "written": 20}


def test_a_platform_that_is_away_refuses_nobody(town: Town) -> None:
    plan = town.plan(people(range(400, 430)))
    town.platform.clear_log()
    town.platform.set_faults({"kind": "status", "status": 503, "path": "/api/v1/*"})
    assert fates(town.apply(plan)) == {"waiting": 30}
    assert writes(town.platform) == []
    town.platform.set_faults()
    assert fates(town.apply(plan)) == {"written": 30}


def test_a_write_that_happens_after_the_look_makes_nobody_twice(town: Town) -> None:
    """The look finds nobody, and the request is sent again; the first finds the number taken by then."""
    plan = town.plan([pupil(440)])
    late = {"kind": "late", "status": 504, "seconds": 0.15, "times": 1, "method": "POST"}
    town.platform.set_faults({**late, "path": "/api/v1/reflections"})
    [outcome] = town.apply(plan).outcomes
    assert len(town.true("new-440")) == 1
    assert (outcome.outcome, outcome.words) == ("written", "created")


KINDS: list[Mapping[str, Any]] = [
    {"user_change": "PATCH", "taken": "409"},
    {"ignored": ["outer_id"]},
    {"ignored": ["outer_id", "usin", "status"]},
    {"archived": "by_status"},
    {"archived": "by_id", "user_change": "PUT", "created_user": "200"},
    {"left_users": "archived"},
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_any_kind_of_platform_ends_with_the_roster(kind: Mapping[str, Any], tmp_path: Path) -> None:
    """Made, changed, disabled, archived, deleted, through lost answers, and each plan once more."""
    with running(schools=1, students=12, **kind) as platform:
        town = Town(platform, tmp_path)
        lost = {"kind": "reset", "probability": 0.3, "path": "/api/v1/reflections*"}
        platform.set_faults(*({**lost, "method": method} for method in CHANGING))
        options = PlanOptions(delete=True, max_deleted=1.0)
        first = [*people(range(6)), *family(10)]
        assert carried_out(town, town.plan(first)) == {"written": 8}
        second = [
            pupil(0, phone="138"),
            pupil(1, status="停用"),
            pupil(2, status="归档"),
            pupil(3),
            *family(10),
        ]
        plan = town.plan(second, options)
        assert {step.outer_id for step in plan.of("delete")} > {"new-4", "new-5"}
        assert carried_out(town, plan) == {"written": len(plan.steps)}
        third = [*second, pupil(6)]
        third[1] |= {"phone": "137"}
        third[2] |= {"phone": "136"}
        plan = town.plan(third, options)
        assert Counter(step.action for step in plan.steps) == {"create": 1, "change": 2}
        assert carried_out(town, plan) == {"written": 3}
        assert town.plan(third, options).unchanged == len(third)
        counts = Counter(person["outer_id"] for person in town.true_people())
        assert {counts[row["outer_id"]] for row in third} == {1}
        # Where those who are deleted are archived, they are there still.
        assert all(person["status"] == 2 for number in (4, 5) for person in town.true(f"new-{number}"))


def carried_out(town: Town, plan: Plan) -> Counter[str]:
    """What became of a plan's rows. Once more, it does nothing."""
    outcomes = fates(town.apply(plan))
    town.platform.clear_log()
    assert fates(town.apply(plan)) == {"unchanged": len(plan.steps)}
    assert writes(town.platform) == []
    return outcomes


def test_secrets_are_sent_and_stand_nowhere(town: Town) -> None:
    password, number = "Zx9-secret", "11010519491231002X"
    plan = town.plan([pupil(450, password=password, idcard=number)])
    secrets = {2: {"password": password, "idcard": number}}
    assert fates(town.apply(plan, secrets)) == {"written": 1}
    # The platform has got them.
    assert one(town, 450)["idcard"] == number
    assert password not in repr(plan)
    assert number not in repr(plan)
    [row] = [row for row in town.lake.read(WRITES).to_pylist() if row["_school_id"] == SCHOOL]
    assert password not in repr(row)
    assert number not in repr(row)
    assert store_path(town.home).exists()


def test_a_put_that_empties_what_it_leaves_out_changes_what_was_planned_alone(tmp_path: Path) -> None:
    with running(schools=1, students=12, user_change="PUT", user_put="whole") as platform:
        town = Town(platform, tmp_path)
        rich = {
            "phone": "13800000000",
            "email": "a@school.example",
            "entered_at": "2025-09-01",
            "gender": "男",
        }
        made(town, people(range(3), **rich))
        before = [one(town, number) for number in range(3)]
        assert fates(town.apply(town.plan(people(range(3), **{**rich, "phone": "139"})))) == {"written": 3}
        assert [one(town, number) for number in range(3)] == [{**user, "phone": "139"} for user in before]


def test_a_change_that_empties_other_fields_ends_the_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("writeback.roster.people.People.sendable", lambda self, person: {})
    with running(schools=1, students=12, user_change="PUT", user_put="whole") as platform:
        town = Town(platform, tmp_path)
        teachers = people(range(2), role="教师", graduates_in="", email="a@school.example")
        made(town, teachers)
        applied = town.apply(town.plan([{**teacher, "name": "新名"} for teacher in teachers]), at_a_time=1)
        assert fates(applied) == {"written": 1, "waiting": 1}
        assert re.search("emptied .*email.* there, of which the plan says nothing", applied.stopped)
        assert town.true("new-1")[0]["email"] == "a@school.example"


def test_what_a_change_means_for_other_fields_is_the_platforms_own_affair(tmp_path: Path) -> None:
    with running(schools=1, students=12) as platform:
        town = Town(platform, tmp_path)
        student = next(
            user for user in town.true_people() if user["role"] == 1 and user["outer_id"] and user["usin"]
        )
        assert student["entered_at"]
        row = {**pupil(1, graduates_in="2040"), **{k: student[k] for k in ("outer_id", "usin", "name")}}
        applied = town.apply(town.plan([row]))
        assert fates(applied) == {"written": 1}
        assert applied.stopped == ""
        # The simulator tells a student's first day by his year, if it has a cohort of it.
        assert town.true(student["outer_id"])[0]["entered_at"] is None
