"""One simulator for all tests that leave it as it was."""

from collections.abc import Iterator

import httpx
import pytest

from simulator.process import RunningSimulator, running
from tests.kits.platforms.simulated import client


@pytest.fixture(scope="session")
def simulator() -> Iterator[RunningSimulator]:
    with running(schools=2, students=60) as started:
        yield started


@pytest.fixture
def unsettled() -> Iterator[RunningSimulator]:
    """A simulator that a test may change."""
    with running(schools=2, students=60) as started:
        yield started


@pytest.fixture(scope="session")
def school(simulator: RunningSimulator) -> Iterator[httpx.Client]:
    with client(simulator) as session:
        yield session
