"""Each reading takes the requests for datasets and reports that its golden file has, and no more."""

from collections.abc import Callable
from pathlib import Path

import pytest
from cases import the_rest_slow
from recorded_nights import OF_TABLES, TABLES, Reading, choices, differing, name_of

SEVERAL: list[Reading] = [
    *({"ignored": [name]} for name in ("id_egt", "id_elt", "sort", "paginated", "limit", "page")),
    {"envelope": "code", "refusals": "code"},
    {"unlisted": "400", "dataset_list_fields": "bare"},
    {"pagination_headers": "absent"},
    {"pagination_headers": "absent", "unpaged": "refused", "max_per_page": 10, "page_past_end": "last"},
    {"dataset_list": "paged", "dataset_list_fields": "bare", "v3_prefix": "/api/v3", "max_per_page": 4},
    {"report_ids": "own", "report_unknown": "400"},
]
READINGS = [{}, *choices(*OF_TABLES), *SEVERAL]


@pytest.mark.parametrize("reading", the_rest_slow(0, READINGS), ids=name_of)
def test_requests_equal_the_golden_file(reading: Reading, new_home: Callable[[], Path]) -> None:
    difference = differing(new_home(), "tables.txt", TABLES, reading)
    assert not difference, difference
