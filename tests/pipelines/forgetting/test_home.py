"""The proof: a student of some forty tables is forgotten; then every file of the home is unpacked and
searched.

Slow, since it syncs, builds and restores a whole home; tests/warehouse/forgetting/test_lake.py has the same
of a lake alone."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import pytest

from campus.attendance.calendar import Session
from simulator.process import RunningSimulator, running
from tests.kits.leaks import leaks
from tests.kits.programs.command_line import campus, output_of
from tests.kits.programs.processes import environment_for, started
from tests.kits.pushes.receiving import leave_push
from warehouse.lake.delta import Lake
from writeback.notes import leave_note
from writeback.operations import CHANGE_USER, MARK_LESSON, Write
from writeback.store.journal import Provenance
from writeback.store.notes import Note
from writeback.store.outbox import Swipe
from writeback.store.store import Store

pytestmark = pytest.mark.slow

SCHOOL = 101
OPTIONS = """
writes: {{inbox: {{folder: {inbox}}}}}
safety: {{max_quarantined_share: 0.5}}
publish:
  audiences:
    operators: {{}}
    office: {{schemas: [core, marts, quality], to: {office}}}
"""
#: Quotes, an accent, an emoji, and letters that run from right to left.
NAME = "O'Bri\"en Zoë 😀 علي"


@dataclass
class Home:
    """A home that has a student everywhere, and what the student is known by."""

    path: Path
    platform: RunningSimulator
    environment: dict[str, str]
    student: int
    texts: set[str]
    numbers: set[int]
    totals: dict[str, Any]
    backups: Path

    def campus(self, *arguments: str) -> str:
        return output_of(self.path.parent, *arguments, **self.environment)

    def leaks(self) -> list[str]:
        """Where the student is named: in the home, in an audience's folder elsewhere, in files that were
        read."""
        places = (self.path, self.path.parent / "office", self.arrived / "done")
        return [leak for place in places for leak in leaks(place, self.texts, self.numbers)]

    @property
    def arrived(self) -> Path:
        """The folder in which rosters arrive."""
        return self.path.parent / "inbox" / str(SCHOOL) / "rosters"


def totals(home: Path) -> dict[str, Any]:
    """The rows of each mart, and the sum of each of its numbers."""
    with duckdb.connect(str(home / "campus.duckdb"), read_only=True) as con:
        by_mart: dict[str, Any] = {}
        columns = con.execute(
            "SELECT table_name, list({name: column_name, type: data_type}) FROM duckdb_columns() "
            "WHERE schema_name = 'marts' GROUP BY ALL"
        ).fetchall()
        for table, named in columns:
            numbers = [
                column["name"]
                for column in named
                if column["type"].startswith(("BIGINT", "INTEGER", "DOUBLE", "DECIMAL", "BOOLEAN"))
                and "[" not in column["type"]
                and not column["name"].endswith("_id")
            ]
            sums = ", ".join(f'round(sum(CAST("{name}" AS DOUBLE)), 6)' for name in sorted(numbers))
            by_mart[table] = con.execute(f'SELECT count(*), {sums or 0} FROM marts."{table}"').fetchall()
        return by_mart


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """Before anybody was forgotten: loaded, changed and loaded again, exported, backed up."""
    folder = tmp_path_factory.mktemp("forgotten")
    path = folder / "home"
    path.mkdir()
    (path / "campus.yaml").write_text(OPTIONS.format(inbox=folder / "inbox", office=folder / "office"))
    with running(schools=1, students=24, semesters=1, core_subjects=4, today="2025-03-20") as platform:
        environment = environment_for(
            path,
            platform,
            CAMPUS_REPORTS="student_summary,certificates",
            CAMPUS_ALLOW_WRITES="true",
            DAGSTER_HOME=str(path / "dagster"),
            HOME=str(folder),
        )
        guardian = next(
            entry["row"]
            for entry in platform.rows("v1_users", SCHOOL)
            if entry["row"].get("student_id") is not None
        )
        student = guardian["student_id"]
        for resource in ("students", "reflections", "v1_users"):
            platform.update(resource, student, name=NAME, phone="17000055555")
        own = platform.rows("scores", SCHOOL)
        mine = next(entry for entry in own if entry["row"]["owner_id"] == student)
        other = next(entry for entry in own if entry["row"]["owner_id"] != student)
        user = next(e["row"] for e in platform.rows("v1_users", SCHOOL) if e["key"] == student)
        texts = {NAME, "17000055555", user["outer_id"], user["usin"], user["email"], user["avatar_url"]}
        texts |= {guardian[name] for name in ("name", "phone", "email", "avatar_url")}
        made = Home(
            path,
            platform,
            environment,
            student,
            {text for text in texts if text},
            {student, guardian["id"]},
            {},
            folder / "backups",
        )
        made.campus("sync")
        platform.update("scores", mine["key"], review=f"{NAME} talks a lot")
        platform.update("scores", other["key"], review=f"quarrels with {NAME}!")
        # It has no readable key, so that it stays in quarantine.
        platform.insert("students", SCHOOL, id="?", name=NAME, usin=user["usin"], outer_id=user["outer_id"])
        made.campus("sync")
        platform.update("scores", mine["key"], review="better now")
        made.campus("sync")
        made.campus("export", "--all")
        made.campus("extract", "--pseudonymous", "--to", str(path / "study.duckdb"))
        _leave_traces(made, mine["row"]["item_id"])
        made.campus("backup", "--first", str(made.backups))
        made.totals = totals(path)
        assert len({leak.partition(" ")[0] for leak in made.leaks()}) > 40
        yield made


def _leave_traces(home: Home, item_id: int) -> None:
    """What pushes, writes, swipes, plans and Dagster's records have of the student."""
    leave_push(home.path, SCHOOL, "students", home.student, {"id": home.student})
    with Store(home.path) as store:
        store.outbox.add(
            [Swipe(0, SCHOOL, 9, "rid", str(home.student), "2025-03-20 08:00:00", "swipes.csv", 2)]
        )
        journal = store.journal
        for write in (
            Write(CHANGE_USER, SCHOOL, id=home.student, content={"name": NAME, "phone": "17000055555"}),
            Write(MARK_LESSON, SCHOOL, id=7, content=[{"student_id": home.student, "status": "late"}]),
        ):
            number = journal.begin(write, Provenance("test", "roster.csv"), NAME)
            journal.end(number, "done", 200, json.dumps({"id": home.student, "name": NAME}))
            if write.operation is CHANGE_USER:
                # The other one waits in the journal.
                journal.file(Lake(str(home.path / "lake")))
        session = Session(7, date(2025, 3, 20), 1)
        store.lessons.keep(SCHOOL, session, {home.student: "late", home.student + 1: "late"})
    done = home.arrived / "done"
    for folder in (home.path / "plans", done, home.path / "scratch", home.path / "build", home.path / "ui"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"roster-{SCHOOL}.json").write_text(json.dumps({"name": NAME, "id": home.student}))
    plan = home.path / "plans" / f"roster-{SCHOOL}.json"
    leave_note(home.path, Note("rosters", SCHOOL, "roster.csv", str(plan), counts="1 to change"))
    (home.path / "told.json").write_text(json.dumps({"to_do": [f"{NAME} could not be loaded"]}))
    (done / "20250320-080000-17000055555.csv").write_text("id,name\n")
    (home.arrived / "17000055555.csv").write_text(f"id,name\n{home.student},x\n")


@pytest.fixture(scope="module")
def forgotten(home: Home) -> Home:
    """The same after the first attempt was killed half-way, and the second came to its end."""
    dry = home.campus("forget", "--school", str(SCHOOL), "--student", str(home.student), "--dry-run")
    assert "Nothing was changed" in dry and totals(home.path) == home.totals
    _kill_half_way(home)
    assert "has not come to its end" in campus(home.path.parent, "status", **home.environment).output
    said = home.campus("forget", "--school", str(SCHOOL), "--student", str(home.student), "--yes")
    assert "nothing was found" in said and "17000055555.csv" in said
    assert NAME not in said and str(home.student) not in said
    return home


def _kill_half_way(home: Home) -> None:
    command = ["campus", "forget", "--school", str(SCHOOL), "--student", str(home.student), "--yes"]
    with started(command, home.environment, home.path.parent) as program:
        for line in program.stdout:
            if "scores" in line:
                break
    assert list((home.path / "forgetting").glob("*.json"))


def test_no_file_of_the_home_names_the_student(forgotten: Home) -> None:
    assert forgotten.leaks() == []
    assert not list((forgotten.path / "forgetting").iterdir())
    assert not list((forgotten.arrived / "done").glob("*17000055555*"))


def test_audiences_have_one_new_file_and_extracts_none(forgotten: Home) -> None:
    with duckdb.connect(str(forgotten.path / "campus.duckdb"), read_only=True) as con:
        published = con.sql("SELECT generation FROM quality.publication").fetchall()
    for folder in (forgotten.path / "audiences" / "operators", forgotten.path.parent / "office"):
        with duckdb.connect(str(folder / "campus.duckdb"), read_only=True) as con:
            assert con.sql("SELECT generation FROM quality.publication").fetchall() == published
        assert [path.stem for path in (folder / "generations").iterdir()] == [published[0][0]]
    assert not (forgotten.path / "study.duckdb").exists()


def test_marks_of_others_stay_in_unfinished_lessons(forgotten: Home) -> None:
    with Store(forgotten.path) as store:
        assert list(store.lessons.of(SCHOOL).values()) == [{forgotten.student + 1: "late"}]


def test_totals_of_all_marts_stay(forgotten: Home) -> None:
    assert totals(forgotten.path) == forgotten.totals


def test_account_proves_it_and_names_nobody(forgotten: Home) -> None:
    [path] = (forgotten.path / "forgotten").glob("*.json")
    account = json.loads(path.read_text())
    assert account["accounts"] == 2 and account["found"] == account["unread"] == []
    assert account["searched_files"] > 100 and account["searched_tables"] > 200
    changed = {store["name"] for store in account["stores"] if store["rows"] or store["files"]}
    assert changed >= {"past_rows", "changes", "writes", "writes.sqlite", "notes and logs", "extracts"}
    assert {"files of audiences", "files that were read"} <= changed
    assert path.stat().st_mode & 0o777 == 0o600


def test_list_has_no_id_and_is_private(forgotten: Home) -> None:
    path = forgotten.path / "lake" / "forgotten.json"
    assert path.stat().st_mode & 0o777 == 0o600
    assert str(forgotten.student) not in path.read_text()


def test_syncs_bring_nobody_back(forgotten: Home) -> None:
    """An incremental one, a full one, and a push of the very student."""
    forgotten.campus("sync")
    assert forgotten.leaks() == []
    forgotten.campus("sync", "--full")
    assert forgotten.leaks() == []
    with duckdb.connect(str(forgotten.path / "campus.duckdb"), read_only=True) as con:
        loads = con.sql(
            "SELECT sum(vanished), count(*) FILTER (status = 'failed') FROM quality.load_log "
            "WHERE sync_id = (SELECT max(sync_id) FROM quality.load_log)"
        ).fetchall()
        wrong = con.sql("FROM quality.reconciliation WHERE measure = 'rows' AND NOT agrees").fetchall()
    assert loads == [(0, 0)] and wrong == []


def test_forgetting_again_changes_no_row(forgotten: Home) -> None:
    said = forgotten.campus("forget", "--school", str(SCHOOL), "--student", str(forgotten.student), "--yes")
    assert "rows changed" not in said and forgotten.leaks() == []


def test_restored_backup_names_nobody(forgotten: Home, tmp_path: Path) -> None:
    """A backup from before, restored with the list of the home that was lost."""
    home = tmp_path / "home"
    environment = {**forgotten.environment, "CAMPUS_HOME": str(home), "DAGSTER_HOME": str(home / "dagster")}
    lists = str(forgotten.path / "lake" / "forgotten.json")
    result = campus(tmp_path, "restore", str(forgotten.backups), "--forgotten", lists, **environment)
    assert result.exit_code == 0, result.output
    assert leaks(home, forgotten.texts, forgotten.numbers) == []
    assert totals(home) == forgotten.totals


def test_school_is_removed_and_stays_away(forgotten: Home) -> None:
    said = forgotten.campus("forget", "--school", str(SCHOOL), "--yes")
    assert "Forgotten" in said and f"--school {SCHOOL} --allow" in said
    name = forgotten.platform.rows("schools", 0)[0]["row"]["name"]
    assert leaks(forgotten.path / "lake", {name}, set()) == []
    forgotten.campus("sync")
    with duckdb.connect(str(forgotten.path / "campus.duckdb"), read_only=True) as con:
        assert con.sql("SELECT count(*) FROM raw.students").fetchall() == [(0,)]
    named = {**forgotten.environment, "CAMPUS_SCHOOL_IDS": str(SCHOOL)}
    refused = campus(forgotten.path.parent, "sync", **named)
    assert refused.exit_code == 1 and "was forgotten" in refused.output
    forgotten.campus("forget", "--school", str(SCHOOL), "--allow")
    forgotten.campus("sync", "--school", str(SCHOOL))
    assert forgotten.leaks() == []
