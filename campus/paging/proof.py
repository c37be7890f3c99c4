"""Proof that several readings of one list together have all rows (see page_numbers for the reasons)."""

from collections import Counter
from collections.abc import Hashable, Set
from dataclasses import dataclass

from campus.http.request import Pagination
from campus.paging.passes import Pass, counted, numbered, repeats_in
from campus.paging.protocol import PageRequest, PageSeen


@dataclass(frozen=True, slots=True)
class RowSet:
    """The rows that one pass, or one answer, had."""

    keys: Set[Hashable]
    requests: frozenset[PageRequest]
    # Another reading with the same rows proves something.
    is_conclusive: bool = True
    # Sizes of pages in which the same rows prove nothing. Without keys or a count, an order that changes with
    # the size shows the same wrong rows again, and pages that came again at the end may be in the middle too.
    weak_sizes: Set[int] = frozenset()

    def proves(self, earlier: "RowSet") -> bool:
        """Whether these rows are those of an earlier reading, and prove that they are all."""
        same_pages = self.weak_sizes & earlier.weak_sizes
        return self.is_conclusive and self.keys == earlier.keys and not same_pages


NO_ROWS = RowSet(frozenset(), frozenset())


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a reading of a list ends."""

    rows: RowSet
    # The rows are provably all.
    complete: bool
    # The proof, or the reason why there is none.
    note: str


class Proof:
    """The readings of one list so far, and the check whether they prove it.

    keep_duplicates: as of `Pass`. max_passes: passes over the pages before it gives up."""

    def __init__(self, *, keep_duplicates: bool, max_passes: int) -> None:
        self._keep_duplicates = keep_duplicates
        self._max_passes = max_passes
        self._readings: list[RowSet] = []

    @property
    def had_rows(self) -> bool:
        """Some reading so far had rows."""
        return any(reading.keys for reading in self._readings)

    def check_first_page(self, request: PageRequest, page: PageSeen) -> Verdict | None:
        """The verdict after page 1 by its own count; None: it proves nothing."""
        rows = self._rows_of(request, page, page.total)
        return Verdict(rows, True, "all rows in one answer") if is_everything(page, rows.keys) else None

    def check_unpaged_list(self, request: PageRequest, page: PageSeen, pass_: Pass) -> Verdict | None:
        """The verdict after page 1 of the second pass, by the rows of the first; None: it proves nothing."""
        rows = self._rows_of(request, page, page.total)
        if pass_.is_uncounted and self._is_unpaged_list(page, rows, pass_.size):
            return Verdict(rows, True, "the list is not paged: a smaller page shows the same rows")
        return None

    def check_unpaged(self, request: PageRequest, page: PageSeen, total: int | None) -> Verdict | None:
        """The verdict after an unpaged answer; None: it proves nothing. total: by the numbered pages."""
        rows = self._rows_of(request, page, total if page.total is None else page.total)
        if total is None:
            proven = any(earlier.is_conclusive and earlier.keys == rows.keys for earlier in self._readings)
        else:
            proven = len(rows.keys) >= total and page.total in (None, len(rows.keys))
        if proven:
            return Verdict(rows, True, "all rows in one unpaged answer")
        self._readings.append(rows)
        return None

    def check_pass(self, pass_: Pass, number: int, *, may_ask_unpaged: bool) -> Verdict | None:
        """The verdict after a whole pass; None: another pass is needed. number: of this pass, from 1."""
        if pass_.is_endless:
            # Each row may have come any number of times, so no row counts.
            return Verdict(NO_ROWS, False, "the pages go on without an end: their order seems to change")
        weak_sizes = {pass_.seen.longest} if pass_.seen.put_off else set()
        if (self._keep_duplicates or pass_.is_uncounted) and not pass_.is_only_size:
            weak_sizes.add(pass_.size)
        keys = counted(pass_.seen.keys, pass_.total).keys
        rows = RowSet(keys, frozenset(pass_.seen.requests), pass_.is_conclusive, weak_sizes)
        is_confirmed = any(rows.proves(earlier) for earlier in self._readings)
        self._readings.append(rows)
        if is_confirmed and (pass_.is_uncounted or pass_.total == len(rows.keys)):
            return Verdict(rows, True, "two readings show the same rows")
        if is_confirmed and pass_.total is not None:
            return self._unproven(f"the platform counts {pass_.total} rows but shows {len(rows.keys)}")
        if pass_.ignores_page and number > 1 and not may_ask_unpaged and not self._pages_differ():
            # One pass alone may have had a single page, repeated for each page past the end.
            return self._unproven(
                "every page shows the same rows: the platform seems to ignore the page number"
            )
        if number >= self._max_passes:
            return self._unproven(f"no two of {number} passes over the pages show the same rows")
        return None

    def _unproven(self, why: str) -> Verdict:
        """End without a proof, with the last of the longest readings."""
        best = max(reversed(self._readings), key=lambda reading: len(reading.keys), default=NO_ROWS)
        return Verdict(best, False, why)

    def _pages_differ(self) -> bool:
        """Some pass had pages that differ: identical rows may fill the pages of a pass of another size."""
        return any(reading.is_conclusive and len(reading.requests) > 1 for reading in self._readings)

    def _is_unpaged_list(self, page: PageSeen, rows: RowSet, size: int) -> bool:
        """Page 1 of the second pass has the rows of all pages before, more than it has room for (a single row
        always fits).

        A list of identical rows whose pages have a size of their own looks the same. So where duplicates are
        kept, the unpaged answer must not have had other rows, and must exist where all rows are identical."""
        before, keys = self._readings[0], rows.keys
        if keys != before.keys or before.is_conclusive:
            return False
        unpaged_keys = self._readings[1].keys if len(self._readings) > 1 else None
        if self._keep_duplicates and len(keys) > 1:
            agrees = len(set(page.keys)) > 1 if unpaged_keys is None else unpaged_keys == keys
            return agrees and len(keys) > size
        return len(keys) > size or len(keys) == 1

    def _rows_of(self, request: PageRequest, page: PageSeen, total: int | None) -> RowSet:
        """The rows of one answer; identical rows get different keys where duplicates are kept."""
        keys = frozenset(numbered(page.keys, Counter()) if self._keep_duplicates else page.keys)
        return RowSet(counted(keys, total).keys, frozenset({request}))


def is_everything(page: PageSeen, keys: Set[Hashable]) -> bool:
    """Whether the page's own pagination headers say that its rows, with these different keys, are all.

    Where there are further pages, a row that was sent twice may take the place of a row of theirs."""
    headers = page.pagination or Pagination()
    if headers.total_count is None:
        return headers.page_count in (0, 1)
    has_all = headers.page_count in (None, 0, 1) or not repeats_in(keys)
    return headers.total_count == len(keys) and has_all
