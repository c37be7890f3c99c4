"""The commands that write marks, swipes, cards, displays and fields: on the platform, in the lake."""

import shutil
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from campus.attendance.requests import ask_session
from campus.contracts.v1_people import UserField
from campus.http.errors import PlatformUnavailable, Transient
from pipelines.cli.writing import attendance
from pipelines.cli.writing.attendance import run_attendance, run_live_swipe, run_swipes
from pipelines.cli.writing.bindings import run_bind, run_field, run_fields, run_list, run_unbind
from pipelines.definitions import build_definitions
from pipelines.runs.launchers import A_PERSON, FINAL_TAG, LAUNCHER_TAG
from pipelines.runs.writer_locks import Busy
from pipelines.runs.writer_locks import writing as writer
from pipelines.settings.options import InboxOptions, WriteOptions
from pipelines.settings.settings import Settings, SettingsError
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
PASSWORD = "123456"


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


def test_nothing_is_written_where_it_is_not_allowed(school: World, tmp_path: Path) -> None:
    file = marks_file(tmp_path, {next(iter(marks(school))): "absent"})
    before = marks(school)
    with pytest.raises(SettingsError, match="CAMPUS_ALLOW_WRITES is not true"):
        run_attendance(school.settings, file, SCHOOL, dry=False, build=False)
    assert marks(school) == before


def test_marks_are_written_read_again_and_written_once(
    school: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = marks(school)
    first, other, *_ = before
    said = {first: "absent", other: "迟到", 9: "absent"}
    file = marks_file(tmp_path, said)

    assert write_marks(school, file, dry=True) == 1
    assert marks(school) == before
    assert "normal -> absent" in capsys.readouterr().out

    assert write_marks(school, file) == 1
    wanted = {**before, first: "absent", other: "lated"}
    assert marks(school) == held_marks(school) == wanted
    output = capsys.readouterr()
    assert "1 refused, 2 written." in output.out
    assert "line 4: refused: the student is not in the class" in output.err

    requests = len(records(school))
    assert write_marks(school, file) == 1
    assert "1 refused, 2 unchanged." in capsys.readouterr().out
    assert len(records(school)) == requests
    last = records(school)[-1]
    assert (last["operation"], last["outcome"], last["status"]) == ("mark_lesson", "done", 204)
    assert last["asked_by"].startswith("campus attendance write of ")


def test_an_answer_that_is_lost_after_the_write_marks_the_lesson_all_the_same(
    school: World, tmp_path: Path
) -> None:
    student = list(marks(school))[5]
    school.platform.set_faults({"kind": "reset", "method": "PUT", "times": 1})
    try:
        assert write_marks(school, marks_file(tmp_path, {student: "early_left"})) == 0
    finally:
        school.platform.set_faults()
    assert marks(school)[student] == held_marks(school)[student] == "early_left"


def test_a_student_who_has_left_costs_the_others_nothing(
    school: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    [gone] = marks(school).keys() - members(school)
    student = min(members(school))
    result = "absent" if marks(school)[student] != "absent" else "lated"
    assert write_marks(school, marks_file(tmp_path, {gone: "early_left", student: result})) == 1
    assert marks(school)[student] == held_marks(school)[student] == result
    assert f"student {gone}: refused: {gone} is no student of the class" in capsys.readouterr().err


def test_of_rows_that_contradict_each_other_none_is_written_and_equal_ones_all_have_an_outcome(
    school: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, other, *_ = sorted(members(school) & marks(school).keys())
    before = marks(school)
    result = "absent" if before[other] != "absent" else "lated"
    said = [(first, "absent"), (other, result), (first, "lated"), (other, result)]
    lines = [f"{CLASS},{DAY},{LESSON},{student},{mark}" for student, mark in said]
    assert write_marks(school, file_of(tmp_path, "class_id,date,lesson,rid,result", *lines)) == 1
    output = capsys.readouterr()
    assert output.err.count("lines 2, 4 contradict each other") == 1
    assert "2 rows refused: " in output.err and "(lines 2, 4)" in output.err
    assert "2 refused, 2 written." in output.out
    assert marks(school) == {**before, other: result}


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

    async def ask(*about: Any) -> Any:
        if next(requests) > number:
            raise error
        return await ask_session(*about)

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


def test_swipes_wait_while_the_platform_is_away_and_are_sent_once_it_is_back(
    school: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    student = min(members(school) & marks(school).keys())
    write_marks(school, marks_file(tmp_path, {student: "absent"}))
    capsys.readouterr()
    columns = "classroom_id,rid,created_at"
    lines = [f"{ROOM},{student},{DAY} {BEGINS}", f"{ROOM},8,{DAY} {BEGINS}", f"{ROOM},,{DAY} {BEGINS}"]
    file = file_of(tmp_path, columns, *lines)

    school.platform.set_faults(NO_ANSWER)
    try:
        assert run_swipes(writing(school), file, SCHOOL, dry=False, build=False) == 1
    finally:
        school.platform.set_faults()
    output = capsys.readouterr()
    assert "1 refused, 2 waiting." in output.out
    assert "What waits is kept: campus swipes send sends it." in output.err
    assert marks(school)[student] == "absent"

    assert run_swipes(writing(school), None, SCHOOL, dry=False, build=False) == 1
    output = capsys.readouterr()
    assert "1 refused, 1 written." in output.out
    # The platform's own words for a person whom it does not know in this room.
    assert "rid 8 (line 3 of rows.csv of " in output.err and "refused: 当前教室没有您的课程" in output.err
    assert marks(school)[student] == held_marks(school)[student] == "normal"

    requests = len(records(school))
    # A second time only the rejected one is sent.
    assert run_swipes(writing(school), file, SCHOOL, dry=False, build=False) == 1
    assert "2 refused, 1 unchanged." in capsys.readouterr().out
    assert len(records(school)) == requests + 1


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


def test_a_live_swipe_shows_what_the_platform_says(school: World, capsys: pytest.CaptureFixture[str]) -> None:
    student = next(iter(marks(school)))
    before = len(records(school))
    assert run_live_swipe(writing(school), SCHOOL, ROOM, student, "", dry=True) == 0
    assert f"would: classroom {ROOM}, student {student}: swipe now" in capsys.readouterr().out
    assert len(records(school)) == before
    assert run_live_swipe(writing(school), SCHOOL, 1, student, "") == 1
    assert "invalid: 当前教室没有您的课程" in capsys.readouterr().out
    assert run_live_swipe(writing(school), SCHOOL, ROOM, None, "nobody's") == 1
    assert "404" in capsys.readouterr().err


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


def test_a_card_is_bound_once_shown_and_unbound(school: World, capsys: pytest.CaptureFixture[str]) -> None:
    settings = writing(school)
    pupils = [entry["row"] for entry in school.platform.rows("v1_users", SCHOOL) if entry["row"]["role"] == 1]
    usin, another = pupils[0]["usin"], pupils[1]["usin"]

    def bind(to: str, password: str = PASSWORD) -> int:
        return run_bind(
            settings, "cards", [Binding(0, "new-card", to, password)], None, SCHOOL, dry=False, build=False
        )

    def states() -> dict[str, str]:
        return {row["card_id"]: row["state"] for row in school.held("cards")}

    assert bind(usin, "wrong") == 1
    assert "用户名或密码错误" in capsys.readouterr().err
    # The answer is lost after the card was bound: a look finds it.
    school.platform.set_faults({"kind": "reset", "method": "POST", "path": "*/cards", "times": 1})
    try:
        assert bind(usin) == 0
    finally:
        school.platform.set_faults()
    assert records(school)[-1]["outcome"] == "found"
    assert bind(usin) == 0
    assert "1 unchanged" in capsys.readouterr().out
    assert bind(another) == 1
    assert f"bound to {usin}: unbind it first" in capsys.readouterr().err
    assert states() == {"new-card": "bound"}

    assert run_list(settings, "cards", SCHOOL, personal=False) == 0
    shown = capsys.readouterr().out
    assert "new-card" in shown and usin not in shown
    assert run_unbind(settings, "cards", ["new-card"], None, SCHOOL, dry=False, build=False) == 0
    assert run_unbind(settings, "cards", ["new-card"], None, SCHOOL, dry=False, build=False) == 0
    assert "1 unchanged" in capsys.readouterr().out
    assert states() == {"new-card": "unbound"}
    assert not [file for file in school.home.rglob("*") if file.is_file() and _has(file, PASSWORD)]


def _has(file: Path, text: str) -> bool:
    return f'"{text}"'.encode() in file.read_bytes()


def test_displays_are_bound_from_a_file(
    school: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = file_of(tmp_path, "device_id,classroom_id", f"AA:01,{ROOM}", "AA:02,room", "AA:03,")
    assert run_bind(writing(school), "devices", [], file, SCHOOL, dry=False, build=False) == 1
    output = capsys.readouterr()
    assert "2 refused, 1 written." in output.out
    assert "line 3: refused: classroom_id: expected a number" in output.err
    assert "AA:01" in {row["device_id"] for row in school.held("devices")}
    # A night reads what was bound here too.
    assert school.load(select='key:"raw/devices"').problems == []
    assert "AA:01" in {row["device_id"] for row in school.held("devices")}


def test_a_file_unbinds_what_it_names_and_only_from_whom_it_says(
    school: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def unbind(columns: str, *rows: str) -> int:
        file = file_of(tmp_path, columns, *rows)
        return run_unbind(writing(school), "devices", [], file, SCHOOL, dry=False, build=False)

    ids = ("BB:01", "BB:02", "BB:03")
    bound = [Binding(0, id, str(ROOM)) for id in ids]
    assert run_bind(writing(school), "devices", bound, None, SCHOOL, dry=False, build=False) == 0

    assert unbind("classroom_id", str(ROOM)) == 2
    assert "the column device_id is missing" in capsys.readouterr().err
    rows = [
        f"BB:01,{ROOM}",
        f"BB:02,{ROOM + 1}",
        f",{ROOM}",
        f"BB:03,{ROOM}",
        f"BB:03,{ROOM}",
        f"#N/A,{ROOM}",
    ]
    assert unbind("device_id,classroom_id", *rows) == 1
    output = capsys.readouterr()
    assert "5 refused, 1 written." in output.out
    assert f"line 3: BB:02: refused: the device is bound to {ROOM}: it stays so" in output.err
    assert "line 4: refused: device_id is missing" in output.err
    assert "2 rows refused: lines 5, 6 have the same device_id (lines 5, 6)" in output.err
    assert "line 7: refused: column 1 is #N/A" in output.err
    assert unbind("device_id", "BB:02", "BB:03") == 0
    states = {row["device_id"]: row["state"] for row in school.held("devices")}
    assert {states[id] for id in ids} == {"unbound"}


def test_of_two_rows_of_one_display_neither_is_bound(
    school: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = file_of(tmp_path, "device_id,classroom_id", f"CC:01,{ROOM}", f"CC:01,{ROOM + 1}", f"CC:02,{ROOM}")
    assert run_bind(writing(school), "devices", [], file, SCHOOL, dry=False, build=False) == 1
    output = capsys.readouterr()
    assert "2 rows refused: lines 2, 3 have the same device_id (lines 2, 3)" in output.err
    assert "2 refused, 1 written." in output.out


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


def test_a_field_keeps_its_options_until_others_are_given(
    school: World, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = writing(school)

    def put(**fields: Any) -> int:
        field = UserField(name="house", role=1, **fields)
        return run_field(settings, field, "", SCHOOL, dry=False, build=False)

    def held() -> list[tuple[Any, ...]]:
        rows = [row for row in school.held("user_fields") if row["name"] == "house"]
        return [(row["label"], row["type"], row["options"] or None) for row in rows]

    assert put(label="楼") == 0
    assert held() == [("楼", 1, None)]
    assert put(label="楼", type=2, options=["东", "西"]) == 0
    assert put(label="宿舍") == 0
    assert held() == [("宿舍", 2, ["东", "西"])]
    assert put(label="宿舍", type=1) == 0
    assert held() == [("宿舍", 1, None)]


def test_a_field_is_made_changed_and_removed(school: World, capsys: pytest.CaptureFixture[str]) -> None:
    settings = writing(school)

    def put(*options: str) -> int:
        field = UserField(name="bus", role=1, label="校车", type=2, options=list(options))
        return run_field(settings, field, "", SCHOOL, dry=False, build=False)

    def held() -> list[list[str]]:
        return [row["options"] for row in school.held("user_fields") if row["name"] == "bus"]

    assert put("1号") == 0
    assert put("1号", "2号") == 0
    assert put("1号", "2号") == 0
    assert "1 unchanged" in capsys.readouterr().out
    assert held() == [["1号", "2号"]]
    assert run_fields(settings, SCHOOL) == 0
    assert "1号, 2号" in capsys.readouterr().out
    assert run_field(settings, None, "bus", SCHOOL, dry=False, build=False) == 0
    assert held() == []


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
