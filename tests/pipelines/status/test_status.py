"""What `campus status` says of each school, and what it tells to do."""

import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest
from rich.cells import cell_len
from rich.console import Console

from assets.shared.markdown import text
from campus.registry import RESOURCES
from loading.freshness import freshness_rows
from loading.pushes.inbox import open_inbox
from loading.tables import TABLES, slice_of
from pipelines.cli.actions.status import run_status, table_of
from pipelines.cli.terminal.display import console
from pipelines.lake.opening import lake_of
from pipelines.notices.automation import metadata_of
from pipelines.runs.instance import open_instance
from pipelines.runs.jobs import DISCOVERY
from pipelines.runs.writer_locks import writing
from pipelines.settings.options import DatasetOptions, Options
from pipelines.settings.settings import Settings
from pipelines.status import report
from pipelines.status.report import READ_ONLY_RECORDS, SchoolStatus, Status, ago, status_of
from pipelines.status.school_groups import name_schools
from pipelines.status.text import GROUPS, MOST_LINES, MOST_ROWS, failure_lines, rows_of, summary_of
from tests.kits.servers.disks import shown_read_only
from tests.kits.servers.postgres import postgres
from tests.kits.worlds.world import World
from warehouse.age import STALE, Age
from warehouse.lake.delta import Lake
from warehouse.lake.logs.tables import LOGS
from warehouse.lake.tables import Slice
from warehouse.load.logs.load_log import now, record_failure, record_load, stay_in_quarantine
from warehouse.load.logs.maintenance_runs import record_maintenance
from warehouse.load.logs.writer import standing_rows
from warehouse.load.slice_reading import Cause
from writeback.store.store import Store

AT = datetime(2026, 3, 2, 7, 0)


pytestmark = pytest.mark.usefixtures("own_runs")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    settings = Settings(home=tmp_path, school_ids=(101, 102, 103))
    lake_of(settings).ensure(LOGS)
    return settings


def loaded(lake: Lake, resource: str, slice: Slice, hours_ago: float, *, whole: bool = True) -> None:
    began = now() - timedelta(hours=hours_ago)
    counts = {"status": "ok", "message": "", "complete": True, "whole": whole, "received": 1, "loaded": 1}
    cause = {"sync_id": "night", "run_id": "r", "started_at": began, "finished_at": began}
    record_load(lake, TABLES[resource], slice, {**cause, **counts})


def failed(lake: Lake, resource: str, slice: Slice, message: str) -> None:
    record_failure(lake, TABLES[resource], slice, Cause("n", "r", now()), message)


def test_a_home_in_which_nothing_was_loaded_says_so_and_is_left_alone(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home")
    status = status_of(settings)
    assert (status.schools, status.to_do) == ([], ["Nothing has been loaded yet: run campus sync."])
    assert not settings.home.exists()


def test_each_school_has_its_ages_failures_and_quarantine_and_the_steps_follow(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = lake_of(settings)
    schools = {school: Slice.of(_school_id=school) for school in settings.school_ids or ()}
    loaded(lake, "students", schools[101], 2)
    loaded(lake, "v1_users", schools[101], 60)
    loaded(lake, "students", schools[102], 100)
    loaded(lake, "teachers", schools[102], 100)
    for resource in ("students", "teachers"):
        failed(lake, resource, schools[102], "status 403: ask who issued the credentials.")
    scores = RESOURCES["scores"]
    seen = {"first_seen": AT, "last_seen": AT, "unit": "", "sync_id": "n"}
    bad = {"key": None, "reason": "no id", "raw": '{"name": "张三"}', **seen}
    stay_in_quarantine(lake, TABLES["scores"], slice_of(scores, 101, 20), [bad])
    settings.published.touch()

    first, second, third = status_of(settings).schools
    assert first.last_good == first.groups["base data"].as_of
    assert first.age.as_of == first.groups["v1"].as_of != first.last_good, "the oldest, not the last"
    assert (dict(first.quarantined), first.failures) == ({"scores": 1}, {})
    refused = "status 403: ask who issued the credentials."
    assert second.failures == {refused: [("students", "102"), ("teachers", "102")]}
    assert failure_lines([second]) == [f"school 102: students 102, teachers 102: {refused}"]
    assert second.last_good and now() - second.last_good > STALE
    assert second.age.as_of and second.age.as_of <= second.last_good
    assert second.age.failed.keys() == {"students", "teachers"}
    assert third.last_good is None

    assert run_status(settings) == 1
    output = " ".join(capsys.readouterr().out.split())
    assert "To do: No load for more than 26 hours of school 102: check that the schedule" in output
    assert "To do: School 103 was never loaded: run campus sync, or correct the id." in output
    assert "To do: Slices of school 102 could not be loaded, for the reasons above; " in output
    assert "To do: Rows of school 101 wait in quarantine: campus quarantine list" in output
    assert "张三" not in output and "never" in output
    # The UI says the same.
    page = str(metadata_of(status_of(settings))["status"].value)
    to_do = status_of(settings).to_do
    assert to_do and all(text(f"To do: {line}") in page for line in to_do)
    assert "| 103 |  | never |" in page


def test_maintenance_is_an_account_and_a_week_without_it_a_thing_to_do(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = lake_of(settings)
    assert not any("aintenance" in line for line in status_of(settings).notes), "a new lake"
    today = now()
    monkeypatch.setattr(report, "now", lambda: today + timedelta(days=8))
    assert f"The lake was not maintained since {today:%Y-%m-%d}: " in " ".join(status_of(settings).to_do)
    began = today + timedelta(days=6)
    removed = {"files": 1234, "bytes": 2_500_000, "loads": 0, "personal_rows": 2, "history_rows": None}
    record_maintenance(lake, {"started_at": began, "finished_at": began, **removed})
    status = status_of(settings)
    assert not any("not maintained" in line for line in status.to_do)
    assert (
        f"Last maintenance of the lake: {began:%Y-%m-%d %H:%M}, removed 1,234 files (2.5 MB), the personal "
        "columns of 2 deleted rows." in status.notes
    )


def test_what_was_never_loaded_is_named_and_no_last_good_rows_are_promised(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    """A first load of two schools, of one of which the platform refuses classes and grades."""
    settings = settings.model_copy(update={"school_ids": (101, 102)})
    lake = lake_of(settings)
    for school in (101, 102):
        loaded(lake, "students", Slice.of(_school_id=school), 0.1)
    for resource in ("classes", "grades"):
        failed(lake, resource, slice_of(RESOURCES[resource], 102, 20), "status 403")
    settings.published.touch()
    assert run_status(settings) == 1
    output = " ".join(capsys.readouterr().out.split())
    assert "To do: Never loaded whole, of school 102: classes, grades. Numbers made of these" in output
    assert "could not be loaded" in output and "ows of earlier loads stay" not in output
    first, second = rows_of(status_of(settings))
    assert (first[3], second[3]) == ("<1 h", "<1 h, 2 never")
    loaded(lake, "grades", slice_of(RESOURCES["grades"], 102, 20), 0)
    assert status_of(settings).schools[1].age.never == {"classes": ()}
    failed(lake, "students", Slice.of(_school_id=101), "status 403")
    assert any("Rows of earlier loads stay." in line for line in status_of(settings).to_do)


def test_a_school_that_is_refused_is_not_mistyped(settings: Settings) -> None:
    """A first sync has just ended, and the platform refuses one of the schools that it lists."""
    settings = settings.model_copy(update={"school_ids": None})
    lake = lake_of(settings)
    loaded(lake, "students", Slice.of(_school_id=101), 0.1)
    for resource in ("semesters", "v1_semesters"):
        failed(lake, resource, Slice.of(_school_id=102), "status 403: ask who issued the credentials.")
    settings.published.touch()
    status = status_of(settings)
    assert [school.problems(status.at) for school in status.schools] == [
        [],
        ["never loaded", "with slices that could not be loaded"],
    ]
    [line] = status.to_do
    assert line.startswith("School 102 was never loaded, for the reasons above; ")
    assert "mistyped" not in line and "26 hours" not in line and "earlier loads" not in line
    assert rows_of(status)[1][-2] == "2", "slices, as a sync and the UI count them"


def test_a_new_semester_that_is_refused_is_not_older(settings: Settings) -> None:
    """Classes of semester 20 are loaded; those of 21 never were."""
    settings = settings.model_copy(update={"school_ids": (101,)})
    lake = lake_of(settings)
    loaded(lake, "classes", slice_of(RESOURCES["classes"], 101, 20), 0.1)
    failed(lake, "classes", slice_of(RESOURCES["classes"], 101, 21), "status 403")
    settings.published.touch()
    status = status_of(settings)
    assert [line for line in status.to_do if line.startswith("Never")] == [
        "Never loaded whole, of school 101: classes (semester 21). Numbers made of these are missing or "
        "incomplete."
    ]
    assert not any("earlier loads stay" in line for line in status.to_do)
    assert rows_of(status)[0][3] == "<1 h, 1 never"


def test_nothing_to_do_is_said_and_ends_with_0(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = settings.model_copy(update={"school_ids": (101,)})
    lake = lake_of(settings)
    failed(lake, "students", Slice.of(_school_id=101), "it was down")
    loaded(lake, "students", Slice.of(_school_id=101), 0)
    settings.published.touch()
    with writing(settings, "campus sync", alone=True, patience=0, notify=print) as writer:
        assert run_status(settings) == 0
    output = capsys.readouterr().out
    assert "Nothing to do." in output and "it was down" not in output
    assert f"{writer} writes in" in output


def test_loads_without_dagsters_records_are_noted(settings: Settings) -> None:
    assert status_of(settings).notes == [], "nothing was loaded, so nothing is known to have run"
    loaded(lake_of(settings), "students", Slice.of(_school_id=101), 0)
    assert status_of(settings).notes == ["Dagster's records are not here: which runs failed is not known."]


def test_a_reader_needs_no_write_permission(
    tmp_path: Path, make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The home is mounted read-only. The store of writes and the inbox are in WAL mode."""
    world = make_world("small")
    assert world.load().problems == []
    with open_inbox(world.home), Store(world.home), open_instance(world.settings):
        pass
    monkeypatch.delenv("DAGSTER_HOME")
    with (
        writing(world.settings, "campus sync", alone=True, patience=0, notify=print) as writer,
        shown_read_only(world.home, tmp_path / "home") as home,
    ):
        # A file of a dead process, which no reader deletes.
        (world.home / "writers" / "dead.json").touch()
        settings = world.settings.model_copy(update={"home": home})
        before = sorted(home.rglob("*"))
        status = status_of(settings)
        assert sorted(home.rglob("*")) == before
    assert status.schools[0].last_good is not None
    assert f"{writer} writes in {settings.home} now." in status.notes
    assert READ_ONLY_RECORDS.format(folder=settings.home / "dagster") in status.notes


def test_a_district_whose_postgres_is_away_has_a_status(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded(lake_of(settings), "students", Slice.of(_school_id=101), 0)
    monkeypatch.setenv("DAGSTER_POSTGRES_URL", "postgresql+psycopg2://campus:secret@127.0.0.1:9/campus")
    settings = settings.model_copy(update={"school_ids": (101,)})
    settings.published.touch()
    assert run_status(settings) == 1
    output = " ".join(capsys.readouterr().out.split())
    assert (
        "To do: Which runs have failed, and whether this lake is the district's, is not known: the database "
        "in which Dagster keeps its runs does not answer: " in output
    )
    assert "101" in output and "secret" not in output and "records are not here" not in output


@pytest.mark.slow
def test_the_runs_of_a_district_are_read_from_postgres(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No dagster.yaml has been written on the machine that asks."""
    with postgres() as server:
        monkeypatch.setenv("DAGSTER_POSTGRES_URL", server.url)
        with open_instance(settings.model_copy(update={"home": settings.home / "elsewhere"})) as instance:
            job = dg.GraphDefinition(name=DISCOVERY).to_job()
            run = instance.create_run_for_job(job)
            instance.report_run_failed(run, "the machine went down")
        monkeypatch.delenv("DAGSTER_HOME")
        loaded(lake_of(settings), "students", Slice.of(_school_id=101), 0)
        assert any(line.startswith("The run discovery failed") for line in status_of(settings).to_do)


def test_what_was_read_in_part_is_counted_in_one_line(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, whole = lake_of(settings), now() - timedelta(hours=100)
    # What one step of a night reads began at one moment.
    monkeypatch.setattr(sys.modules[__name__], "now", lambda: whole + timedelta(hours=100))
    grades, members = (RESOURCES[name] for name in ("grades", "class_members"))
    loaded(lake, "students", Slice.of(_school_id=101), 2)
    for spec in (grades, members):
        for semester in (19, 20):
            loaded(lake, spec.name, slice_of(spec, 101, semester), 100)
    assert not [note for note in status_of(settings).notes if "in part" in note]
    loaded(lake, "grades", slice_of(grades, 101, 20), 2, whole=False)
    # A slice that nobody asked for since may be older than the others of its table.
    loaded(lake, "class_members", slice_of(members, 101, 20), 2)
    notes = [note for note in status_of(settings).notes if "in part" in note]
    assert notes == [
        f"The last load read 3 of 5 slices in part; the oldest was last read whole on {whole:%Y-%m-%d}. "
        f"quality.freshness shows what may be old."
    ]
    rows = {(row["resource"], row["slice"]): row["unseen"] for row in freshness_rows(standing_rows(lake))}
    assert rows["students", "101"] is None and rows["class_members", "101:20"] is None
    assert str(rows["grades", "101:20"]).startswith("ranks, names and codes")
    assert (
        rows["grades", "101:19"] == rows["class_members", "101:19"] == "every change: it was not read since"
    )


def test_ages_are_one_number() -> None:
    ages = [ago(AT - timedelta(hours=hours), AT) for hours in (0.5, 3.2, 47, 72)]
    assert ages == ["<1 h", "3 h", "47 h", "3 d"]


def test_what_twenty_schools_have_in_common_is_one_line_and_the_rest_one_line_a_school() -> None:
    def school(number: int, failures: dict[str, list[tuple[str, str]]]) -> SchoolStatus:
        return SchoolStatus(number, "", AT, Age(AT), {}, failures, {})

    down = {
        number: {f"/students?school={number}: status 503": [("students", str(number))]}
        for number in range(101, 121)
    }
    down[103]["of its own."] = [("grades", "103:1"), ("grades", "103:2")]
    down[103]["and another"] = [("scores", "103:1")]
    first, second = failure_lines([school(number, failures) for number, failures in down.items()])
    assert first.startswith("20 schools (101, 102, 103, ")
    assert first.endswith("110 and 10 more): 20 slices of students: /students?school=…: status 503")
    assert second == "school 103: grades 103:1, grades 103:2: of its own. scores 103:1: and another"
    assert name_schools([101, 102], {101, 102}) == "all 2 schools" and name_schools([101]) == "school 101"


def test_five_hundred_schools_are_a_screen(capsys: pytest.CaptureFixture[str]) -> None:
    def school(number: int) -> SchoolStatus:
        failures = {f"own reason {number + 7}": [("grades", f"{number}:1")]} if number % 5 == 0 else {}
        quarantined = {"scores": 3} if number % 50 == 0 else {}
        return SchoolStatus(number, f"学校{number}", AT, Age(AT), {}, failures, quarantined)

    status = Status(AT, [school(number) for number in range(1000, 1500)], [], ["Mend it."])
    assert summary_of(status) == [
        "400 of 500 schools are fine.",
        "100 with slices that could not be loaded.",
        "10 with rows in quarantine.",
        "The table shows 20 of 100 schools with problems; campus status --school ID shows one school.",
    ]
    rows = rows_of(status)
    assert len(rows) == MOST_ROWS and [row[0] for row in rows[:10]] == [
        str(id) for id in range(1000, 1500, 50)
    ]
    lines = failure_lines(status.schools)
    assert len(lines) == MOST_LINES + 1
    assert lines[-1] == "and 80 more; campus status --school ID shows one school."


def test_the_status_of_one_school_is_its_own(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    lake = lake_of(settings)
    for school_id in (101, 102):
        loaded(lake, "students", Slice.of(_school_id=school_id), 0)
    failed(lake, "grades", Slice.of(_school_id=102, semester_id=1), "status 503")
    status = status_of(settings.model_copy(update={"school_ids": (101,)}))
    assert [school.school_id for school in status.schools] == [101]
    assert not any("102" in line for line in status.to_do)


def test_datasets_that_are_not_wanted_any_more_are_nothing_to_do(settings: Settings) -> None:
    settings = settings.model_copy(update={"school_ids": (101,)})
    lake = lake_of(settings)
    loaded(lake, "students", Slice.of(_school_id=101), 0)
    failed(lake, "datasets", Slice.of(_school_id=101), "the scope dataset.read_all is not granted")
    settings.published.touch()
    assert len(status_of(settings).to_do) == 1
    without = Options(datasets=DatasetOptions(include=()))
    assert status_of(settings.model_copy(update={"options": without})).to_do == []


def test_no_line_is_wider_than_100_columns(
    settings: Settings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "_width", 200)
    lake = lake_of(settings)
    loaded(lake, "students", Slice.of(_school_id=101), 2)
    reason = (
        "状态 403：" + "没有权限" * 40 + f": GET {'/very-long-path' * 9}. Ask who issued CAMPUS_CLIENT_ID."
    )
    failed(lake, "grades", slice_of(RESOURCES["grades"], 101, 20), reason)
    run_status(settings)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("As of ") and lines[0].endswith(" (times are of Asia/Shanghai)")
    assert max(map(cell_len, lines)) <= 100
    assert reason.replace(" ", "") in "".join("".join(lines).split()), "nothing is left out"


def test_the_table_fits_eighty_columns(capsys: pytest.CaptureFixture[str]) -> None:
    age = Age(AT)
    ages = dict.fromkeys(GROUPS, age)
    names = {101: "启明实验学校", 100_234: "北京市海淀区第一实验中学国际部", 3: "A School With A Long Name"}
    schools = [
        SchoolStatus(
            number, name, AT, age, ages, {"why": [("a", "b")]}, {"scores": 2, "assessment_items": 999}
        )
        for number, name in names.items()
    ]
    Console(width=80).print(table_of(Status(AT, schools, [], [])))
    shown = capsys.readouterr().out
    assert all(cell_len(line) <= 80 for line in shown.splitlines())
    assert "03-02 07:00" in shown and shown.count("<1 h") == 15
    assert "".join(shown.split()).count("…") == 0
