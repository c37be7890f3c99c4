"""The morning message: what to do, once a day, and that all is well again."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from pipelines.status.report import SchoolStatus, Status, failure_line
from pipelines.status.school_groups import group_by_text, name_schools
from warehouse.files import write_text

#: In the home: the content of the last message.
SENT_FILE = "told.json"
#: A phone shows no more reasons.
MOST_REASONS = 8
LONGEST_LINE = 300
#: In messages of campus.http.errors: the platform's own words follow, which may name a child.
PLATFORM_QUOTE = ", the platform says:"


class SentNotice(TypedDict):
    """The day of the last message, and what was to be done."""

    day: str
    to_do: list[str]


@dataclass(frozen=True)
class Notice:
    """A message for people, which names no child."""

    title: str
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """The title and the lines."""
        return "\n".join([self.title, *self.lines])


def due_notice(status: Status, home: Path) -> Notice | None:
    """The message that is due now; None: nothing is to be done, or today's message was sent already. A
    message that all is well again is sent once."""
    last = _last_sent(home)
    if status.to_do:
        if last == _content(status):
            return None
        reasons = _reasons(status.schools)
        omitted = len(reasons) - MOST_REASONS
        rest = [f"and {omitted} more reasons: campus status"] if omitted > 0 else []
        count = "1 thing" if len(status.to_do) == 1 else f"{len(status.to_do)} things"
        lines = [*status.to_do, *reasons[:MOST_REASONS], *rest]
        return Notice(
            f"Campus Warehouse, {status.at:%Y-%m-%d %H:%M}: {count} to do", tuple(map(_short, lines))
        )
    if last is None or not last["to_do"]:
        return None
    return Notice(
        f"Campus Warehouse, {status.at:%Y-%m-%d %H:%M}: all is well again",
        tuple(_short(f"Mended: {line}") for line in last["to_do"]),
    )


def record_sent(status: Status, home: Path) -> None:
    """Record that the message of a status was sent, so that it is not sent again today."""
    write_text(home / SENT_FILE, json.dumps(_content(status), ensure_ascii=False))


def _last_sent(home: Path) -> SentNotice | None:
    file = home / SENT_FILE
    if not file.exists():
        return None
    last: SentNotice = json.loads(file.read_text(encoding="utf-8"))
    return last


def _content(status: Status) -> SentNotice:
    return {"day": f"{status.at:%Y-%m-%d}", "to_do": list(status.to_do)}


def _reasons(schools: Sequence[SchoolStatus]) -> list[str]:
    """Why slices could not be loaded: a line for each reason of one school, or that schools share."""
    names = {school.school_id: f" ({school.name})" if school.name else "" for school in schools}
    groups = group_by_text(
        (school.school_id, failure_line(slices, reason).partition(PLATFORM_QUOTE)[0])
        for school in schools
        for reason, slices in school.failures.items()
    )
    return [
        f"{name_schools(texts).capitalize()}{names[next(iter(texts))] if len(texts) == 1 else ''}: {common}"
        for common, texts in groups
    ]


def _short(line: str) -> str:
    line = " ".join(line.split())
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…"
