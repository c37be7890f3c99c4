"""Platforms in plain Python that serve one list, each with its own habits, while rows come and go."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from campus.http.errors import CampusError, Refused
from campus.http.request import Pagination
from campus.paging import Outcome, PageAnswer, PageRequest, PageSeen, Paging

REFUSED = Refused("status 422.", status=422)


@dataclass
class Listing:
    """A list of integer ids. `churn`: per mille of requests after which a row goes, comes, or both happen."""

    rows: list[int]
    dice: random.Random = field(default_factory=lambda: random.Random(0))
    churn: int = 0
    clamp: int = 10_000
    says_clamp: bool = True
    headers: bool = True
    headers_on_whole: bool = True
    knows_page: bool = True
    knows_per_page: bool = True
    knows_whole: bool = True
    refuses_whole: bool = False
    refuses_above: int = 1_000_000
    empty_page: int | None = None
    phantom_rows: int = 0
    whole_cap: int = 1_000_000
    growth: int = 0
    default_size: int = 20
    repeats_last: bool = False
    # Each answer has one of its rows twice, and counts it once.
    repeats_a_row: bool = False
    shuffles: bool = False
    page_name: str = "page"
    per_page_name: str = "per_page"
    asked: int = 0
    states: list[frozenset[int]] = field(default_factory=list)

    def answer(self, request: PageRequest) -> PageSeen:
        params = dict(request.params)
        self.asked += 1
        self.states.append(frozenset(self.rows))
        if "paginated" in params and self.refuses_whole:
            raise REFUSED
        if "paginated" in params and self.knows_whole:
            seen = PageSeen(
                self.rows[: self.whole_cap], self._told(1, len(self.rows)) if self.headers_on_whole else None
            )
        else:
            seen = self._page(params)
        if self.repeats_a_row and seen.keys:
            keys = [*seen.keys]
            keys.insert(self.dice.randrange(len(keys)), self.dice.choice(keys))
            seen = PageSeen(keys, seen.pagination)
        self._move_rows()
        self.rows += range(len(self.rows), len(self.rows) + self.growth)
        return seen

    def _page(self, params: dict[str, str | int]) -> PageSeen:
        asked = int(params.get(self.per_page_name, 20)) if self.knows_per_page else self.default_size
        if asked > self.refuses_above:
            raise REFUSED
        size = min(asked, self.clamp)
        page = int(params.get(self.page_name, 1)) if self.knows_page else 1
        if self.repeats_last:
            page = max(1, min(page, -(-len(self.rows) // size)))
        rows = random.Random(repr(params)).sample(self.rows, len(self.rows)) if self.shuffles else self.rows
        keys = [] if page == self.empty_page else rows[(page - 1) * size : page * size]
        return PageSeen(keys, self._told(page, size if self.says_clamp else asked))

    def _told(self, page: int, size: int) -> Pagination | None:
        total = len(self.rows) + self.phantom_rows
        return Pagination(page, -(-total // size) if size else 0, size, total) if self.headers else None

    def _move_rows(self) -> None:
        if self.dice.randrange(1000) >= self.churn:
            return
        kind = self.dice.choice(["delete", "insert", "both", "both"])
        if kind != "insert" and self.rows:
            del self.rows[self.dice.randrange(len(self.rows))]
        if kind != "delete":
            # A key that was never there before: what has gone does not come back.
            self.rows.insert(self.dice.randint(0, len(self.rows)), 1_000_000 + self.asked)


@dataclass
class Driven:
    """A reading that has ended."""

    outcome: Outcome
    # All pages that were seen, whether they count or not.
    pages: dict[PageRequest, PageSeen]

    @property
    def rows(self) -> list[Any]:
        """The keys that count, in the order of asking."""
        return [key for request in self.outcome.requests for key in self.pages[request].keys]


def drive(
    paging: Paging,
    answer: Callable[[PageRequest], PageSeen | CampusError],
    dice: random.Random | None = None,
    most: int = 2000,
) -> Driven:
    """Drive a paging to its end in at most so many requests, answering those in flight in any order."""
    dice = dice or random.Random(0)
    pages: dict[PageRequest, PageSeen] = {}
    in_flight: list[PageRequest] = []
    try:
        requests = next(paging)
        for _ in range(most):
            if any(request.alone for request in requests):
                assert len(requests) == 1
                in_flight.clear()
            in_flight += requests
            assert in_flight, "the paging waits for no request"
            request = in_flight.pop(dice.randrange(len(in_flight)))
            page = answer(request)
            if isinstance(page, PageSeen):
                pages[request] = page
            requests = paging.send(PageAnswer(request, page))
    except StopIteration as end:
        return Driven(end.value, pages)
    raise AssertionError("the reading does not end")


def read(paging: Paging, listing: Listing, most: int = 2000) -> Driven:
    """Read a listing with a paging.

    Raises Refused where the paging knows no other way to ask."""

    def answer(request: PageRequest) -> PageSeen | CampusError:
        try:
            return listing.answer(request)
        except Refused as error:
            return error

    return drive(paging, answer, listing.dice, most)


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

    def answer(self, request: PageRequest) -> PageSeen | CampusError:
        params = dict(request.params)
        self.asked.append(request)
        limit = int(params["limit"])
        if limit > self.refuses_above:
            return REFUSED
        low = int(params["id_egt"]) if self.knows_egt else 0
        high = int(params.get("id_elt", 10**12)) if self.knows_elt else 10**12
        ids = [key for key in (sorted(self.ids) if self.sorts else self.ids) if low <= key <= high]
        return PageSeen(ids[: min(limit, self.clamp)])
