"""What one read of one slice gathers: rows on their way to the lake, and the account of them."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from campus.contracts.fields import Contract
from campus.decoding.page import BadRow, Drift, to_batch
from campus.http.events import Event, Listener, Tally
from campus.registry import ResourceSpec

BATCH_ROWS = 10_000


@dataclass
class Gathered:
    """The rows of one collection. `complete`: provably all of them. `total`: the server's count, if any."""

    rows: list[Any] = field(default_factory=list)
    extras: list[str | None] = field(default_factory=list)
    trashed: list[bool] = field(default_factory=list)
    bad: list[BadRow] = field(default_factory=list)
    drift: Counter[Drift] = field(default_factory=Counter)
    total: int | None = 0
    complete: bool = True
    note: str = ""
    #: The names of the fields that the rows were sent with.
    sent: frozenset[str] = frozenset()
    #: Rows that could not be read, by id, each with why.
    failed: dict[int | str, str] = field(default_factory=dict)

    def extend(self, part: "Gathered") -> None:
        """Add the rows of a part, and what is noted of them; its count and proof are its own."""
        self.rows += part.rows
        self.extras += part.extras
        self.trashed += part.trashed
        self.bad += part.bad
        self.drift.update(part.drift)


@dataclass
class Account:
    """What was read of one slice. `failed`: ids of the units (classes, items, term types) whose read failed,
    each with why; their last good rows stay. `server_total` is None where the server counted nothing.
    `older`: rows that are older than what was asked for, or have no date. `began`: by the monotonic clock,
    seconds."""

    received: int = 0
    bad: list[BadRow] = field(default_factory=list)
    drift: Counter[Drift] = field(default_factory=Counter)
    failed: dict[int | str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    server_total: int | None = 0
    complete: bool = True
    older: int = 0
    tally: Tally = field(default_factory=Tally)
    began: float = field(default_factory=time.monotonic)


class Collector:
    """Hands rows on as Arrow batches of bounded size and keeps the account; one for each slice read.

    label: the slice in words. write: takes the batches; without it only the account is kept."""

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
        """Take over the rows of one collection."""
        account = self.account
        account.received += len(gathered.rows) + len(gathered.bad)
        account.bad += gathered.bad
        account.drift.update(gathered.drift)
        account.failed.update(gathered.failed)
        account.complete = account.complete and gathered.complete
        if gathered.note:
            account.notes.append(gathered.note)
        known = account.server_total is not None and gathered.total is not None
        account.server_total = (account.server_total or 0) + (gathered.total or 0) if known else None
        self._rows += gathered.rows
        self._extras += gathered.extras
        self._trashed += gathered.trashed
        if len(self._rows) >= self._batch_rows:
            self.flush()

    def fail(self, ids: Sequence[int | str], reason: str) -> None:
        """Note that the read of these units failed."""
        self.account.failed.update(dict.fromkeys(ids, reason))

    def flush(self) -> None:
        """Write what is gathered so far. Call once more at the end."""
        if not self._rows:
            return
        batch, drift = to_batch(self.spec.contract, self._rows, self._extras, self._trashed)
        self._rows, self._extras, self._trashed = [], [], []
        self.account.drift.update(drift)
        if self._write:
            self._write(batch)

    def progress(self, done: int, total: int) -> None:
        """Tell the listener how many of the slice's collections are read."""
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
