"""The drain of the inbox, killed at any moment: what was pushed is neither lost nor stuck."""

from collections.abc import Callable

import pytest

from loading.pushes.inbox import open_inbox
from pipelines.runs.instance import dagster_home
from tests.kits.kills.killing import Victims
from tests.kits.kills.kills import (
    DRAIN,
    Copy,
    Kill,
    Start,
    Tell,
    killed_and_run_again,
    params,
    untouched,
)
from tests.kits.kills.news import push, something_new
from tests.kits.programs.processes import environment_for
from tests.kits.worlds.world import World


@pytest.fixture(scope="module")
def start(make_world: Callable[..., World], module_copy: Copy, programs: Victims) -> Start:
    """A home whose inbox has a day's pushes."""
    world = make_world(datasets=False)
    assert world.load().problems == []
    for resource, keys in something_new(world).items():
        push(world.home, resource, keys)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DAGSTER_HOME", str(world.home / "dagster"))
        dagster_home(world.settings)
    return untouched(programs, world.home, DRAIN, environment_for(world.home, world.platform), module_copy)


@pytest.mark.parametrize("kill", params(("drain", 14)))
def test_the_next_drain_is_exact(
    start: Start, kill: Kill, programs: Victims, copy: Copy, record_property: Tell
) -> None:
    home = killed_and_run_again(programs, start, kill, copy, record_property)
    with open_inbox(home) as inbox:
        assert {standing.state for standing in inbox.event_counts()} == {"done"}
