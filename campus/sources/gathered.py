"""The rows of one slice on their way to the lake, and the account of them."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from campus.account import Account, BadRow, Drift
from campus.contracts.fields import Contract
from campus.decoding.page import to_batch
from campus.http.events import Event, Listener
from campus.registry import ResourceSpec

BATCH_ROWS = 10_000


@dataclass
class Gathered:
    """The rows of one collection."""

    rows: list[Any] = field(default_factory=list)
    extras: list[str | None] = field(default_factory=list)
    trashed: list[bool] = field(default_factory=list)
    bad: list[BadRow] = field(default_factory=list)
    drift: Counter[Drift] = field(default_factory=Counter)
    #: The platform's count of rows; None: it sends none.
    total: int | None = 0
    #: The rows are provably all.
    complete: bool = True
    #: The proof, or the reason why there is none.
    note: str = ""
    #: The names of the fields that the rows were sent with.
    sent: frozenset[str] = frozenset()
    #: The reasons why rows could not be read, by the id of the row.
    failed: dict[int | str, str] = field(default_factory=dict)
    #: Rows that the platform sent again, and that were left out.
    repeats: int = 0
    #: It sent some rows again, but its count does not tell which. None of them was left out.
    has_unclear_repeats: bool = False
    #: Rows without a date, or with an earlier one than was requested.
    older: int = 0
    #: The platform showed no row. Those here are known from elsewhere.
    lacks_rows: bool = False

    def extend(self, part: "Gathered") -> None:
        """Add the rows, bad rows and drift of a part, but not its total and proof."""
        self.rows += part.rows
        self.extras += part.extras
        self.trashed += part.trashed
        self.bad += part.bad
        self.drift.update(part.drift)

    @property
    def is_empty(self) -> bool:
        """No row is alive, and none failed to decode."""
        return self.lacks_rows or (all(self.trashed) and not self.bad)


class Collector:
    """Writes the rows of one slice as Arrow batches of bounded size, and keeps the account of the slice.

    label: the slice in words. write: takes the batches; None: only the account is kept."""

    def __init__(
        self,
        spec: ResourceSpec,
        label: str = "",
        write: Callable[[pa.RecordBatch], None] | None = None,
        listener: Listener | None = None,
        batch_rows: int = BATCH_ROWS,
    ) -> None:
        self.spec = spec
        self.label = label
        self.account = Account()
        self._write = write
        self._listener = listener
        self._batch_rows = batch_rows
        self._rows: list[Contract] = []
        self._extras: list[str | None] = []
        self._trashed: list[bool] = []

    def add(self, gathered: Gathered) -> None:
        """Add the rows of one collection, and its account."""
        account = self.account
        account.received += len(gathered.rows) + len(gathered.bad) + gathered.repeats
        account.repeats += gathered.repeats
        account.has_unclear_repeats |= gathered.has_unclear_repeats
        account.older += gathered.older
        account.bad += gathered.bad
        account.drift.update(gathered.drift)
        account.failed.update(gathered.failed)
        account.complete = account.complete and gathered.complete
        if gathered.note:
            account.proofs.append(gathered.note)
        if account.server_total is not None:
            account.server_total = None if gathered.total is None else account.server_total + gathered.total
        self._rows += gathered.rows
        self._extras += gathered.extras
        self._trashed += gathered.trashed
        if len(self._rows) >= self._batch_rows:
            self.flush()

    def fail(self, ids: Sequence[int | str], reason: str) -> None:
        """Note that the read of these units failed."""
        self.account.failed.update(dict.fromkeys(ids, reason))

    def flush(self) -> None:
        """Write the rows gathered so far. Call once more at the end."""
        if not self._rows:
            return
        batch, drift = to_batch(self.spec.contract, self._rows, self._extras, self._trashed)
        self._rows, self._extras, self._trashed = [], [], []
        self.account.drift.update(drift)
        if self._write:
            self._write(batch)

    def progress(self, done: int, total: int) -> None:
        """Report to the listener how many of the slice's collections are read."""
        if self._listener:
            self._listener(
                Event(
                    "progress",
                    f"{self.spec.name} {self.label}: {done} of {total}",
                    resource=self.spec.name,
                    slice=self.label,
                    done=done,
                    total=total,
                    rows=self.account.received,
                )
            )


class CollectorsSink:
    """Takes the rows of units into collectors, which note the same failures and progress. What a unit brings
    of each collector's rows is up to the subclasses."""

    collectors: Sequence[Collector]

    def fail(self, ids: Sequence[int | str], reason: str) -> None:
        """Note that the unit of these ids failed."""
        for collector in self.collectors:
            collector.fail(ids, reason)

    def progress(self, done: int, total: int) -> None:
        """Report how many units are read."""
        for collector in self.collectors:
            collector.progress(done, total)
