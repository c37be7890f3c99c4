"""Workers that share the rate of a platform, by a simulated clock."""

import asyncio
import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campus.http.rate_limit import Budget
from pipelines.shared.pace import SharedPace
from pipelines.shared.shares import GONE_AFTER, Report, SharedRate
from tests.kits.rates.limited import Kind, Limited, MemoryTable, fairness, work
from tests.kits.rates.simulated_clock import run_simulated

SECONDS, SETTLED = 90.0, 30.0
ROUND_TRIP = 0.02


# Every two of a kind, a number of workers and a latency.
@pytest.mark.parametrize(
    ("kind", "workers", "latency"),
    [
        ("fixed window", 1, 0.0),
        ("fixed window", 3, ROUND_TRIP),
        ("fixed window", 20, 0.0),
        ("sliding window", 1, ROUND_TRIP),
        ("sliding window", 3, 0.0),
        ("sliding window", 20, ROUND_TRIP),
        ("token bucket", 1, ROUND_TRIP),
        ("token bucket", 3, 0.0),
        ("token bucket", 20, ROUND_TRIP),
        pytest.param("fixed window", 60, ROUND_TRIP, marks=pytest.mark.slow),
        pytest.param("sliding window", 60, 0.0, marks=pytest.mark.slow),
        pytest.param("token bucket", 60, 0.0, marks=pytest.mark.slow),
    ],
)
def test_all_workers_use_nine_tenths_of_the_limit(kind: Kind, latency: float, workers: int) -> None:
    platform = Limited(kind)
    work(platform, MemoryTable(latency), workers, SECONDS)
    accepted, refused = platform.between(SETTLED, SECONDS)
    assert accepted >= 90
    assert refused <= 0.01
    assert platform.between(0, SECONDS)[1] <= 0.05


@pytest.mark.parametrize("workers", [1, 20])
@pytest.mark.parametrize("kind", ["fixed window", "sliding window", "token bucket"])
def test_a_limit_that_names_no_pause_is_kept_to(kind: Kind, workers: int) -> None:
    platform = Limited(kind, pause=0)
    work(platform, MemoryTable(ROUND_TRIP), workers, SECONDS)
    accepted, refused = platform.between(SETTLED, SECONDS)
    assert accepted >= 90
    assert refused <= 0.05


@pytest.mark.parametrize(
    ("workers", "latency"), [(3, 0.0), (20, ROUND_TRIP), pytest.param(60, 0.0, marks=pytest.mark.slow)]
)
def test_schools_get_equal_shares(workers: int, latency: float) -> None:
    # The first seconds are of those who came first.
    platform = Limited("fixed window", counted_from=10.0)
    work(platform, MemoryTable(latency), workers, SECONDS)
    assert len(platform.accepted) == workers
    assert fairness(platform) >= 0.9


def test_a_worker_that_joins_gets_its_share() -> None:
    platform = Limited("fixed window")
    work(platform, MemoryTable(), 2, SECONDS, begins={1: 60.0})
    assert platform.accepted[1] / 30 == pytest.approx(47, abs=5)


def test_a_platform_without_a_limit_is_not_slowed_down() -> None:
    platform = Limited("unlimited")
    work(platform, MemoryTable(ROUND_TRIP), 4, 30)
    # 16 requests at a time of each, 20 ms each.
    assert platform.between(15, 30)[0] >= 0.9 * 4 * 16 / 0.02


def test_a_few_stray_refusals_do_not_slow_down() -> None:
    platform = Limited("unlimited", strays=0.02)
    work(platform, MemoryTable(), 4, SECONDS, concurrency=4)
    # 16 requests at a time; each takes 20 ms, and one in fifty is sent again after half a second.
    assert platform.between(SETTLED, SECONDS)[0] >= 0.9 * 16 / (0.02 + 0.02 * 0.5)


def test_each_process_goes_on_while_the_database_is_away() -> None:
    platform, table = Limited("fixed window"), MemoryTable(ROUND_TRIP)

    async def go_away() -> None:
        await asyncio.sleep(40)
        table.is_gone = True

    work(platform, table, 3, SECONDS, meanwhile=go_away)
    before, after = platform.between(SETTLED, 40), platform.between(45, SECONDS)
    assert after[0] >= 0.8 * before[0]
    assert after[1] <= 0.05


def test_a_pause_stops_the_others_within_an_exchange() -> None:
    waits: list[float] = []

    async def test() -> None:
        table = MemoryTable()
        first, other = SharedPace(table, "first"), SharedPace(table, "other")
        for pace in (first, other):
            while wait := pace.acquire(time.monotonic()):
                await pace.wait(wait)
        now = time.monotonic()
        first.answered(now, now, True, 5.0)
        await asyncio.sleep(0.25)
        other.acquire(time.monotonic())
        await asyncio.sleep(0.1)
        waits.append(other.acquire(time.monotonic()))

    run_simulated(test())
    assert waits[0] == pytest.approx(4.65, abs=0.05)


def test_a_night_does_not_begin_faster_than_the_last_one_ended() -> None:
    rate = SharedRate(Budget.at(95.0, 0.0), added_at=0.0)
    rate.add([Report("a", math.inf, [])], 20 * 3600.0)
    assert rate.budget.rate(20 * 3600.0) == pytest.approx(95)


def test_a_rate_that_is_not_used_does_not_grow() -> None:
    rate = SharedRate(Budget.at(95.0, 0.0), added_at=0.0)
    for quarter in range(4 * 600):
        rate.add([Report("a", 1.0, [])], quarter / 4)
    assert rate.budget.rate(600.0) == pytest.approx(95, rel=1e-2)


def test_a_pause_outlasts_an_absence_of_the_database() -> None:
    waits: list[float] = []

    async def test() -> None:
        table = MemoryTable()
        pace = SharedPace(table, "one")
        while wait := pace.acquire(time.monotonic()):
            await pace.wait(wait)
        table.is_gone = True
        now = time.monotonic()
        pace.answered(now, now, True, 30.0)
        waits.append(pace.acquire(now))
        table.is_gone = False
        await pace.exchange()
        waits.append(pace.acquire(now))

    run_simulated(test())
    assert waits == [pytest.approx(30, abs=0.1)] * 2


def test_whoever_is_gone_leaves_its_share() -> None:
    rate = SharedRate(Budget.at(90.0, 0.0), added_at=0.0)
    rate.add([Report("a", math.inf, []), Report("b", math.inf, [])], 1.0)
    assert rate.share("a", 1.0) == pytest.approx(45, rel=1e-3)
    rate.add([Report("a", math.inf, [])], 1.1 + GONE_AFTER)
    assert rate.share("a", 1.1 + GONE_AFTER) == pytest.approx(90, rel=1e-3)


@given(st.lists(st.floats(0, 200), min_size=1, max_size=20), st.floats(1, 1000))
def test_shares_are_the_rate_and_none_has_less_than_it_wants_for_another(
    wants: list[float], whole: float
) -> None:
    rate = SharedRate(Budget.at(whole, 0.0), added_at=0.0)
    rate.add([Report(str(number), want, []) for number, want in enumerate(wants)], 0.0)
    shares = [rate.share(str(number), 0.0) for number in range(len(wants))]
    used = [min(share, want) for share, want in zip(shares, wants, strict=True)]
    assert sum(used) == pytest.approx(min(whole, sum(wants)))
    assert all(
        share >= want or share == pytest.approx(max(shares))
        for share, want in zip(shares, wants, strict=True)
    )
