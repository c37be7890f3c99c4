"""The ID-segment full sync, against platforms with habits, while rows come and go."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campus.http.errors import CampusError, NotFound
from campus.paging import PageAnswer, PageRequest, PageSeen, page_by_id
from tests.kits.platforms.listings import REFUSED, Table, drive


def test_the_procedure_of_the_specification() -> None:
    table = Table([1, 2, 3, 7, 9, 10, 11])
    reading = drive(page_by_id(limit=3), table.answer)
    assert reading.rows == table.ids
    assert [dict(request.params)["id_egt"] for request in table.asked] == [0, 4, 11, 12, 12]
    assert table.asked[0].params == (("id_egt", 0), ("sort", "id"), ("paginated", 0), ("limit", 3))
    assert table.asked[-1].params == (("id_egt", 12), ("sort", "id"), ("paginated", 0), ("limit", 2))
    assert reading.outcome.complete


def test_a_segment_ends_at_its_stop_without_another_request_when_its_last_id_was_seen() -> None:
    table = Table(list(range(100)))
    reading = drive(page_by_id(limit=5, start=10, stop=19), table.answer)
    assert reading.rows == list(range(10, 20))
    assert len(table.asked) == 2
    assert ("id_elt", 19) in table.asked[0].params


@pytest.mark.parametrize(("unusual", "requests"), [(True, 5), (False, 2)])
def test_an_empty_segment_costs_a_few_requests_of_other_limits(unusual: bool, requests: int) -> None:
    table = Table([1, 2, 3])
    reading = drive(page_by_id(start=1000, stop=1999, empty_is_unusual=unusual), table.answer)
    assert reading.rows == []
    assert (len(set(table.asked)), reading.outcome.complete) == (requests, True)
    assert len({dict(request.params)["limit"] for request in table.asked}) == requests


@pytest.mark.parametrize(
    ("habits", "limit", "complete"),
    [
        ({"clamp": 7}, 10_000, True),
        ({"refuses_above": 1000}, 10_000, True),
        ({"knows_egt": False}, 10, False),
    ],
)
def test_habits_of_platforms(habits: dict[str, Any], limit: int, complete: bool) -> None:
    table = Table(list(range(50)), **habits)
    reading = drive(page_by_id(limit=limit), table.answer)
    assert reading.outcome.complete is complete
    if complete:
        assert reading.rows == table.ids


@pytest.mark.parametrize(("error", "requests"), [(REFUSED, 3), (NotFound("status 404."), 1)])
def test_a_table_that_is_rejected_with_any_limit_is_an_error(error: CampusError, requests: int) -> None:
    limits = []

    def answer(request: PageRequest) -> CampusError:
        limits.append(dict(request.params)["limit"])
        return error

    with pytest.raises(type(error)):
        drive(page_by_id(), answer)
    assert limits == [10_000, 1000, 100][:requests]


def test_a_platform_that_ignores_the_stop_ends_there_all_the_same() -> None:
    table = Table(list(range(100)), knows_elt=False)
    reading = drive(page_by_id(limit=30, start=0, stop=49), table.answer)
    assert set(range(50)) <= set(reading.rows)
    assert (reading.outcome.complete, len(table.asked)) == (True, 2)


def test_unsorted_ids_are_kept_but_prove_nothing() -> None:
    reading = drive(page_by_id(limit=10), Table([5, 3, 9, 1], sorts=False).answer)
    assert (reading.rows, reading.outcome.complete) == ([5, 3, 9, 1], False)
    assert "does not sort" in reading.outcome.note


def test_a_row_that_could_not_be_decoded_does_not_move_the_cursor() -> None:
    paging = page_by_id(limit=3)
    (first,) = next(paging)
    (second,) = paging.send(PageAnswer(first, PageSeen([1, ("undecodable", "{}"), 3])))
    assert dict(second.params)["id_egt"] == 4


def test_only_undecodable_rows_are_no_way_on() -> None:
    reading = drive(page_by_id(limit=3), lambda _: PageSeen([("undecodable", "{}")]))
    assert (len(reading.pages), reading.outcome.complete) == (1, False)


def test_a_platform_that_makes_up_rows_for_any_id_is_left() -> None:
    paging = page_by_id(limit=1, max_requests=20)
    reading = drive(paging, lambda request: PageSeen([dict(request.params)["id_egt"]]))
    assert (len(reading.outcome.requests), reading.outcome.complete) == (20, False)


@settings(max_examples=150, deadline=None)
@given(st.sets(st.integers(0, 300)), st.integers(1, 30), st.integers(1, 30), st.integers(0, 2**32))
def test_what_was_there_throughout_is_seen_and_nothing_that_never_was(
    ids: set[int], limit: int, clamp: int, seed: int
) -> None:
    dice = random.Random(seed)
    table = Table(sorted(ids), clamp=clamp)
    always, ever = set(ids), set(ids)

    def answer(request: PageRequest) -> PageSeen | CampusError:
        page = table.answer(request)
        if table.ids and dice.random() < 0.5:
            always.discard(table.ids.pop(dice.randrange(len(table.ids))))
        if len(table.asked) < 40 and dice.random() < 0.5:
            table.ids.append(dice.randint(0, 400))
            ever.add(table.ids[-1])
        return page

    reading = drive(page_by_id(limit=limit), answer)
    assert reading.outcome.complete
    assert always <= set(reading.rows) <= ever
