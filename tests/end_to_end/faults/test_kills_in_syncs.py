"""campus sync, killed at any moment of a first load and of a night with news."""

from collections.abc import Callable
from functools import cache

import pytest

from tests.kits.kills.killing import Victims
from tests.kits.kills.kills import (
    SYNC,
    Copy,
    Kill,
    Start,
    Tell,
    killed_and_run_again,
    params,
    untouched,
)
from tests.kits.kills.news import something_new
from tests.kits.programs.processes import environment_for
from tests.kits.worlds.world import BASE_ONLY, World

FIRST, WHOLE, NIGHT = "first sync", "whole night", "night"
#: Half of the seconds of a sync, and what most of the commits are of.
BASE_SYNC = (*SYNC, "--select", BASE_ONLY)


@pytest.fixture(scope="module")
def start_of(
    make_world: Callable[..., World], module_copy: Copy, programs: Victims
) -> Callable[[str], Start]:
    """Where the kills of a kind begin: a home that holds nothing, and one that lacks the news of a day."""
    world = make_world()
    environment = environment_for(world.home, world.platform)
    night = module_copy(world.home)
    ended = programs.run(SYNC, environment, night)
    assert ended.status == 0, ended.output[-5000:]
    something_new(world)
    begins = {FIRST: (world.home, BASE_SYNC), WHOLE: (night, SYNC), NIGHT: (night, BASE_SYNC)}

    @cache
    def start(kind: str) -> Start:
        home, command = begins[kind]
        return untouched(programs, home, command, environment, module_copy)

    return start


@pytest.mark.parametrize("kill", params((FIRST, 4), (WHOLE, 5), (NIGHT, 9)))
def test_the_next_sync_is_exact(
    start_of: Callable[[str], Start], kill: Kill, programs: Victims, copy: Copy, record_property: Tell
) -> None:
    killed_and_run_again(programs, start_of(kill.kind), kill, copy, record_property)
