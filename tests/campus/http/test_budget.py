"""The rate budget, run on a clock of its own against platforms with and without a limit."""

import math
import random
from collections import deque

import pytest

from campus.http.rate_limit import Budget, budget_for


def requests_granted(
    budget: Budget,
    seconds: float,
    start: float = 0.0,
    limit: float = 1e9,
    stray: float = 0.0,
    offered: float = 500.0,
) -> tuple[int, int]:
    """Send as fast as the budget and `offered` allow to a platform that accepts `limit` a second.

    It refuses what is beyond (a bucket of a tenth of a second), and a `stray` share of the rest. Returns
    accepted and refused.
    """
    dice = random.Random(1)
    now, bucket, last = start, limit / 10, start
    accepted = refused = 0
    while now < start + seconds:
        wait = budget.acquire(now)
        if wait:
            now += wait
            continue
        bucket, last = min(limit / 10, bucket + (now - last) * limit), now
        fails = bucket < 1 or dice.random() < stray
        bucket -= not fails
        refused += fails
        accepted += not fails
        budget.answered(now, now, fails)
        now += 1 / offered
    return accepted, refused


def test_the_first_answer_counts_too() -> None:
    budget = Budget()
    assert budget.acquire(0.0) == 0.0
    budget.answered(0.0, 0.1, refused=True)
    assert budget.rate(0.1) < float("inf")


def test_unlimited_without_refusals() -> None:
    budget = Budget()
    accepted, _ = requests_granted(budget, seconds=10)
    assert abs(accepted - 5000) <= 1
    assert budget.rate(10.0) == float("inf")


def test_refusals_slow_it_down_step_by_step_and_recovery_ends_unlimited() -> None:
    budget = Budget()
    requests_granted(budget, seconds=5)
    requests_granted(budget, seconds=2, start=5.0, limit=1)
    assert budget.rate(7.0) <= 350
    requests_granted(budget, seconds=4, start=7.0, limit=1)
    assert budget.rate(11.0) <= 80
    requests_granted(budget, seconds=60, start=11.0)
    assert budget.rate(71.0) == float("inf")


def test_settles_near_the_limit_of_a_platform_that_has_one() -> None:
    budget = Budget()
    requests_granted(budget, seconds=20, limit=50)
    accepted, refused = requests_granted(budget, seconds=60, start=20.0, limit=50)
    assert accepted >= 0.9 * 50 * 60
    assert refused <= 0.2 * accepted


@pytest.mark.parametrize("stray", [0.02, 0.1])
def test_stray_refusals_do_not_starve_the_client(stray: float) -> None:
    accepted, _ = requests_granted(Budget(), seconds=60, stray=stray)
    assert accepted >= 0.6 * 500 * 60


def test_refusals_of_requests_sent_before_a_decrease_do_not_decrease_again() -> None:
    budget = Budget()
    requests_granted(budget, seconds=3, limit=1)
    rate = budget.rate(5.0)
    for late in range(16):
        budget.answered(0.5, 5.0 + late / 100, refused=True)
    assert budget.rate(5.0) == rate


def test_a_pause_holds_all_requests_until_it_is_over() -> None:
    budget = Budget()
    assert budget.acquire(0.0) == 0.0
    budget.answered(0.0, 1.0, refused=True, pause=30.0)
    assert budget.acquire(1.0) == 30.0
    assert budget.acquire(21.0) == 10.0
    assert budget.acquire(31.0) == 0.0


def test_never_slower_than_one_request_a_second() -> None:
    budget = Budget()
    requests_granted(budget, seconds=60, limit=0.001)
    assert budget.rate(60.0) >= 1.0


def test_one_budget_a_host() -> None:
    assert budget_for("http://a") is budget_for("http://a")
    assert budget_for("http://a") is not budget_for("http://b")


def answers_of_a_second_at_a_time(budget: Budget, seconds: float, start: float) -> tuple[int, int]:
    """Ask a platform that answers a hundred requests each second of its clock, and then asks for a pause of
    one second. Sixteen are under way at a time, each for 10 ms; returns accepted and refused."""
    now, under_way, second, taken = start, deque[float](), 0, 0
    accepted = refused = 0
    while now < start + seconds:
        wait = budget.acquire(now) if len(under_way) < 16 else math.inf
        if not wait:
            under_way.append(now)
        elif under_way and under_way[0] + 0.01 <= now + wait:
            granted = under_way.popleft()
            now = max(now, granted + 0.01)
            second, taken = int(now), taken + 1 if int(now) == second else 1
            accepted, refused = accepted + (taken <= 100), refused + (taken > 100)
            budget.answered(granted, now, taken > 100, float(taken > 100))
        else:
            now += wait
    return accepted, refused


@pytest.mark.parametrize("start", [0.0, 0.3, 0.5, 0.8])
def test_a_limit_that_asks_for_pauses_is_kept_to_just_below(start: float) -> None:
    accepted, refused = answers_of_a_second_at_a_time(Budget(), 60.0, 1000 + start)
    assert accepted >= 92 * 60
    assert refused <= 0.02 * (accepted + refused)


def test_a_burst_that_meets_a_limit_is_no_rate() -> None:
    budget = Budget()
    budget.sent(0.0, 3000)
    for _ in range(40):
        budget.answered(0.0, 0.05, refused=False)
    for _ in range(5):
        budget.answered(0.0, 0.05, refused=True, pause=1.0)
    assert 30 <= budget.rate(0.05) <= 40


def test_what_a_limit_lets_pass_while_its_refusal_is_told_belongs_to_its_first_measure() -> None:
    budget = Budget()
    budget.sent(0.0, 3000)
    for _ in range(10):
        budget.answered(0.0, 0.05, refused=False)
    budget.answered(0.0, 0.05, refused=True, pause=1.0)
    for _ in range(90):
        # Other workers tell of theirs a moment later.
        budget.answered(0.0, 0.2, refused=False)
    measured = budget.rate(0.2)
    assert 90 <= measured <= 100
    budget.answered(0.0, 5.0, refused=False)
    assert budget.rate(0.2) == measured
