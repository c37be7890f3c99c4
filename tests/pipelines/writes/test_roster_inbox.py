"""Rosters that arrive in a folder: planned once, whole, and applied where campus.yaml lets them be."""

import csv
import os
import threading
from collections.abc import Callable, Mapping
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import dagster as dg
import msgspec
import pytest
from msgspec import structs

from campus.files.table_file import TableError
from pipelines.definitions import build_definitions
from pipelines.runs.launchers import FINAL_TAG, LAUNCHER_TAG
from pipelines.settings.options import InboxOptions, Options, RosterOptions, WriteOptions
from pipelines.settings.settings import Settings
from pipelines.status.report import status_of
from pipelines.writes import runs
from pipelines.writes.automation import writes_definitions
from pipelines.writes.roster import reason_to_wait
from pipelines.writes.roster_jobs import (
    APPLY_ROSTER,
    PLAN_ROSTER,
    ROSTER,
    ROSTER_PLAN,
)
from tests.kits.worlds.world import World
from untrusted.time_limit import within
from writeback.inbox.folder import DONE, list_arrived, move_to_done, read_arrived, remove_old
from writeback.inbox.requests import AGAIN_AFTER, AGAIN_WITHIN, Memory, cursor_of, memory_of, to_read
from writeback.kinds import ATTENDANCE, ROSTERS, SWIPES
from writeback.roster.plan import Plan, Step

SCHOOL = 101
CHANGING = ("POST", "PUT", "PATCH", "DELETE")
COLUMNS = ["outer_id", "usin", "name", "graduates_in", "role"]


def put(
    folder: Path, name: str, at: int, text: str = "a", *, school: str = "101", kind: str = "rosters"
) -> Path:
    """A file in the inbox, of this time in seconds."""
    file = folder / school / kind / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    os.utime(file, (at, at))
    return file


def names(
    folder: Path, memory: Memory, *, kind: str = ROSTERS, ended: bool | None = True, now: float = 0.0
) -> list[str]:
    """The files that a look asks runs for. ended: whether the last run was enough for each."""
    files = list_arrived(folder, kind, None, print)
    return [Path(file.path).name for file in to_read(kind, files, memory, lambda _: ended, print, now)]


def test_dagster_loads_the_jobs_that_write_beside_each_other(tmp_path: Path) -> None:
    options = Options(writes=WriteOptions(inbox=InboxOptions(folder=tmp_path)))
    settings = Settings(home=tmp_path, options=options, allow_writes=True)
    resources = {"campus": dg.ResourceDefinition.none_resource()}
    definitions = dg.Definitions.merge(writes_definitions(settings), dg.Definitions(resources=resources))
    dg.Definitions.validate_loadable(definitions)


def test_a_file_is_read_once_it_has_stopped_growing(tmp_path: Path) -> None:
    memory = Memory()
    put(tmp_path, "r.csv", 1, "a")
    assert names(tmp_path, memory) == []
    put(tmp_path, "r.csv", 2, "ab")
    assert names(tmp_path, memory) == []
    assert names(tmp_path, memory) == ["r.csv"]
    assert names(tmp_path, memory) == []
    # The same name with another time is another file; the run finds out whether its content is.
    for at, content in ((3, "abc"), (4, "abc")):
        put(tmp_path, "r.csv", at, content)
        assert [names(tmp_path, memory), names(tmp_path, memory)] == [[], ["r.csv"]]


def refusing(line: str) -> None:
    raise AssertionError(line)


def test_a_link_to_another_schools_roster_is_left_alone(tmp_path: Path) -> None:
    theirs = put(tmp_path, "theirs.csv", 1, school="102")
    own_file = put(tmp_path, "ours.csv", 1)
    (own_file.parent / "link.csv").symlink_to(theirs)
    lines: list[str] = []
    assert [file.name for file in list_arrived(tmp_path, ROSTERS, [101], lines.append)] == ["ours.csv"]
    assert lines == [f"{own_file.parent}/link.csv is left alone: it is a link, or no regular file"]
    with pytest.raises(TableError, match=r"link\.csv is not read"):
        read_arrived(tmp_path, ROSTERS, 101, "link.csv")


@pytest.mark.parametrize("level", ["school", "kind"])
def test_a_folder_that_is_a_link_is_left_alone(tmp_path: Path, level: str) -> None:
    theirs = put(tmp_path, "r.csv", 1, school="102")
    if level == "school":
        (tmp_path / "101").symlink_to(theirs.parents[1])
    else:
        (tmp_path / "101").mkdir()
        (tmp_path / "101" / ROSTERS).symlink_to(theirs.parent)
    lines: list[str] = []
    assert list_arrived(tmp_path, ROSTERS, [101], lines.append) == [] and len(lines) == 1
    with pytest.raises(TableError):
        read_arrived(tmp_path, ROSTERS, 101, "r.csv")


def test_a_fifo_holds_up_nothing(tmp_path: Path) -> None:
    place = put(tmp_path, "r.csv", 1).parent
    os.mkfifo(place / "pipe.csv")
    lines: list[str] = []
    assert [file.name for file in list_arrived(tmp_path, ROSTERS, None, lines.append)] == ["r.csv"]
    assert "pipe.csv is left alone" in lines[0]
    with pytest.raises(TableError, match="no regular file"):
        read_arrived(tmp_path, ROSTERS, 101, "pipe.csv")


@pytest.mark.parametrize(
    "name", ["/etc/shadow", "../rosters/r.csv", "../../102/rosters/r.csv", "", "r.pdf", "..", "a\n.csv"]
)
def test_a_run_reads_names_in_its_folder_alone(tmp_path: Path, name: str) -> None:
    put(tmp_path, "r.csv", 1)
    put(tmp_path, "r.csv", 1, school="102")
    with pytest.raises(TableError, match="is not the name of a file in"):
        read_arrived(tmp_path, ROSTERS, 101, name)


def test_a_file_that_needs_nothing_more_is_moved_and_removed_later(tmp_path: Path) -> None:
    place = put(tmp_path, "r.csv", 1, "first").parent
    for text in ("first", "second"):
        put(tmp_path, "r.csv", 1, text)
        [file] = list_arrived(tmp_path, ROSTERS, None, refusing)
        move_to_done(tmp_path, ROSTERS, file)
    assert list_arrived(tmp_path, ROSTERS, None, refusing) == []
    done = sorted((place / DONE).iterdir())
    assert {path.read_text() for path in done} == {"first", "second"}
    # What has come in its place meanwhile stays.
    put(tmp_path, "r.csv", 1, "third")
    [file] = list_arrived(tmp_path, ROSTERS, None, refusing)
    put(tmp_path, "r.csv", 2, "fourth")
    move_to_done(tmp_path, ROSTERS, file)
    assert (place / "r.csv").read_text() == "fourth"
    assert remove_old(tmp_path, ROSTERS, 1, {}) == []
    assert len(list((place / DONE).iterdir())) == 2
    assert remove_old(tmp_path, ROSTERS, -1, {}) == []
    assert list((place / DONE).iterdir()) == []


def test_only_the_newest_roster_of_a_school_is_ever_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = Memory()
    new = put(tmp_path, "new.csv", 9)
    put(tmp_path, "old.csv", 1)
    put(tmp_path, "other.xlsx", 5, school="102")
    names(tmp_path, memory)
    assert sorted(names(tmp_path, memory)) == ["new.csv", "other.xlsx"]
    assert names(tmp_path, memory) == []
    # Nor when the newest is taken away.
    new.unlink()
    assert [names(tmp_path, memory), names(tmp_path, memory)] == [[], []]
    put(tmp_path, "teachers.csv", 10)
    put(tmp_path, "students.csv", 11)
    names(tmp_path, memory)
    assert names(tmp_path, memory) == ["students.csv"]
    assert "teachers.csv is skipped: only a school's newest roster counts" in capsys.readouterr().out


def test_marks_are_read_in_their_order_and_older_ones_never_after_newer_ones(tmp_path: Path) -> None:
    memory = Memory()
    put(tmp_path, "2.csv", 2, "b", kind=ATTENDANCE)
    put(tmp_path, "1.csv", 1, "a", kind=ATTENDANCE)
    names(tmp_path, memory, kind=ATTENDANCE)
    assert names(tmp_path, memory, kind=ATTENDANCE) == ["1.csv", "2.csv"]
    # The first one failed: to write it now would undo the second one.
    assert names(tmp_path, memory, kind=ATTENDANCE, ended=False, now=AGAIN_AFTER) == ["2.csv"]


def test_a_share_that_goes_and_comes_back_shows_nothing_new(tmp_path: Path) -> None:
    memory = Memory()
    file = put(tmp_path, "r.csv", 1)
    names(tmp_path, memory)
    assert names(tmp_path, memory) == ["r.csv"]
    file.unlink()
    assert names(tmp_path, memory) == []
    put(tmp_path, "r.csv", 1)
    memory = memory_of(cursor_of(memory))
    assert [names(tmp_path, memory), names(tmp_path, memory)] == [[], []]


def test_more_files_than_are_remembered_are_read_once_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("writeback.inbox.requests.REMEMBERED", 2)
    memory = Memory()
    for number in range(5):
        put(tmp_path, f"{number}.csv", number, kind=SWIPES)
    names(tmp_path, memory, kind=SWIPES)
    assert len(names(tmp_path, memory, kind=SWIPES)) == 5
    memory = memory_of(cursor_of(memory))
    assert names(tmp_path, memory, kind=SWIPES) == []


def test_what_is_no_table_or_of_no_school_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in (".hidden.csv", "~$open.xlsx", "r.csv.part", "note.pdf"):
        put(tmp_path, name, 1)
    put(tmp_path, "r.csv", 1, school="notes")
    put(tmp_path, "r.csv", 1, kind="plans")
    put(tmp_path, "r.csv", 1, school="102")
    # One that cannot be read holds up no other.
    (tmp_path / "101" / ROSTERS / "gone.csv").symlink_to(tmp_path / "nowhere")
    assert [file.school_id for file in list_arrived(tmp_path, ROSTERS, None, print)] == [102]
    assert "gone.csv is left alone: it is a link" in capsys.readouterr().out
    assert list_arrived(tmp_path, ROSTERS, [101], print) == []


def test_a_file_is_tried_again_for_a_day_where_its_run_failed_for_another_reason(tmp_path: Path) -> None:
    memory = Memory()
    put(tmp_path, "r.csv", 1)
    names(tmp_path, memory)
    assert names(tmp_path, memory) == ["r.csv"]
    assert names(tmp_path, memory, ended=False, now=AGAIN_AFTER - 1) == []
    assert names(tmp_path, memory, ended=None, now=AGAIN_AFTER) == []
    assert names(tmp_path, memory, ended=False, now=AGAIN_AFTER) == ["r.csv"]
    assert names(tmp_path, memory, ended=False, now=AGAIN_WITHIN) == []
    memory = Memory()
    names(tmp_path, memory)
    assert names(tmp_path, memory) == ["r.csv"]
    assert names(tmp_path, memory, ended=True, now=AGAIN_AFTER) == []
    # What was enough once is not asked about again.
    assert names(tmp_path, memory, ended=False, now=AGAIN_AFTER) == []


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([("change", {"name": "新"})] * 30, "30 of role 2 would be created or changed; 100 exist"),
        ([("change", {"name": "新"})] * 20, ""),
        ([("change", {"status": 4})] * 8, "8 would be deleted, archived or disabled"),
        ([("delete", {})] * 8, "8 would be deleted, archived or disabled"),
        ([], "There is nothing to do."),
    ],
)
def test_a_plan_waits_where_it_touches_a_great_part_of_a_role(
    tmp_path: Path, steps: list[tuple[Any, dict[str, Any]]], reason: str
) -> None:
    made = tuple(
        Step(action=action, line=line, outer_id=f"{line}", role=2, after=after)
        for line, (action, after) in enumerate(steps)
    )
    plan = Plan(
        school_id=SCHOOL,
        made_at=datetime(2026, 11, 23),
        source="r.csv",
        sha256="",
        rows=5000,
        people=5000,
        unchanged=0,
        steps=made,
        gone=(),
        refused=(),
        managed={2: 100},
    )
    writes = WriteOptions(inbox=InboxOptions(folder=tmp_path, apply=True))
    settings = Settings(home=tmp_path, options=Options(writes=writes), allow_writes=True)
    actual = reason_to_wait(plan, settings)
    assert actual.startswith(reason) and bool(actual) == bool(reason)


@pytest.fixture(scope="module")
def town(load_world: Callable[..., World]) -> World:
    return load_world("new_term", select='group:"base_data" or group:"v1"')


def settings_of(town: World, folder: Path, **inbox: Any) -> Settings:
    writes = WriteOptions(settling=0, roster=RosterOptions(), inbox=InboxOptions(folder=folder, **inbox))
    options = town.settings.options.model_copy(update={"writes": writes})
    return town.settings.model_copy(update={"allow_writes": True, "options": options})


def looked(town: World, settings: Settings) -> list[dg.RunRequest]:
    """What the sensor asks for once a file has come to rest."""
    sensor = build_definitions(settings).resolve_sensor_def("rosters_that_arrive")
    context = dg.build_sensor_context(instance=town.instance, cursor=None)
    sensor.evaluate_tick(context)
    return list(sensor.evaluate_tick(context).run_requests or [])


def ran(town: World, settings: Settings, request: dg.RunRequest) -> dg.ExecuteInProcessResult:
    """The run that was asked for, whatever becomes of it."""
    job = build_definitions(settings).resolve_job_def(PLAN_ROSTER)
    tags = {**request.tags, LAUNCHER_TAG: "the sensor rosters_that_arrive"}
    return job.execute_in_process(
        run_config=request.run_config, instance=town.instance, tags=tags, raise_on_error=False
    )


def told(run: dg.ExecuteInProcessResult, asset: dg.AssetKey) -> dict[str, Any]:
    """What a run tells of a plan, or of what became of it; empty: nothing."""
    events = [event.materialization for event in run.all_events if event.is_step_materialization]
    materializations = [event for event in events if event.asset_key == asset]
    return (
        {name: value.value for name, value in materializations[-1].metadata.items()}
        if materializations
        else {}
    )


def tags_of(town: World, run: dg.ExecuteInProcessResult) -> Mapping[str, str]:
    """The tags of a run, those that it gave itself too."""
    [stored_run] = town.instance.get_runs(dg.RunsFilter(run_ids=[run.run_id]))
    return stored_run.tags


def waiting(settings: Settings) -> list[str]:
    """What `campus status` says of rosters that there is to do."""
    return [line for line in status_of(settings).to_do if "roster" in line]


def failure_of(run: dg.ExecuteInProcessResult) -> str:
    """What a run that has failed says."""
    [failed] = [event for event in run.all_events if event.is_step_failure]
    return str(failed.step_failure_data.user_failure_data.description)


def roster(town: World, folder: Path, *, at: int, new: int = 0, renamed: int = 0) -> Path:
    """The school's own users as a roster, with so many new ones and so many who have another name."""
    users = [record["row"] for record in town.platform.rows("v1_users", SCHOOL) if not record["trashed"]]
    pupils = [record for record in users if record["role"] == 1]
    for record in pupils:
        if not record["outer_id"]:
            town.platform.update("v1_users", record["id"], outer_id=f"P{record['id']}")
    rows = [
        [record["outer_id"] or f"P{record['id']}", record["usin"], record["name"], record["graduates_in"]]
        for record in pupils
    ]
    for row in rows[:renamed]:
        row[2] += "新"
    rows += [[f"N{at}-{number}", f"N{at}{number:03}", f"新生{number}", 2027] for number in range(new)]
    file = put(folder, f"r{at}.csv", at)
    with file.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows(
            [["outer_id", "usin", "name", "graduates_in", "role"], *[[*r, "学生"] for r in rows]]
        )
    os.utime(file, (at, at))
    return file


def test_a_plan_waits_for_a_person_who_applies_it_in_the_ui(town: World, tmp_path: Path) -> None:
    settings = settings_of(town, tmp_path)
    roster(town, tmp_path, at=10, new=2, renamed=1)
    [request] = looked(town, settings)
    run = ran(town, settings, request)
    assert run.success
    plan = told(run, ROSTER_PLAN)
    assert (plan["to be created"], plan["to be changed"], plan["refused"]) == (2, 1, 0)
    assert told(run, ROSTER) == {}
    assert Path(plan["workbook"]).exists()
    [to_do] = waiting(settings)
    assert "The plan of the roster r10.csv of school 101 waits (1 to change, 2 to create)" in to_do

    job = build_definitions(settings).resolve_job_def(APPLY_ROSTER)
    config = {"ops": {APPLY_ROSTER: {"config": {"plan": Path(plan["plan"]).stem}}}}
    applied = job.execute_in_process(
        run_config=config, instance=town.instance, tags={LAUNCHER_TAG: "a person in the UI"}
    )
    assert told(applied, ROSTER)["written"] == 3
    assert [row["asked_by"] for row in town.log("writes")] == ["a person in the UI"] * 3
    assert "N10-1" in {row["outer_id"] for row in town.held("v1_users")}
    assert waiting(settings) == []


def test_a_dead_mount_fails_the_run_and_the_file_is_tried_again(
    town: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, alive = settings_of(town, tmp_path), threading.Event()
    roster(town, tmp_path, at=11, new=1)
    [request] = looked(town, settings)
    dead = within(0.2)(lambda _folder, *_file: alive.wait(60))
    monkeypatch.setattr(runs, "read_arrived", dead)
    run = ran(town, settings, request)
    alive.set()
    assert not run.success and FINAL_TAG not in tags_of(town, run)
    assert "no answer for 0.2 s: see that its network mount answers" in failure_of(run)
    monkeypatch.undo()
    assert ran(town, settings, request).success


FORGED_TAGS = {
    "dagster/schedule_name": "nightly",
    "dagster/tick": "1",
    LAUNCHER_TAG: "campus roster apply of root on server",
}


def applied(town: World, settings: Settings, plan: str) -> dg.ExecuteInProcessResult:
    """A run of apply_roster, launched with tags of somebody else."""
    return (
        build_definitions(settings)
        .resolve_job_def(APPLY_ROSTER)
        .execute_in_process(
            run_config={"ops": {APPLY_ROSTER: {"config": {"plan": plan}}}},
            instance=town.instance,
            tags=FORGED_TAGS,
            raise_on_error=False,
        )
    )


def writes_of(town: World) -> list[str]:
    """The writes that the platform was asked for."""
    requests = [
        f"{request['method']} {request['path']}"
        for request in town.platform.log()
        if request["method"] in CHANGING
    ]
    return [request for request in requests if not request.endswith("/oauth/tokens")]


def test_a_forged_plan_and_launch_write_nothing(town: World, tmp_path: Path) -> None:
    """Eleven deletions and another name, laid into the folder, with a digest that anybody can make."""
    settings = settings_of(town, tmp_path)
    users = [record["row"] for record in town.platform.rows("v1_users", SCHOOL) if not record["trashed"]]
    students = [record for record in users if record["role"] == 1 and record["outer_id"]][:12]
    steps = [
        Step(
            action="delete",
            line=0,
            outer_id=record["outer_id"],
            role=1,
            id=record["id"],
            before={name: record[name] for name in ("usin", "name", "role", "status")},
        )
        for record in students[:11]
    ]
    renamed = students[11]
    steps.append(
        Step(
            action="change",
            line=2,
            outer_id=renamed["outer_id"],
            role=1,
            id=renamed["id"],
            before={"name": renamed["name"]},
            after={"name": "forged"},
        )
    )
    about = {
        "made_at": datetime(2026, 11, 26, 7),
        "source": "r.csv",
        "sha256": "",
        "unchanged": 0,
        "people": 0,
    }
    forged = Plan(
        base_url=town.platform.base_url,
        school_id=SCHOOL,
        rows=1_000_000,
        steps=tuple(steps),
        gone=(),
        refused=(),
        managed={1: 1_000_000},
        **about,  # type: ignore[arg-type]
    )
    content = msgspec.json.encode(forged)
    (town.home / "plans").mkdir(exist_ok=True)
    laid = town.home / "plans" / "roster-101-20261126-070000.json"
    for sealed in (
        {"digest": sha256(content).hexdigest(), "plan": msgspec.Raw(content)},
        {"seal": sha256(content).hexdigest(), "plan": msgspec.Raw(content)},
    ):
        laid.write_bytes(msgspec.json.encode(sealed))
        town.platform.clear_log()
        for name in (laid.stem, str(laid), f"../plans/{laid.stem}"):
            assert not applied(town, settings, name).success
        assert writes_of(town) == []
    laid.unlink()


def test_a_job_takes_no_path(town: World, tmp_path: Path) -> None:
    """Whatever is in a file that somebody may not read does not get into an error."""
    settings = settings_of(town, tmp_path)
    secret = tmp_path / "secret.json"
    secret.write_text("hunter2, the first line")
    secret.chmod(0o600)
    below = os.path.relpath(secret, town.home / "plans")
    for given in (str(secret), str(secret.with_suffix("")), below, below.removesuffix(".json"), "..", ""):
        run = applied(town, settings, given)
        assert "it takes the name of a plan" in failure_of(run)
        assert "hunter2" not in repr(run.all_events)


def test_a_launch_is_a_persons_whatever_its_tags_say(town: World, tmp_path: Path) -> None:
    settings = settings_of(town, tmp_path)
    roster(town, tmp_path, at=15, new=1)
    [request] = looked(town, settings)
    plan = Path(told(ran(town, settings, request), ROSTER_PLAN)["plan"]).stem
    assert applied(town, settings, plan).success
    assert town.log("writes")[-1]["asked_by"] == "a person in the UI"
    # What it did once it does not do again.
    town.platform.clear_log()
    again = applied(town, settings, plan)
    assert "was carried out to its end" in failure_of(again)
    assert writes_of(town) == []


def test_the_guards_are_asked_again_of_a_plan_that_waited_for_others(
    town: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Most users are archived by the time that it is the turn of a plan which no person has seen."""
    settings = settings_of(town, tmp_path, apply=True)
    roster(town, tmp_path, at=17, new=11)
    [request] = looked(town, settings)
    users = [record["row"] for record in town.platform.rows("v1_users", SCHOOL) if not record["trashed"]]
    students = [record for record in users if record["role"] == 1 and record["status"] != 2]
    assert len(students) >= 20

    def archive(plan: Plan, with_settings: Settings) -> str:
        for record in students[10:]:
            town.platform.update("v1_users", record["id"], status=2)
        return reason_to_wait(structs.replace(plan, managed={1: 1000}), with_settings)

    monkeypatch.setattr("pipelines.writes.roster_jobs.reason_to_wait", archive)
    town.platform.clear_log()
    try:
        run = ran(town, settings, request)
    finally:
        for record in students[10:]:
            town.platform.update("v1_users", record["id"], status=record["status"])
    assert "11 of role 1 would be created or changed; " in failure_of(run)
    assert writes_of(town) == []


def test_a_plan_under_the_guards_is_applied_by_itself(town: World, tmp_path: Path) -> None:
    settings = settings_of(town, tmp_path, apply=True)
    roster(town, tmp_path, at=20, new=1)
    [request] = looked(town, settings)
    run = ran(town, settings, request)
    assert told(run, ROSTER)["written"] == 1
    assert waiting(settings) == []
    assert "N20-0" in {row["outer_id"] for row in town.held("v1_users")}


def test_a_plan_that_could_not_be_carried_out_to_its_end_waits(town: World, tmp_path: Path) -> None:
    settings = settings_of(town, tmp_path, apply=True)
    roster(town, tmp_path, at=25, new=1)
    [request] = looked(town, settings)
    town.platform.set_faults({"kind": "status", "status": 503, "method": "POST", "path": "*/reflections"})
    try:
        assert not ran(town, settings, request).success
    finally:
        town.platform.set_faults()
    [to_do] = waiting(settings)
    assert "Writing the roster r25.csv of school 101 did not finish (1 unconfirmed)" in to_do
    plan = Path(to_do.split()[-1]).stem
    job = build_definitions(settings).resolve_job_def(APPLY_ROSTER)
    config = {"ops": {APPLY_ROSTER: {"config": {"plan": plan}}}}
    tags = {LAUNCHER_TAG: "a person in the UI"}
    assert job.execute_in_process(run_config=config, instance=town.instance, tags=tags).success
    assert waiting(settings) == []


def test_a_plan_that_changes_too_much_waits(town: World, tmp_path: Path) -> None:
    settings = settings_of(town, tmp_path, apply=True)
    roster(town, tmp_path, at=30, new=40)
    [request] = looked(town, settings)
    run = ran(town, settings, request)
    assert run.success
    assert told(run, ROSTER_PLAN)["to be created"] == 40
    assert told(run, ROSTER) == {}


def test_a_file_that_cannot_be_read_is_told_and_not_tried_again(town: World, tmp_path: Path) -> None:
    settings = settings_of(town, tmp_path)
    put(tmp_path, "r.csv", 40, "Matrikel\n1\n")
    [request] = looked(town, settings)
    run = ran(town, settings, request)
    assert not run.success
    assert "r.csv, line 1: column 1 has no known heading" in failure_of(run)
    assert FINAL_TAG in tags_of(town, run)
    [to_do] = waiting(settings)
    assert to_do.startswith("Correct the roster r.csv of school 101: ")


def test_a_platform_that_is_away_is_asked_again(town: World, tmp_path: Path) -> None:
    settings = settings_of(town, tmp_path)
    roster(town, tmp_path, at=50, new=1)
    [request] = looked(town, settings)
    town.platform.set_faults({"kind": "status", "status": 503})
    try:
        run = ran(town, settings, request)
    finally:
        town.platform.set_faults()
    assert not run.success
    assert "503" in failure_of(run)
    assert FINAL_TAG not in tags_of(town, run)
