"""Whatever the platform made of what the specification leaves open: datasets are read as they are, or the
reading says that they are not."""

from functools import cache
from urllib.parse import quote

import pytest

from campus.account import Drift
from tests.kits.readings.choices import Reading, name_of
from tests.kits.readings.datasets import Found, Local, read_all
from tests.kits.truth.dataset_truth import fields_of, in_order, names, spelt, true_rows

# What concerns all lists, and several at once.
NASTY: list[Reading] = [
    *({"ignored": [name]} for name in ("id_egt", "sort", "paginated", "limit", "page", "per_page")),
    *({"envelope": shape, "refusals": "code"} for shape in ("data", "list", "code")),
    {"unlisted": "422"},
    {"unlisted": "400", "dataset_list_fields": "bare"},
    {"pagination_headers": "absent"},
    {"pagination_headers": "absent", "unpaged": "refused", "max_per_page": 10, "page_past_end": "last"},
    {"unpaged": "ignored", "per_page": "refused"},
    {"unpaged": "refused", "max_per_page": 7},
    {"decimals": "fixed", "extra_fields": "some", "error_body": "empty"},
    {"decimals": "number", "token_lifetime": 1},
    {"dataset_list": "paged", "dataset_list_fields": "bare", "v3_prefix": "/api/v3", "max_per_page": 4},
    {"dataset_no_limit": "20", "dataset_unpaged_headers": "present", "dataset_fields_key": "added"},
    {"dataset_id": "field", "dataset_unsegmented": "ignored", "dataset_order": "shuffled"},
]
BY_PAGES = {"course_catalog", "semester_ranks", "entry_log", "legacy_points"}


def misread(local: Local, readings: dict[str, Found]) -> list[str]:
    """The datasets of which the rows that were read are not the true ones. One with a key may come on two
    pages, and the lake takes it once; without a key each counts."""
    rows = cache(local.rows)

    def is_as_it_is(name: str) -> bool:
        read = spelt(rows, name, readings[name].rows)
        if any(field["primary"] for field in fields_of(rows, name)):
            read = list({repr(row): row for row in read}.values())
        return in_order(read) == in_order(true_rows(rows, name))

    return [name for name in readings if not is_as_it_is(name)]


@pytest.mark.parametrize("options", [{}, *NASTY], ids=name_of)
def test_every_dataset_is_read_as_it_is(options: Reading) -> None:
    local = Local.of(**options)
    readings = read_all(local)
    assert list(readings) == names(local.rows)
    assert {name: reading.told for name, reading in readings.items() if reading.told} == {}
    assert misread(local, readings) == []
    assert sum(reading.bad for reading in readings.values()) == 0


@pytest.mark.parametrize("width", [7, 40])
def test_segments_of_any_width_hold_all_rows_and_holes_cost_one_request(width: int) -> None:
    local = Local.of()
    readings = read_all(local, width)
    assert misread(local, readings) == [name for name in readings if readings[name].told] == []
    assert {name for name, entry in readings.items() if entry.segments is None} == BY_PAGES
    for name in readings.keys() - BY_PAGES:
        planning = [target for target in local.asked(f"/{quote(name)}/records?") if "limit=1" in target]
        segments = readings[name].segments
        assert segments is not None
        # The least, the greatest, whether there is one beyond, and one for each segment but the first.
        assert len([entry for entry in planning if entry.endswith("limit=1")]) <= len(segments) + 3


def test_the_prefix_is_found_by_asking_once() -> None:
    local = Local.of(v3_prefix="/api/v3")
    assert all(not reading.told for reading in read_all(local).values())
    assert len([target for target in local.targets if not target.startswith("/api/v3/")]) == 1


def test_a_platform_that_ignores_the_upper_bound_says_what_it_counts() -> None:
    local = Local.of(ignored=["id_elt"])
    readings = read_all(local)
    assert misread(local, readings) == []
    assert {name for name, reading in readings.items() if reading.told} == {"archive_cards"}
    assert Drift("ignored_parameter", "id_elt") in readings["archive_cards"].drift


def test_a_platform_that_does_not_sort_at_all_is_told_and_never_believed() -> None:
    local = Local.of(ignored=["sort"], dataset_order="shuffled")
    readings = read_all(local)
    unsorted = {name for name, reading in readings.items() if "does not sort" in reading.told}
    assert set(misread(local, readings)) <= unsorted
    # Of the others a probe may tell by luck, and then pages are read.
    assert readings.keys() - unsorted >= BY_PAGES | {"empty_awards"}


def test_text_where_numbers_are_listed_is_set_aside_and_its_row_loads() -> None:
    local = Local.of(enums="unknown")
    reading = read_all(local)["course_scores"]
    # `term` is one of 1 and 2; where it was null this platform sends text.
    assert reading.bad == 0
    assert in_order(reading.rows) == in_order(true_rows(local.rows, "course_scores"))
    assert reading.drift[Drift("unreadable_value", "term")] == 5
    assert reading.drift[Drift("unknown_value", "level", "unheard_of")] == 8


STRANGE_NAMES = ["学生 成绩: 2025", "a?b&c=d#e+f%41;g", "'; DROP", "نتائج", "🏫 ２０２５", "select"]
STRANGE_FIELDS = [
    "select",
    "Select",
    "SELECT",
    "a b",
    "a:b",
    "_extra",
    "_deleted_at",
    "__v",
    "2nd",
    "عدد",
    "🏫",
]


@pytest.mark.parametrize("name", STRANGE_NAMES)
def test_names_in_any_script_are_encoded_and_read(name: str) -> None:
    local = Local.of()
    local.add_dataset(
        name,
        {"name": "编 号:", "type": "integer", "primary": True},
        *({"name": field, "type": "string"} for field in STRANGE_FIELDS),
    )
    for number in range(3):
        local.insert(f"datasets/{name}", **{field: f"{field} {number}" for field in STRANGE_FIELDS})
    readings = read_all(local)
    assert (readings[name].told, readings[name].segments) == ("", (0,))
    assert len(readings[name].rows) == 3
    assert name not in misread(local, readings)
