"""When a worker pauses, and for how long."""

from pipelines.district.pauses import AT_ONCE, FIRST_PAUSE, LONGEST_PAUSE, MOST, Failures


def fail(failures: Failures, times: int, now: float = 0.0) -> None:
    for _ in range(times):
        failures.ended(failed=True, seconds=1.0, now=now)


def test_a_few_failures_at_once_are_no_reason_to_pause() -> None:
    failures = Failures()
    fail(failures, MOST - 1)
    failures.ended(failed=False, seconds=1.0, now=0.0)
    fail(failures, MOST - 1)
    failures.ended(failed=True, seconds=AT_ONCE + 1, now=0.0)
    fail(failures, MOST - 1)
    assert failures.why_not(0.0) is None


def test_a_pause_ends_and_the_next_one_is_longer_up_to_the_longest() -> None:
    failures = Failures()
    fail(failures, MOST)
    why = failures.why_not(FIRST_PAUSE - 1)
    assert why and why.startswith(f"{MOST} runs in a row failed")
    assert failures.why_not(FIRST_PAUSE) is None
    fail(failures, 1)
    assert failures.why_not(2 * FIRST_PAUSE - 1) and not failures.why_not(2 * FIRST_PAUSE)
    fail(failures, 100)
    assert failures.why_not(LONGEST_PAUSE - 1) and not failures.why_not(LONGEST_PAUSE)
