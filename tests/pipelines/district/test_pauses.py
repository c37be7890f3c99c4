"""When a worker pauses, and for how long."""

import dagster as dg
import pytest

from pipelines.district.pauses import (
    AT_ONCE,
    FIRST_PAUSE,
    LONGEST_PAUSE,
    MOST,
    Failures,
    may_be_this_machine,
)
from pipelines.runs.jobs import SCHOOL_NIGHT
from tests.kits.programs.failed_slices import slices_failed


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
    assert failures.reason_to_pause(0.0) is None


def test_a_pause_ends_and_the_next_one_is_longer_up_to_the_longest() -> None:
    failures = Failures()
    fail(failures, MOST)
    why = failures.reason_to_pause(FIRST_PAUSE - 1)
    assert why and why.startswith(f"{MOST} runs in a row failed")
    assert failures.reason_to_pause(FIRST_PAUSE) is None
    fail(failures, 1)
    assert failures.reason_to_pause(2 * FIRST_PAUSE - 1) and not failures.reason_to_pause(2 * FIRST_PAUSE)
    fail(failures, 100)
    assert failures.reason_to_pause(LONGEST_PAUSE - 1) and not failures.reason_to_pause(LONGEST_PAUSE)


@pytest.mark.parametrize(
    ("message", "pauses"),
    [
        ("status 403: the scope class.read_all is not granted", False),
        ("No space left on device (os error 28)", True),
        ("[Errno 13] Permission denied: 'lake'", True),
    ],
)
def test_refused_slices_are_no_reason_to_pause(message: str, pauses: bool) -> None:
    failures = Failures()
    with dg.DagsterInstance.ephemeral() as instance:
        for _ in range(5):
            run = slices_failed(instance, SCHOOL_NIGHT, {}, message)
            failures.ended(failed=may_be_this_machine(instance, run.run_id), seconds=1.0, now=0.0)
    assert (failures.reason_to_pause(1.0) is not None) is pauses
