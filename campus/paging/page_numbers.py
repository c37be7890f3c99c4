"""Reading by page numbers, proven where it can be.

A list that changes while it is paged through may skip a row and keep its total (one row deleted from a page
already read, another inserted), so one pass over several pages proves nothing. What proves:
- all rows in one answer: a snapshot;
- a list that shows the same rows for a smaller page, and more of them than that page has: it is not paged;
- two readings with the same keys S, the second with |S| as its total on every page. All of S was there when
  the second began (a key that vanishes does not come back meanwhile), and |S| rows were: so just these.

An empty answer proves nothing, whatever it counts (see campus.fetch.answers). An empty list is confirmed by
further first pages, each of another size. An empty page before the end by the count is requested again.
"""

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TypeVar

from campus.capabilities import (
    MOST_REPEATS,
    WHEN_CONTRADICTED,
    WHEN_UNUSUAL,
    Capabilities,
    Confirmation,
)
from campus.http.errors import CampusError, NotFound, Refused, Transient
from campus.paging.passes import Pass
from campus.paging.proof import Proof, RowSet, Verdict, is_everything
from campus.paging.protocol import (
    V3_NAMES,
    Outcome,
    PageAnswer,
    PageNames,
    PageRequest,
    PageSeen,
    Paging,
    Params,
)

# Page sizes to try where the platform rejects a size.
SMALLER_SIZES = (1000, 500, 200, 100, 50, 20)
# Unusual sizes: tried where the platform rejects all others, and accepts a page without a size.
SMALLEST_SIZES = (10, 5, 2, 1)

# Passes over the pages before a reading gives up on a proof.
MAX_PASSES = 6

T = TypeVar("T")
# A part of a paging, which ends with a T.
Part = Generator[Sequence[PageRequest], PageAnswer, T]


def page_by_number(
    per_page: int = 1000,
    unpaged_limit: int = 50_000,
    max_passes: int = MAX_PASSES,
    names: PageNames = V3_NAMES,
    *,
    keep_duplicates: bool = False,
    confirmation: Confirmation | None = None,
    empty_is_unusual: bool = True,
) -> Paging:
    """Read a paged list: page 1, then all rows in one answer if they are not too many, else passes until
    proven.

    per_page: rows to ask for; fewer where the platform rejects so many. unpaged_limit: most rows to ask for
    in one answer. max_passes: passes over the pages before it gives up on a proof. keep_duplicates: the rows
    have no key, so identical rows are different rows. confirmation: of empty answers. empty_is_unusual: an
    empty list is unusual here, so more answers must confirm it."""
    confirmation = confirmation or Confirmation()
    return _NumberedList(
        per_page, unpaged_limit, names, keep_duplicates, confirmation, empty_is_unusual, max_passes=max_passes
    ).read()


def page_list(
    capabilities: Capabilities,
    kind: str,
    per_page: int,
    unpaged_limit: int,
    names: PageNames = V3_NAMES,
    *,
    keep_duplicates: bool = False,
    empty_is_unusual: bool = True,
) -> Paging:
    """Read a list by pages, or in one answer where the platform rejects the parameters of pages: a platform
    may accept only the parameters that the interface lists for a path.

    Args:
        capabilities: Of the platform; a rejection is noted there.
        kind: The path as the registry has it. A platform rejects the same parameters for all of its lists.
        per_page: Rows to ask for.
        unpaged_limit: Most rows to ask for in one answer.
        keep_duplicates: The rows have no key, so identical rows are different rows.
        empty_is_unusual: An empty list is unusual here, so more answers must confirm it."""
    smaller_sizes: Sequence[int] = SMALLER_SIZES
    while not capabilities.rejects(kind, names.page):
        numbered = _NumberedList(
            per_page,
            unpaged_limit,
            names,
            keep_duplicates,
            capabilities.confirmation,
            empty_is_unusual,
            smaller_sizes,
        )
        try:
            return (yield from numbered.read())
        except Refused:
            if smaller_sizes is SMALLEST_SIZES:
                raise
            if (yield from _accepts(((names.page, 1),))):
                if numbered.has_pages:
                    raise
                # The platform rejects the sizes, not the page.
                per_page, smaller_sizes = SMALLEST_SIZES[0], SMALLEST_SIZES
            elif (yield from _accepts(())):
                capabilities.reject(kind, names.page)
            else:
                raise
    return (yield from page_unpaged_list(capabilities, kind, names, empty_is_unusual=empty_is_unusual))


def _accepts(params: Params) -> Part[bool]:
    """Whether the platform answers a list with these parameters."""
    answer = yield (PageRequest(0, params, alone=True),)
    return isinstance(answer.page, PageSeen)


def page_unpaged_list(
    capabilities: Capabilities, kind: str, names: PageNames = V3_NAMES, *, empty_is_unusual: bool = True
) -> Paging:
    """Read a list that comes in one answer, and go on by page number where the answer is not everything.

    Every other request that is to confirm an empty answer asks for a small first page. Rows of that page only
    show that the list is not empty. capabilities: note a rejection of pages for lists of this kind, the path
    as the registry has it."""
    confirmation, empty_answers = capabilities.confirmation, 0
    params: Params = ()
    for ordinal in count():
        request = PageRequest(ordinal, params)
        page = (yield (request,)).page
        params = ()
        if not isinstance(page, PageSeen):
            if not request.params or not isinstance(page, Refused):
                raise page
            capabilities.reject(kind, names.page)
        elif page.pagination is not None and not is_everything(page, set(page.keys)):
            return (
                yield from page_by_number(
                    names=names, confirmation=confirmation, empty_is_unusual=empty_is_unusual
                )
            )
        elif page.keys:
            if empty_answers:
                confirmation.contradict()
                empty_answers = 0
            if not request.params:
                return Outcome(True, page.total, (request,), "an unpaged list")
        else:
            empty_answers += 1
            if empty_answers > confirmation.needed(is_unusual=empty_is_unusual):
                return Outcome(True, page.total, (request,), "no rows in any answer")
            if request.ordinal >= MOST_REPEATS:
                return Outcome(False, None, (), "the list is empty in some answers only")
            if not request.params and not capabilities.rejects(kind, names.page):
                params = ((names.page, 1), (names.per_page, empty_answers))
    raise AssertionError("the requests of a list end")


@dataclass(slots=True)
class _NumberedList:
    """A list that is read by page number: the parts of its paging, and their common state."""

    page_size: int
    unpaged_limit: int
    names: PageNames
    keep_duplicates: bool
    confirmation: Confirmation
    empty_is_unusual: bool
    # Sizes to try where the platform rejects the size, greatest first.
    smaller_sizes: Sequence[int] = SMALLER_SIZES
    max_passes: int = MAX_PASSES
    proof: Proof = field(init=False)
    ordinals: Iterator[int] = field(default_factory=count)
    total: int | None = None
    has_pages: bool = False
    has_asked_unpaged: bool = False
    # First pages, and unpaged answers, without a row since the last one with rows.
    empty_answers: int = 0
    # Repeated requests since one of them had rows.
    futile_repeats: int = 0

    def __post_init__(self) -> None:
        self.proof = Proof(keep_duplicates=self.keep_duplicates, max_passes=self.max_passes)

    def read(self) -> Paging:
        number, size = 1, self.page_size
        while True:
            accepted, request, page = yield from self._ask_first_page(number, size)
            is_only_size, size = number > 1 and accepted != size, accepted
            if page.keys or self.total:
                verdict = self.proof.check_first_page(request, page)
            else:
                verdict = Verdict(RowSet(frozenset(), frozenset({request})), True, "no rows in any answer")
            if verdict is None:
                pass_ = Pass(size, self.keep_duplicates, is_only_size)
                verdict = yield from self._read_pass(pass_, request, page, number)
                if verdict is None:
                    verdict = yield from self._ask_unpaged_after(pass_, number)
                    # Other boundaries than before, of the size that pages really have.
                    real_size = pass_.seen.longest or self.page_size
                    size = real_size - number * max(1, real_size // 10)
                    size = size if size >= 1 else real_size + number
                    number += 1
            if verdict is not None:
                if not self._needs_confirmation(verdict):
                    return self._outcome(verdict)
                # A smaller page also shows where a list is not paged.
                size = max(1, size - 1)

    def _read_pass(
        self, pass_: Pass, request: PageRequest, first: PageSeen, number: int
    ) -> Part[Verdict | None]:
        """Read the further pages until something is proven or the pass is over. number: of the pass."""
        pass_.add_page(request, first)
        verdict = self.proof.check_unpaged_list(request, first, pass_) if number == 2 else None
        if verdict is None and self.total is not None and self._may_ask_unpaged(pass_):
            verdict = yield from self._ask_unpaged()
        if verdict is None:
            yield from self._read_further_pages(pass_)
            may_ask_unpaged = self._may_ask_unpaged(pass_)
            verdict = self.proof.check_pass(pass_, number, may_ask_unpaged=may_ask_unpaged)
        return verdict

    def _ask_first_page(self, number: int, size: int) -> Part[tuple[int, PageRequest, PageSeen]]:
        """Ask for page 1, in an accepted size where the platform rejects this one."""
        while True:
            request, page = yield from self._ask_alone(self._params(1, size))
            if isinstance(page, PageSeen):
                return size, request, page
            if not isinstance(page, Refused):
                raise page
            if size == self.page_size:
                smaller = next((smaller for smaller in self.smaller_sizes if smaller < size), None)
                if smaller is None or number > 1:
                    raise page
                self.page_size = smaller
            size = self.page_size

    def _read_further_pages(self, pass_: Pass) -> Part[None]:
        """Read the pages after the first, side by side, until the pass is over."""
        in_flight: dict[PageRequest, int] = {}
        repeats: Counter[int] = Counter()
        pages: Iterable[int] = pass_.take_pages()
        while not pass_.is_over:
            requests = {
                PageRequest(next(self.ordinals), self._params(number, pass_.size)): number for number in pages
            }
            in_flight |= requests
            answer = yield tuple(requests)
            number, page = in_flight.pop(answer.request), answer.page
            if isinstance(page, PageSeen):
                self._note_total(page)
                if page.keys and repeats[number]:
                    self._contradict()
                if self._repeats_empty(page, pass_, number, repeats[number]):
                    repeats[number] += 1
                    pages = (number,)
                    continue
                pass_.add_page(answer.request, page)
            elif isinstance(page, NotFound | Refused):
                # A page past the end may be rejected.
                pass_.add_refusal()
            else:
                raise page
            pages = pass_.take_pages()

    def _repeats_empty(self, page: PageSeen, pass_: Pass, number: int, repeats: int) -> bool:
        """Whether an empty page after the first is requested again: it lies before the end by the count, or
        the platform has sent wrong empty answers before."""
        if page.keys:
            return False
        if (self.total or 0) > (number - 1) * (pass_.seen.longest or pass_.size):
            needed = self.confirmation.needed(is_unusual=True)
        else:
            needed = WHEN_UNUSUAL if self.confirmation.contradicted else 0
        return self._may_repeat(repeats, needed)

    def _ask_unpaged_after(self, pass_: Pass, number: int) -> Part[Verdict | None]:
        """Ask for all rows in one answer after a pass that proved nothing.

        Without a total, the rows of the pass tell whether one answer is too much. A list without a total
        whose pages are all alike may be one that is not paged: the next page 1 tells. Where duplicates are
        kept, page 1 alone does not tell."""
        is_unpaged_list = (
            number == 1 and pass_.is_uncounted and pass_.ignores_page and not self.keep_duplicates
        )
        if is_unpaged_list or not self._may_ask_unpaged(pass_):
            return None
        return (yield from self._ask_unpaged())

    def _may_ask_unpaged(self, pass_: Pass) -> bool:
        rows = len(pass_.seen.keys) if self.total is None else self.total
        return not self.has_asked_unpaged and bool(self.names.unpaged) and rows <= self.unpaged_limit

    def _ask_unpaged(self) -> Part[Verdict | None]:
        """Ask for all rows in one answer; None where that is rejected, or proves nothing."""
        self.has_asked_unpaged = True
        request, page = yield from self._ask_alone(self.names.unpaged)
        if isinstance(page, Refused | Transient):
            return None
        if not isinstance(page, PageSeen):
            raise page
        verdict = self.proof.check_unpaged(request, page, self.total)
        if verdict is not None and page.total is not None:
            self.total = page.total
        return verdict

    def _ask_alone(self, params: Params) -> Part[tuple[PageRequest, PageSeen | CampusError]]:
        """Ask for page 1 or for all rows; again where the answer is empty and the platform counts rows."""
        for repeats in count():
            request = PageRequest(next(self.ordinals), params, alone=True)
            page = (yield (request,)).page
            if not isinstance(page, PageSeen):
                break
            self.has_pages = True
            if params != self.names.unpaged:
                self._note_total(page)
            if not page.keys and not page.total:
                self.empty_answers += 1
            else:
                if self.empty_answers or (page.keys and repeats):
                    self._contradict()
                self.empty_answers = 0
            if page.keys or not self.total:
                break
            if not self._may_repeat(repeats, self.confirmation.needed(is_unusual=True)):
                break
        return request, page

    def _may_repeat(self, repeats: int, needed: int) -> bool:
        if repeats >= needed or self.futile_repeats >= MOST_REPEATS:
            return False
        self.futile_repeats += 1
        return True

    def _contradict(self) -> None:
        """Note that there are rows where an earlier answer was empty."""
        self.confirmation.contradict()
        self.futile_repeats = 0

    def _note_total(self, page: PageSeen) -> None:
        if page.total is not None and (page.keys or page.total or self.total is None):
            self.total = page.total

    def _needs_confirmation(self, verdict: Verdict) -> bool:
        """Whether a list that seems to be empty is not yet confirmed to be."""
        if not verdict.complete or verdict.rows.keys:
            return False
        # A list that had rows a moment ago takes as many answers as a platform that was wrong before.
        had_rows = self.proof.had_rows
        needed = WHEN_CONTRADICTED if had_rows else self.confirmation.needed(is_unusual=self.empty_is_unusual)
        return self.empty_answers <= needed

    def _outcome(self, verdict: Verdict) -> Outcome:
        rows = verdict.rows
        is_empty = verdict.complete and not rows.keys
        return Outcome(
            verdict.complete,
            0 if is_empty and self.total is not None else self.total,
            tuple(sorted(rows.requests, key=lambda request: request.ordinal)),
            verdict.note,
            page_size=self.page_size,
        )

    def _params(self, number: int, size: int) -> Params:
        return ((self.names.page, number), (self.names.per_page, size))
