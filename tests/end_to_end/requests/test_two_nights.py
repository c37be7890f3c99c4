"""Two nights of any platform load what is there, with the requests of the golden file and no more."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kits.cases import the_rest_slow
from tests.kits.readings.bisection import smallest
from tests.kits.readings.choices import Reading, name_of
from tests.kits.readings.pairs import IMPOSSIBLE, missing_pairs, readings_of_pairs
from tests.kits.requests.golden_file import RECORD_AGAIN, read_names
from tests.kits.requests.recorded_nights import differing

#: Platforms whose requests the golden file has with all parameters.
FEW: list[Reading] = [
    {},
    # Nothing is counted, nothing is listed as a whole, and pages never end.
    {"pagination_headers": "absent", "unpaged": "refused", "page_past_end": "last", "max_per_page": 20},
    # Neither changes nor deleted rows can be asked for, and parameters that are not listed are refused.
    {"updated_filter": "422", "with_trashed": "422", "unlisted": "422", "archived": "by_status"},
    # Answers hide what they are: an error has status 200.
    {"envelope": "code", "refusals": "code", "error_body": "errors", "unknown_ids": "empty"},
    {"class_scope": "split", "refused_scopes": "drop", "people_scope": "all", "v1_scopes": "each"},
    {"ignored": ["sort", "id_egt"], "v1_max_per_page": 7},
    # Who left and came again, and classes that cannot be told apart by what they are asked for.
    {"rejoined": 2, "member_times": "absent", "deleted_at": "none", "member_class_id": "present"},
]
PAIRS = readings_of_pairs()


@pytest.mark.parametrize("reading", the_rest_slow(1, FEW), ids=name_of)
def test_requests_are_those_of_the_golden_file(reading: Reading, new_home: Callable[[], Path]) -> None:
    difference = differing(new_home(), "everything.txt", name_of(reading), reading)
    assert not difference, difference


@pytest.mark.parametrize("number", the_rest_slow(0, range(len(PAIRS))))
def test_pairs_of_choices_change_neither_rows_nor_requests(number: int, new_home: Callable[[], Path]) -> None:
    """`python -m tests.kits.readings.bisection NUMBER` names the choices that matter."""
    difference = differing(new_home(), "pairs.txt", f"platform {number}", PAIRS[number], paths_only=True)
    assert not difference, difference


def test_every_pair_of_choices_that_may_stand_together_does() -> None:
    assert missing_pairs() == [], "make pairs"
    assert all(len(choice) == 2 for choice, _ in IMPOSSIBLE)


@pytest.mark.parametrize("matter", [{7}, {0, 117}, {3, 60, 61}])
def test_bisection_leaves_the_choices_that_matter(matter: set[int]) -> None:
    assert smallest(range(118), matter.issubset) == matter


@pytest.mark.parametrize(
    ("file", "names"),
    [
        ("everything.txt", {name_of(reading) for reading in FEW}),
        ("pairs.txt", {f"platform {number}" for number in range(len(PAIRS))}),
    ],
)
def test_each_platform_is_in_the_golden_file(file: str, names: set[str]) -> None:
    assert read_names(file) == names, RECORD_AGAIN
