"""The account of the rows that are read of a slice: made by campus, checked and logged by a commit."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that cannot be loaded."""

    #: In the order and types of the primary key. None: the row has no readable key.
    key: Key | None
    reason: str
    #: The row's JSON.
    raw: str


@dataclass(frozen=True, slots=True)
class Drift:
    """A difference between the platform and the contract that does no harm to the data."""

    #: unknown_field, absent_field, unknown_value and so on.
    kind: str
    field: str
    #: A value, unless it is personal.
    sample: str = ""


@dataclass(slots=True)
class Tally:
    """Counts of one reading. The client adds requests, retries and response bytes; its caller adds pages."""

    requests: int = 0
    retries: int = 0
    bytes: int = 0
    pages: int = 0


@dataclass
class Account:
    """The account of one slice."""

    #: All rows that the platform sent: staged, bad, and `repeats`.
    received: int = 0
    bad: list[BadRow] = field(default_factory=list)
    #: Differences, with the number of rows that show them.
    drift: Counter[Drift] = field(default_factory=Counter)
    #: The reasons why units (classes, items, term types) failed, by their id. Their last good rows stay.
    failed: dict[int | str, str] = field(default_factory=dict)
    #: How lists were proven to be complete, or why they are not.
    proofs: list[str] = field(default_factory=list)
    #: The platform's count of the requested list; None: it sends none.
    server_total: int | None = 0
    #: No requested row can be missing, except those of failed units. Only then may a row vanish.
    complete: bool = True
    #: Rows that the platform sent again and counts once. They were left out.
    repeats: int = 0
    #: Of some rows that were sent again, the platform's count does not tell which. None of them was left out.
    has_unclear_repeats: bool = False
    #: Rows without a date, or with an earlier one than was requested.
    older: int = 0
    tally: Tally = field(default_factory=Tally)
    #: By the monotonic clock, seconds.
    began: float = field(default_factory=time.monotonic)

    @property
    def different_rows(self) -> int:
        """The rows received, without those that were left out."""
        return self.received - self.repeats
