"""Lists whose rows have no key: rows may be alike, and each of them counts."""

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from campus.paging import Paging, page_by_number
from campus.paging.passes import counted, numbered
from tests.kits.platforms.listings import Listing, read

habits = st.fixed_dictionaries(
    {
        "clamp": st.sampled_from([3, 7, 10_000]),
        "headers": st.booleans(),
        "knows_page": st.sampled_from([True, True, True, False]),
        "knows_per_page": st.booleans(),
        "refuses_whole": st.booleans(),
        "repeats_last": st.booleans(),
    }
)
# Few kinds of rows, so that whole pages of them are alike.
kinds = st.lists(st.sampled_from("aabbbc"), max_size=60)


def paging_of(per_page: int) -> Paging:
    return page_by_number(per_page=per_page, keep_duplicates=True)


# Pages of a size of their own, all alike: they look like a list that is not paged.
ALIKE = {"clamp": 3, "headers": False, "knows_page": True, "knows_per_page": False, "refuses_whole": False}


@settings(max_examples=200, deadline=None)
@given(kinds, habits, st.integers(1, 12), st.integers(0, 2**32))
@example([*"aaaaaaaaa"], {**ALIKE, "repeats_last": False}, 1, 0)
@example([*"abbababaabaa"], {**ALIKE, "repeats_last": True}, 7, 0)
@example([*"aaaaaaabaabaabaaaacaaabcaaaaa"], {**ALIKE, "repeats_last": False}, 7, 0)
def test_complete_means_each_row_as_often_as_it_is_there(
    rows: list[Any], habits: dict[str, Any], per_page: int, seed: int
) -> None:
    # One that shows the same few rows whatever it is asked cannot be found out.
    habits = {**habits, "knows_per_page": habits["knows_per_page"] or not habits["knows_page"]}
    # Nor one whose pages, of a size of its own, are alike, unless it shows everything at once or they are of
    # one row only.
    assume(habits["knows_per_page"] or not habits["refuses_whole"])
    platform = Listing(rows, random.Random(seed), **habits)
    paging = paging_of(per_page)
    reading = read(paging, platform)
    if reading.outcome.complete:
        assert Counter(reading.rows) == Counter(rows)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 60).filter(lambda count: count != 2), habits, st.integers(2, 12), st.booleans())
def test_a_list_at_rest_is_proven_whatever_shows_past_its_end(
    count: int, habits: dict[str, Any], per_page: int, twice: bool
) -> None:
    # A few rows end alike in most passes: how many pages are alike at the end nobody can tell.
    assume(count < 2 or count > 24)
    rows: list[Any] = [number // (1 + twice) for number in range(count)]
    paging = paging_of(per_page)
    reading = read(paging, Listing(rows, **{**habits, "knows_page": True, "knows_per_page": True}))
    assert reading.outcome.complete
    assert Counter(reading.rows) == Counter(rows)


def test_pages_that_are_alike_in_the_middle_are_rows_like_any() -> None:
    rows: list[Any] = [*range(20), *(7,) * 20, *range(20)]
    paging = paging_of(10)
    reading = read(paging, Listing(rows, headers=False, refuses_whole=True))
    assert reading.outcome.complete
    assert Counter(reading.rows) == Counter(rows)


@pytest.mark.parametrize("count", [30, 1000])
def test_rows_that_are_all_alike_and_never_counted_are_not_proven(count: int) -> None:
    platform = Listing([7] * count, headers=False, refuses_whole=True, repeats_last=True)
    paging = paging_of(10)
    reading = read(paging, platform, most=100)
    assert not reading.outcome.complete


def test_rows_that_are_alike_on_one_counted_page_are_all_there_are() -> None:
    platform = Listing([7] * 3, refuses_whole=True)
    paging = paging_of(10)
    reading = read(paging, platform)
    assert (reading.rows, reading.outcome.complete, platform.asked) == ([7, 7, 7], True, 1)


@pytest.mark.parametrize("rows", ["aaa", "aab", "abb", "aabb"])
def test_rows_that_are_alike_may_fill_the_pages_of_another_pass(rows: str) -> None:
    paging = paging_of(2)
    reading = read(paging, Listing([*rows], refuses_whole=True))
    assert (sorted(reading.rows), reading.outcome.complete) == ([*rows], True)


def test_pages_in_any_order_that_never_end_are_given_up_and_none_is_handed_on() -> None:
    platform = Listing([*range(70)], headers=False, repeats_last=True, shuffles=True)
    paging = paging_of(18)
    reading = read(paging, platform, most=1_000)
    assert (reading.rows, reading.outcome.complete) == ([], False)
    assert "without an end" in reading.outcome.note


@pytest.mark.parametrize("per_page", range(1, 13))
def test_an_order_that_changes_with_the_size_of_pages_is_not_proven(per_page: int) -> None:
    """Pages of a size that comes twice then have the same wrong rows twice."""
    platform = Listing([*range(70)], refuses_whole=True, shuffles=True)
    reading = read(paging_of(per_page), platform, most=1_000)
    assert not reading.outcome.complete


few_kinds = st.lists(st.sampled_from("aabbbcdefg"), min_size=1, max_size=12)


@given(few_kinds, st.lists(st.integers(0, 11), max_size=4))
@example([*"ab"], [0, 1])
@example([*"aab"], [0])
@example([*"aabb"], [0])
def test_rows_sent_again_are_told_by_the_count_or_all_stay(rows: list[str], again: list[int]) -> None:
    """rows: as the platform counts them. again: those that it sends once more."""
    sent = [*rows, *(rows[number % len(rows)] for number in again)]
    keys = frozenset(numbered(sent, Counter()))
    result = counted(keys, len(rows))
    left = Counter(key.key for key in result.keys)  # type: ignore[attr-defined]
    repeated = [row for row, times in Counter(sent).items() if times > 1]
    is_told = not again or len(repeated) == 1 or len(set(rows)) == len(rows)
    assert left == Counter(rows if is_told else sent)
    assert result.has_unclear_repeats == (not is_told)
    assert counted(keys, None).keys == keys


def test_more_different_rows_than_the_count_stay_with_their_repeats() -> None:
    keys = frozenset(numbered("aabc", Counter()))
    result = counted(keys, 2)
    assert (result.keys, result.has_unclear_repeats) == (keys, True)
    assert not counted(frozenset(numbered("abc", Counter())), 2).has_unclear_repeats


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 60), habits, st.integers(1, 12), st.integers(0, 2**32))
def test_a_row_sent_twice_and_counted_once_does_not_disturb_the_proof(
    count: int, habits: dict[str, Any], per_page: int, seed: int
) -> None:
    habits |= {"headers": True, "knows_page": True, "knows_per_page": True, "repeats_last": False}
    platform = Listing([*range(count)], random.Random(seed), repeats_a_row=True, **habits)
    reading = read(paging_of(per_page), platform)
    assert reading.outcome.complete
    assert len(reading.rows) > count
    rows = counted(frozenset(numbered(reading.rows, Counter())), reading.outcome.total).keys
    assert rows == frozenset(numbered(range(count), Counter()))
