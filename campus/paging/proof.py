"""What readings of one list prove together (see page_numbers for why)."""

from collections import Counter
from collections.abc import Hashable, Sequence, Set
from dataclasses import dataclass

from campus.http.pagination import Pagination
from campus.paging.passes import Pass, numbered
from campus.paging.protocol import PageRequest, PageSeen


@dataclass(frozen=True, slots=True)
class Reading:
    """The rows that one way of asking showed, and whether seeing them again would prove anything.

    `repeated`: rows of a page, where the reading ended at pages that came again, which may be pages in the
    midst as well: seeing the same in pages of this size proves nothing."""

    keys: Set[Hashable]
    requests: frozenset[PageRequest]
    telling: bool = True
    repeated: int | None = None

    def proves(self, earlier: "Reading") -> bool:
        """Whether this reading, which shows the same rows as an earlier one, proves them."""
        same_pages = self.repeated is not None and self.repeated == earlier.repeated
        return self.telling and self.keys == earlier.keys and not same_pages


NOTHING = Reading(frozenset(), frozenset())


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a reading of a list ends: whose rows count, whether they are provably all, and why."""

    reading: Reading
    complete: bool
    note: str


class Proof:
    """The readings of one list so far.

    keyless: rows may be alike, and each of them counts. max_passes: passes over the pages before it gives
    up."""

    def __init__(self, *, keyless: bool, max_passes: int) -> None:
        self._keyless = keyless
        self._max_passes = max_passes
        self._readings: list[Reading] = []

    @property
    def had_rows(self) -> bool:
        """Some reading so far had rows."""
        return any(reading.keys for reading in self._readings)

    def of_first_page(self, request: PageRequest, seen: PageSeen, begun: Pass, passes: int) -> Verdict | None:
        """What page 1 alone proves. begun: the pass that it belongs to; passes: how many there were, this one
        included."""
        reading = Reading(self._distinct(seen.keys), frozenset({request}))
        if is_everything(seen, len(reading.keys)):
            return Verdict(reading, True, "all rows in one answer")
        if passes == 2 and begun.uncounted and self._is_not_paged(seen, reading, begun.size):
            note = "the list is not paged: a smaller page shows the same rows"
            return Verdict(reading, True, note)
        return None

    def of_whole(self, request: PageRequest, seen: PageSeen, total: int | None) -> Verdict | None:
        """What an answer to everything at once proves. total: as the pages have it."""
        reading = Reading(self._distinct(seen.keys), frozenset({request}))
        if total is None:
            proven = any(earlier.telling and earlier.keys == reading.keys for earlier in self._readings)
        else:
            own = seen.pagination.total_count if seen.pagination else None
            proven = len(reading.keys) >= total and own in (None, len(reading.keys))
        if proven:
            return Verdict(reading, True, "all rows in one unpaged answer")
        self._readings.append(reading)
        return None

    def of_pass(self, done: Pass, passes: int, *, may_ask_whole: bool) -> Verdict | None:
        """What a pass that is over proves; None: it takes another one. passes: how many there were, this one
        included."""
        if done.endless:
            # Its rows came any number of times each: none of them is handed on.
            return Verdict(NOTHING, False, "the pages go on without an end: their order seems to change")
        repeated = done.longest if done.ends_in_repeats else None
        reading = Reading(done.keys, frozenset(done.answered), done.telling, repeated)
        again = any(reading.proves(earlier) for earlier in self._readings)
        self._readings.append(reading)
        if again and (done.uncounted or done.total == len(reading.keys)):
            return Verdict(reading, True, "two readings show the same rows")
        if again and done.total is not None:
            return self.given_up(f"the platform counts {done.total} rows but shows {len(reading.keys)}")
        if done.page_ignored and passes > 1 and not may_ask_whole and not self._pages_differ():
            # One pass alone may have shown a single page, and its like for each one past the end.
            return self.given_up(
                "every page shows the same rows: the platform seems to ignore the page number"
            )
        if passes >= self._max_passes:
            return self.given_up(f"no two of {passes} passes over the pages show the same rows")
        return None

    def given_up(self, why: str) -> Verdict:
        """The end without a proof: the last of the longest readings."""
        best = max(reversed(self._readings), key=lambda reading: len(reading.keys), default=NOTHING)
        return Verdict(best, False, why)

    def _pages_differ(self) -> bool:
        """A pass had pages that are not alike: rows may be, and fill pages of another size."""
        return any(reading.telling and len(reading.requests) > 1 for reading in self._readings)

    def _is_not_paged(self, seen: PageSeen, reading: Reading, size: int) -> bool:
        """Page 1 of the second pass shows what all pages showed before, more than it has room for (one row
        always fits).

        Where rows may be alike, pages of a size of their own may be so as well: then everything at once must
        not have shown anything else, and must have been shown where all rows are alike."""
        before, keys = self._readings[0], reading.keys
        if keys != before.keys or before.telling:
            return False
        at_once = self._readings[1].keys if len(self._readings) > 1 else None
        if self._keyless and len(keys) > 1:
            agrees = len(set(seen.keys)) > 1 if at_once is None else at_once == keys
            return agrees and len(keys) > size
        return len(keys) > size or len(keys) == 1

    def _distinct(self, keys: Sequence[Hashable]) -> frozenset[Hashable]:
        """The keys of one answer; those of rows that are alike told apart where each of them counts."""
        return frozenset(numbered(keys, Counter()) if self._keyless else keys)


def is_everything(seen: PageSeen, rows: int) -> bool:
    """The answer's own pagination headers say that the rows in it, so many different ones, are all."""
    headers = seen.pagination or Pagination()
    if headers.total_count is not None:
        return headers.total_count == rows
    return headers.page_count in (0, 1)
