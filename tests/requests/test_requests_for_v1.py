"""Each reading takes the requests for v1 and attendance that its golden file has, and no more."""

from collections.abc import Callable
from pathlib import Path

import pytest
from cases import the_rest_slow
from recorded_nights import OF_V1, V1, Reading, choices, differing, name_of

SEVERAL: list[Reading] = [
    {"unlisted": "422"},
    {"people": "joined"},
    {"v1_pagination_headers": "absent", "page_past_end": "404", "v1_max_per_page": 7},
    {"per_page": "refused", "v1_max_per_page": 7},
    {"left_users": "archived", "archived": "by_status"},
    {"v1_semester_ids": "shifted", "v1_semester_names": "other", "v1_class_ids": "other"},
]
READINGS = [{}, *choices(*OF_V1), *SEVERAL]


@pytest.mark.parametrize("reading", the_rest_slow(0, READINGS), ids=name_of)
def test_requests_equal_the_golden_file(reading: Reading, new_home: Callable[[], Path]) -> None:
    difference = differing(new_home(), "v1.txt", V1, reading)
    assert not difference, difference
