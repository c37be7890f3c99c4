"""`campus roster`, as a person runs it: what it shows, what it refuses, and that it asks before it writes."""

import csv
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path

import duckdb
import msgspec
import pytest
from click.testing import CliRunner, Result

from pipelines.cli.main import main
from simulator.process import RunningSimulator, running
from tests.kits.programs.processes import environment_for
from tests.kits.writes.rosters import SCHOOL, Town, pupil
from writeback.roster.plan_file import load_plan, save_plan

CONFIG = """
writes:
  settling: 0.05
  roster:
    columns: {初始密码: PASSWORD}
    defaults: {role: 学生}
"""
SCHOOL_OF_ALL = ("--school", str(SCHOOL))


@pytest.fixture(scope="module")
def platform() -> Iterator[RunningSimulator]:
    with running(schools=1, students=12) as simulator:
        yield simulator


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "campus.yaml").write_text(CONFIG, encoding="utf-8")
    return folder


@pytest.fixture
def town(platform: RunningSimulator, home: Path) -> Town:
    platform.clear_log()
    return Town(platform, home)


def roster(town: Town, *words: str, writes: str = "true") -> Result:
    """Run `campus roster` with these words."""
    environment = environment_for(town.home, town.platform, CAMPUS_ALLOW_WRITES=writes)
    return CliRunner().invoke(main, ["roster", *words], env=environment)


def file_of(town: Town, *rows: Mapping[str, str]) -> Path:
    path = town.home.parent / "roster.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def the_plan(town: Town) -> Path:
    [path] = (town.home / "plans").glob("roster-*.json")
    return path


def written(town: Town) -> int:
    return sum(
        entry["method"] != "GET" and entry["path"].startswith("/api/v1/") for entry in town.platform.log()
    )


def test_a_roster_from_file_to_done(town: Town) -> None:
    path = file_of(town, pupil(1, 初始密码="Zx9-secret"), pupil(2, name="", 初始密码=""))
    planned = roster(town, "plan", str(path), *SCHOOL_OF_ALL, writes="false")
    # Rows that are refused are for a person to mend.
    assert planned.exit_code == 1
    assert "1 to be created" in planned.output
    assert "line 3: refused: name is missing" in planned.output
    assert f"To carry it out: campus roster apply {the_plan(town)}" in planned.output
    assert "新生1" not in planned.output
    assert written(town) == 0

    forbidden = roster(town, "apply", str(the_plan(town)), writes="false")
    assert forbidden.exit_code == 2
    assert "CAMPUS_ALLOW_WRITES is not true" in forbidden.output
    dry = roster(town, "apply", str(the_plan(town)), "--dry-run", writes="false")
    assert dry.exit_code == 0
    assert "would: new-1: create" in dry.output
    assert written(town) == 0

    done = roster(town, "apply", str(the_plan(town).with_suffix(".xlsx")), "--no-build")
    assert done.exit_code == 0, done.output
    assert "1 written" in done.output
    assert len(town.true("new-1")) == 1
    results = the_plan(town).with_suffix(".result.csv")
    assert results.read_text("utf-8-sig") == "line,key,outcome,words\n2,new-1,written,created\n"
    assert results.stat().st_mode & 0o077 == 0
    assert "Zx9-secret" not in planned.output + dry.output + done.output


def test_passwords_of_a_roster_that_has_changed_are_not_sent(town: Town) -> None:
    path = file_of(town, pupil(10, 初始密码="Zx9-secret"))
    assert roster(town, "plan", str(path), *SCHOOL_OF_ALL).exit_code == 0
    file_of(town, pupil(10, 初始密码="another"))
    done = roster(town, "apply", str(the_plan(town)))
    assert done.exit_code == 2
    assert "has changed since the plan was made of it: make a new plan" in done.output
    assert town.true("new-10") == []


def test_another_file_in_the_place_of_the_roster_is_not_quoted(town: Town) -> None:
    path = file_of(town, pupil(15, 初始密码="Zx9-secret"))
    assert roster(town, "plan", str(path), *SCHOOL_OF_ALL).exit_code == 0
    other = town.home.parent / "other"
    other.write_text("hunter2, the first line")
    path.unlink()
    path.symlink_to(other)
    done = roster(town, "apply", str(the_plan(town)))
    assert done.exit_code == 2
    assert "has changed since the plan was made of it: make a new plan" in done.output
    assert "hunter2" not in done.output


def test_a_plan_is_carried_out_once(town: Town) -> None:
    """A pupil who has left since is not made again by the same plan."""
    assert roster(town, "plan", str(file_of(town, pupil(16))), *SCHOOL_OF_ALL).exit_code == 0
    name = the_plan(town).stem
    done = roster(town, "apply", name, "--no-build")
    assert done.exit_code == 0, done.output
    [made] = town.true("new-16")
    town.platform.delete("reflections", made["id"])
    assert town.true("new-16") == []
    town.platform.clear_log()
    again = roster(town, "apply", name, "--no-build")
    assert again.exit_code == 2
    assert f"the plan {name} was carried out to its end at " in again.output
    assert written(town) == 0


def test_a_key_that_others_can_read_is_told_in_a_line(town: Town) -> None:
    assert roster(town, "plan", str(file_of(town, pupil(17))), *SCHOOL_OF_ALL).exit_code == 0
    (town.home / "keys" / "plans").chmod(0o644)
    done = roster(town, "apply", str(the_plan(town)))
    assert done.exit_code in (1, 2)
    assert "must belong to the user that runs campus, with mode 600" in done.output
    assert "Traceback" not in done.output and written(town) == 0


def test_a_plan_that_was_edited_writes_nothing(town: Town) -> None:
    assert roster(town, "plan", str(file_of(town, pupil(20))), *SCHOOL_OF_ALL).exit_code == 0
    path = the_plan(town)
    path.write_text(path.read_text().replace("新生20", "别人"))
    done = roster(town, "apply", str(path))
    assert done.exit_code == 2
    message = f"the plan {path.stem} was edited, renamed, or made elsewhere: make a new plan"
    assert message in " ".join(done.output.split())
    assert written(town) == 0


@pytest.mark.parametrize(
    ("age", "problem"),
    [
        (timedelta(hours=-1), "is dated in the future: make a new plan"),
        (timedelta(days=400), "days ago (writes.keep_plans): make a new plan"),
    ],
)
def test_a_plan_is_valid_for_its_days(town: Town, age: timedelta, problem: str) -> None:
    """Also one with the seal of this home that somebody dated ahead."""
    assert roster(town, "plan", str(file_of(town, pupil(20))), *SCHOOL_OF_ALL).exit_code == 0
    plan = load_plan(town.home, the_plan(town).stem)
    dated = msgspec.structs.replace(plan, made_at=plan.made_at - age)
    result = roster(town, "apply", str(save_plan(dated, town.home, "dated")), "--no-build")
    assert result.exit_code == 2 and problem in " ".join(result.output.split())
    assert written(town) == 0


def table_of_the_warehouse(town: Town, columns: str, *values: str) -> None:
    with duckdb.connect(str(town.home / "campus.duckdb")) as con:
        con.execute("CREATE SCHEMA own")
        con.execute(f"CREATE TABLE own.roster ({columns})")
        con.execute(f"INSERT INTO own.roster VALUES ({', '.join('?' * len(values))})", values)


def test_a_table_of_the_warehouse_is_a_roster(town: Town) -> None:
    columns = "outer_id VARCHAR, usin VARCHAR, name VARCHAR, graduates_in INTEGER"
    table_of_the_warehouse(town, columns, "new-30", "N000030", "王明", "2025")
    planned = roster(town, "plan", "own.roster", *SCHOOL_OF_ALL)
    assert planned.exit_code == 0, planned.output
    assert "1 to be created" in planned.output


@pytest.mark.parametrize("column", ["PassWord", "初始密码", "身份证"])
def test_no_secret_is_taken_from_the_warehouse(town: Town, column: str) -> None:
    """Whatever campus.yaml calls it: what is there is kept for ever."""
    table_of_the_warehouse(town, f'outer_id VARCHAR, "{column}" VARCHAR', "new-40", "Zx9-secret")
    planned = roster(town, "plan", "own.roster", *SCHOOL_OF_ALL)
    assert planned.exit_code == 2
    assert f"{column} is taken from a file alone" in planned.output
    assert "Zx9" not in planned.output


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("nothing.csv", "cannot be read: No such file"),
        ("nothing.at_all", "is no file, and no schema.table of"),
    ],
)
def test_a_roster_that_is_not_there_is_told_in_a_line(town: Town, source: str, problem: str) -> None:
    planned = roster(town, "plan", source, *SCHOOL_OF_ALL)
    assert planned.exit_code == 2
    assert problem in planned.output
    assert "Traceback" not in planned.output
