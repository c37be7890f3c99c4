"""The protocol of all paging styles: a generator yields requests, is sent answers and returns an outcome.

Nothing in this module does I/O. `campus.fetch.collection.drive` is the loop that sends the requests.
"""

from collections.abc import Generator, Hashable, Sequence
from dataclasses import dataclass

from campus.http.errors import CampusError
from campus.http.request import Pagination

Params = tuple[tuple[str, str | int], ...]


@dataclass(frozen=True, slots=True)
class PageNames:
    """The names of an interface's paging parameters."""

    page: str = "page"
    per_page: str = "per_page"
    # The parameters that ask for all rows in one answer; empty where the interface has none.
    unpaged: Params = (("paginated", 0),)


V3_NAMES = PageNames()
V1_NAMES = PageNames("$page", "$per-page", ())


@dataclass(frozen=True, slots=True)
class PageRequest:
    """One request of a paging."""

    # Tells repeated requests for the same page apart.
    ordinal: int
    params: Params
    # The requests in flight are no longer of interest, and are cancelled.
    alone: bool = False


@dataclass(frozen=True, slots=True)
class PageSeen:
    """The keys of a page's rows, in their order, and its pagination headers.

    A row that cannot be decoded needs a key too, made of its content: readings are compared by keys.
    """

    keys: Sequence[Hashable]
    pagination: Pagination | None = None

    @property
    def total(self) -> int | None:
        """The platform's count of all rows."""
        return None if self.pagination is None else self.pagination.total_count


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """The answer to one request: a page, or the error that the request ended with."""

    request: PageRequest
    page: PageSeen | CampusError


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the reading of a list ended."""

    # All rows were provably read, so a row that is absent was deleted.
    complete: bool
    # Rows by the platform's own count.
    total: int | None
    # The requests whose rows count, in the order of asking. Their pages may repeat a key.
    requests: tuple[PageRequest, ...]
    # The proof, or the reason why there is none.
    note: str
    # Rows per page that the platform accepted; None where the list was not read by page number.
    page_size: int | None = None


# Yields the requests that start now, beside those in flight; an empty sequence waits for those. Is sent one
# answer at a time, in any order. Raises the error of an answer where there is no other way to ask.
Paging = Generator[Sequence[PageRequest], PageAnswer, Outcome]
