"""Applying a roster, as the command does it: the warehouse shows it at once, and results are there whatever
becomes of the platform."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipelines.cli.writing.roster import run_apply, run_plan
from pipelines.settings.options import RosterOptions, WriteOptions
from pipelines.settings.settings import Settings
from tests.kits.worlds.world import World

SCHOOL = 101
USERS = "/api/v1/reflections"
Home = Callable[[], Path]
Row = dict[str, Any]


@pytest.fixture(scope="module")
def school(load_world: Callable[..., World]) -> World:
    return load_world("new_term", select=None)


def writing(world: World, **changes: Any) -> Settings:
    """Settings that allow writes and lose no time."""
    writes = WriteOptions(settling=0, roster=RosterOptions(max_deleted_share=1.0))
    options = world.settings.options.model_copy(update={"writes": writes})
    return world.settings.model_copy(update={"allow_writes": True, "options": options, **changes})


def pupil(number: int, **cells: str) -> Row:
    standard = {"name": f"新生{number}", "role": "学生", "graduates_in": "2025", "phone": ""}
    return {"outer_id": f"new-{number}", "usin": f"N{number:06}", **standard, **cells}


def planned(world: World, folder: Path, *rows: Row, delete: bool = False) -> Path:
    """The plan of a roster."""
    path = folder / "roster.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    plans = world.home / "plans"
    before = set(plans.glob("*.json"))
    settings = writing(world)
    run_plan(settings, str(path), SCHOOL, delete=delete, link_by_usin=False, personal=False)
    [made] = set(plans.glob("*.json")) - before
    return made


def apply(world: World, plan: Path, **options: Any) -> int:
    return run_apply(writing(world), str(plan), dry=False, build=False, **options)


def held(world: World, resource: str) -> dict[str, Row]:
    """The pupils of these tests as the lake has them."""
    return {
        row["outer_id"]: row for row in world.held(resource) if (row["outer_id"] or "").startswith("new-")
    }


def roster_of_all(world: World, *rows: Row) -> list[Row]:
    """These rows, and all pupils of the platform who have an outer_id, as they are."""
    own = {row["outer_id"] for row in rows}
    there = [record["row"] for record in world.platform.rows("v1_users", SCHOOL) if not record["trashed"]]
    return [
        *rows,
        *(
            pupil(0, **{name: str(record[name]) for name in ("outer_id", "usin", "name", "graduates_in")})
            for record in there
            if record["outer_id"] and record["role"] == 1 and record["outer_id"] not in own
        ),
    ]


def test_what_was_written_is_read_again_one_by_one(school: World, tmp_path: Path) -> None:
    rows = roster_of_all(school, *(pupil(number) for number in range(4)))
    assert apply(school, planned(school, tmp_path, *rows)) == 0
    users = len(school.held("v1_users"))
    assert set(held(school, "v1_users")) == set(held(school, "students")) == {f"new-{n}" for n in range(4)}

    rows[0] |= {"phone": "138"}
    (tmp_path / "second").mkdir()
    plan = planned(school, tmp_path / "second", *rows[:3], *rows[4:], pupil(9), delete=True)
    school.platform.clear_log()
    assert apply(school, plan) == 0
    requests = [
        entry for entry in school.platform.log() if entry["path"] == USERS and entry["method"] == "GET"
    ]
    # A look before each of three writes, and one after it; once, whether who is archived is hidden.
    by_name = [entry for entry in requests if "outer_id" in entry["query"]]
    assert len(by_name) < 12
    # The guard on deletions reads everybody once, which takes 14 requests.
    assert len(requests) - len(by_name) <= 18
    for resource in ("v1_users", "students", "reflections"):
        assert set(held(school, resource)) == {"new-0", "new-1", "new-2", "new-9"}, resource
    assert held(school, "v1_users")["new-0"]["phone"] == "138"
    assert len(school.held("v1_users")) == users


def test_many_changes_are_read_again_in_one_reading(school: World, tmp_path: Path) -> None:
    rows = [pupil(number) for number in range(20, 35)]
    plan = planned(school, tmp_path, *rows)
    school.platform.clear_log()
    assert apply(school, plan) == 0
    requests = [entry for entry in school.platform.log() if "outer_id" in entry["query"]]
    # The looks alone, each of which asks again where there is nobody.
    assert len(requests) == 2 * len(rows)
    assert set(held(school, "v1_users")) >= {row["outer_id"] for row in rows}


def test_results_are_there_though_the_platform_is_not(
    school: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = planned(school, tmp_path, *(pupil(number) for number in range(40, 60)))
    # What shows users besides, and is asked for after they are written, is away.
    school.platform.set_faults({"kind": "status", "status": 503, "path": "/api/v3/reflection/*"})
    apply(school, plan)
    school.platform.set_faults()
    with plan.with_suffix(".result.csv").open(encoding="utf-8-sig") as file:
        assert [row["outcome"] for row in csv.DictReader(file)] == ["written"] * 20
    assert "20 written" in capsys.readouterr().out


def test_a_plan_for_another_platform_is_not_applied(
    school: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = planned(school, tmp_path, pupil(70))
    school.platform.clear_log()
    other = school.platform.base_url.replace("127.0.0.1", "localhost")
    assert run_apply(writing(school, base_url=other), str(plan), dry=False, build=False) == 2
    assert f"is a plan for the platform {school.platform.base_url}" in capsys.readouterr().err
    assert not [
        entry for entry in school.platform.log() if entry["method"] != "GET" and "v1" in entry["path"]
    ]


def test_the_guard_on_deletions_is_asked_again_when_a_plan_is_applied(
    school: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = {f"gone-{number}" for number in range(8)}
    rows = roster_of_all(school, *(pupil(100 + n, outer_id=f"gone-{n}") for n in range(8)))
    assert apply(school, planned(school, tmp_path, *rows)) == 0
    (tmp_path / "without").mkdir()
    rest = [row for row in rows if row["outer_id"] not in gone]
    plan = planned(school, tmp_path / "without", *rest, delete=True)
    # Sealed while 100% could be deleted; by now 5% are the most.
    careful = writing(school)
    roster = RosterOptions(max_deleted_share=0.05)
    writes = careful.options.writes.model_copy(update={"roster": roster})
    options = careful.options.model_copy(update={"writes": writes})
    school.platform.clear_log()
    careful = careful.model_copy(update={"options": options})
    assert run_apply(careful, str(plan), dry=False, build=False) == 2
    assert "the plan would delete 8 of " in capsys.readouterr().err
    assert {entry["method"] for entry in school.platform.log() if "reflections" in entry["path"]} == {"GET"}
    assert apply(school, plan) == 0


def test_an_old_plan_is_not_applied(
    school: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = planned(school, tmp_path, pupil(77))
    writes = writing(school).options.writes.model_copy(update={"keep_plans": 0})
    options = school.settings.options.model_copy(update={"writes": writes})
    assert run_apply(writing(school, options=options), str(plan), dry=False, build=False) == 2
    assert "make a new plan" in capsys.readouterr().err


def test_a_plan_that_refuses_most_rows_is_applied_only_where_a_person_says_so(
    school: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = [pupil(number, name="") for number in range(80, 91)]
    plan = planned(school, tmp_path, pupil(79), *bad)
    assert apply(school, plan) == 2
    assert "11 of 12 rows of the roster are refused" in capsys.readouterr().err
    assert apply(school, plan, despite_refused=True) == 0
    (tmp_path / "handful").mkdir()
    plan = planned(school, tmp_path / "handful", pupil(78), *bad[:10])
    assert apply(school, plan) == 0
