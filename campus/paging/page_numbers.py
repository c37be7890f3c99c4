"""Reading by page numbers, proven where it can be.

A list that changes while it is paged through may skip a row and keep its total (one row deleted from a page
already read, another inserted), so one pass over several pages proves nothing. What proves:
- all rows in one answer: a snapshot;
- a list that shows the same rows for a smaller page, and more of them than that page has: it is not paged;
- two readings with the same keys S, the second with |S| as its total on every page. All of S was there when
  the second began (a key that vanishes does not come back meanwhile), and |S| rows were: so just these.

Answers without any row prove nothing, whatever they count (see http.emptiness). That a list is empty takes
more first pages, each of another size; a page that is empty before the count is reached is asked for again.
"""

from collections import Counter

from campus.capabilities import CAUGHT, GRAVE, MOST_DOUBTS, Doubt
from campus.paging.passes import Pass
from campus.paging.proof import Proof, Reading, Verdict
from campus.paging.protocol import V3_NAMES, Outcome, PageNames, PageRequest, PageSeen, Params

WHOLE = 0  # stands for the page number in the request for everything at once


class PageNumbers:
    """Reads a paged list: page 1, then all at once where that is not too much, else passes until proven.

    per_page: rows to ask for, smaller ones from `ladder` where the platform refuses. unpaged_limit: greatest
    list to ask for in one answer. max_passes: passes over the pages before it gives up on a proof. keyless:
    rows may be alike, and each of them counts. doubt: of the platform's word that there is nothing; grave:
    much depends on it.
    """

    def __init__(
        self,
        per_page: int = 1000,
        unpaged_limit: int = 50_000,
        max_passes: int = 6,
        ladder: tuple[int, ...] = (1000, 500, 200, 100, 50, 20),
        names: PageNames = V3_NAMES,
        keyless: bool = False,
        doubt: Doubt | None = None,
        grave: bool = True,
    ) -> None:
        self._size = per_page
        self._unpaged_limit = unpaged_limit
        self._proof = Proof(keyless=keyless, max_passes=max_passes)
        self._ladder = ladder
        self.names = names
        self._whole_is_left = bool(names.whole)
        self._keyless = keyless
        self._doubt = Doubt() if doubt is None else doubt
        self.grave = grave
        # First pages, and answers to everything at once, that had no row since one that had.
        self._silent = 0
        self._confirming = False
        # How often pages were asked for again since one of them had rows.
        self._fruitless = 0
        self._ordinal = 0
        self._passes = 1
        self._total: int | None = None
        self._outcome: Outcome | None = None
        self._waiting: dict[PageRequest, int] = {}
        self._begin(per_page)
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
        counted = seen.pagination.total_count if seen.pagination else None
        if counted is not None and page != WHOLE and (seen.keys or counted or self._total is None):
            self._total = counted
        self._note_silence(page, seen, counted)
        if self._is_worth_another(page, seen):
            self._ask_again(page)
            return
        if page == WHOLE:
            self._receive_whole(request, seen)
        elif page == 1 and not seen.keys and not self._total:
            nothing = Reading(frozenset(), frozenset({request}))
            self._finish(Verdict(nothing, True, "no rows in any answer"))
        else:
            self._receive_page(page, request, seen)

    def refused(self, request: PageRequest) -> bool:
        page = self._waiting.pop(request, None)
        if page == 1 and self._confirming and self._pass.size != self._size:
            # The size that was taken before: the same question once more is better than none.
            self._begin(self._size)
            self._advance()
            return True
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
            self._finish(self._proof.given_up("the platform refuses to list"))
            return False
        self._begin(size)
        self._advance()
        return True

    def _note_silence(self, page: int, seen: PageSeen, counted: int | None) -> None:
        """Note whether an answer says that there is nothing, and whether others like it did so wrongly."""
        of_all = page in (1, WHOLE)
        if not seen.keys and not counted:
            self._silent += of_all
            return
        if (seen.keys and self._again[page]) or (of_all and self._silent):
            self._doubt.contradict()
            self._fruitless = 0
        if of_all:
            self._silent, self._confirming = 0, False

    def _is_worth_another(self, page: int, seen: PageSeen) -> bool:
        """Whether an answer without rows is asked for again: there must be some, or the platform has said so
        wrongly before. That there are none at all is not decided here."""
        if seen.keys:
            return False
        before = 0 if page == WHOLE else (page - 1) * (self._pass.longest or self._pass.size)
        known = len(self._pass.keys) if page == WHOLE else 0
        if max(self._total or 0, known) > before:
            needed = self._doubt.needed(grave=True)
        else:
            needed = GRAVE if self._doubt.lies and page > 1 else 0
        return self._again[page] < needed and self._fruitless < MOST_DOUBTS

    def _ask_again(self, page: int) -> None:
        self._again[page] += 1
        self._fruitless += 1
        self._ask(page, self.names.whole if page == WHOLE else self._params(page))

    def _receive_page(self, page: int, request: PageRequest, seen: PageSeen) -> None:
        self._pass.receive(request, seen)
        verdict = None
        if page == 1:
            verdict = self._proof.of_first_page(request, seen, self._pass, self._passes)
        if verdict is not None:
            self._finish(verdict)
        elif self._total is not None and self._may_ask_whole():
            self._ask_whole()
        else:
            self._advance()

    def _receive_whole(self, request: PageRequest, seen: PageSeen) -> None:
        verdict = self._proof.of_whole(request, seen, self._total)
        if verdict is None:
            self._advance()
            return
        if seen.pagination is not None and seen.pagination.total_count is not None:
            self._total = seen.pagination.total_count
        self._finish(verdict)

    def _advance(self) -> None:
        """Ask for what the pass wants next; judge it when it is over."""
        for page in self._pass.take_pages():
            self._ask(page, self._params(page))
        if not self._pass.over:
            return
        self._waiting.clear()
        may_ask_whole = self._may_ask_whole()
        verdict = self._proof.of_pass(self._pass, self._passes, may_ask_whole=may_ask_whole)
        if verdict is None:
            self._next_pass()
        else:
            self._finish(verdict)

    def _next_pass(self) -> None:
        # Where no total counted whether everything at once is too much, the pass that has ended does.
        # A list without counts whose pages are all alike may be one that is not paged: the next page 1 tells.
        # Not by itself where rows may be alike: so may be all pages of a list.
        unpaged = self._passes == 1 and self._pass.uncounted and self._pass.page_ignored and not self._keyless
        ask_whole = self._may_ask_whole() and not unpaged
        # Other boundaries than before, of the size that pages really have.
        real_size = self._pass.longest or self._size
        size = real_size - self._passes * max(1, real_size // 10)
        if size < 1:
            size = real_size + self._passes
        self._begin(size)
        self._passes += 1
        if ask_whole:
            self._ask_whole()
        else:
            self._advance()

    def _may_ask_whole(self) -> bool:
        rows = len(self._pass.keys) if self._total is None else self._total
        return self._whole_is_left and rows <= self._unpaged_limit

    def _ask_whole(self) -> None:
        self._whole_is_left = False
        self._ask(WHOLE, self.names.whole)

    def _confirm_nothing(self) -> None:
        """Ask for a first page of another size: a smaller one, which shows where a list is not paged."""
        self._confirming = True
        self._begin(max(1, self._pass.size - 1))
        self._advance()

    def _begin(self, size: int) -> None:
        """Begin a pass over pages of this size."""
        self._pass = Pass(size, self._keyless)
        self._again: Counter[int] = Counter()

    def _params(self, page: int) -> Params:
        return ((self.names.page, page), (self.names.per_page, self._pass.size))

    def _ask(self, page: int, params: Params) -> None:
        self._waiting[PageRequest(self._ordinal, params)] = page
        self._ordinal += 1

    def _finish(self, verdict: Verdict) -> None:
        self._waiting.clear()
        reading = verdict.reading
        if verdict.complete and not reading.keys:
            # Where there were rows a moment ago, it takes as much as with a platform that was caught.
            had_rows = self._proof.had_rows
            if self._silent <= (CAUGHT if had_rows else self._doubt.needed(grave=self.grave)):
                self._confirm_nothing()
                return
            self._total = None if self._total is None else 0
        self._outcome = Outcome(verdict.complete, self._total, reading.requests, verdict.note)
