"""Reading by page numbers, proven where it can be.

A list that changes while it is paged through may skip a row and keep its total (one row deleted from a page
already read, another inserted), so one pass over several pages proves nothing. What proves:
- all rows in one answer: a snapshot;
- a list that shows the same rows for a smaller page, and more of them than that page has: it is not paged;
- two readings with the same keys S, the second with |S| as its total on every page. All of S was there when
  the second began (a key that vanishes does not come back meanwhile), and |S| rows were: so just these.
"""

from collections import Counter
from collections.abc import Hashable, Set
from dataclasses import dataclass

from campus.paging.passes import Pass, numbered
from campus.paging.protocol import Outcome, PageRequest, PageSeen, Pagination, Params

WHOLE = 0  # stands for the page number in the request for everything at once


@dataclass(frozen=True, slots=True)
class PageNames:
    """A generation's names of the paging parameters; `whole` asks for everything at once (none: nothing
    does)."""

    page: str = "page"
    per_page: str = "per_page"
    whole: Params = (("paginated", 0),)


V3_NAMES = PageNames()
V1_NAMES = PageNames("$page", "$per-page", ())


@dataclass(frozen=True, slots=True)
class _Reading:
    """The rows that one way of asking showed, and whether seeing them again would prove anything.

    `repeated`: rows of a page, where the reading ended at pages that came again, which may be pages in the
    midst as well: seeing the same in pages of this size proves nothing."""

    keys: Set[Hashable]
    requests: frozenset[PageRequest]
    telling: bool = True
    repeated: int | None = None

    def proves(self, earlier: "_Reading") -> bool:
        """Whether this reading, which shows the same rows as an earlier one, proves them."""
        same_pages = self.repeated is not None and self.repeated == earlier.repeated
        return self.telling and self.keys == earlier.keys and not same_pages


class PageNumbers:
    """Reads a paged list: page 1, then all at once where that is not too much, else passes until proven.

    per_page: rows to ask for, smaller ones from `ladder` where the platform refuses. unpaged_limit: greatest
    list to ask for in one answer. max_passes: passes over the pages before it gives up on a proof. keyless:
    rows may be alike, and each of them counts.
    """

    def __init__(
        self,
        per_page: int = 1000,
        unpaged_limit: int = 50_000,
        max_passes: int = 6,
        ladder: tuple[int, ...] = (1000, 500, 200, 100, 50, 20),
        names: PageNames = V3_NAMES,
        keyless: bool = False,
    ) -> None:
        self._size = per_page
        self._unpaged_limit = unpaged_limit
        self._max_passes = max_passes
        self._ladder = ladder
        self._names = names
        self._whole_is_left = bool(names.whole)
        self._keyless = keyless
        self._ordinal = 0
        self._passes = 1
        self._total: int | None = None
        self._readings: list[_Reading] = []
        self._outcome: Outcome | None = None
        self._waiting: dict[PageRequest, int] = {}
        self._pass = Pass(per_page, keyless)
        self._advance()

    def pending(self) -> tuple[PageRequest, ...]:
        return tuple(self._waiting)

    @property
    def size(self) -> int:
        """Rows asked for a page, after any refusals."""
        return self._size

    @property
    def done(self) -> bool:
        return self._outcome is not None

    @property
    def outcome(self) -> Outcome:
        assert self._outcome is not None, "the reading is not done"
        return self._outcome

    def receive(self, request: PageRequest, seen: PageSeen) -> None:
        page = self._waiting.pop(request, None)
        if page is None:
            return
        if seen.pagination is not None and seen.pagination.total_count is not None and page != WHOLE:
            self._total = seen.pagination.total_count
        if page == WHOLE:
            self._receive_whole(request, seen)
            return
        self._pass.receive(request, seen)
        if page == 1 and is_everything(seen, len(self._distinct(seen))):
            reading = _Reading(self._distinct(seen), frozenset({request}))
            self._finish(reading, True, "all rows in one answer")
        elif page == 1 and self._is_not_paged(seen):
            reading = _Reading(self._distinct(seen), frozenset({request}))
            self._finish(reading, True, "the list is not paged: a smaller page shows the same rows")
        elif self._total is not None and self._may_ask_whole():
            self._ask_whole()
        else:
            self._advance()

    def refused(self, request: PageRequest) -> bool:
        page = self._waiting.pop(request, None)
        if page == 1:
            return self._refused_size()
        if page is not None:
            if page != WHOLE:
                self._pass.refused()
            self._advance()
        return True

    def _refused_size(self) -> bool:
        """Page 1 is refused: start the pass again with a size that may be, or has been, accepted."""
        size = self._size
        if self._passes == 1:
            size = next((smaller for smaller in self._ladder if smaller < size), size)
            self._size = size
        if size == self._pass.size:
            self._give_up("the platform refuses to list")
            return False
        self._pass = Pass(size, self._keyless)
        self._advance()
        return True

    def _receive_whole(self, request: PageRequest, seen: PageSeen) -> None:
        reading = _Reading(self._distinct(seen), frozenset({request}))
        rows, own = len(reading.keys), seen.pagination.total_count if seen.pagination else None
        if self._total is None:
            proven = any(earlier.telling and earlier.keys == reading.keys for earlier in self._readings)
        else:
            proven = rows >= self._total and own in (None, rows)
        if proven:
            self._total = self._total if own is None else own
            self._finish(reading, True, "all rows in one unpaged answer")
        else:
            self._readings.append(reading)
            self._advance()

    def _advance(self) -> None:
        """Ask for what the pass wants next; judge it when it is over."""
        for page in self._pass.take_pages():
            self._ask(page, ((self._names.page, page), (self._names.per_page, self._pass.size)))
        if self._pass.over:
            self._waiting.clear()
            self._judge()

    def _judge(self) -> None:
        done = self._pass
        repeated = done.longest if done.ends_in_repeats else None
        reading = _Reading(done.keys, frozenset(done.answered), done.telling, repeated)
        again = any(reading.proves(earlier) for earlier in self._readings)
        self._readings.append(reading)
        if again and (done.uncounted or done.total == len(reading.keys)):
            self._finish(reading, True, "two readings show the same rows")
        elif again and done.total is not None:
            self._give_up(f"the platform counts {done.total} rows but shows {len(reading.keys)}")
        elif (
            done.page_ignored and self._passes > 1 and not self._may_ask_whole() and not self._pages_differ()
        ):
            # One pass alone may have shown a single page, and its like for each one past the end.
            self._give_up("every page shows the same rows: the platform seems to ignore the page number")
        elif self._passes >= self._max_passes:
            self._give_up(f"no two of {self._passes} passes over the pages show the same rows")
        else:
            self._next_pass()

    def _pages_differ(self) -> bool:
        """A pass had pages that are not alike: rows may be, and fill pages of another size."""
        return any(reading.telling and len(reading.requests) > 1 for reading in self._readings)

    def _next_pass(self) -> None:
        # Where no total told whether everything at once is too much, the pass that has ended does.
        # A list without counts whose pages are all alike may be one that is not paged: the next page 1 tells.
        # Not by itself where rows may be alike: so may be all pages of a list.
        unpaged = self._passes == 1 and self._pass.uncounted and self._pass.page_ignored and not self._keyless
        ask_whole = self._may_ask_whole() and not unpaged
        # Other boundaries than before, of the size that pages really have.
        real_size = self._pass.longest or self._size
        size = real_size - self._passes * max(1, real_size // 10)
        if size < 1:
            size = real_size + self._passes
        self._pass = Pass(size, self._keyless)
        self._passes += 1
        if ask_whole:
            self._ask_whole()
        else:
            self._advance()

    def _distinct(self, seen: PageSeen) -> frozenset[Hashable]:
        """The keys of one answer; those of rows that are alike told apart where each of them counts."""
        return frozenset(numbered(seen.keys, Counter()) if self._keyless else seen.keys)

    def _is_not_paged(self, seen: PageSeen) -> bool:
        """Page 1 shows what all pages showed before, more than it has room for (one row always fits).

        Where rows may be alike, pages of a size of their own may be so as well: then everything at once must
        not have shown anything else, and must have been shown where all rows are alike."""
        if self._passes != 2 or not self._pass.uncounted:
            return False
        keys, before = self._distinct(seen), self._readings[0]
        if keys != before.keys or before.telling:
            return False
        at_once = self._readings[1].keys if len(self._readings) > 1 else None
        if self._keyless and len(keys) > 1:
            agrees = len(set(seen.keys)) > 1 if at_once is None else at_once == keys
            return agrees and len(keys) > self._pass.size
        return len(keys) > self._pass.size or len(keys) == 1

    def _may_ask_whole(self) -> bool:
        rows = len(self._pass.keys) if self._total is None else self._total
        return self._whole_is_left and rows <= self._unpaged_limit

    def _ask_whole(self) -> None:
        self._whole_is_left = False
        self._ask(WHOLE, self._names.whole)

    def _ask(self, page: int, params: Params) -> None:
        self._waiting[PageRequest(self._ordinal, params)] = page
        self._ordinal += 1

    def _give_up(self, why: str) -> None:
        nothing = _Reading(frozenset(), frozenset())
        best = max(reversed(self._readings), key=lambda reading: len(reading.keys), default=nothing)
        self._finish(best, False, why)

    def _finish(self, reading: _Reading, complete: bool, note: str) -> None:
        self._waiting.clear()
        self._outcome = Outcome(complete, self._total, reading.requests, note)


class Unpaged:
    """Reads a list that comes in one answer, and goes on by pages if that says that there are more."""

    def __init__(self, names: PageNames = V3_NAMES) -> None:
        self._first = PageRequest(0, ())
        self._names = names
        self._rest: PageNumbers | None = None
        self._outcome: Outcome | None = None

    def pending(self) -> tuple[PageRequest, ...]:
        if self._rest is not None:
            return self._rest.pending()
        return () if self.done else (self._first,)

    @property
    def done(self) -> bool:
        return self._outcome is not None if self._rest is None else self._rest.done

    @property
    def outcome(self) -> Outcome:
        if self._rest is not None:
            return self._rest.outcome
        assert self._outcome is not None, "the reading is not done"
        return self._outcome

    def receive(self, request: PageRequest, seen: PageSeen) -> None:
        if self._rest is not None:
            self._rest.receive(request, seen)
        elif seen.pagination is None or is_everything(seen, len(set(seen.keys))):
            total = seen.pagination.total_count if seen.pagination else None
            self._outcome = Outcome(True, total, frozenset({request}), "an unpaged list")
        else:
            self._rest = PageNumbers(names=self._names)

    def refused(self, request: PageRequest) -> bool:
        if self._rest is not None:
            return self._rest.refused(request)
        self._outcome = Outcome(False, None, frozenset(), "the platform refuses to list")
        return False


def is_everything(seen: PageSeen, rows: int) -> bool:
    """The answer's own pagination headers say that the rows in it, so many different ones, are all."""
    told = seen.pagination or Pagination()
    if told.total_count is not None:
        return told.total_count == rows
    return told.page_count in (0, 1)
