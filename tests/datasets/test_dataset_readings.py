"""Whatever the platform made of what the specification leaves open: datasets are read as they are, or the
reading says that they are not."""

import dataclasses
from functools import cache
from typing import Any
from urllib.parse import quote

import pytest
from dataset_reading import Found, Local, read_all
from dataset_truth import fields_of, in_order, names, spelt, true_rows

from campus.decoding.page import Drift
from simulator.settings import Readings

Options = dict[str, Any]
# Every other choice that concerns datasets, one at a time: a new option of the simulator is tried without a
# change here.
CHOICES: list[Options] = [
    {option.name: choice}
    for option in dataclasses.fields(Readings)
    for choice in option.metadata.get("choices", ())
    if choice != option.default and option.name.startswith(("dataset_", "v3_"))
]
# What concerns all lists, and several at once.
NASTY: list[Options] = [
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


def misread(local: Local, found: dict[str, Found]) -> list[str]:
    """The datasets of which the rows that were read are not the true ones. One with a key may come on two
    pages, and the lake takes it once; without a key each counts."""
    rows = cache(local.rows)

    def is_as_it_is(name: str) -> bool:
        read = spelt(rows, name, found[name].rows)
        if any(field["primary"] for field in fields_of(rows, name)):
            read = list({repr(row): row for row in read}.values())
        return in_order(read) == in_order(true_rows(rows, name))

    return [name for name in found if not is_as_it_is(name)]


def name_of(options: Options) -> str:
    return " ".join(f"{name}={value}" for name, value in options.items()) or "plain"


@pytest.mark.parametrize("options", [{}, *CHOICES, *NASTY], ids=name_of)
def test_every_dataset_is_read_as_it_is(options: Options) -> None:
    local = Local.of(**options)
    found = read_all(local)
    assert list(found) == names(local.rows)
    assert {name: one.told for name, one in found.items() if one.told} == {}
    assert misread(local, found) == []
    assert sum(one.bad for one in found.values()) == 0


@pytest.mark.parametrize("width", [7, 40])
def test_segments_of_any_width_hold_all_rows_and_holes_cost_one_request(width: int) -> None:
    local = Local.of()
    found = read_all(local, width)
    assert misread(local, found) == [name for name in found if found[name].told] == []
    assert {name for name, one in found.items() if one.segments is None} == BY_PAGES
    for name in found.keys() - BY_PAGES:
        planning = [target for target in local.asked(f"/{quote(name)}/records?") if "limit=1" in target]
        segments = found[name].segments
        assert segments is not None
        # The least, the greatest, whether there is one beyond, and one for each segment but the first.
        assert len([one for one in planning if one.endswith("limit=1")]) <= len(segments) + 3


def test_the_prefix_is_found_by_asking_once() -> None:
    local = Local.of(v3_prefix="/api/v3")
    assert all(not one.told for one in read_all(local).values())
    assert len([target for target in local.targets if not target.startswith("/api/v3/")]) == 1


def test_a_platform_that_ignores_the_upper_bound_says_what_it_counts() -> None:
    local = Local.of(ignored=["id_elt"])
    found = read_all(local)
    assert misread(local, found) == []
    assert {name for name, one in found.items() if one.told} == {"archive_cards"}
    assert Drift("ignored_parameter", "id_elt") in found["archive_cards"].drift


def test_a_platform_that_does_not_sort_at_all_is_told_and_never_believed() -> None:
    local = Local.of(ignored=["sort"], dataset_order="shuffled")
    found = read_all(local)
    told = {name for name, one in found.items() if "does not sort" in one.told}
    assert set(misread(local, found)) <= told
    # Of the others a probe may tell by luck, and then pages are read.
    assert found.keys() - told >= BY_PAGES | {"empty_awards"}


def test_text_where_numbers_are_listed_is_set_aside_and_its_row_loads() -> None:
    local = Local.of(enums="unknown")
    found = read_all(local)["course_scores"]
    # `term` is one of 1 and 2; where it was null this platform sends text.
    true = true_rows(local.rows, "course_scores")
    assert (found.bad, len(found.rows)) == (0, len(true))
    assert sum(row in true for row in found.rows) == len(true) - 5
    assert found.drift[Drift("unreadable_value", "term")] == 5
    assert found.drift[Drift("unknown_value", "level", "unheard_of")] == 8


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
        *({"name": each, "type": "string"} for each in STRANGE_FIELDS),
    )
    for number in range(3):
        local.insert(f"datasets/{name}", **{each: f"{each} {number}" for each in STRANGE_FIELDS})
    found = read_all(local)
    assert (found[name].told, found[name].segments) == ("", (0,))
    assert len(found[name].rows) == 3
    assert name not in misread(local, found)
