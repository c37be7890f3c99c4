"""The reading of a slice: the staged rows, and the facts beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # A type here, and polars behind it.
    from warehouse.load.stage import StagedFile


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that breaks its contract."""

    #: In the order and types of the primary key. None: the row has no readable key.
    key: tuple[Any, ...] | None
    reason: str
    #: The JSON as sent.
    raw: str
    #: The request or part that the row came with.
    unit: str


@dataclass(frozen=True, slots=True)
class RetainedRows:
    """Previous rows that stay as they were, though the reading lacks them: `column` has one of `values`."""

    column: str
    values: tuple[int | str, ...]
    #: The request for the rows failed. Otherwise the rows were not requested, and the reading is complete.
    failed: bool = True


@dataclass(frozen=True, slots=True)
class RequestedSince:
    """Only rows whose `column` is `first` or later were requested. The other rows stay."""

    column: str
    first: date


@dataclass(frozen=True, slots=True)
class RequestedRows:
    """Only rows whose `column` has one of `values` were requested. The other rows stay."""

    column: str
    values: tuple[int | str, ...]
    #: The other rows are known to be unchanged, so that the reading says how all of the slice is.
    suffices: bool = False


@dataclass(frozen=True, slots=True)
class Drift:
    """A difference from the contract that breaks no row."""

    #: unknown_field, absent_field, unknown_value and others.
    kind: str
    field: str
    #: A sample value.
    value: str | None
    #: Rows that show the difference.
    rows: int


#: The first and the last of a range of keys.
KeyRange = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Measure:
    """A number that the platform states (`expected`) beside the number that was read (`actual`)."""

    name: str
    expected: int
    actual: int


@dataclass(frozen=True, kw_only=True)
class SliceReading:
    """A reading of a slice."""

    staged: StagedFile
    #: All rows that the platform sent: staged, quarantined and `repeats`.
    received: int
    #: No requested row can be missing, except `retained`. Only then may a row vanish.
    complete: bool
    #: The cause: a night, a command, a backfill.
    sync_id: str
    #: The attempt.
    run_id: str
    #: By the platform's wall clock.
    started_at: datetime
    #: Rows that the platform sent again and counts once. They are not staged.
    repeats: int = 0
    #: It sent some rows again, but its count does not tell which. All are staged.
    has_unclear_repeats: bool = False
    #: The platform's own date, where the requests depend on it.
    platform_day: date | None = None
    #: Only changed rows were requested, so that a missing row is unchanged.
    incremental: bool = False
    #: Beside changed rows, all rows with these keys (of the first key column) were requested: a row that is
    #: missing there is gone.
    ranges: tuple[KeyRange, ...] = ()
    #: The slice is gone from the platform, and nothing was requested.
    retires: bool = False
    #: Includes all rows that changes of other tables had made doubtful when the reading began.
    follows: bool = False
    #: Rows are compared even where the last reading brought the same rows.
    compares: bool = False
    quarantined: tuple[BadRow, ...] = ()
    #: The platform's count of the requested list.
    server_total: int | None = None
    #: The platform's count of all live rows of the slice.
    alive_total: int | None = None
    retained: tuple[RetainedRows, ...] = ()
    #: The rows that were requested. Both None: all rows of the slice.
    requested_since: RequestedSince | None = None
    requested: RequestedRows | None = None
    #: The parts that failed.
    failures: tuple[str, ...] = ()
    #: Messages that are no failures.
    notes: tuple[str, ...] = ()
    drift: tuple[Drift, ...] = ()
    measures: tuple[Measure, ...] = ()
    #: Counts of requests, pages, retries and bytes, by these names.
    traffic: Mapping[str, int] = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        """Whether the reading shows the whole slice."""
        lacks_rows = any(rows.failed for rows in self.retained)
        is_partial = self.requested_since or self.requested or self.incremental
        return self.complete and not lacks_rows and not is_partial
