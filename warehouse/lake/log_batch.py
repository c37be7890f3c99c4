"""What a run has to say in the logs and has not written yet, as data."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from warehouse.lake.log_tables import Log

Row = dict[str, Any]


@dataclass(frozen=True)
class Finding:
    """What a reading found of a slice, which replaces what `log` says of it.

    `rows` have all columns. `identity`: the columns by which a row is known again, with its `first_seen`.
    `whole`: what this reading did not find is over."""

    log: Log
    resource: str
    school_id: int
    slice: str
    rows: Sequence[Row]
    identity: tuple[str, ...]
    whole: bool

    def applied(self, held: Sequence[Row]) -> list[Row]:
        """The log's rows of the slice after the finding. `held`: those before it."""
        before = {_pick(row, self.identity): row for row in held}
        after = {} if self.whole else dict(before)
        for row in self.rows:
            known = before.get(_pick(row, self.identity), row)
            first = {"first_seen": known["first_seen"]} if "first_seen" in known else {}
            after[_pick(row, self.identity)] = {**row, **first}
        return list(after.values())


@dataclass
class LogBatch:
    """Findings, rows of the load log, and those of them that the standings lack yet, each in its order.

    `lock` is held by whoever adds, reads or writes; `written_at`: when it was empty last (monotonic).
    `states`: of the slices of schools, as the standings had them when they were first asked for."""

    findings: list[Finding] = field(default_factory=list)
    loads: list[Row] = field(default_factory=list)
    unsettled: list[Row] = field(default_factory=list)
    written_at: float = field(default_factory=time.monotonic)
    states: dict[int, dict[tuple[str, str], str]] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def rows(self) -> int:
        return len(self.findings) + len(self.loads) + len(self.unsettled)


def _pick(row: Mapping[str, Any], names: Sequence[str]) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)
