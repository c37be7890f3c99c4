"""The simulation of large districts: its queues and its limits by hand-worked numbers."""

from dataclasses import replace

import pytest

from benchmarks.large_district.events import Process, Server, Simulation
from benchmarks.large_district.limits import COMPONENTS, limits
from benchmarks.large_district.night import District, simulated
from benchmarks.large_district.service_times import CPU_A_PROCESS, CPU_A_REQUEST, CPU_A_SCHOOL, REQUESTS
from tests.kits.repository.rooms import ROOT

DISTRICT = District(schools=50, rate=3000.0)


def ends_of(slots: int, arrivals: list[float], seconds: float) -> tuple[list[float], Server]:
    """When each of some processes has been served, in their order, and the server."""
    simulation, ends = Simulation(), list[float]()
    server = Server(simulation, slots)

    def serve() -> Process:
        yield from server.use(seconds)
        ends.append(simulation.now)

    for arrival in arrivals:
        simulation.start(serve(), arrival)
    simulation.run()
    return ends, server


def test_a_queue_serves_in_turn() -> None:
    """Three come at 0, 1 and 2 s, and need 2 s each: they stay for 2, 3 and 4 s."""
    ends, server = ends_of(1, [0, 1, 2], 2)
    assert ends == [2, 4, 6]
    assert server.utilisation == 1
    # Little's law: 3 arrivals in 6 s, and 3 s each.
    assert server.mean_present == pytest.approx(3 / 6 * 3)


def test_two_slots_serve_two_at_a_time() -> None:
    ends, server = ends_of(2, [0, 0, 0], 2)
    assert ends == [2, 2, 4]
    assert server.utilisation == pytest.approx(6 / 8)


def test_a_limit_is_the_last_number_of_schools_below_it() -> None:
    at_limit = limits(DISTRICT)
    assert len(at_limit) > 10
    for name, schools in at_limit.items():
        share = COMPONENTS[name]
        assert share(replace(DISTRICT, schools=schools)) <= 1 < share(replace(DISTRICT, schools=schools + 1))


def test_a_night_is_as_long_as_its_slowest_part() -> None:
    """With 100 answers a second the platform decides: ten times the schools take ten times as long."""
    few, many = (simulated(District(schools=count, rate=100.0)).loads_end for count in (50, 500))
    assert many / few == pytest.approx(10, rel=0.05)


def test_the_page_of_districts_has_the_simulations_seconds() -> None:
    """A night without changes of a school of 2,000 students, and 500 of them."""
    seconds = CPU_A_PROCESS.value + CPU_A_SCHOOL.value + REQUESTS.value * CPU_A_REQUEST.value
    page = (ROOT / "docs/how-to/district.md").read_text(encoding="utf-8")
    assert f"in the first night, {seconds:.1f} in a later one" in page
    assert f"| nothing changed | 6.2 million | 75 GB | {seconds * 500 / 3600:.1f} |" in page
