"""Each reading takes the base data requests that its golden file has, and no more."""

from collections.abc import Callable
from pathlib import Path

import pytest
from cases import the_rest_slow
from recorded_nights import BASE_DATA, OF_TABLES, OF_V1, Reading, choices, differing, name_of

SEVERAL: list[Reading] = [
    *({"ignored": [name]} for name in ("with_trashed", "sort", "expand", "updated_at_egt")),
    *({"ignored": [name]} for name in ("class_id_in", "class_ids", "semester_id")),
    {"max_per_page": 7},
    # Lists of several pages.
    *({"max_per_page": 7, "ignored": [name]} for name in ("page", "per_page", "paginated")),
    {"max_per_page": 7, "unpaged": "ignored"},
    {"max_per_page": 7, "unpaged": "refused"},
    {"max_per_page": 7, "per_page": "refused"},
    {"max_per_page": 7, "updated_filter": "422"},
    {"max_per_page": 7, "pagination_headers": "absent"},
    {"max_per_page": 7, "pagination_headers": "absent", "page_past_end": "last"},
    {"max_per_page": 5, "pagination_headers": "absent", "page_past_end": "404", "terms": "paged"},
    {"pagination_headers": "absent", "unpaged": "ignored", "per_page": "refused"},
    {"rejoined": 2, "member_times": "absent", "deleted_at": "none", "member_class_id": "present"},
]
READINGS = [{}, *choices(*OF_V1, *OF_TABLES, others=True), *SEVERAL]


@pytest.mark.parametrize("reading", the_rest_slow(0, READINGS), ids=name_of)
def test_requests_equal_the_golden_file(reading: Reading, new_home: Callable[[], Path]) -> None:
    difference = differing(new_home(), "base_data.txt", BASE_DATA, reading)
    assert not difference, difference
