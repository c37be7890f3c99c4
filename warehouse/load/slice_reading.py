"""The reading of a slice: the staged rows, and the facts beside them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING

from campus.account import Account

if TYPE_CHECKING:
    # A type here, and polars behind it.
    from warehouse.load.stage import StagedFile


@dataclass(frozen=True, slots=True)
class Cause:
    """The night, command or backfill for which rows are read."""

    #: The same in all runs of the cause, retries included.
    sync_id: str
    #: The attempt.
    run_id: str
    #: By the platform's wall clock.
    started_at: datetime
    #: Unchanged rows are read and compared again, too.
    full: bool = False
    #: No person chose the slices, so the run reads only due slices.
    only_due: bool = False


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
    account: Account
    cause: Cause
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
    measures: tuple[Measure, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether the reading shows the whole slice."""
        lacks_rows = any(rows.failed for rows in self.retained)
        is_partial = self.requested_since or self.requested or self.incremental
        return self.account.complete and not lacks_rows and not is_partial
