"""A load of everything takes the requests that its golden file has, and no more."""

from collections.abc import Callable
from pathlib import Path

import pytest
from cases import the_rest_slow
from recorded_nights import Reading, differing, name_of

READINGS: list[Reading] = [
    {},
    # Nothing is counted, nothing is listed as a whole, and pages never end.
    {"pagination_headers": "absent", "unpaged": "refused", "page_past_end": "last", "max_per_page": 20},
    # Neither changes nor deleted rows can be asked for, and parameters that are not listed are refused.
    {"updated_filter": "422", "with_trashed": "422", "unlisted": "422", "archived": "by_status"},
    # Answers hide what they are: an error has status 200.
    {"envelope": "code", "refusals": "code", "error_body": "errors", "unknown_ids": "empty"},
    {"class_scope": "split", "refused_scopes": "drop", "people_scope": "all", "v1_scopes": "each"},
    {"ignored": ["sort", "$page"], "v1_max_per_page": 7, "dataset_order": "shuffled"},
]


@pytest.mark.parametrize("reading", the_rest_slow(1, READINGS), ids=name_of)
def test_requests_equal_the_golden_file(reading: Reading, new_home: Callable[[], Path]) -> None:
    difference = differing(new_home(), "everything.txt", None, reading)
    assert not difference, difference
