"""What is worth a message: what there is to do, once a night, and that it is mended."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from pipelines.status import SchoolStatus, Status, in_words
from warehouse.files import write_text

#: In the home: what was told last.
TOLD = "told.json"
#: More reasons than this are read by nobody on a phone.
MOST_REASONS = 8
LONGEST_LINE = 300
#: Where campus.http.messages begins to quote the platform.
THEIR_WORDS = ", the platform says:"


class Told(TypedDict):
    """What was told last: on which day, and what there was to do."""

    day: str
    to_do: list[str]


@dataclass(frozen=True)
class Notice:
    """A message for people. `lines`: one thought each, no name of a child in them."""

    title: str
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """All of it."""
        return "\n".join([self.title, *self.lines])


def due_notice(status: Status, home: Path) -> Notice | None:
    """The message that is due now; None: there is nothing to do, or it was told today already. That it is
    mended is told once."""
    told = _told(home)
    if status.to_do:
        if told == _of(status):
            return None
        reasons = [line for each in status.schools for line in _reasons(each)]
        more = len(reasons) - MOST_REASONS
        rest = [f"and {more} more reasons: campus status"] if more > 0 else []
        count = "1 thing" if len(status.to_do) == 1 else f"{len(status.to_do)} things"
        lines = [*status.to_do, *reasons[:MOST_REASONS], *rest]
        return Notice(
            f"Campus Warehouse, {status.at:%Y-%m-%d %H:%M}: {count} to do", tuple(map(_short, lines))
        )
    if told is None or not told["to_do"]:
        return None
    return Notice(
        f"Campus Warehouse, {status.at:%Y-%m-%d %H:%M}: all is well again",
        tuple(_short(f"Mended: {line}") for line in told["to_do"]),
    )


def remember(status: Status, home: Path) -> None:
    """Write down what was told, so that it is not told again today."""
    write_text(home / TOLD, json.dumps(_of(status), ensure_ascii=False))


def _told(home: Path) -> Told | None:
    file = home / TOLD
    if not file.exists():
        return None
    told: Told = json.loads(file.read_text(encoding="utf-8"))
    return told


def _of(status: Status) -> Told:
    return {"day": f"{status.at:%Y-%m-%d}", "to_do": list(status.to_do)}


def _reasons(school: SchoolStatus) -> Sequence[str]:
    name = f" ({school.name})" if school.name else ""
    # What the platform says in its own words may name a child.
    failures = (in_words(slices, reason) for reason, slices in school.failures.items())
    own = (line.partition(THEIR_WORDS)[0] for line in failures)
    return [f"School {school.school_id}{name}: {line}" for line in own]


def _short(line: str) -> str:
    line = " ".join(line.split())
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…"
