"""A disk that is full before a run or in the midst of one, and Dagster's database gone meanwhile: one plain
sentence, and the next run is exact."""

import shutil
import sqlite3
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from pipelines.runs.storage_failures import storage_message
from tests.kits.kills.home_state import different, lake_rows, left_behind, published_rows, upkeep
from tests.kits.kills.killing import Victims
from tests.kits.kills.kills import BUILD, SYNC, Copy, Start, untouched
from tests.kits.kills.news import something_new
from tests.kits.programs.processes import environment_for, run
from tests.kits.servers.disks import BALLAST, fill, small_disk
from tests.kits.servers.postgres import postgres
from tests.kits.worlds.world import BASE_ONLY, World

LOAD = (*SYNC, "--select", BASE_ONLY)
Moment = Callable[[Path, str, float], bool]
RESOURCES = ("students", "teachers", "classes", "class_members", "scores", "grades")
#: When the disk is full: by what the command has said, or by a file that is new since a time.
MOMENTS: dict[str, Moment] = {
    "before base data are read": lambda _home, said, _since: "discovery:" in said,
    "while slices are committed": lambda home, _said, since: any(
        path.stat().st_mtime > since
        for name in RESOURCES
        for path in (home / "lake" / name).rglob("*.parquet")
    ),
    "while the file is built": lambda home, _said, _since: (home / "build" / "campus.duckdb").exists(),
}


def test_nothing_is_begun_without_room(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", megabytes=16) as disk:
        done = run(BUILD, environment_for(disk / "home"), tmp_path)
        assert done.returncode == 1
        [line] = done.stderr.splitlines()
        assert line.startswith(
            f"campus: The disk of {disk}/home is full: 16 MB are free, and a run needs 64 MB. Make room there"
        )
        assert [*disk.rglob("*")] == [disk / "home"], "nothing is written"


def test_an_error_of_sqlite_is_told_as_the_full_disk_that_it_comes_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = OperationalError("INSERT", {}, sqlite3.OperationalError("disk I/O error"))
    words = storage_message(error, tmp_path)
    assert words and words.startswith(
        "the database in which Dagster keeps its runs does not answer: disk I/O"
    )
    monkeypatch.setattr("pipelines.runs.storage_failures.MIN_FREE", 1 << 60)
    words = storage_message(error, tmp_path)
    assert words and words.startswith(f"The disk of {tmp_path} is full")


@pytest.fixture(scope="module")
def night(make_world: Callable[..., World]) -> World:
    """A home that is loaded and published and lacks the news of a day."""
    world = make_world()
    assert world.load().problems == []
    assert world.publish().problem is None
    something_new(world)
    return world


def filled(programs: Victims, home: Path, is_due: Moment, since: float, _seconds: float) -> bool:
    """Fill the disk of a home when it is time to; never kill."""
    if is_due(home, programs.output.read_text(), since) and not (home.parent / BALLAST).exists():
        fill(home.parent)
    return False


@pytest.fixture(scope="module")
def reference(night: World, programs: Victims, module_copy: Copy) -> Start:
    """How the home is after a sync in which nothing went wrong."""
    return untouched(programs, night.home, LOAD, environment_for(night.home, night.platform), module_copy)


def is_exact_after_another_run(programs: Victims, home: Path, reference: Start, **variables: str) -> None:
    again = programs.run(LOAD, {**reference.environment, **variables}, home)
    assert again.status == 0, again.output[-5000:]
    upkeep(home)
    assert different(reference.lake, lake_rows(home)) == []
    assert different(reference.published, published_rows(home)) == []
    assert left_behind(home) == []


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_disk_that_fills_up_meanwhile(
    moment: str, reference: Start, programs: Victims, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "disk", megabytes=400) as disk:
        home = disk / "home"
        shutil.copytree(reference.home, home)
        fill_up = partial(filled, programs, home, MOMENTS[moment], time.time())
        failed = programs.run(LOAD, reference.environment, home, fill_up)
        assert failed.status == 1, failed.output[-5000:]
        assert "Traceback" not in failed.output
        assert f"The disk of {home} is full" in failed.output.splitlines()[-1]
        (disk / BALLAST).unlink()
        is_exact_after_another_run(programs, home, reference)


@pytest.mark.slow
def test_postgres_gone_meanwhile(reference: Start, programs: Victims, copy: Copy) -> None:
    with postgres() as server:
        home, mine = copy(reference.home), {"DAGSTER_POSTGRES_URL": server.url}
        stopped: list[float] = []

        def stop(seconds: float) -> bool:
            if not stopped and "discovery:" in programs.output.read_text():
                stopped.append(seconds)
                server.stop()
            return False

        failed = programs.run(LOAD, {**reference.environment, **mine}, home, stop)
        assert stopped and failed.status == 1, failed.output[-5000:]
        assert "Traceback" not in failed.output
        last = failed.output.splitlines()[-1]
        assert last.startswith("campus: the database in which Dagster keeps its runs does not answer: ")
        server.start()
        is_exact_after_another_run(programs, home, reference, **mine)
