"""campus build, killed at any moment of a first build and of one that goes on from the published file."""

import json
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import duckdb
import pytest

from tests.kits.kills.killing import Victims
from tests.kits.kills.kills import (
    BUILD,
    Copy,
    Kill,
    Start,
    Tell,
    killed_and_run_again,
    params,
    untouched,
)
from tests.kits.kills.news import SCHOOL, something_new
from tests.kits.programs import analyst
from tests.kits.programs.processes import environment_for
from tests.kits.worlds.world import World

FIRST, CARRIED = "first build", "build"


@pytest.fixture(scope="module")
def start_of(
    make_world: Callable[..., World], module_copy: Copy, programs: Victims
) -> Callable[[str], Start]:
    """Where the kills of a kind begin: a home that is loaded and not published, and one of which the file
    lacks the news of a day."""
    world = make_world(datasets=False)
    for entry in world.platform.rows("teachers", SCHOOL):
        world.platform.update("teachers", entry["key"], name="旧名")
    assert world.load().problems == []
    first = module_copy(world.home)
    assert world.publish().problem is None
    something_new(world)
    assert world.load().problems == []
    begins = {FIRST: first, CARRIED: world.home}

    @cache
    def start(kind: str) -> Start:
        return untouched(
            programs, begins[kind], BUILD, environment_for(world.home, world.platform), module_copy
        )

    return start


@pytest.mark.parametrize("kill", params((FIRST, 6), (CARRIED, 12)))
def test_the_next_build_is_exact(
    start_of: Callable[[str], Start], kill: Kill, programs: Victims, copy: Copy, record_property: Tell
) -> None:
    killed_and_run_again(programs, start_of(kill.kind), kill, copy, record_property)


@pytest.mark.slow
def test_analysts_are_answered_throughout_a_kill_and_a_swap(
    start_of: Callable[[str], Start], programs: Victims, copy: Copy, tmp_path: Path
) -> None:
    start = start_of(CARRIED)
    home, stop = copy(start.home), tmp_path / "stop"
    file = str(home / "campus.duckdb")
    process = subprocess.Popen(
        [sys.executable, analyst.__file__, file, stop],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with duckdb.connect(file, read_only=True) as connection:
        before = connection.execute(analyst.QUERY).fetchall()
        moment = 0.8 * start.seconds
        programs.run(BUILD, start.environment, home, lambda seconds: seconds >= moment)
        assert connection.execute(analyst.QUERY).fetchall() == before
        again = programs.run(BUILD, start.environment, home)
        assert again.status == 0, again.output[-5000:]
        assert connection.execute(analyst.QUERY).fetchall() == before, "who has it open keeps the file"
    stop.touch()
    seen, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (0, "")
    *states, reads = map(json.loads, seen.splitlines())
    school = before[0][0]
    assert states == [[school, name, name] for name in ("旧名", "新名")] and reads > 2
