"""What the commands that write do when something else happens at the same time, or later.

Their transcripts have what they print, and what is then on the platform and in the lake."""

import shutil
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from campus.attendance.requests import ask_session
from campus.http.errors import PlatformUnavailable, Transient
from pipelines.cli.writing import attendance
from pipelines.cli.writing.attendance import run_attendance, run_live_swipe, run_swipes
from pipelines.cli.writing.bindings import run_bind, run_fields, run_list, run_unbind
from pipelines.definitions import build_definitions
from pipelines.runs.launchers import A_PERSON, FINAL_TAG, LAUNCHER_TAG
from pipelines.runs.writer_locks import Busy
from pipelines.runs.writer_locks import writing as writer
from pipelines.settings.options import InboxOptions, WriteOptions
from pipelines.settings.settings import Settings
from pipelines.status.report import status_of
from pipelines.writes.file_jobs import FILE_JOBS
from tests.kits.worlds.world import World
from writeback.attendance.live_swipe import Swiped
from writeback.attendance.marking import Marking
from writeback.bindings import Binder, Binding
from writeback.notes import remove_note
from writeback.store.notes import Note
from writeback.store.store import open_journal

SCHOOL = 101
# A Monday's lesson.
CLASS, ROOM, DAY, LESSON, BEGINS = 1010100001, 905001, "2025-03-03", 3, "10:00:30"
NO_ANSWER = {"kind": "status", "status": 503, "method": "POST"}


@pytest.fixture(scope="module")
def school(load_world: Callable[..., World]) -> World:
    """A school that was loaded once, and may be written to."""
    return load_world("new_term", select=None)


def writing(world: World) -> Settings:
    """Settings that allow writes and lose no time."""
    options = world.settings.options.model_copy(update={"writes": WriteOptions(settling=0)})
    return world.settings.model_copy(update={"allow_writes": True, "options": options})


def marks(world: World) -> dict[int, str]:
    """The marks of the lesson by student, as the platform itself has them."""
    rows = (
        record["row"] for record in world.platform.rows("attendance_records", SCHOOL) if not record["trashed"]
    )
    lesson = (CLASS, DAY, LESSON)
    return {
        row["student_id"]: row["status"]
        for row in rows
        if (row["class_id"], row["checked_at"], row["lesson"]) == lesson
    }


def held_marks(world: World) -> dict[int, str]:
    """The same, as the lake has them."""
    rows = world.held("attendance_records")
    lesson = (CLASS, DAY, LESSON)
    return {
        row["student_id"]: row["status"]
        for row in rows
        if (row["class_id"], str(row["checked_at"]), row["lesson"]) == lesson
    }


def records(world: World) -> list[dict[str, Any]]:
    """The record of writes, the oldest first."""
    return sorted(world.log("writes"), key=lambda row: row["asked_at"])


def file_of(tmp_path: Path, columns: str, *rows: str, name: str = "rows.csv") -> Path:
    path = tmp_path / name
    path.write_text("\n".join([columns, *rows]), encoding="utf-8")
    return path


def marks_file(tmp_path: Path, said: Mapping[int, str], name: str = "marks.csv") -> Path:
    lines = [f"{CLASS},2025/3/3,{LESSON},{student},{result}" for student, result in said.items()]
    return file_of(tmp_path, "class_id,date,lesson,rid,result", *lines, name=name)


def write_marks(world: World, file: Path, *, dry: bool = False) -> int:
    return run_attendance(writing(world), file, SCHOOL, dry=dry, build=False)


def members(world: World) -> set[int]:
    """The students of the class, by the lake."""
    return {row["student_id"] for row in world.held("v1_class_students") if row["class_id"] == CLASS}


@pytest.fixture(scope="module")
def forgetful(load_world: Callable[..., World]) -> World:
    """A platform that forgets the marks that a request leaves out."""
    return load_world("new_term", select=None, unmentioned_marks="lost")


def test_a_platform_that_forgets_the_others_gets_all_marks_of_a_lesson(
    forgetful: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = forgetful
    before = marks(made)
    # The platform takes no mark of a student who has left the class since.
    gone = before.keys() - members(made)
    first, other, *_ = sorted(members(made) & before.keys())
    wanted = {student: mark for student, mark in before.items() if student not in gone}

    assert write_marks(made, marks_file(tmp_path, {first: "absent"}, "a.csv")) == 0
    wanted[first] = "absent"
    assert marks(made) == held_marks(made) == wanted
    output = capsys.readouterr()
    assert "Set writes.whole_lessons" in output.out
    assert output.err.count("the platform forgot this mark") == len(gone) > 0

    assert write_marks(made, marks_file(tmp_path, {other: "lated"}, "b.csv")) == 0
    wanted[other] = "lated"
    assert marks(made) == held_marks(made) == wanted


class Killed(BaseException):
    """What ends a process without a word."""


def failing(monkeypatch: pytest.MonkeyPatch, number: int, error: BaseException) -> None:
    """Lessons can be asked for so many times, and then not."""
    requests = count(1)

    def ask(*about: Any) -> Any:
        if next(requests) > number:
            raise error
        return ask_session(*about)

    monkeypatch.setattr("writeback.attendance.marking.ask_session", ask)


@pytest.mark.parametrize(
    "error", [Transient("away"), PlatformUnavailable("gone"), Killed()], ids=["away", "gone", "killed"]
)
def test_marks_that_were_forgotten_when_the_reading_failed_are_sent_again_by_the_next_run(
    forgetful: World, tmp_path: Path, capsys: pytest.CaptureFixture[str], error: BaseException
) -> None:
    # The platform takes no mark of a student who has left the class since.
    before = {who: mark for who, mark in marks(forgetful).items() if who in members(forgetful)}
    student = min(before)
    result = "early_left" if before[student] != "early_left" else "lated"
    file = marks_file(tmp_path, {student: result})
    with pytest.MonkeyPatch.context() as patch:
        failing(patch, 1, error)
        if isinstance(error, Killed):
            with pytest.raises(Killed):
                write_marks(forgetful, file)
        else:
            assert write_marks(forgetful, file) == 1
            assert "unconfirmed: it was sent, and not seen since" in capsys.readouterr().err
    assert marks(forgetful) == {student: result}

    assert write_marks(forgetful, file) == 0
    assert marks(forgetful) == held_marks(forgetful) == {**before, student: result}
    requests = len(records(forgetful))
    assert write_marks(forgetful, file) == 0
    assert len(records(forgetful)) == requests


def test_one_whose_leaving_we_have_not_read_yet_costs_the_others_no_mark(
    forgetful: World, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The platform takes no mark of a student who has left the class since.
    before = {who: mark for who, mark in marks(forgetful).items() if who in members(forgetful)}
    student = min(before)
    result = "normal" if before[student] != "normal" else "lated"
    sendable = Marking._sendable

    def with_a_stranger(self: Marking, session: Any, some: Mapping[int, str]) -> dict[int, str]:
        payload = sendable(self, session, some)
        return {**dict(list(payload.items())[:2]), 8: "normal", **payload} if payload else payload

    monkeypatch.setattr(Marking, "_sendable", with_a_stranger)
    assert write_marks(forgetful, marks_file(tmp_path, {student: result})) == 0
    assert marks(forgetful) == {**before, student: result}


def test_what_a_platform_that_goes_away_has_taken_is_in_the_results(
    school: World, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    student = min(members(school) & marks(school).keys())
    result = "early_left" if marks(school)[student] != "early_left" else "lated"
    days = [DAY, "2025-02-24"]
    lines = [f"{CLASS},{day},{LESSON},{student},{result}" for day in days]
    file = file_of(tmp_path, "class_id,date,lesson,rid,result", *lines)
    failing(monkeypatch, 2, PlatformUnavailable("the platform is away", outage=True))
    assert write_marks(school, file) == 1
    output = capsys.readouterr()
    assert "1 waiting, 1 written." in output.out
    assert "stopped: the platform is away" in output.err
    results = max((school.home / "plans").glob("attendance-*.result.csv"))
    assert ",written," in results.read_text() and ",waiting," in results.read_text()


def test_while_another_command_writes_swipes_are_kept_and_what_only_shows_runs(
    school: World, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.cli.command_session.PATIENCE", 0.0)
    settings = writing(school)
    file = file_of(tmp_path, "classroom_id,rid,created_at", f"{ROOM},9,{DAY} {BEGINS}")
    with (
        writer(settings, "campus sync", alone=True, patience=0.0, notify=print),
        open_journal(school.home, school.lake),
    ):
        assert run_swipes(settings, file, SCHOOL, dry=False, build=False) == 1
        output = capsys.readouterr()
        assert "1 waiting." in output.out
        assert "campus sync" in output.err and "What waits is kept" in output.err
        assert run_swipes(settings, file, SCHOOL, dry=True, build=False) == 0
        assert run_list(settings, "devices", SCHOOL, personal=False) == 0
        assert run_fields(settings, SCHOOL) == 0
        with pytest.raises(Busy):
            run_unbind(settings, "devices", ["none"], None, SCHOOL, dry=False, build=False)
        assert run_unbind(settings, "devices", ["none"], None, SCHOOL, dry=True, build=False) == 0
    capsys.readouterr()
    assert run_swipes(settings, None, SCHOOL, dry=False, build=False) == 1
    assert "1 refused." in capsys.readouterr().out


def test_a_live_swipe_is_read_again_at_once(
    school: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lake has the mark before the night, and the command says when campus.duckdb has it."""
    rows = school.platform.rows("attendance_records", SCHOOL)
    record = max(
        (row for row in rows if not row["trashed"]),
        key=lambda row: (row["row"]["checked_at"], row["row"]["lesson"]),
    )
    about = record["row"]
    result = "absent" if about["status"] != "absent" else "lated"

    async def swiped(*_: Any, **__: Any) -> Swiped:
        school.platform.update("attendance_records", record["key"], status=result)
        return Swiped("success", "已记录出勤", about["student_id"], about["class_id"])

    def held() -> str:
        [row] = [row for row in school.held("attendance_records") if row["id"] == about["id"]]
        return str(row["status"])

    monkeypatch.setattr(attendance, "swipe", swiped)
    assert held() != result
    assert run_live_swipe(writing(school), SCHOOL, ROOM, about["student_id"], "") == 0
    said = capsys.readouterr().out
    assert "success: 已记录出勤" in said
    assert "campus build, or the night, publishes it in campus.duckdb." in said
    assert held() == result


def test_a_file_of_marks_that_waits_is_named_by_status(school: World, tmp_path: Path) -> None:
    student = min(members(school) & marks(school).keys())
    result = "absent" if marks(school)[student] != "absent" else "lated"
    file = marks_file(tmp_path, {student: result}, "open.csv")
    school.platform.set_faults(
        {"kind": "status", "status": 503, "path": f"/api/v1/classes/{CLASS}/attendances"}
    )
    try:
        assert write_marks(school, file) == 1
    finally:
        school.platform.set_faults()
    [line] = [entry for entry in status_of(writing(school)).to_do if "open.csv" in entry]
    assert line == (
        f"Writing the file of marks open.csv of school {SCHOOL} did not finish (1 waiting): "
        f"campus attendance write {file} --school {SCHOOL}"
    )
    assert write_marks(school, file) == 0
    assert not [entry for entry in status_of(writing(school)).to_do if "open.csv" in entry]


def test_a_night_reads_what_was_bound_by_a_command(school: World) -> None:
    binding = Binding(0, "AA:01", str(ROOM))
    assert run_bind(writing(school), "devices", [binding], None, SCHOOL, dry=False, build=False) == 0
    assert school.load(select='key:"raw/devices"').problems == []
    assert "AA:01" in {row["device_id"] for row in school.held("devices")}


def test_a_platform_that_goes_away_costs_no_result_of_what_was_bound(
    school: World, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bind = Binder.bind

    async def once(self: Binder, binding: Binding) -> Any:
        if binding.id != "DD:01":
            raise PlatformUnavailable("the platform is away", outage=True)
        return await bind(self, binding)

    monkeypatch.setattr(Binder, "bind", once)
    file = file_of(tmp_path, "device_id,classroom_id", f"DD:01,{ROOM}", f"DD:02,{ROOM}")
    assert run_bind(writing(school), "devices", [], file, SCHOOL, dry=False, build=False) == 1
    output = capsys.readouterr()
    assert "1 waiting, 1 written." in output.out and "stopped: the platform is away" in output.err
    results = max((school.home / "plans").glob("devices-bind-*.result.csv"))
    assert "DD:01,written" in results.read_text() and "DD:02,waiting" in results.read_text()


def ran(world: World, job: str, file: Path | None) -> dg.DagsterRun:
    """A run of the job for a file that arrived, or for what waits, as Dagster has it afterwards."""
    settings = writing(world)
    folder = world.home / "inbox"
    if file is not None:
        place = (
            folder / str(SCHOOL) / next(kind for kind, file_job in FILE_JOBS.items() if file_job.job == job)
        )
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, place)
    writes = settings.options.writes.model_copy(update={"inbox": InboxOptions(folder=folder)})
    options = settings.options.model_copy(update={"writes": writes})
    definition = build_definitions(settings.model_copy(update={"options": options})).resolve_job_def(job)
    config = {"ops": {job: {"config": {"school_id": SCHOOL, "file": file.name if file else ""}}}}
    tags = {LAUNCHER_TAG: "the sensor of a test"}
    ended = definition.execute_in_process(config, world.instance, tags=tags, raise_on_error=False)
    [run] = world.instance.get_runs(dg.RunsFilter(run_ids=[ended.run_id]))
    return run


def to_do(world: World) -> list[str]:
    """What `campus status` says of files that have arrived."""
    lines = status_of(writing(world)).to_do
    return [line for line in lines if ("swipes" in line or "marks" in line) and not is_of_command(line)]


def is_of_command(line: str) -> bool:
    """Whether a command has left rows of its file open, as those of other tests do."""
    return line.startswith("Writing the ")


def test_marks_that_arrive_are_written_by_a_run(school: World, tmp_path: Path) -> None:
    student = list(marks(school))[7]
    result = "absent" if marks(school)[student] != "absent" else "lated"
    run = ran(school, "write_attendance", marks_file(tmp_path, {student: result, 9: "absent"}))
    assert run.is_success
    assert marks(school)[student] == held_marks(school)[student] == result
    # The tag of the run says something else.
    assert records(school)[-1]["asked_by"] == A_PERSON
    [line] = to_do(school)
    assert line.startswith("Correct the refused rows of the file of marks marks.csv of school 101, 1: ")
    assert ran(school, "write_attendance", marks_file(tmp_path, {student: result})).is_success
    assert to_do(school) == []
    school.platform.set_faults({"kind": "status", "status": 503})
    try:
        run = ran(school, "write_attendance", marks_file(tmp_path, {student: "normal"}))
    finally:
        school.platform.set_faults()
    assert not run.is_success and FINAL_TAG not in run.tags
    [line] = to_do(school)
    assert line.startswith("Correct the file of marks marks.csv of school 101: 1 waiting")
    assert ran(school, "write_attendance", marks_file(tmp_path, {student: result})).is_success
    run = ran(school, "write_attendance", file_of(tmp_path, "class,result", "1,absent"))
    assert not run.is_success and FINAL_TAG in run.tags
    [line] = to_do(school)
    assert line.startswith("Correct the file of marks rows.csv of school 101: ")
    # What needs nothing more is put away; what makes no sense stays to be mended.
    place = school.home / "inbox" / str(SCHOOL) / "attendance"
    assert [path.name for path in place.glob("*.csv")] == ["rows.csv"]
    assert len(list((place / "done").iterdir())) == 3
    remove_note(school.home, Note("attendance", SCHOOL, "rows.csv"))


def test_swipes_that_wait_are_sent_by_a_run(school: World, tmp_path: Path) -> None:
    student = list(marks(school))[3]
    write_marks(school, marks_file(tmp_path, {student: "absent"}))
    file = file_of(tmp_path, "classroom_id,rid,created_at", f"{ROOM},{student},{DAY} 10:00:40")
    sensor = build_definitions(writing(school)).resolve_sensor_def("swipes_that_wait")

    def asked() -> int:
        return len(sensor.evaluate_tick(dg.build_sensor_context(school.instance)).run_requests or [])

    assert asked() == 0
    school.platform.set_faults(NO_ANSWER)
    try:
        run = ran(school, "send_swipes", file)
        # What is in the outbox needs its file no more.
        assert not run.is_success and FINAL_TAG in run.tags
    finally:
        school.platform.set_faults()
    assert [line for line in to_do(school) if line.startswith("Swipes of school 101 wait to be sent, 1: ")]
    assert asked() == 1
    assert ran(school, "send_swipes", None).is_success
    assert marks(school)[student] == held_marks(school)[student] == "normal"
    assert asked() == 0
    assert to_do(school) == []
