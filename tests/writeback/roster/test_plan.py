"""The plan of a roster: what it compares, what it refuses, and that carrying it out gives the roster."""

import datetime as dt
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kits.writes.rosters import NOTHING, person, plan, pupil
from writeback.roster.fields import GUARDIAN, STUDENT, TEACHER, same
from writeback.roster.plan import Plan, Step


def guardian(student: str, **fields: str) -> dict[str, str]:
    return pupil(
        50, name="家长", role="家长", graduates_in="", student_outer_id=student, guardian_role="母亲"
    ) | dict(fields)


def only_step(*args: Any, **options: Any) -> Step:
    made = plan(*args, **options)
    assert made.refused == ()
    [step] = made.steps
    return step


def only_reason(*args: Any, **options: Any) -> str:
    made = plan(*args, **options)
    assert made.steps == ()
    [refused] = made.refused
    assert refused.line == 2
    return refused.reason


def test_who_is_not_there_is_created_with_what_the_roster_says_of_him() -> None:
    step = only_step([pupil(1, phone="", gender="男", password="s3cret", idcard="110")], [person(2)])
    assert (step.action, step.line, step.outer_id, step.id) == ("create", 2, "new-1", None)
    assert step.after == {
        "outer_id": "new-1",
        "usin": "N000001",
        "name": "新生1",
        "role": 1,
        "graduates_in": 2025,
        "gender": "m",
    }
    assert step.secret == ("password", "idcard")


def test_a_change_names_its_fields_alone_with_before_and_after() -> None:
    there = person(1, phone="139", entered_at=dt.date(2024, 9, 1), email="a@example.org")
    row = pupil(1, phone="138", entered_at="2025/9/1", name="王二", email="")
    step = only_step([row], [there])
    assert (step.action, step.id) == ("change", 1)
    assert step.before == {"name": "新生1", "phone": "139", "entered_at": "2024-09-01"}
    assert step.after == {"name": "王二", "phone": "138", "entered_at": "2025-09-01"}


def test_who_is_so_already_is_unchanged_also_where_nothing_is_written_otherwise() -> None:
    there = person(1, entered_at=dt.date(2025, 9, 1), phone="", email=None)
    made = plan([pupil(1, entered_at="2025-09-01", phone="", email="")], [there], empty="clear")
    assert (made.steps, made.unchanged, made.refused) == ((), 1, ())


def test_an_empty_cell_clears_where_the_school_says_so() -> None:
    step = only_step([pupil(1, phone="")], [person(1, phone="139")], empty="clear")
    assert (step.before, step.after) == ({"phone": "139"}, {"phone": None})


def test_a_password_or_an_id_number_is_no_change() -> None:
    made = plan([pupil(1, password="new", idcard="110")], [person(1)])
    assert (made.steps, made.unchanged) == ((), 1)


@pytest.mark.parametrize(
    ("row", "people", "reason"),
    [
        (pupil(1, graduates_in=""), [], "graduates_in is missing, and there is nobody yet"),
        ({"outer_id": "new-1", "role": "教师"}, [], "usin, name is missing, and there is nobody yet"),
        (pupil(1, role="教师"), [person(1)], "user 1 has the role 1: a role is not changed"),
        (pupil(1), [person(7, outer_id="new-1"), person(8, outer_id="new-1")], "2 users of the platform"),
        (pupil(1, usin="N000002"), [person(1), person(2)], "its usin is that of user 2"),
        (pupil(1, usin="N000002"), [person(2)], "its usin is that of user 2, who has the outer_id 'new-2'"),
        (pupil(1), [person(1, outer_id=None)], "--link-by-usin sets it"),
        (
            pupil(1),
            [person(1, outer_id=None), person(2, outer_id=None, usin="N000001")],
            "2 users of the platform have its usin: 1, 2",
        ),
        (pupil(1, boarding="走"), [person(1)], "boarding: expected one of 走读, 住校"),
        (pupil(1, title="高级"), [person(1)], "title is no field of this role"),
        (pupil(1, student_outer_id="new-2"), [person(2)], "student_outer_id is no field of this role"),
        (guardian("nobody"), [person(1)], "there is no student with its student_outer_id"),
        (guardian("new-1"), [person(1, role=TEACHER)], "there is no student with its student_outer_id"),
        (
            guardian("new-1"),
            [person(1), person(2, outer_id="new-1")],
            "2 students of the platform have its student_outer_id",
        ),
    ],
)
def test_what_cannot_be_told_or_is_not_allowed_is_refused(
    row: dict[str, str], people: list[dict[str, Any]], reason: str
) -> None:
    assert reason in only_reason([row], people)


def test_what_must_be_there_is_not_emptied() -> None:
    row = {"outer_id": "new-1", "role": "学生", "graduates_in": ""}
    assert "graduates_in would be empty" in only_reason([row], [person(1)], empty="clear")


def test_a_user_without_an_outer_id_gets_it_where_that_is_wished() -> None:
    there = person(1, outer_id=None, phone="139")
    step = only_step([pupil(1, phone="138")], [there], link_by_usin=True)
    assert (step.action, step.id, step.links_usin) == ("change", 1, "N000001")
    assert step.before == {"outer_id": None, "phone": "139"}
    assert step.after == {"outer_id": "new-1", "phone": "138"}


def test_nobody_is_linked_across_roles_or_away_from_another_outer_id() -> None:
    others = [person(1, outer_id=None, role=TEACHER)], [person(1, outer_id="other")]
    reasons = [only_reason([pupil(1)], people, link_by_usin=True) for people in others]
    assert "a role is not changed" in reasons[0]
    assert "who has the outer_id 'other'" in reasons[1]


def test_custom_fields_are_compared_and_their_options_kept() -> None:
    step = only_step([pupil(1, boarding="住校")], [person(1, boarding="走读")])
    assert (step.before, step.after) == ({"boarding": "走读"}, {"boarding": "住校"})
    made = plan([pupil(1, boarding="走读")], [person(1, boarding="走读")])
    assert made.unchanged == 1


def test_a_guardian_gets_the_student_of_the_platform() -> None:
    step = only_step([guardian("new-1")], [person(1)])
    assert (step.role, step.student) == (GUARDIAN, "")
    assert (step.after["student_id"], step.after["guardian_role"]) == (1, 2)
    assert "student_outer_id" not in step.after


def test_a_guardian_waits_for_the_student_whom_the_roster_creates() -> None:
    made = plan([guardian("new-1"), pupil(1)], [])
    of_guardian, of_student = made.steps
    assert (of_guardian.student, of_student.outer_id) == ("new-1", "new-1")
    assert "student_id" not in of_guardian.after


def test_a_guardian_gets_the_student_who_is_linked_by_this_plan() -> None:
    made = plan([guardian("new-1"), pupil(1)], [person(1, outer_id=None)], link_by_usin=True)
    assert made.steps[0].after["student_id"] == 1


def test_a_guardian_is_refused_with_his_student() -> None:
    made = plan([guardian("new-1"), pupil(1)], [person(1, outer_id=None)])
    assert [row.line for row in made.refused] == [2, 3]
    assert made.refused[0].reason.startswith("its student is refused: its usin is that of user 1")


def test_a_guardian_does_not_get_a_teacher_for_a_student() -> None:
    made = plan([guardian("new-1"), pupil(1)], [person(1, role=TEACHER)])
    assert made.steps == ()
    assert "its student is refused: user 1 has the role 2" in made.refused[0].reason


def test_a_guardian_who_is_there_already_waits_for_another_run() -> None:
    there = person(50, name="家长", role=GUARDIAN, graduates_in=None, guardian_role=1)
    made = plan([guardian("new-1"), pupil(1)], [there])
    [refused] = made.refused
    assert "run the roster again" in refused.reason
    assert [step.outer_id for step in made.steps] == ["new-1"]


PEOPLE = [person(number) for number in range(1, 101)]
ROSTER = [pupil(number) for number in range(1, 101)]


PHONES = [row | {"phone": ""} for row in ROSTER[:-1]]


def test_who_is_gone_stays_where_nobody_says_delete() -> None:
    made = plan(ROSTER[:-1], PEOPLE)
    assert [user.outer_id for user in made.gone] == ["new-100"]
    assert made.steps == ()
    assert made.notes == ("1 who are not in the roster stay as they are; --delete would delete them.",)


def test_who_is_gone_is_deleted_where_a_person_says_so() -> None:
    [step] = plan(ROSTER[:-1], PEOPLE, delete=True).steps
    assert (step.action, step.line, step.id, step.after) == ("delete", 0, 100, {})
    assert step.before == {"usin": "N000100", "name": "新生100", "role": 1, "status": 1}


@pytest.mark.parametrize(
    ("gone", "share", "handful", "passes"),
    [(5, 0.05, 0, True), (6, 0.05, 0, False), (6, 0.05, 6, True), (7, 0.05, 6, False), (100, 1.0, 0, True)],
)
def test_more_than_the_share_and_the_handful_are_never_deleted(
    gone: int, share: float, handful: int, passes: bool
) -> None:
    rows = [*ROSTER[: 100 - gone], pupil(500)]
    made = plan(rows, PEOPLE, delete=True, max_deleted=share, handful=handful)
    assert (len(made.gone), len(made.of("delete"))) == (gone, gone if passes else 0)
    assert passes or "Is it the whole roster?" in made.notes[0]
    # All else is done.
    assert len(made.of("create")) == 1


def test_an_empty_roster_deletes_nobody() -> None:
    made = plan([pupil(1, outer_id="", name="")], PEOPLE, delete=True, max_deleted=1.0)
    assert (made.steps, made.gone) == ((), ())


def test_gone_are_only_those_whom_such_a_roster_manages() -> None:
    others = [
        person(201, outer_id=None),
        person(202, role=TEACHER),
        person(203, role=GUARDIAN),
        person(204, status=2),
    ]
    assert plan(ROSTER, PEOPLE + others, delete=True).gone == ()


def test_whose_row_is_refused_is_not_gone() -> None:
    rows = [*ROSTER[:-2], pupil(99, name=""), pupil(100, role="教师")]
    made = plan(rows, PEOPLE, delete=True)
    assert (len(made.refused), made.gone, made.steps) == (2, (), ())


@pytest.mark.parametrize("outer_id", ["", "new-100\u200b", "=new-100"])
def test_nobody_is_deleted_beside_a_row_that_may_be_his(outer_id: str) -> None:
    # A user without numbers is not the one whom an empty cell names.
    nameless = person(101, outer_id="", usin="", role=TEACHER)
    rows = [*ROSTER[:-1], pupil(100, outer_id=outer_id, usin="N500")]
    made = plan(rows, [*PEOPLE, nameless], delete=True)
    assert len(made.gone) == 1
    assert made.of("delete") == []
    assert made.notes[0].startswith("Nobody is deleted: 1 refused rows lack the outer_id or the usin")
    assert made.notes[0].endswith("Correct them first: line 101.")


@pytest.mark.parametrize("bad", [{}, {"name": ""}, {"role": "nobody"}, {"outer_id": ""}])
def test_who_is_named_by_his_number_is_not_gone(bad: dict[str, str]) -> None:
    """His outer_id is another now, and his row is refused."""
    made = plan([*ROSTER[:-1], pupil(100, **{"outer_id": "reissued", **bad})], PEOPLE, delete=True)
    assert (len(made.refused), made.gone, made.steps) == (1, (), ())


def test_nobody_is_deleted_beside_a_new_outer_id_without_a_number() -> None:
    rows = [{name: row[name] for name in ("outer_id", "role", "phone")} for row in PHONES]
    assert len(plan(rows, PEOPLE, delete=True).of("delete")) == 1
    made = plan([*rows, {"outer_id": "reissued", "role": "学生", "phone": ""}], PEOPLE, delete=True)
    assert (len(made.gone), made.of("delete")) == (1, [])
    assert made.notes[0].endswith("Correct them first: line 101.")


def test_a_refused_row_of_a_number_that_nobody_has_deletes_as_ever() -> None:
    rows = [*ROSTER[:-1], pupil(500, name="")]
    assert [step.id for step in plan(rows, PEOPLE, delete=True).of("delete")] == [100]


def test_secrets_of_who_is_there_are_not_sent_and_it_is_told() -> None:
    rows = [pupil(1, password="p1"), pupil(2, password="p2"), pupil(3, password="p3", name="")]
    made = plan(rows, [person(1), person(3)])
    [step] = made.steps
    assert (step.outer_id, step.secret) == ("new-2", ("password",))
    [note] = made.notes
    assert note.startswith("password and idcard of 1 users stay as they are")


def test_neither_of_two_users_of_one_outer_id_is_deleted() -> None:
    made = plan(ROSTER, [*PEOPLE, person(201), person(202, outer_id="new-201")], delete=True)
    assert (len(made.gone), made.steps) == (2, ())


def test_the_archived_are_found_and_stay_archived_unless_the_roster_says_otherwise() -> None:
    archived = person(1, status=2)
    assert plan([pupil(1)], [archived]).unchanged == 1
    step = only_step([pupil(1, status="正常")], [archived])
    assert (step.before, step.after) == ({"status": 2}, {"status": 1})


class Platform:
    """A platform that holds users and what it promises of them: ids and numbers are unique."""

    def __init__(self, people: list[dict[str, Any]]) -> None:
        self.people = {user["id"]: dict(user) for user in people}
        self._ids = count(1_000)

    def apply(self, made: Plan) -> None:
        """Carry out a plan as it is meant: users, their guardians, and deletions at the end."""
        created: dict[str, int] = {}
        for step in sorted(made.steps, key=lambda step: (step.action == "delete", step.role)):
            if step.action == "delete":
                del self.people[step.id or 0]
            elif step.action == "change":
                stored = self.people[step.id or 0]
                assert all(same(stored[name], value) for name, value in step.before.items())
                stored |= step.after
            elif not step.student or step.student in created:
                student = {"student_id": created[step.student]} if step.student else {}
                created[step.outer_id] = key = next(self._ids)
                self.people[key] = {**NOTHING, "id": key, **step.after, **student}
            numbers = [user["usin"] for user in self.people.values()]
            assert len(numbers) == len(set(numbers))

    def of(self, outer_id: str, *roles: int) -> dict[str, Any]:
        candidates = [user for user in self.people.values() if user["outer_id"] == outer_id]
        [user] = [user for user in candidates if not roles or user["role"] in roles]
        return user


SMALL = st.integers(1, 6)


@st.composite
def _people(draw: st.DrawFn) -> list[dict[str, Any]]:
    numbers = draw(st.lists(SMALL, unique=True))
    return [
        person(
            number,
            outer_id=draw(st.one_of(st.none(), SMALL.map("new-{}".format))),
            role=draw(st.sampled_from([STUDENT, TEACHER, GUARDIAN])),
            status=draw(st.sampled_from([1, 1, 2, 4])),
            phone=draw(st.sampled_from(["", "138"])),
        )
        for number in numbers
    ]


@st.composite
def _rows(draw: st.DrawFn) -> list[dict[str, str]]:
    numbers = draw(st.lists(SMALL, unique=True, min_size=1))
    usins = draw(st.permutations(range(1, 7)))
    roles = draw(st.lists(st.sampled_from(["学生", "学生", "教师", "家长"]), min_size=6, max_size=6))
    return [
        pupil(
            number,
            usin=f"N{usin:06}",
            role=role,
            phone=draw(st.sampled_from(["", "139"])),
            student_outer_id=draw(st.sampled_from(["", "new-1"])) if role == "家长" else "",
        )
        for number, usin, role in zip(numbers, usins, roles, strict=False)
    ]


@settings(max_examples=150)
@given(rows=_rows(), people=_people(), delete=st.booleans(), link=st.booleans())
def test_carried_out_often_enough_a_roster_is_what_the_platform_has(
    rows: list[dict[str, str]], people: list[dict[str, Any]], delete: bool, link: bool
) -> None:
    """Rows whose number another still has, or whose student is new, come with a later run; the last has
    nothing to do, and whom it does not refuse is on the platform once and as the roster says."""
    platform = Platform(people)
    for _ in range(len(rows) + 2):
        made = plan(rows, list(platform.people.values()), delete=delete, link_by_usin=link)
        if not made.steps:
            break
        before = len(platform.people)
        platform.apply(made)
        assert len(platform.people) <= before + len(made.of("create")) - len(made.of("delete"))
    assert made.steps == ()
    assert made.unchanged + len(made.refused) == len(rows)
    refused = {row.line for row in made.refused}
    for line, row in enumerate(rows, 2):
        if line not in refused:
            user = platform.of(row["outer_id"])
            assert (user["usin"], user["name"]) == (row["usin"], row["name"])
            assert user["phone"] == row["phone"] or not row["phone"]
            if row["student_outer_id"]:
                assert user["role"] == GUARDIAN
                assert user["student_id"] == platform.of("new-1", STUDENT)["id"]
