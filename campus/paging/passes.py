"""One way through the numbered pages of a list."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from campus.http.pagination import Pagination
from campus.paging.protocol import PageRequest, PageSeen

# Pages under way at once: enough for any sensible concurrency, little waste when the counts are wrong.
WINDOW = 64
# Answers in a row without a new row that end a pass: a list without counts has no other end, while one with
# counts may have an empty page in between.
LOOKS_WITHOUT_TOTAL = 2
LOOKS_WITH_TOTAL = 8
# Pages in a row in which no row is new end a pass over rows without keys that nothing counts. Rows may be
# alike, so it takes many; but where each page past the end has rows, in any order, there is no other end.
BARREN_PAGES = 500
# A pass over a list that grows faster than it is read ends somewhere.
MOST_PAGES = 100_000


@dataclass(slots=True)
class Pass:
    """Pages 1, 2, ... of one size: which to ask next, what they held, and whether they agree."""

    size: int
    keyless: bool = False
    keys: set[Hashable] = field(default_factory=set)
    totals: set[int | None] = field(default_factory=set)
    answered: set[PageRequest] = field(default_factory=set)
    longest: int = 0
    _next: int = 1
    _last: int = 1
    _first_total: int | None = None
    _open: int = 0
    _stale: int = 0
    _empty_pages: int = 0
    _barren: int = 0
    _alike: Counter[Hashable] = field(default_factory=Counter)
    _before: list[Hashable] = field(default_factory=list)
    _repeats: list[PageRequest] = field(default_factory=list)
    _same_pages: bool = True

    def take_pages(self) -> range:
        """The numbers of the pages to ask now; each is named once."""
        count = min(self._last - self._next + 1, WINDOW - self._open)
        pages = range(self._next, self._next + max(count, 0))
        self._next += len(pages)
        self._open += len(pages)
        return pages

    def receive(self, request: PageRequest, seen: PageSeen) -> None:
        """Take the answer to one page."""
        self._open -= 1
        self.totals.add(seen.pagination.total_count if seen.pagination else None)
        if self._is_repeat(seen):
            # More rows like those before, or the last page in place of one past the end: the next decides.
            self._repeats.append(request)
            self._stale += 1
        else:
            self._take(request, seen.keys)
        self._look_ahead(seen)

    def refused(self) -> None:
        """Take a refusal of one page: nothing there, and no total either."""
        self._open -= 1
        self.totals.add(None)
        self._take(None, ())
        self._look_ahead(PageSeen(()))

    def _is_repeat(self, seen: PageSeen) -> bool:
        """Without keys and counts, the same rows once more need not be other rows."""
        uncounted = seen.pagination is None
        return self.keyless and uncounted and len(seen.keys) > 0 and list(seen.keys) == self._before

    def _take(self, request: PageRequest | None, keys: Sequence[Hashable]) -> None:
        known = len(self.keys)
        for repeat in self._repeats:
            self._add(repeat, self._before)
        self._repeats.clear()
        self._same_pages = self._same_pages and (not self.answered or list(keys) == self._before)
        self._before = list(keys)
        if request is not None:
            self._add(request, keys)
        self.longest = max(self.longest, len(keys))
        self._stale = 0 if len(self.keys) > known else self._stale + 1
        self._empty_pages += not keys

    def _add(self, request: PageRequest, keys: Sequence[Hashable]) -> None:
        self.answered.add(request)
        self._barren = 0 if any(key not in self._alike for key in keys) else self._barren + 1
        self.keys.update(numbered(keys, self._alike) if self.keyless else keys)

    def _look_ahead(self, seen: PageSeen) -> None:
        """Move the last page on to where this answer counts it, or by one page where it counts nothing."""
        headers = seen.pagination or Pagination()
        if headers.total_count is not None:
            self._last = max(self._last, self._last_by_total(headers.total_count, headers))
        elif headers.page_count is not None:
            self._last = max(self._last, min(headers.page_count, MOST_PAGES))
        elif self.uncounted and self._stale < LOOKS_WITHOUT_TOTAL and (self.keyless or not self.page_ignored):
            self._last = max(self._last, min(self._next, MOST_PAGES))

    def _last_by_total(self, total: int, headers: Pagination) -> int:
        if self._first_total is None:
            self._first_total = total
        pages = headers.page_count or _pages(total, headers.per_page or self.longest or self.size)
        real_size = self.longest or self.size
        if self._open == 0 and self._next > max(self._last, pages) and len(self.keys) < total:
            # All is read and rows are missing: pages may be shorter than the platform says.
            pages = max(self._next, _pages(total, real_size)) if self._stale == 0 else pages
        # A list that grows faster than it is read still ends.
        return min(pages, 2 * _pages(self._first_total, real_size) + LOOKS_WITH_TOTAL)

    @property
    def over(self) -> bool:
        """Nothing is left to ask, or asking on has become pointless."""
        if self._stale >= LOOKS_WITH_TOTAL or self.endless:
            return True
        return self._open == 0 and self._next > self._last

    @property
    def total(self) -> int | None:
        """The total that all pages agree on, if they do."""
        return next(iter(self.totals)) if len(self.totals) == 1 else None

    @property
    def uncounted(self) -> bool:
        """No page carried a total."""
        return self.totals == {None}

    @property
    def endless(self) -> bool:
        """Without keys and counts, page after page shows rows like those before, and none is the last."""
        return self.keyless and self.uncounted and self._barren >= BARREN_PAGES

    @property
    def page_ignored(self) -> bool:
        """Each page showed the rows of the first one again."""
        pages = len(self.answered) + len(self._repeats)
        same = self._same_pages if self.keyless else len(self.keys) == self.longest
        return pages > 1 and same and self.longest > 0 and self._empty_pages == 0

    @property
    def telling(self) -> bool:
        """Whether another pass with the same rows proves anything."""
        return not self.page_ignored and not self._ends_alike

    @property
    def ends_in_repeats(self) -> bool:
        """The pass ended at pages that showed the rows of the one before again."""
        return bool(self._repeats)

    @property
    def _ends_alike(self) -> bool:
        """Whether the pass ended with pages full of one and the same row, which may be any number of rows."""
        full = len(self._before) == self.longest and (self.longest > 1 or self.size == 1)
        return self.ends_in_repeats and full and len(set(self._before)) == 1


def numbered(keys: Iterable[Hashable], seen: Counter[Hashable]) -> Iterator[Hashable]:
    """Each key with how many like it came before, as far as `seen` knows: in whichever order the pages of a
    list without keys come, the same rows give the same set."""
    for key in keys:
        yield key, seen[key]
        seen[key] += 1


def _pages(rows: int, size: int) -> int:
    return -(-rows // size)
