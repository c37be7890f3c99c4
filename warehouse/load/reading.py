"""What a sync read of one slice, and what is said of it beside its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # A type here, and polars behind it.
    from warehouse.lake.spool import Content


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that breaks its contract. `key` is in the primary key's order and types, None where unreadable.

    `raw` is its JSON as sent, `unit` the request or part it came with.
    """

    key: tuple[Any, ...] | None
    reason: str
    raw: str
    unit: str


@dataclass(frozen=True, slots=True)
class Kept:
    """Previous rows to carry over untouched: `column` in `values`. `failed`: their part of the read failed;
    else nobody asked for them, and the reading misses nothing."""

    column: str
    values: tuple[int | str, ...]
    failed: bool = True


@dataclass(frozen=True, slots=True)
class Since:
    """What was asked for of the slice: the rows whose `column` is `first` or later. The others stay."""

    column: str
    first: date


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for of the slice: the rows whose `column` has one of these values. The others stay.
    `suffices`: they are known not to have moved, so that nothing of the slice is missing."""

    column: str
    values: tuple[int | str, ...]
    suffices: bool = False


#: The first and the last of a range of keys.
KeyRange = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Drift:
    """Where the platform departs from the contract without breaking it.

    `kind`: unknown_field, absent_field, unknown_value and the like; `value` is one sample, `rows` how many
    rows show it.
    """

    kind: str
    field: str
    value: str | None
    rows: int


@dataclass(frozen=True, slots=True)
class Measure:
    """A number that the platform states (`expected`) beside the one that was read (`actual`)."""

    name: str
    expected: int
    actual: int


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One read of one slice.

    `received` counts every row that the platform sent: those in the spool and the quarantined ones.
    `complete` says that nothing of what was asked for can be missing, `keep` aside; only then may a row
    vanish. `since` or `asked` is what was asked for where that is not the whole slice. `incremental`: only
    what changed was asked for, so that a row that is missing is no news.
    `ranges`: beside what changed, all rows with these keys (of the first column) were asked for, so that a
    row that is missing there is gone.
    `distinct`: every key is proven to come once. `sync_id` is the cause (a night, a command, a backfill),
    `run_id` the attempt, `started_at` the platform's wall clock.
    `platform_day`: the platform's own date, where what was asked for depends on it.
    `content`: of the spool, where a night may read the same again.
    `follows`: it reads again all that changes of other tables, known when it began, had made doubtful.
    `retires`: the slice is gone from the platform, and nothing was asked for.
    `server_total`: what the platform counts of the list that was asked for; `alive_total`: the rows alive of
    the whole slice, where it was asked for their number.
    `failures` name the parts that failed; `notes` are worth knowing and no failure. `traffic` counts
    requests, pages and retries under those names.
    """

    spool: Path
    received: int
    complete: bool
    sync_id: str
    run_id: str
    started_at: datetime
    platform_day: date | None = None
    incremental: bool = False
    ranges: tuple[KeyRange, ...] = ()
    retires: bool = False
    distinct: bool = False
    follows: bool = False
    content: Content | None = None
    quarantined: tuple[BadRow, ...] = ()
    server_total: int | None = None
    alive_total: int | None = None
    keep: tuple[Kept, ...] = ()
    since: Since | None = None
    asked: Asked | None = None
    failures: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    drift: tuple[Drift, ...] = ()
    measures: tuple[Measure, ...] = ()
    traffic: Mapping[str, int] = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        """Whether it says of all of the slice how it is now."""
        in_part = any(each.failed for each in self.keep) or self.since or self.asked or self.incremental
        return self.complete and not in_part
