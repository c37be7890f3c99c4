"""The outcome of each row of a file, in words for the person who made the file."""

import csv
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from campus.http.errors import CampusError, PlatformUnavailable, Transient, Unconfirmed
from campus.identity_numbers import without_identity_numbers
from warehouse.csv_cells import safe_cell

#: written; unchanged: the platform had the row's values already; refused: by the checks before the request,
#: or by the platform; unconfirmed: the row may have been written; waiting: nothing was sent yet.
Outcome = Literal["written", "unchanged", "refused", "unconfirmed", "waiting"]


#: The reason of waiting rows after Ctrl-C or a shutdown.
INTERRUPTED = "Interrupted: run the same command again, which looks at each row first."


@dataclass(frozen=True, slots=True)
class RowOutcome:
    """The outcome of one row."""

    #: The line of the file; 0: none.
    line: int
    #: Describes the row without names; empty: the line alone names it.
    key: str
    outcome: Outcome
    #: The reason.
    words: str = ""


def failed(line: int, key: str, error: CampusError, *, sent: bool) -> RowOutcome:
    """The outcome of a row whose write, or a request before the write, failed. sent: a repeatable write was
    sent, which may have taken effect in spite of a Transient."""
    words = words_of(error)
    if isinstance(error, Transient) and not sent:
        return RowOutcome(line, key, "waiting", f"nothing was written: {words}")
    unknown = isinstance(error, Unconfirmed | Transient)
    return RowOutcome(line, key, "unconfirmed" if unknown else "refused", words)


def words_of(error: CampusError | PlatformUnavailable) -> str:
    """The reason for one row. A reason that stops all rows is short, since a report has it once in full."""
    halt = error if isinstance(error, PlatformUnavailable) else error.__cause__
    if isinstance(halt, PlatformUnavailable):
        return "the platform did not respond" if halt.outage else "the platform accepts no requests of ours"
    assert isinstance(error, CampusError)
    return error.quote or str(error)


def counted(outcomes: Iterable[RowOutcome]) -> Counter[str]:
    """Count the rows by outcome."""
    return Counter(row.outcome for row in outcomes)


def in_words(counts: Counter[str]) -> str:
    """The counts for a person; empty: there was no row."""
    return ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(counts.items()))


def write_outcomes(path: Path, outcomes: Sequence[RowOutcome]) -> None:
    """Write outcomes as CSV, by line, to a file that only this user can read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["line", "key", "outcome", "words"])
        for row in sorted(outcomes, key=lambda row: row.line):
            texts = (without_identity_numbers(text) for text in (row.key, row.words))
            key, words = map(safe_cell, texts)
            writer.writerow([row.line, key, row.outcome, words])
