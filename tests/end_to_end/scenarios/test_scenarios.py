"""Whatever changes and fails on a platform: the lake equals the platform, or the load names what differs."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kits.scenarios.home import Home, options_of
from tests.kits.scenarios.scenario import Scenario, read_scenarios
from tests.kits.worlds.world import World

SCENARIOS = read_scenarios(Path(__file__).with_name("scenarios.yaml"))


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_the_lake_equals_the_platform(scenario: Scenario, make_world: Callable[..., World]) -> None:
    Home(scenario, make_world("small", **options_of(scenario))).live()
