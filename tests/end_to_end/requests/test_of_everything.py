"""A load of everything takes the requests that its golden file has, and no more."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kits.cases import the_rest_slow
from tests.kits.readings.choices import Reading, name_of
from tests.kits.requests.readings import OF_EVERYTHING
from tests.kits.requests.recorded_nights import differing


@pytest.mark.parametrize("reading", the_rest_slow(1, OF_EVERYTHING), ids=name_of)
def test_requests_equal_the_golden_file(reading: Reading, new_home: Callable[[], Path]) -> None:
    difference = differing(new_home(), "everything.txt", None, reading)
    assert not difference, difference
