"""How far a sync is, on a terminal and elsewhere, and what a sync says at its end."""

from collections.abc import Callable
from datetime import datetime
from io import StringIO

import pytest
from rich.cells import cell_len
from rich.console import Console

from assets.loads import LOADS
from campus.http.events import Event
from pipelines.cli.actions.load import NEXT, print_next_steps
from pipelines.cli.terminal import progress as module
from pipelines.cli.terminal.progress import SHARES, Progress, progress
from pipelines.definitions import load_definitions
from pipelines.nights.sync import load
from pipelines.resources import open_runtime
from pipelines.status.report import Status
from tests.kits.worlds.world import World
from warehouse.load.logs.drift import Difference, in_a_line


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that have passed; a test moves them."""
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])  # type: ignore[attr-defined]
    return now


def read(resource: str, slice_: str, rows: int, done: int = 1, total: int = 1) -> Event:
    return Event("progress", resource=resource, slice=slice_, rows=rows, done=done, total=total)


def shown(tracker: Progress) -> list[str]:
    """The lines that move on a terminal of 80 columns."""
    file = StringIO()
    Console(file=file, width=80, force_terminal=True, color_system=None).print(tracker.live_view())
    return file.getvalue().splitlines()


def test_elsewhere_a_step_is_a_line(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with progress() as listen:
        listen(Event("step", "discovery"))
        for school in (101, 102):
            listen(Event("note", f"school {school}, dataset entry_log: it has no key"))
        listen(Event("note", "school 102: it has no semester"))
        clock[0] = 4
        listen(Event("step", "discovery", done=1))
        listen(Event("school", "101 First", done=1, total=2))
        listen(Event("step", "base_data", total=2))
        for rows in (500, 1_000):
            listen(read("scores", "101:1", rows, done=rows // 500, total=2))
        listen(read("grades", "101:1", 234))
        listen(Event("plan", "by students"))
        listen(Event("drift", "school 101, grades: drift: unknown_field mood"))
        clock[0] = 10
        listen(Event("step", "base_data", done=1))
    assert capsys.readouterr().out.splitlines() == [
        "discovery: done in 4 s",
        "  2 schools (101, 102): dataset entry_log: it has no key",
        "  school 102: it has no semester",
        "school 1 of 2, 101 First: base_data: 1,234 rows in 6 s",
    ]


def test_a_terminal_shows_school_step_rows_rate_and_time_left(clock: list[float]) -> None:
    tracker = Progress()
    tracker.listen(Event("school", "101 First", done=1, total=3))
    tracker.listen(Event("step", "base_data", total=10))
    clock[0] = 100
    tracker.listen(Event("step", "base_data", done=1))
    tracker.listen(Event("school", f"102 {'很长的校名' * 9}", done=2, total=3))
    tracker.listen(Event("step", "base_data", total=2))
    clock[0] = 150
    tracker.listen(read("scores", "102:1", 5_000, done=1, total=1))
    first, second, third = shown(tracker)
    # Half of this school, and the third one, at 100 s a school.
    assert first.startswith("school 2 of 3, 102 很长的校名") and first.rstrip().endswith("…")
    assert second.strip(" ━╸") == "about 2:30 left, 5,000 rows, 100 rows/s, 2:30 in all"
    assert third.strip() == "scores 102:1"
    assert all(cell_len(line) <= 80 for line in (first, second, third))


def test_what_is_not_known_yet_is_not_said(clock: list[float]) -> None:
    tracker = Progress()
    tracker.listen(Event("school", "101 First", done=1, total=1))
    tracker.listen(Event("step", "base_data", total=40))
    clock[0] = 0.5
    tracker.listen(read("terms", "101", 3))
    text = "\n".join(shown(tracker))
    assert "left" not in text and "rows/s not known yet" in text


def test_each_load_from_the_platform_has_a_share() -> None:
    assert SHARES.keys() == {load.name for load in LOADS if not load.is_local}
    assert sum(SHARES.values()) == 100


def test_sync_reports_schools_and_steps(make_world: Callable[..., World]) -> None:
    world = make_world("two_schools")
    events: list[Event] = []
    with open_runtime(world.settings, events.append) as runtime:
        definitions = load_definitions(world.settings, runtime)
        ends = list(load(runtime, definitions, world.instance, "sync-1", selection='key:"raw/terms"'))
    assert [end.problem for end in ends] == [None, None, None]
    names = {school["id"]: school["name"] for school in world.held("schools")}
    reported = [
        (event.kind, event.message, event.done) for event in events if event.kind in ("school", "step")
    ]
    assert reported == [
        ("step", "discovery", 0),
        ("step", "discovery", 1),
        *(
            expected_event
            for number, school in enumerate((101, 102), 1)
            for expected_event in (
                ("school", f"{school} {names[school]}", number),
                ("step", "base_data", 0),
                ("step", "base_data", 1),
            )
        ),
    ]


def test_drift_is_one_line_with_its_count_and_place() -> None:
    began = [Difference("grades", school, "unknown_field", name, None) for school in (1, 2) for name in "ab"]
    line = in_a_line([*began, Difference("terms", 1, "unknown_field", "c", None)])
    assert line.startswith("New differences from the contract: 5, in 2 tables of 2 schools")
    assert "quality.drift" in line and "\n" not in line
    assert "1, in 1 table of 1 school." in in_a_line(began[:1])


@pytest.mark.parametrize(
    ("to_do", "exit_status", "lines"),
    [
        ([], 0, [NEXT]),
        (["Rows wait in quarantine."], 0, ["To do: Rows wait in quarantine."]),
        (["Rows wait in quarantine."], 1, []),
    ],
)
def test_sync_ends_with_what_is_next(
    to_do: list[str], exit_status: int, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    print_next_steps(Status(datetime(2026, 3, 2), [], [], to_do), exit_status)
    assert capsys.readouterr().out.splitlines() == lines
