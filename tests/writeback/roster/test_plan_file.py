"""The file of a plan: what is refused before any row of it is carried out."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.kits.writes.rosters import person, plan, pupil
from writeback.roster import plan_file
from writeback.roster.plan import Plan
from writeback.roster.plan_file import PlanError, load_plan, plan_name, plan_path, save_plan

NAME = "roster-101-20261126-070000"


def made() -> Plan:
    return plan([pupil(1), pupil(2, phone="138"), pupil(3, name="")], [person(2), person(4)], delete=True)


def test_a_plan_comes_back_for_its_owner_alone(tmp_path: Path) -> None:
    path = save_plan(made(), tmp_path, NAME)
    assert load_plan(tmp_path, NAME) == made()
    assert path.stat().st_mode & 0o077 == 0


def test_a_plan_of_an_earlier_campus_is_read(tmp_path: Path) -> None:
    """It has a space between date and time."""
    content = msgspec.json.encode(made())
    earlier = content.replace(b"2026-11-23T08:00:00", b"2026-11-23 08:00:00")
    assert earlier != content
    assert msgspec.json.decode(earlier, type=Plan) == made()


def test_a_second_plan_of_a_name_takes_the_place_of_none(tmp_path: Path) -> None:
    first = save_plan(made(), tmp_path, NAME)
    second = save_plan(plan([pupil(1)], []), tmp_path, NAME)
    assert (first.stem, second.stem) == (NAME, f"{NAME}-2")
    assert load_plan(tmp_path, NAME) != load_plan(tmp_path, f"{NAME}-2")


@pytest.mark.parametrize(("old", "new"), [("新生1", "王二"), ('"create"', '"delete"'), ("\n ", "\n  ")])
def test_an_edited_plan_is_refused(tmp_path: Path, old: str, new: str) -> None:
    path = save_plan(made(), tmp_path, NAME)
    content = path.read_text()
    assert old in content
    path.write_text(content.replace(old, new, 1))
    with pytest.raises(PlanError, match="edited, renamed, or made elsewhere: make a new plan"):
        load_plan(tmp_path, NAME)


def test_a_plan_of_another_home_is_refused(tmp_path: Path) -> None:
    forged = save_plan(made(), tmp_path / "elsewhere", NAME)
    save_plan(made(), tmp_path, NAME).write_bytes(forged.read_bytes())
    with pytest.raises(PlanError, match="made elsewhere"):
        load_plan(tmp_path, NAME)


def test_a_plan_under_another_name_is_refused(tmp_path: Path) -> None:
    path = save_plan(made(), tmp_path, NAME)
    path.rename(path.with_name("roster-101-20261126-080000.json"))
    with pytest.raises(PlanError, match="renamed"):
        load_plan(tmp_path, "roster-101-20261126-080000")


def test_the_first_line_of_another_file_is_in_no_error(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hunter2, the first line")
    plan_path(tmp_path, NAME).parent.mkdir()
    plan_path(tmp_path, NAME).symlink_to(secret)
    with pytest.raises(PlanError, match="cannot be read") as error:
        load_plan(tmp_path, NAME)
    assert "hunter2" not in str(error.value)


def test_a_fifo_or_an_endless_file_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save_plan(made(), tmp_path, NAME)
    monkeypatch.setattr(plan_file, "LONGEST_PLAN", 100)
    with pytest.raises(PlanError, match="is it the right file"):
        load_plan(tmp_path, NAME)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(PlanError, match="no regular file"):
        load_plan(tmp_path, NAME)


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b"\xff", b'{"seal": 1, "plan": {}}', b"usin,name", b"[" * 9999]
)
def test_what_is_no_plan_is_said_to_be_none(tmp_path: Path, content: bytes) -> None:
    plan_path(tmp_path, NAME).parent.mkdir()
    plan_path(tmp_path, NAME).write_bytes(content)
    with pytest.raises(PlanError, match="is no plan: campus roster plan makes one"):
        load_plan(tmp_path, NAME)


def test_a_plan_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="cannot be read: No such file"):
        load_plan(tmp_path, NAME)


def test_a_plan_of_another_version_is_refused(tmp_path: Path) -> None:
    save_plan(msgspec.structs.replace(made(), version=2), tmp_path, NAME)
    with pytest.raises(PlanError, match="of another version of campus: make a new plan"):
        load_plan(tmp_path, NAME)


def _changed(action: str, **fields: Any) -> Callable[[Plan], Plan]:
    """A plan of ours with other fields in its step of this action, as whoever had the key would seal it."""

    def change(of: Plan) -> Plan:
        steps = [
            msgspec.structs.replace(step, **fields) if step.action == action else step for step in of.steps
        ]
        assert {step.action for step in of.steps} == {"create", "change", "delete"}
        return msgspec.structs.replace(of, steps=tuple(steps))

    return change


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (_changed("change", before={"password": ""}, after={"password": "x"}), "would write password"),
        (_changed("change", before={"idcard": ""}, after={"idcard": "x"}), "would write idcard"),
        (_changed("change", before={"role": 1}, after={"role": 2}), "would write role"),
        (_changed("change", before={}), "does not say what was there before"),
        (_changed("change", before={}, after={}), "does not say what was there before"),
        (_changed("change", id=None), "names no user"),
        (_changed("delete", before={}), "does not say whom it deletes"),
        (_changed("delete", before={"name": "x"}), "does not say whom it deletes"),
        (_changed("create", after={"outer_id": "other", "role": 1}), "creates another user than it names"),
        (_changed("create", after={"outer_id": "new-1", "role": 2}), "creates another user than it names"),
        (_changed("create", secret=("phone",)), "names fields as secret that are none"),
        (_changed("change", secret=("password",)), "names fields as secret that are none"),
        (_changed("change", before={"Password": ""}, after={"Password": "x"}), "would write Password"),
        (_changed("create", after={"outer_id": "new-1", "role": 1, "id": 7}), "would write id"),
        (_changed("create", role=99), "no role that a roster has"),
        (_changed("create", before={"name": "x"}), "creates another user than it names"),
        (_changed("delete", after={"name": "x"}), "does not say whom it deletes"),
        (
            _changed("change", before={"name": "x"}, after={"phone": "1"}),
            "does not say what was there before",
        ),
        (lambda of: msgspec.structs.replace(of, made_at="soon"), "is no plan"),
        (lambda of: msgspec.structs.replace(of, made_at=datetime(2026, 11, 23, tzinfo=UTC)), "is no plan"),
    ],
)
def test_steps_that_no_plan_of_ours_has_are_refused(
    tmp_path: Path, change: Callable[[Plan], Plan], problem: str
) -> None:
    save_plan(change(made()), tmp_path, NAME)
    with pytest.raises(PlanError, match=problem):
        load_plan(tmp_path, NAME)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"rows": 1_000_000}, "has other rows than it counts"),
        ({"unchanged": 1_000_000}, "has other rows than it counts"),
        ({"refused": ()}, "has other rows than it counts"),
        ({"rows": 4, "steps": 2}, "has two steps for one user"),
    ],
)
def test_counts_that_do_not_follow_from_the_rows_are_refused(
    tmp_path: Path, fields: dict[str, Any], problem: str
) -> None:
    whole = made()
    if "steps" in fields:
        [change] = whole.of("change")
        fields = fields | {"steps": (*whole.steps, msgspec.structs.replace(change, outer_id="another"))}
    save_plan(msgspec.structs.replace(whole, **fields), tmp_path, NAME)
    with pytest.raises(PlanError, match=problem):
        load_plan(tmp_path, NAME)


@pytest.mark.parametrize("name", ["", ".", "..", "../secret", "/secret", "a/b", "a\0b", "x\n", "-x", "a b"])
def test_only_a_name_leads_to_a_plan(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.json").write_text("hunter2, the first line")
    (tmp_path / "plans").mkdir()
    with pytest.raises(PlanError, match="takes the name of a plan in") as error:
        load_plan(tmp_path, name)
    assert "hunter2" not in str(error.value)


def test_a_plan_that_could_not_be_read_again_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_file, "LONGEST_PLAN", 100)
    with pytest.raises(PlanError, match="longer than 100 bytes: plan fewer rows at a time"):
        save_plan(made(), tmp_path, NAME)
    assert not list((tmp_path / "plans").iterdir())


def test_a_plan_is_named_by_name_path_or_workbook(tmp_path: Path) -> None:
    path = save_plan(made(), tmp_path, NAME)
    for given in (NAME, f"{NAME}.json", str(path), str(path.with_suffix(".xlsx"))):
        assert plan_name(tmp_path, given) == NAME


@pytest.mark.parametrize(
    "given", ["/etc/shadow", "../plans/x", "plans/../../x.json", "", ".", "-", "a b", "x\n"]
)
def test_what_is_outside_the_folder_of_plans_is_refused(tmp_path: Path, given: str) -> None:
    with pytest.raises(PlanError):
        plan_name(tmp_path, given)
