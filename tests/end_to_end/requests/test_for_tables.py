"""Each reading takes the requests for datasets and reports that its golden file has, and no more."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kits.cases import the_rest_slow
from tests.kits.readings.choices import Reading, name_of
from tests.kits.requests.readings import FOR_TABLES
from tests.kits.requests.recorded_nights import TABLES, differing


@pytest.mark.parametrize("reading", the_rest_slow(0, FOR_TABLES), ids=name_of)
def test_requests_equal_the_golden_file(reading: Reading, new_home: Callable[[], Path]) -> None:
    difference = differing(new_home(), "tables.txt", TABLES, reading)
    assert not difference, difference
