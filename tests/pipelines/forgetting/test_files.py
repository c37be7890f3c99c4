"""Files and stores of a home that may name a forgotten person, and what says that a request is unfinished."""

import json
from contextlib import closing
from datetime import date
from pathlib import Path

import duckdb
import pytest

from campus.attendance.calendar import Session
from loading.tables import TABLES
from pipelines.backup import restore
from pipelines.forgetting.account import unproven
from pipelines.forgetting.files import (
    arrived_files,
    delete_extracts,
    delete_logs,
    delete_logs_of_school,
    delete_plans,
    files_below,
)
from pipelines.forgetting.home import forget_again
from pipelines.forgetting.job import Job, note_files_of_others
from pipelines.forgetting.proof import all_files
from pipelines.forgetting.requests import Request
from pipelines.settings.settings import settings_apart
from tests.kits.programs.command_line import campus
from warehouse.forgetting.forgotten import Forgotten, matcher, read_file, with_person, write_file
from warehouse.forgetting.identity import Person
from warehouse.forgetting.search import Search
from warehouse.forgetting.sqlite_rows import forget_school_in
from warehouse.lake.delta import Lake
from writeback.notes import leave_note, notes
from writeback.store.forgetting import forget_in_store
from writeback.store.location import store_path
from writeback.store.notes import Note
from writeback.store.store import Store

SCHOOL, ID, OTHER = 101, 101000019, 101000020
NAME = "王小明"
PERSON = Person(SCHOOL, "student", frozenset((ID,)), frozenset((ID,)), names=frozenset((NAME,)))
LISTED = with_person(Forgotten(), SCHOOL, "student", PERSON.marks, since="now", choices={})[0]


def test_plans_and_notes_about_them_go(tmp_path: Path) -> None:
    plans = tmp_path / "plans"
    plans.mkdir()
    (plans / "roster-1.json").write_text(json.dumps({"name": NAME}))
    (plans / "roster-2.json").write_text(json.dumps({"name": "李四"}))
    for school, plan in ((SCHOOL, "roster-1"), (SCHOOL, "roster-2")):
        leave_note(tmp_path, Note("swipes", school, plan, str(plans / f"{plan}.json"), problem="x"))
    assert delete_plans(tmp_path, SCHOOL, Search([PERSON]), apply=False) == 1
    assert delete_plans(tmp_path, SCHOOL, Search([PERSON]), apply=True) == 1
    assert {path.name for path in plans.iterdir()} == {"roster-2.json"}
    assert [note.name for note in notes(tmp_path)] == ["roster-2"]


def test_notes_that_name_a_person_go(tmp_path: Path) -> None:
    for name in (f"{NAME}.csv", "others.csv"):
        leave_note(tmp_path, Note("swipes", SCHOOL, name, problem="it makes no sense"))
    listed = matcher(LISTED, SCHOOL)
    assert listed is not None
    assert forget_in_store(store_path(tmp_path), SCHOOL, listed, apply=True) == (0, 1)
    assert [note.name for note in notes(tmp_path)] == ["others.csv"]


def test_logs_and_notes_that_name_a_person_go(tmp_path: Path) -> None:
    for folder in ("ui", "assistant"):
        (tmp_path / folder).mkdir()
    texts = {"ui/daemon.log": f"no {NAME}", "ui/webserver.log": "ok", "told.json": NAME}
    for name, text in (texts | {"assistant/questions.jsonl.1": f'{{"sql": "{NAME}"}}'}).items():
        (tmp_path / name).write_text(text)
    assert delete_logs(tmp_path, Search([PERSON]), apply=True) == 3
    assert [path.name for path in (tmp_path / "ui").iterdir()] == ["webserver.log"]


def test_only_extracts_are_deleted(tmp_path: Path) -> None:
    for name, table in (("study.duckdb", "extract"), ("own.duckdb", "other")):
        with closing(duckdb.connect(str(tmp_path / name))) as con:
            con.execute(f"CREATE SCHEMA about; CREATE TABLE about.{table} (key_name VARCHAR)")
    assert delete_extracts(tmp_path, apply=True) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["own.duckdb"]


@pytest.mark.usefixtures("own_runs")
def test_linked_folders_are_searched_once(tmp_path: Path) -> None:
    """A lake on another disk, a link that leads back, and one to a file elsewhere."""
    home, disk = tmp_path / "home", tmp_path / "disk"
    for path in (disk / "students" / "part.parquet", home / "logs" / "a.log", tmp_path / "b.log"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    (home / "lake").symlink_to(disk)
    (disk / "back").symlink_to(home)
    (home / "logs" / "again").symlink_to(disk / "students")
    (home / "latest.log").symlink_to(home / "logs" / "a.log")
    (home / "b.log").symlink_to(tmp_path / "b.log")
    (home / "gone.log").symlink_to(tmp_path / "nowhere")
    settings = settings_apart(home)
    names = [name for name, _ in all_files(settings, Lake(str(home / "lake")))]
    assert names == ["b.log", "lake/students/part.parquet", "logs/a.log"]
    assert files_below(home / "logs") == [home / "logs" / "a.log"]


def test_extracts_in_linked_folders_are_deleted(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    with closing(duckdb.connect(str(tmp_path / "disk" / "study.duckdb"))) as con:
        con.execute("CREATE SCHEMA about; CREATE TABLE about.extract (key_name VARCHAR)")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "studies").symlink_to(tmp_path / "disk")
    assert delete_extracts(tmp_path / "home", apply=True) == 1
    assert not list((tmp_path / "disk").iterdir())


def test_files_that_arrived_are_those_of_the_school_and_no_links(tmp_path: Path) -> None:
    for school in ("101", "102"):
        (tmp_path / school / "rosters" / "done").mkdir(parents=True)
        (tmp_path / school / "rosters" / "next.csv").write_text("id")
        (tmp_path / school / "rosters" / "done" / "old.csv").write_text("id")
    (tmp_path / "101" / "rosters" / "link.csv").symlink_to(tmp_path / "102" / "rosters" / "next.csv")
    (tmp_path / "101" / "swipes").symlink_to(tmp_path / "102" / "rosters")
    folder = tmp_path / "101" / "rosters"
    assert arrived_files(tmp_path, 101, done=False) == [folder / "next.csv"]
    assert arrived_files(tmp_path, 101, done=True) == [folder / "done" / "old.csv"]


def test_unfinished_lessons_lose_the_mark_of_the_person(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        lessons = store.lessons
        lessons.keep(SCHOOL, Session(1, date(2025, 3, 20), 1), {ID: "late", OTHER: "late"})
        lessons.keep(SCHOOL, Session(2, date(2025, 3, 20), 1), {ID: "late"})
        lessons.keep(102, Session(3, date(2025, 3, 20), 1), {ID: "late"})
    listed = matcher(LISTED, SCHOOL)
    assert listed is not None
    path = store_path(tmp_path)
    assert forget_in_store(path, SCHOOL, listed, apply=False) == (2, 0)
    assert forget_in_store(path, SCHOOL, listed, apply=True) == (2, 0)
    assert forget_in_store(path, SCHOOL, listed, apply=True) == (0, 0)
    with Store(tmp_path) as store:
        assert list(store.lessons.of(SCHOOL).values()) == [{OTHER: "late"}]
        assert len(store.lessons.of(102)) == 1
    assert forget_school_in(path, 102, apply=True) == 1


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home that is not there yet, and Dagster's below it."""
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "home" / "dagster"))
    return tmp_path / "home"


def test_restored_home_says_that_the_list_is_to_be_applied(home: Path, tmp_path: Path) -> None:
    """Whatever kills a restore after its files are there, the list is in the lake, and the next look at the
    home shows what is left to do."""
    Lake(str(tmp_path / "backup" / "lake")).ensure([TABLES["students"]])
    write_file(tmp_path / "forgotten.json", LISTED)
    restore(settings_apart(home), tmp_path / "backup", [tmp_path / "forgotten.json"])
    assert read_file(home / "lake" / "forgotten.json").persons == 1
    [line] = unproven(home)
    assert "campus forget --again" in line


def test_restored_home_without_a_list_needs_nothing(home: Path, tmp_path: Path) -> None:
    Lake(str(tmp_path / "backup" / "lake")).ensure([TABLES["students"]])
    restore(settings_apart(home), tmp_path / "backup")
    assert unproven(home) == [] and not (home / "lake" / "forgotten.json").exists()


def test_names_of_waiting_files_are_shown_and_not_written_down(tmp_path: Path) -> None:
    """A file may be called by a phone that nobody knows any more."""
    said: list[str] = []
    request = Request(SCHOOL, "student", ID, (PERSON,))
    job = Job.of(settings_apart(tmp_path / "home"), request, {}, said.append, apply=False)
    file = tmp_path / "101" / "rosters" / "17000055555.csv"
    note_files_of_others(job, tmp_path, [file])
    assert str(file) in said[0]
    assert "17000055555" not in str(job.account) and "(1) name what is forgotten" in job.account.left[0]


@pytest.mark.parametrize("arguments", [["--school", "777"], ["--school", "777", "--dry-run"]])
def test_unknown_school_is_not_put_on_the_list(arguments: list[str], tmp_path: Path) -> None:
    """A wrong number would keep another school from being loaded."""
    said = campus(tmp_path, "forget", *arguments, CAMPUS_HOME=str(tmp_path / "home"), HOME=str(tmp_path))
    assert said.exit_code == 1 and "has nothing of school 777" in said.output
    assert not (tmp_path / "home" / "lake" / "forgotten.json").exists()


def test_unfinished_requests_are_told_in_words(tmp_path: Path) -> None:
    folder = tmp_path / "forgetting"
    folder.mkdir()
    for name in ("101-student-5", "102-school-102", "103-several-0"):
        (folder / f"{name}.json").write_text("{}")
    student, school, several = unproven(tmp_path)
    assert "a student of school 101" in student and "5" not in student.replace(str(folder), "")
    assert "campus forget of school 102" in school and "--again" in several


def test_damaged_request_is_one_line(tmp_path: Path) -> None:
    folder = tmp_path / "home" / "forgetting"
    folder.mkdir(parents=True)
    (folder / "101-student-5.json").write_text("{")
    environment = {"CAMPUS_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}
    said = campus(tmp_path, "forget", "--school", "101", "--student", "5", "--dry-run", **environment)
    assert said.exit_code == 1 and "truncated" in said.output


def test_notes_and_logs_of_a_school_go(tmp_path: Path) -> None:
    (tmp_path / "ui").mkdir()
    (tmp_path / "ui" / "daemon.log").write_text(f"The run school_night of school {SCHOOL} failed")
    (tmp_path / "ui" / "webserver.log").write_text(f"Rows: {SCHOOL}7")
    assert delete_logs_of_school(tmp_path, SCHOOL, apply=True) == 1
    assert [path.name for path in files_below(tmp_path / "ui")] == ["webserver.log"]


def test_deleted_exports_of_any_school_return(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`campus forget --again` publishes once for all schools. Here only the second school has an export."""
    exported: list[str] = []
    monkeypatch.setattr("pipelines.forgetting.republish.run_build", lambda *_: 0)
    monkeypatch.setattr("pipelines.forgetting.republish.run_export", lambda *_: exported.append("all"))
    second = SCHOOL + 1
    both = with_person(LISTED, second, "student", PERSON.marks, since="now", choices={})[0]
    settings = settings_apart(home)
    Lake(str(home / "lake")).ensure(TABLES[name] for name in ("user_fields", "v1_users"))
    write_file(home / "lake" / "forgotten.json", both)
    (home / "campus.duckdb").touch()
    export = home / "exports" / f"attendance_{second}_2025-03-20.xlsx"
    export.parent.mkdir()
    export.touch()
    first_account, second_account = forget_again(settings, {}, print)
    assert (first_account.school_id, second_account.school_id) == (SCHOOL, second)
    assert not export.exists() and exported == ["all"]
