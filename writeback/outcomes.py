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

#: written; unchanged: the platform had it so; refused: by us, before anything was sent, or by the platform;
#: unconfirmed: nobody knows whether it was written; waiting: nothing was sent yet.
Outcome = Literal["written", "unchanged", "refused", "unconfirmed", "waiting"]


#: Why the rest was left, at Ctrl-C or when the machine goes down.
INTERRUPTED = "Interrupted: run the same command again, which looks at each row first."


@dataclass(frozen=True, slots=True)
class RowOutcome:
    """The outcome of one row."""

    #: Of the file; 0: none.
    line: int
    #: What the row is about, without names.
    key: str
    outcome: Outcome
    #: The reason.
    words: str = ""


def failed(line: int, key: str, error: CampusError, *, sent: bool) -> RowOutcome:
    """The outcome of a row whose write, or a question before it, raised. sent: something that may be repeated
    was sent, so that Transient may mean that it happened."""
    words = words_of(error)
    if isinstance(error, Transient) and not sent:
        return RowOutcome(line, key, "waiting", f"nothing was written: {words}")
    unknown = isinstance(error, Unconfirmed | Transient)
    return RowOutcome(line, key, "unconfirmed" if unknown else "refused", words)


def words_of(error: CampusError | PlatformUnavailable) -> str:
    """The reason for one row. A reason that ends all rows is given once, for all."""
    halt = error if isinstance(error, PlatformUnavailable) else error.__cause__
    if isinstance(halt, PlatformUnavailable):
        return "the platform did not answer" if halt.outage else "the platform takes no request of ours"
    assert isinstance(error, CampusError)
    return error.said or str(error)


def counted(outcomes: Iterable[RowOutcome]) -> Counter[str]:
    """Count the rows by outcome."""
    return Counter(row.outcome for row in outcomes)


def in_words(counts: Counter[str]) -> str:
    """The counts for a person; empty: there was no row."""
    return ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(counts.items()))


def write_outcomes(path: Path, outcomes: Sequence[RowOutcome]) -> None:
    """Write them as CSV, in the order of their lines, for this user alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["line", "key", "outcome", "words"])
        for row in sorted(outcomes, key=lambda row: row.line):
            texts = (without_identity_numbers(text) for text in (row.key, row.words))
            key, words = map(safe_cell, texts)
            writer.writerow([row.line, key, row.outcome, words])
