"""Reading a list that comes in one answer, as far as the platform's own count agrees."""

from campus.capabilities import MOST_DOUBTS, Doubt
from campus.paging.page_numbers import PageNumbers
from campus.paging.proof import is_everything
from campus.paging.protocol import V3_NAMES, Outcome, PageNames, PageRequest, PageSeen, Params


class Unpaged:
    """Reads a list that comes in one answer, and goes on by pages if that says that there are more.

    doubt, grave: as of PageNumbers. Where an answer has no row, every other question that is to confirm it
    asks for a small first page; rows there only show that there are some. knows_pages: False where the
    platform refuses to be asked for a page of it."""

    def __init__(
        self,
        names: PageNames = V3_NAMES,
        doubt: Doubt | None = None,
        *,
        grave: bool = True,
        knows_pages: bool = True,
    ) -> None:
        self._names = names
        self._doubt = Doubt() if doubt is None else doubt
        self._grave = grave
        self._silent = 0
        self._knows_pages = knows_pages
        self._waiting = PageRequest(0, ())
        self._rest: PageNumbers | None = None
        self._outcome: Outcome | None = None

    def pending(self) -> tuple[PageRequest, ...]:
        if self._rest is not None:
            return self._rest.pending()
        return () if self.done else (self._waiting,)

    @property
    def knows_pages(self) -> bool:
        """Whether the platform, as far as it was asked, takes the parameters of pages."""
        return self._knows_pages

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
        elif request != self._waiting:
            return
        elif seen.pagination is not None and not is_everything(seen, len(set(seen.keys))):
            self._rest = PageNumbers(names=self._names, doubt=self._doubt, grave=self._grave)
        elif not seen.keys:
            self._receive_nothing(request, seen)
        else:
            if self._silent:
                self._doubt.contradict()
                self._silent = 0
            if request.params:
                self._ask(())
            else:
                self._finish(request, seen, "an unpaged list")

    def refused(self, request: PageRequest) -> bool:
        if self._rest is not None:
            return self._rest.refused(request)
        if request.params:
            self._knows_pages = False
            self._ask(())
            return True
        self._outcome = Outcome(False, None, frozenset(), "the platform refuses to list")
        return False

    def _receive_nothing(self, request: PageRequest, seen: PageSeen) -> None:
        self._silent += 1
        if self._silent > self._doubt.needed(grave=self._grave):
            self._finish(request, seen, "no rows in any answer")
        elif request.ordinal >= MOST_DOUBTS:
            self._outcome = Outcome(False, None, frozenset(), "the list is empty in some answers only")
        elif self._knows_pages and not request.params:
            self._ask(((self._names.page, 1), (self._names.per_page, self._silent)))
        else:
            self._ask(())

    def _ask(self, params: Params) -> None:
        self._waiting = PageRequest(self._waiting.ordinal + 1, params)

    def _finish(self, request: PageRequest, seen: PageSeen, note: str) -> None:
        total = seen.pagination.total_count if seen.pagination else None
        self._outcome = Outcome(True, total, frozenset({request}), note)
