"""The ID-segment full sync, against platforms with habits, while rows come and go."""

import random
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campus.paging import IdCursor, PageRequest, PageSeen


@dataclass
class Table:
    """Rows by id, as .../records serves them."""

    ids: list[int]
    clamp: int = 10_000
    refuses_above: int = 10_000
    knows_egt: bool = True
    knows_elt: bool = True
    sorts: bool = True
    asked: list[PageRequest] = field(default_factory=list)

    def answer(self, request: PageRequest) -> PageSeen | None:
        params = dict(request.params)
        self.asked.append(request)
        limit = int(params["limit"])
        if limit > self.refuses_above:
            return None
        low = int(params["id_egt"]) if self.knows_egt else 0
        high = int(params.get("id_elt", 10**12)) if self.knows_elt else 10**12
        ids = [key for key in (sorted(self.ids) if self.sorts else self.ids) if low <= key <= high]
        return PageSeen(ids[: min(limit, self.clamp)])


def read(cursor: IdCursor, table: Table, most: int = 500) -> list[int]:
    seen: dict[PageRequest, PageSeen] = {}
    while not cursor.done:
        (request,) = cursor.pending()
        assert len(table.asked) < most, "the reading does not end"
        answer = table.answer(request)
        if answer is None:
            assert cursor.refused(request) or cursor.done
        else:
            seen[request] = answer
            cursor.receive(request, answer)
    return [key for request, page in seen.items() if request in cursor.outcome.kept for key in page.keys]


def test_the_procedure_of_the_specification() -> None:
    table = Table([1, 2, 3, 7, 9, 10, 11])
    cursor = IdCursor(limit=3)
    assert read(cursor, table) == table.ids
    assert [dict(request.params)["id_egt"] for request in table.asked] == [0, 4, 11, 12, 12]
    assert table.asked[0].params == (("id_egt", 0), ("sort", "id"), ("paginated", 0), ("limit", 3))
    assert table.asked[-1].params == (("id_egt", 12), ("sort", "id"), ("paginated", 0), ("limit", 2))
    assert cursor.outcome.complete


def test_a_segment_ends_at_its_stop_without_another_request_when_its_last_id_was_seen() -> None:
    table = Table(list(range(100)))
    cursor = IdCursor(limit=5, start=10, stop=19)
    assert read(cursor, table) == list(range(10, 20))
    assert len(table.asked) == 2
    assert ("id_elt", 19) in table.asked[0].params


@pytest.mark.parametrize(("grave", "requests"), [(True, 5), (False, 2)])
def test_an_empty_segment_costs_a_few_requests_of_other_limits(grave: bool, requests: int) -> None:
    table = Table([1, 2, 3])
    cursor = IdCursor(start=1000, stop=1999, grave=grave)
    assert read(cursor, table) == []
    assert (len(set(table.asked)), cursor.outcome.complete) == (requests, True)
    assert len({dict(request.params)["limit"] for request in table.asked}) == requests


@pytest.mark.parametrize(
    ("habits", "limit", "complete"),
    [
        ({"clamp": 7}, 10_000, True),
        ({"refuses_above": 1000}, 10_000, True),
        ({"knows_egt": False}, 10, False),
        ({"refuses_above": 10}, 10_000, False),
    ],
)
def test_habits_of_platforms(habits: dict[str, Any], limit: int, complete: bool) -> None:
    table = Table(list(range(50)), **habits)
    cursor = IdCursor(limit=limit)
    kept = read(cursor, table)
    assert cursor.outcome.complete is complete
    if complete:
        assert kept == table.ids


def test_a_platform_that_ignores_the_stop_ends_there_all_the_same() -> None:
    table = Table(list(range(100)), knows_elt=False)
    cursor = IdCursor(limit=30, start=0, stop=49)
    assert set(range(50)) <= set(read(cursor, table))
    assert (cursor.outcome.complete, len(table.asked)) == (True, 2)


def test_unsorted_ids_are_kept_but_prove_nothing() -> None:
    cursor = IdCursor(limit=10)
    kept = read(cursor, Table([5, 3, 9, 1], sorts=False))
    assert (sorted(kept), cursor.outcome.complete) == ([1, 3, 5, 9], False)
    assert "does not sort" in cursor.outcome.note


def test_a_row_that_could_not_be_decoded_does_not_move_the_cursor() -> None:
    cursor = IdCursor(limit=3)
    cursor.receive(cursor.pending()[0], PageSeen([1, ("undecodable", "{}"), 3]))
    assert dict(cursor.pending()[0].params)["id_egt"] == 4


def test_only_undecodable_rows_are_no_way_on() -> None:
    cursor = IdCursor(limit=3)
    cursor.receive(cursor.pending()[0], PageSeen([("undecodable", "{}")]))
    assert (cursor.done, cursor.outcome.complete) == (True, False)


def test_a_platform_that_makes_up_rows_for_any_id_is_left() -> None:
    cursor = IdCursor(limit=1, max_requests=20)
    while not cursor.done:
        (request,) = cursor.pending()
        cursor.receive(request, PageSeen([dict(request.params)["id_egt"]]))
    assert (len(cursor.outcome.kept), cursor.outcome.complete) == (20, False)


@settings(max_examples=150, deadline=None)
@given(st.sets(st.integers(0, 300)), st.integers(1, 30), st.integers(1, 30), st.integers(0, 2**32))
def test_what_was_there_throughout_is_seen_and_nothing_that_never_was(
    ids: set[int], limit: int, clamp: int, seed: int
) -> None:
    dice = random.Random(seed)
    table = Table(sorted(ids), clamp=clamp)
    always, ever = set(ids), set(ids)
    cursor = IdCursor(limit=limit)
    seen: dict[PageRequest, PageSeen] = {}
    while not cursor.done:
        (request,) = cursor.pending()
        answer = table.answer(request)
        assert answer is not None
        seen[request] = answer
        cursor.receive(request, answer)
        if table.ids and dice.random() < 0.5:
            always.discard(table.ids.pop(dice.randrange(len(table.ids))))
        if len(table.asked) < 40 and dice.random() < 0.5:
            table.ids.append(dice.randint(0, 400))
            ever.add(table.ids[-1])
    kept = {key for request in cursor.outcome.kept for key in seen[request].keys}
    assert cursor.outcome.complete
    assert always <= kept <= ever
