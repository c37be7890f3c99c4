"""A platform that is started anew in the midst of a load: for seconds there is no connection, and then no
token of before holds. Nothing of it shows in the tables."""

from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest

from simulator.process import RunningSimulator, running
from tests.kits.kills.killing import Victims
from tests.kits.kills.kills import SYNC
from tests.kits.programs.processes import environment_for
from tests.kits.servers.nginx import free_port
from tests.kits.worlds.world import BASE_ONLY, EARLY, World, differences, instance_at, settings_for

LOAD = (*SYNC, "--select", BASE_ONLY)
AWAY = 3.0  # seconds, of the half minute for which it is waited


@pytest.mark.slow
def test_a_platform_that_restarts_in_the_midst_of_a_load(programs: Victims, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "campus.yaml").write_text("datasets: {include: []}")
    options = {"schools": 1, "students": 12, "semesters": 1, "today": str(EARLY), "port": free_port()}
    gone: list[float] = []
    back: list[RunningSimulator] = []
    with ExitStack() as before, ExitStack() as after:
        platform = before.enter_context(running(**options))

        def restart(seconds: float) -> bool:
            if not gone and "discovery:" in programs.output.read_text():
                before.close()
                gone.append(seconds)
            elif gone and not back and seconds > gone[0] + AWAY:
                back.append(after.enter_context(running(**options)))
            return False

        done = programs.run(LOAD, environment_for(home, platform), home, restart)
        assert back and done.status == 0, done.output[-5000:]
        with instance_at(home) as instance:
            world = World(home, back[0], settings_for(home, back[0]), instance, count(1))
            assert differences(world) == {}
