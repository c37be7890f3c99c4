"""One pass over the numbered pages of a list."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from campus.http.request import Pagination
from campus.paging.protocol import Outcome, PageRequest, PageSeen

# Requests in flight: enough for any sensible concurrency, little waste when the counts are wrong.
WINDOW = 64
# So many pages in a row without a new row end a pass: a list without counts has no other end, while a list
# with counts may have an empty page in between.
MOST_STALE_UNCOUNTED = 2
MOST_STALE_COUNTED = 8
# So many pages in a row without a new kind of row end a pass over uncounted rows without a key. Identical
# rows are common there, so it takes many. A platform that has rows for every page, in any order, has no end.
MOST_FAMILIAR = 500
# Ends a pass over a list that grows faster than it is read.
MOST_PAGES = 100_000


@dataclass(slots=True)
class SeenRows:
    """The rows of a pass so far, by the order in which its pages came.

    A page with the rows of the page before is put off where it may be that page again: the next page with
    other rows shows that it was a page of its own."""

    # Identical rows are different rows: the rows have no key.
    keep_duplicates: bool
    keys: set[Hashable] = field(default_factory=set)
    requests: set[PageRequest] = field(default_factory=set)
    # Rows of the longest page.
    longest: int = 0
    # The rows of the last page that was not put off.
    last_page: list[Hashable] = field(default_factory=list)
    # Requests whose pages are put off.
    put_off: list[PageRequest] = field(default_factory=list)
    # Pages in a row without a new row.
    stale_pages: int = 0
    # Pages in a row without a new kind of row.
    familiar_pages: int = 0
    has_empty_page: bool = False
    # Each page had the rows of the page before.
    are_pages_alike: bool = True
    _occurrences: Counter[Hashable] = field(default_factory=Counter)

    def put_page_off(self, request: PageRequest) -> None:
        """Put off a page that has the rows of the last page."""
        self.put_off.append(request)
        self.stale_pages += 1

    def add_page(self, request: PageRequest | None, keys: Sequence[Hashable]) -> None:
        """Add a page, and before it the pages that were put off. request: None where the platform rejects the
        page, which then has no rows."""
        rows_before = len(self.keys)
        for page in self.put_off:
            self._add_rows(page, self.last_page)
        self.put_off.clear()
        self.are_pages_alike = self.are_pages_alike and (not self.requests or list(keys) == self.last_page)
        self.last_page = list(keys)
        if request is not None:
            self._add_rows(request, keys)
        self.longest = max(self.longest, len(keys))
        self.stale_pages = 0 if len(self.keys) > rows_before else self.stale_pages + 1
        self.has_empty_page = self.has_empty_page or not keys

    def _add_rows(self, request: PageRequest, keys: Sequence[Hashable]) -> None:
        self.requests.add(request)
        is_familiar = all(key in self._occurrences for key in keys)
        self.familiar_pages = self.familiar_pages + 1 if is_familiar else 0
        self.keys.update(numbered(keys, self._occurrences) if self.keep_duplicates else keys)

    @property
    def ends_in_identical_rows(self) -> bool:
        """The last pages are full of one and the same row, which may be any number of rows."""
        return bool(self.put_off) and len(self.last_page) == self.longest and len(set(self.last_page)) == 1


@dataclass(slots=True)
class Pass:
    """Pages 1, 2, ... of one size: which to request next, which rows they had, and whether they agree.

    The caller requests page 1."""

    size: int
    # Identical rows are different rows: the rows have no key.
    keep_duplicates: bool = False
    # The platform rejected pages of a size that no pass before had.
    is_only_size: bool = False
    totals: set[int | None] = field(default_factory=set)
    seen: SeenRows = field(init=False)
    _next: int = 2
    _last: int = 1
    _in_flight: int = 1
    _first_total: int | None = None

    def __post_init__(self) -> None:
        self.seen = SeenRows(self.keep_duplicates)

    def take_pages(self) -> range:
        """Return the numbers of the pages to request now; each number is returned once."""
        count = min(self._last - self._next + 1, WINDOW - self._in_flight)
        pages = range(self._next, self._next + max(count, 0))
        self._next += len(pages)
        self._in_flight += len(pages)
        return pages

    def add_page(self, request: PageRequest, page: PageSeen) -> None:
        """Add the answer to a request for one page."""
        self._in_flight -= 1
        self.totals.add(page.total)
        if self._may_be_repeat(page):
            # More rows like those before, or the last page in place of one past the end: the next page tells.
            self.seen.put_page_off(request)
        else:
            self.seen.add_page(request, page.keys)
        self._move_end(page)

    def add_refusal(self) -> None:
        """Add a page that the platform rejects: an empty page without a total."""
        self._in_flight -= 1
        self.totals.add(None)
        self.seen.add_page(None, ())
        self._move_end(PageSeen(()))

    def _may_be_repeat(self, page: PageSeen) -> bool:
        """Without keys and counts, the same rows once more need not be other rows."""
        if not self.keep_duplicates or page.pagination is not None:
            return False
        return len(page.keys) > 0 and list(page.keys) == self.seen.last_page

    def _move_end(self, page: PageSeen) -> None:
        """Move the last page to where this answer counts it, or by one page where it counts nothing."""
        headers = page.pagination or Pagination()
        if headers.total_count is not None:
            self._last = max(self._last, self._last_by_total(headers.total_count, headers))
        elif headers.page_count is not None:
            self._last = max(self._last, min(headers.page_count, MOST_PAGES))
        elif self._has_more_uncounted:
            self._last = max(self._last, min(self._next, MOST_PAGES))

    def _last_by_total(self, total: int, headers: Pagination) -> int:
        if self._first_total is None:
            self._first_total = total
        real_size = self.seen.longest or self.size
        pages = headers.page_count or _page_count(total, headers.per_page or real_size)
        if self._in_flight == 0 and self._next > max(self._last, pages) and len(self.seen.keys) < total:
            # All is read and rows are missing: pages may be shorter than the platform says.
            pages = max(self._next, _page_count(total, real_size)) if self.seen.stale_pages == 0 else pages
        # A list that grows faster than it is read still ends.
        return min(pages, 2 * _page_count(self._first_total, real_size) + MOST_STALE_COUNTED)

    @property
    def is_over(self) -> bool:
        """No page is left to request, or further pages are pointless."""
        if self.seen.stale_pages >= MOST_STALE_COUNTED or self.is_endless:
            return True
        return self._in_flight == 0 and self._next > self._last

    @property
    def total(self) -> int | None:
        """The total that all pages agree on, if they do."""
        return next(iter(self.totals)) if len(self.totals) == 1 else None

    @property
    def is_uncounted(self) -> bool:
        """No page had a total."""
        return self.totals == {None}

    @property
    def _has_more_uncounted(self) -> bool:
        """There may be another page, as far as the rows tell."""
        if not self.is_uncounted or self.seen.stale_pages >= MOST_STALE_UNCOUNTED:
            return False
        return self.keep_duplicates or not self.ignores_page

    @property
    def is_endless(self) -> bool:
        """Without keys and counts, page after page has rows like those before, and none is the last."""
        return self.keep_duplicates and self.is_uncounted and self.seen.familiar_pages >= MOST_FAMILIAR

    @property
    def ignores_page(self) -> bool:
        """Each page had the rows of the first page again."""
        seen = self.seen
        pages = len(seen.requests) + len(seen.put_off)
        are_same = seen.are_pages_alike if self.keep_duplicates else len(seen.keys) == seen.longest
        return pages > 1 and are_same and seen.longest > 0 and not seen.has_empty_page

    @property
    def is_conclusive(self) -> bool:
        """Another pass with the same rows proves something. Pages full of one row prove nothing, unless one
        row may be a whole page."""
        ends_in_identical = self.seen.ends_in_identical_rows and (self.seen.longest > 1 or self.size == 1)
        return not self.ignores_page and not ends_in_identical


class Occurrence(NamedTuple):
    """The key of a row that may be identical to others, and the number of identical rows before it."""

    key: Hashable
    number: int


def numbered(keys: Iterable[Hashable], occurrences: Counter[Hashable]) -> Iterator[Hashable]:
    """Yield each key with the number of its occurrences before, and count it in `occurrences`: whatever the
    order of the pages of a list without keys, the same rows give the same set."""
    for key in keys:
        yield Occurrence(key, occurrences[key])
        occurrences[key] += 1


def numbered_pages(pages: Iterable[Iterable[Hashable]]) -> list[list[Hashable]]:
    """The keys of each page, numbered by their occurrences on all pages."""
    occurrences = Counter[Hashable]()
    return [[*numbered(keys, occurrences)] for keys in pages]


def repeats_in(keys: Iterable[Hashable]) -> list[Occurrence]:
    """The keys of rows that are identical to a row before."""
    return [key for key in keys if isinstance(key, Occurrence) and key.number]


@dataclass(frozen=True, slots=True)
class Counted:
    """The rows of a reading that the platform counts."""

    keys: Set[Hashable]
    # More rows came than the platform counts, and nothing tells which of them it sent again. All count.
    has_unclear_repeats: bool = False


def counted(keys: Set[Hashable], total: int | None) -> Counted:
    """Leave out the identical rows that the platform does not count: it sent a row again.

    keys: of all rows, numbered where identical rows may be different rows. total: the platform's count; None:
    it sends none, so each row counts. Repeats are left out if all of them are as many as the rows beyond the
    count, or if all of them repeat one row."""
    excess = 0 if total is None else len(keys) - total
    repeats = repeats_in(keys) if excess > 0 else []
    if not repeats:
        return Counted(keys)
    repeats_one_row = len({repeat.key for repeat in repeats}) == 1
    if excess != len(repeats) and (excess > len(repeats) or not repeats_one_row):
        return Counted(keys, has_unclear_repeats=True)
    repeats.sort(key=lambda repeat: repeat.number, reverse=True)
    return Counted(keys - set(repeats[:excess]))


def counted_of(pages: Iterable[Iterable[Hashable]], outcome: Outcome) -> Counted:
    """The rows of a finished reading that the platform counts, by the keys of its pages. Without a proof, its
    count leaves out no row."""
    keys = {key for page_keys in pages for key in page_keys}
    return counted(keys, outcome.total if outcome.complete else None)


def _page_count(rows: int, size: int) -> int:
    return -(-rows // size)
