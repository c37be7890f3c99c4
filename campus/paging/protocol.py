"""The protocol that all paging styles share: requests out, what was seen in, an outcome at the end.

Nothing here does I/O. A driver sends what `pending` names (in any order, any number at once), hands each
answer to `receive` and each 4xx to `refused`, and stops when `done`.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Protocol

from campus.http.pagination import Pagination

Params = tuple[tuple[str, str | int], ...]


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
class PageRequest:
    """One request of a reading; the ordinal keeps repeated requests for the same page apart."""

    ordinal: int
    params: Params


@dataclass(frozen=True, slots=True)
class PageSeen:
    """What one answer held: the keys of its rows in order, and its pagination headers.

    A row that could not be decoded needs a key too, made of its content: readings are compared by keys.
    """

    keys: Sequence[Hashable]
    pagination: Pagination | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a reading ended.

    complete: provably all rows, so that what is absent is gone. total: rows by the platform's own count.
    kept: the requests whose rows count; they may still repeat a key. note: how it was proven, or why not.
    """

    complete: bool
    total: int | None
    kept: frozenset[PageRequest]
    note: str


class Paging(Protocol):
    """A reading in progress."""

    def pending(self) -> tuple[PageRequest, ...]:
        """All requests that may be under way now: those not answered yet are named again."""

    def receive(self, request: PageRequest, seen: PageSeen) -> None:
        """Take an answer; one that is no longer of interest is ignored."""

    def refused(self, request: PageRequest) -> bool:
        """The platform rejects this request (4xx). False: there is no other way to ask, so it is an error."""

    @property
    def done(self) -> bool:
        """Nothing is left to ask."""

    @property
    def outcome(self) -> Outcome:
        """How the reading ended; only when done."""
