"""Reading by page numbers: minimal where nothing moves, never a false proof where something does."""

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campus.capabilities import Capabilities
from campus.http.errors import CampusError, NotFound, Refused, Transient
from campus.http.request import Pagination
from campus.paging import (
    V1_NAMES,
    PageAnswer,
    PageRequest,
    PageSeen,
    page_by_number,
    page_unpaged_list,
)
from tests.kits.platforms.listings import REFUSED, Listing, drive, read


def listing(count: int, **habits: Any) -> Listing:
    return Listing(list(range(count)), **habits)


@pytest.mark.parametrize(
    ("rows", "habits", "limit", "requests"),
    [
        # That there is nothing takes four more first pages.
        (0, {}, 1000, 5),
        (10, {}, 1000, 1),
        (100, {}, 1000, 1),
        (101, {}, 1000, 2),
        (950, {}, 1000, 2),
        (950, {"headers_on_whole": False}, 1000, 2),
        (950, {"clamp": 50}, 1000, 2),
        # Beyond the limit for one answer: a pass of 10 pages of 100, and another of 12 pages of 90.
        (1000, {}, 999, 22),
        # A platform that knows no paginated=0: the request for it, and the same two passes.
        (1000, {"knows_whole": False}, 1000, 23),
        (1000, {"refuses_whole": True}, 1000, 23),
        # Pages of 50 for all we ask: 20 of them, then 23 of 45.
        (1000, {"clamp": 50}, 999, 43),
        (1000, {"clamp": 50, "says_clamp": False}, 999, 43),
    ],
)
def test_a_list_at_rest_is_proven_with_the_fewest_requests(
    rows: int, habits: dict[str, Any], limit: int, requests: int
) -> None:
    platform = listing(rows, **habits)
    paging = page_by_number(per_page=100, unpaged_limit=limit)
    reading = read(paging, platform)
    assert reading.rows == list(range(rows))
    assert (reading.outcome.complete, reading.outcome.total, platform.asked) == (True, rows, requests)


def test_pages_are_asked_for_side_by_side() -> None:
    paging = page_by_number(per_page=100, unpaged_limit=0)
    (first,) = next(paging)
    assert first.params == (("page", 1), ("per_page", 100))
    further = paging.send(PageAnswer(first, PageSeen(range(100), Pagination(1, 5, 100, 500))))
    assert [dict(request.params)["page"] for request in further] == [2, 3, 4, 5]
    assert paging.send(PageAnswer(further[2], PageSeen(range(300, 400), Pagination(4, 5, 100, 500)))) == ()


@pytest.mark.parametrize("rows", [0, 1, 20, 45])
@pytest.mark.parametrize("knows_whole", [True, False])
def test_a_list_without_headers_is_read_until_two_looks_bring_nothing_and_read_again(
    rows: int, knows_whole: bool
) -> None:
    platform = listing(rows, headers=False, knows_whole=knows_whole)
    paging = page_by_number(per_page=20)
    reading = read(paging, platform)
    assert reading.rows == list(range(rows))
    assert reading.outcome.complete
    assert reading.outcome.total is None


def test_an_empty_page_before_the_end_is_no_end_and_no_proof() -> None:
    paging = page_by_number(per_page=10, unpaged_limit=0)
    reading = read(paging, listing(100, empty_page=3))
    assert not reading.outcome.complete
    assert len(set(reading.rows)) >= 90


def test_a_platform_that_ignores_page_is_found_out() -> None:
    platform = listing(1000, knows_page=False)
    paging = page_by_number(per_page=100, unpaged_limit=0)
    reading = read(paging, platform)
    assert not reading.outcome.complete
    assert "ignore the page number" in reading.outcome.note
    assert reading.rows[:100] == list(range(100))
    assert platform.asked <= 1 + 64


def test_a_platform_that_ignores_page_and_tells_no_total_is_never_proven() -> None:
    paging = page_by_number(per_page=100)
    reading = read(paging, listing(30, knows_page=False, headers=False))
    assert not reading.outcome.complete
    assert set(reading.rows) == set(range(30))


@pytest.mark.parametrize("knows_whole", [True, False])
@pytest.mark.parametrize("rows", [1, 2, 30, 500])
def test_a_list_that_is_not_paged_at_all_is_proven_by_showing_more_than_a_page(
    rows: int, knows_whole: bool
) -> None:
    platform = listing(rows, knows_page=False, knows_per_page=False, headers=False)
    platform.knows_whole, platform.default_size = knows_whole, 1_000_000
    paging = page_by_number(per_page=100)
    reading = read(paging, platform)
    assert reading.rows == list(range(rows))
    assert (reading.outcome.complete, reading.outcome.total, platform.asked) == (True, None, 3)


def test_a_list_that_is_not_paged_at_all_but_changes_is_read_again() -> None:
    platform = listing(30, knows_page=False, knows_per_page=False, headers=False, default_size=1_000_000)
    platform.growth = 1
    paging = page_by_number(per_page=100)
    reading = read(paging, platform)
    assert not reading.outcome.complete


@pytest.mark.parametrize("rows", [1, 2, 20, 30, 99])
@pytest.mark.parametrize("whole", [{"refuses_whole": True}, {"knows_whole": False}, {}])
def test_the_last_page_unpaged_list_more_for_a_page_past_the_end_is_no_page_ignored(
    rows: int, whole: dict[str, Any]
) -> None:
    platform = listing(rows, headers=False, repeats_last=True, **whole)
    paging = page_by_number(per_page=100)
    reading = read(paging, platform)
    assert sorted(set(reading.rows)) == list(range(rows))
    assert reading.outcome.complete


@pytest.mark.parametrize("rows", [2, 3, 30])
def test_a_platform_that_ignores_all_but_per_page_is_never_proven(rows: int) -> None:
    platform = listing(rows, knows_page=False, knows_whole=False, headers=False, clamp=20)
    paging = page_by_number(per_page=100)
    reading = read(paging, platform)
    assert not reading.outcome.complete


def test_a_platform_that_ignores_per_page_is_read_all_the_same() -> None:
    paging = page_by_number(per_page=100, unpaged_limit=0)
    reading = read(paging, listing(130, knows_per_page=False))
    assert reading.rows == list(range(130))
    assert reading.outcome.complete


def test_a_refused_per_page_is_asked_for_again_smaller() -> None:
    platform = listing(130, refuses_above=100)
    paging = page_by_number(per_page=1000)
    reading = read(paging, platform)
    assert reading.rows == list(range(130))
    assert reading.outcome.complete


def test_a_platform_that_takes_only_some_sizes_is_read_again_with_the_size_it_took() -> None:
    class OnlyTens(Listing):
        def answer(self, request: PageRequest) -> PageSeen:
            refused = dict(request.params).get("per_page") not in (10, None)
            self.refuses_above = 0 if refused else 1000
            return super().answer(request)

    paging = page_by_number(per_page=10, unpaged_limit=0)
    reading = read(paging, OnlyTens(list(range(30))))
    assert reading.rows == list(range(30))
    assert reading.outcome.complete


def test_a_list_that_is_refused_whatever_the_size_is_an_error() -> None:
    platform = listing(10, refuses_above=0)
    with pytest.raises(Refused):
        read(page_by_number(per_page=1000), platform)
    assert platform.asked == 6


@pytest.mark.parametrize("error", [NotFound("status 404."), Transient("status 503.")])
def test_only_another_size_helps_against_a_rejected_first_page(error: CampusError) -> None:
    paging = page_by_number()
    (first,) = next(paging)
    with pytest.raises(type(error)):
        paging.send(PageAnswer(first, error))


@pytest.mark.parametrize(
    ("error", "goes_on"),
    [(REFUSED, True), (Transient("status 503."), True), (NotFound("status 404."), False)],
)
def test_all_rows_at_once_may_be_too_much_to_ask(error: CampusError, goes_on: bool) -> None:
    paging = page_by_number(per_page=10)
    (first,) = next(paging)
    (unpaged,) = paging.send(PageAnswer(first, PageSeen(range(10), Pagination(1, 3, 10, 30))))
    if goes_on:
        assert len(paging.send(PageAnswer(unpaged, error))) == 2
    else:
        with pytest.raises(NotFound):
            paging.send(PageAnswer(unpaged, error))


@pytest.mark.parametrize("error", [REFUSED, NotFound("status 404.")])
def test_a_rejected_page_past_the_end_is_the_end(error: CampusError) -> None:
    platform = listing(25, headers=False, knows_whole=False)

    def answer(request: PageRequest) -> PageSeen | CampusError:
        page = platform.answer(request)
        return page if page.keys else error

    reading = drive(page_by_number(per_page=10), answer)
    assert reading.rows == list(range(25))
    assert reading.outcome.complete


def test_a_page_that_fails_for_good_is_an_error() -> None:
    paging = page_by_number(per_page=10, unpaged_limit=0)
    (first,) = next(paging)
    further = paging.send(PageAnswer(first, PageSeen(range(10), Pagination(1, 3, 10, 30))))
    with pytest.raises(Transient):
        paging.send(PageAnswer(further[0], Transient("status 503.")))


def test_a_total_that_never_fits_ends_early_and_says_so() -> None:
    platform = listing(100, phantom_rows=5)
    paging = page_by_number(per_page=10)
    reading = read(paging, platform)
    assert sorted(set(reading.rows)) == list(range(100))
    assert not reading.outcome.complete
    assert reading.outcome.note == "the platform counts 105 rows but shows 100"
    # Page 11 is empty before the count is reached, and so is page 12 of the other size: both are asked again.
    assert platform.asked <= 15 + 2 * 3


def test_a_balanced_move_between_two_pages_is_no_proof() -> None:
    """One row of page 1 goes and another comes behind: row 10 is on no page, and the total stays."""
    paging = page_by_number(per_page=10, unpaged_limit=0, max_passes=2)
    pagination = Pagination(1, 2, 10, 20)
    answers: dict[tuple[int, int], Sequence[int]] = {
        (1, 10): range(10),
        (2, 10): [*range(11, 20), 99],
        (1, 9): range(1, 10),
        (2, 9): range(10, 19),
        (3, 9): [19, 99],
    }

    def answer(request: PageRequest) -> PageSeen:
        params = dict(request.params)
        keys = answers[int(params["page"]), int(params["per_page"])]
        return PageSeen(keys, pagination if params["per_page"] == 10 else Pagination(1, 3, 9, 20))

    reading = drive(paging, answer)
    assert not reading.outcome.complete


@pytest.mark.parametrize("headers_on_whole", [True, False])
def test_an_unpaged_answer_that_is_short_of_its_total_is_no_proof(headers_on_whole: bool) -> None:
    platform = listing(100, whole_cap=50, headers_on_whole=headers_on_whole)
    paging = page_by_number(per_page=10)
    reading = read(paging, platform)
    assert reading.rows == list(range(100))
    assert reading.outcome.note == "two readings show the same rows"


def test_an_unpaged_answer_that_is_short_of_its_own_total_is_no_proof() -> None:
    paging = page_by_number(per_page=10)
    (first,) = next(paging)
    (unpaged,) = paging.send(PageAnswer(first, PageSeen(range(10), Pagination(1, 5, 10, 50))))
    assert unpaged.params == (("paginated", 0),)
    assert paging.send(PageAnswer(unpaged, PageSeen(range(50), Pagination(1, 1, None, 60))))


@pytest.mark.parametrize("phantoms", [10_000, 10**15])
def test_a_total_out_of_thin_air_is_not_followed(phantoms: int) -> None:
    platform = listing(100, phantom_rows=phantoms)
    paging = page_by_number(per_page=10)
    reading = read(paging, platform, most=500)
    assert not reading.outcome.complete


@pytest.mark.parametrize("per_page", range(1, 13))
def test_an_uncounted_order_that_changes_with_the_size_of_pages_is_not_proven(per_page: int) -> None:
    """Pages of a size that comes twice then miss the same rows twice."""
    platform = Listing([*range(70)], headers=False, refuses_whole=True, shuffles=True)
    assert not read(page_by_number(per_page=per_page), platform).outcome.complete


def test_a_list_that_grows_faster_than_it_is_read_is_left_some_time() -> None:
    paging = page_by_number(per_page=10, unpaged_limit=0, max_passes=2)
    reading = read(paging, listing(50, growth=15), most=150)
    assert not reading.outcome.complete


def test_the_next_pass_begins_alone() -> None:
    """A pass that is over leaves requests in flight: page 1 of the next pass takes their place."""
    paging = page_by_number(per_page=10, unpaged_limit=0)
    same = PageSeen(range(10), Pagination(1, 30, 10, 300))
    (first,) = next(paging)
    in_flight = [*paging.send(PageAnswer(first, same))]
    assert not any(request.alone for request in in_flight)
    for request in in_flight[:7]:
        assert paging.send(PageAnswer(request, same)) == ()
    (next_first,) = paging.send(PageAnswer(in_flight[7], same))
    assert next_first.alone
    assert next_first.params == (("page", 1), ("per_page", 9))


def test_the_outcome_tells_the_page_size_that_was_taken() -> None:
    assert read(page_by_number(per_page=1000), listing(130, refuses_above=100)).outcome.page_size == 100


def test_v1_names_keep_their_dollar_sign_and_turn_no_paging_off() -> None:
    platform = listing(250, page_name="$page", per_page_name="$per-page")
    paging = page_by_number(per_page=100, names=V1_NAMES)
    reading = read(paging, platform)
    assert reading.rows == list(range(250))
    assert {name for request in reading.pages for name, _ in request.params} == {"$page", "$per-page"}


habits = st.fixed_dictionaries(
    {
        "clamp": st.sampled_from([3, 7, 10_000]),
        "says_clamp": st.booleans(),
        "headers_on_whole": st.booleans(),
        "knows_page": st.sampled_from([True, True, True, False]),
        "knows_per_page": st.booleans(),
        "knows_whole": st.booleans(),
        "refuses_whole": st.booleans(),
        "empty_page": st.sampled_from([None, None, 1, 2]),
        "phantom_rows": st.sampled_from([0, 0, 1]),
    }
)
sizes = st.integers(1, 12)
limits = st.sampled_from([0, 10_000])


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 120), st.integers(0, 2**32), st.sampled_from([0, 30, 200, 1000]), habits, sizes, limits)
def test_complete_is_never_claimed_wrongly(
    rows: int, seed: int, churn: int, habits: dict[str, Any], per_page: int, limit: int
) -> None:
    platform = listing(rows, dice=random.Random(seed), churn=churn, **habits)
    paging = page_by_number(per_page=per_page, unpaged_limit=limit)
    reading = read(paging, platform)
    assert set(reading.outcome.requests) <= set(reading.pages)
    if reading.outcome.complete:
        assert set(reading.rows) in platform.states


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 120), st.integers(0, 2**32), habits, st.booleans(), sizes, limits)
def test_a_list_at_rest_is_read_to_the_last_row(
    rows: int, seed: int, habits: dict[str, Any], headers: bool, per_page: int, limit: int
) -> None:
    sound = {**habits, "knows_page": True, "empty_page": None, "phantom_rows": 0}
    platform = listing(rows, dice=random.Random(seed), headers=headers, **sound)
    paging = page_by_number(per_page=per_page, unpaged_limit=limit)
    reading = read(paging, platform)
    assert reading.outcome.complete
    assert sorted(reading.rows) == list(range(rows))


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 120), st.integers(0, 2**32), st.sampled_from([30, 200, 1000]), habits, sizes)
def test_without_headers_a_moving_list_ends_and_shows_no_row_that_never_was(
    rows: int, seed: int, churn: int, habits: dict[str, Any], per_page: int
) -> None:
    platform = listing(rows, dice=random.Random(seed), churn=churn, headers=False, **habits)
    reading = read(page_by_number(per_page=per_page), platform)
    assert set(reading.rows) <= set().union(*platform.states)


def test_unpaged_takes_one_answer_for_all() -> None:
    platform = listing(70, headers=False, knows_per_page=False, clamp=10_000)
    paging = page_unpaged_list(Capabilities(), "list")
    reading = read(paging, platform)
    [request] = reading.pages
    assert request.params == ()
    assert (reading.outcome.complete, reading.outcome.requests) == (True, (request,))


@pytest.mark.parametrize("rows", [20, 21, 70])
def test_unpaged_goes_on_by_pages_where_the_headers_say_that_there_are_more(rows: int) -> None:
    platform = listing(rows)
    paging = page_unpaged_list(Capabilities(), "list")
    reading = read(paging, platform)
    assert reading.rows == list(range(rows))
    assert reading.outcome.complete
    assert reading.outcome.total == rows
    assert platform.asked == (1 if rows == 20 else 2)


def test_unpaged_has_no_other_way_to_ask() -> None:
    paging = page_unpaged_list(Capabilities(), "list")
    (request,) = next(paging)
    with pytest.raises(Refused):
        paging.send(PageAnswer(request, REFUSED))


@pytest.mark.parametrize(
    ("headers", "pagination"),
    [
        ({}, None),
        ({"x-pagination-total-count": "5"}, Pagination(total_count=5)),
        (
            {
                "x-pagination-current-page": "2",
                "x-pagination-page-count": "3",
                "x-pagination-per-page": "20",
                "x-pagination-total-count": "45",
            },
            Pagination(2, 3, 20, 45),
        ),
        ({"x-pagination-total-count": "many", "x-pagination-page-count": "-1"}, Pagination()),
        ({"x-pagination-total-count": "１２"}, Pagination()),
        ({"x-pagination-total-count": "9" * 5000}, Pagination()),
    ],
)
def test_pagination_headers_are_read_as_far_as_they_make_sense(
    headers: dict[str, str], pagination: Pagination | None
) -> None:
    assert Pagination.of(headers) == pagination
