"""Log rows that a run has not written yet."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from warehouse.lake.logs.tables import Log

Row = dict[str, Any]


@dataclass(frozen=True)
class Finding:
    """The log rows that a reading of a slice produced, to replace the slice's rows in `log`."""

    log: Log
    resource: str
    school_id: int
    slice: str
    #: With all columns of the log.
    rows: Sequence[Row]
    #: The columns by which an earlier row is recognized, which keeps its `first_seen`.
    identity: tuple[str, ...]
    #: Whether the reading was complete, so that earlier rows without a match are dropped.
    whole: bool

    def applied(self, existing: Sequence[Row]) -> list[Row]:
        """The log's rows of the slice after the finding. `existing`: the rows before it."""
        before = {_pick(row, self.identity): row for row in existing}
        after = {} if self.whole else dict(before)
        for row in self.rows:
            earlier = before.get(_pick(row, self.identity), row)
            first = {"first_seen": earlier["first_seen"]} if "first_seen" in earlier else {}
            after[_pick(row, self.identity)] = {**row, **first}
        return list(after.values())


@dataclass
class LogBatch:
    """A run's log rows in memory. Hold `lock` to add, read or write."""

    findings: list[Finding] = field(default_factory=list)
    #: Rows of the load log.
    loads: list[Row] = field(default_factory=list)
    #: Rows of the load log that are not in the standings yet.
    unsettled: list[Row] = field(default_factory=list)
    #: When the batch was last written (monotonic).
    written_at: float = field(default_factory=time.monotonic)
    #: By school, the states of its slices as the standings had them when first read.
    states: dict[int, dict[tuple[str, str], str]] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def rows(self) -> int:
        return len(self.findings) + len(self.loads) + len(self.unsettled)


def _pick(row: Mapping[str, Any], names: Sequence[str]) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)
