"""How a slice gets into the lake: compared with its last version, guarded, committed once, and written down."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from warehouse.lake import Lake
from warehouse.merge import Tally
from warehouse.reading import Reading
from warehouse.tables import Slice, Table


@dataclass(frozen=True)
class Guard:
    """When a commit stops or is reported.

    More than `share` of the rows alive before and more than `handful` of them gone: nothing is committed, unless
    `allowed`. More than `quarantine_share` of the received rows in quarantine: the slice counts as failed, though
    its other rows load.
    """

    share: float = 0.20
    handful: int = 5
    allowed: bool = False
    quarantine_share: float = 0.01


class SliceError(Exception):
    """A slice that was not committed; the lake still holds its last version."""


class VanishedTooMany(SliceError):
    """The reading would drop more of the slice than the guard lets pass."""


class Unbalanced(SliceError):
    """Received rows and rows accounted for differ: a defect of the reading side."""


@dataclass(frozen=True)
class Outcome:
    """What became of a slice. `status`: ok, warning or failed, as in quality.load_log; `version`: of the slice."""

    table: str
    slice: Slice
    status: str
    message: str
    tally: Tally
    received: int
    quarantined: int
    version: int


def commit(lake: Lake, table: Table, slice: Slice, reading: Reading, guard: Guard, scratch: Path) -> Outcome:
    """Replace one slice by what a reading makes of it, in one commit; nothing changed, nothing written.

    Also writes the change log, the quarantine, drift, reconciliation and, last, the slice's row of the load log.
    `scratch` takes temporary files. Raises SliceError (nothing committed) and deltalake's errors.
    """
    raise NotImplementedError
