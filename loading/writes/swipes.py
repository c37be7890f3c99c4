"""Swipes that were taken offline: from a file into the outbox, and from there to the platform, in order.

The interface lets the same swipes be sent again ("the last submission wins"), so each is sent at least once.
The answer has one result a record. A batch that is refused as a whole is halved until the records stand alone
that the platform does not take.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from campus.http.errors import NotFound, Refused
from campus.writes.operations import SEND_SWIPES, Write
from loading.writes.headers import moment_of, needs, renamed
from loading.writes.lessons import Send
from loading.writes.outbox import Outbox, State, Swipe
from loading.writes.outcomes import Outcome, RowOutcome
from loading.writes.table_file import TableFile, TableRow

FIELDS = ("classroom_id", "rid", "usin", "created_at")
#: Records a request; the interface names no limit.
BATCH = 200
#: Results that say that the platform has the swipe: those of a swipe, and the statuses of attendance, since
#: the interface calls each "an attendance result". The others that it names are finished and invalid.
RECORDED = frozenset({"success", "exists", "lated", "normal", "absent", "early_left", "absent_from_duty"})
MOMENT = "%Y-%m-%d %H:%M:%S"
OUTCOMES: Mapping[State, Outcome] = {"waiting": "waiting", "sent": "written", "rejected": "refused"}


def plan_swipes(table: TableFile, school_id: int, name: str) -> tuple[list[Swipe], list[RowOutcome]]:
    """The swipes of a file, and the rows that are refused. Raises TableError for columns without sense."""
    rows = renamed(table, FIELDS, name)
    columns = rows[0].cells if rows else dict.fromkeys(FIELDS, "")
    needs(columns, ("classroom_id",), ("rid", "usin"), ("created_at",), name=name)
    swipes, refused = [], []
    for row in rows:
        problem = row.problem or _problem(row.cells)
        if problem:
            refused.append(RowOutcome(row.line, f"line {row.line}", "refused", problem))
        else:
            swipes.append(_swipe(row, school_id, name))
    return swipes, refused


def _problem(cells: Mapping[str, str]) -> str:
    for name in ("classroom_id", "rid"):
        if cells.get(name) and not cells[name].isdecimal():
            return f"{name} is {cells[name]!r}; expected a number"
    if not cells["classroom_id"]:
        return "classroom_id is missing"
    if not (cells.get("rid") or cells.get("usin")):
        return "rid or usin is missing"
    if moment_of(cells["created_at"]) is None:
        return f"created_at is {cells['created_at']!r}; expected YYYY-MM-DD HH:MM:SS"
    return ""


def _swipe(row: TableRow, school_id: int, name: str) -> Swipe:
    cells = row.cells
    person = "rid" if cells.get("rid") else "usin"
    moment = moment_of(cells["created_at"])
    assert moment is not None
    return Swipe(
        0, school_id, int(cells["classroom_id"]), person, cells[person], f"{moment:{MOMENT}}", name, row.line
    )


@dataclass
class Sent:
    """What sending came to. `classes`: those that the platform named, each with the day; `rooms`: rooms and
    days of swipes that it took without naming a class."""

    sent: int = 0
    rejected: int = 0
    classes: set[tuple[int, date]] = field(default_factory=set)
    rooms: set[tuple[int, date]] = field(default_factory=set)


async def send_waiting(outbox: Outbox, school_id: int, send: Send, found: Sent) -> None:
    """Send what waits of a school, in the order of its moments, a batch a classroom. found: grows with what
    the platform has taken, so that it is known whatever ends the sending.

    Raises the errors of `Writer.write` where the platform takes nothing now."""
    while swipes := outbox.waiting(school_id, BATCH):
        by_room: dict[int, list[Swipe]] = defaultdict(list)
        for swipe in swipes:
            by_room[swipe.classroom_id].append(swipe)
        for room, batch in by_room.items():
            await _send_batch(outbox, room, batch, send, found)


async def _send_batch(outbox: Outbox, room: int, batch: Sequence[Swipe], send: Send, found: Sent) -> None:
    write = Write(SEND_SWIPES, batch[0].school_id, room, content=[swipe.record for swipe in batch])
    try:
        written = await send(write, f"swipes {batch[0].seq} to {batch[-1].seq}")
    except (NotFound, Refused) as error:
        if isinstance(error, Refused) and len(batch) > 1:
            half = len(batch) // 2
            await _send_batch(outbox, room, batch[:half], send, found)
            await _send_batch(outbox, room, batch[half:], send, found)
            return
        words = error.said or error.message
        outbox.end([(swipe, "rejected", words) for swipe in batch])
        found.rejected += len(batch)
        return
    results = written.value if isinstance(written.value, list) else []
    if len(results) != len(batch):
        # It took the request, and nobody can tell which result is whose.
        results = [None] * len(batch)
    ended = [(swipe, *_fate(result)) for swipe, result in zip(batch, results, strict=True)]
    outbox.end(ended)
    for (swipe, state, _), result in zip(ended, results, strict=True):
        if state == "rejected":
            found.rejected += 1
            continue
        found.sent += 1
        day = date.fromisoformat(swipe.created_at[:10])
        class_id = _class_of(result)
        if class_id is None:
            found.rooms.add((room, day))
        else:
            found.classes.add((class_id, day))


def _fate(result: Any) -> tuple[State, str]:
    """What a result of the platform says of its swipe. One without a status is taken for a yes."""
    if not isinstance(result, dict):
        return "sent", ""
    status = result.get("status")
    words = str(result.get("message") or result.get("title") or status or "")
    return ("sent", words) if status is None or status in RECORDED else ("rejected", words)


def _class_of(result: Any) -> int | None:
    klass = result.get("klass") if isinstance(result, dict) else None
    class_id = klass.get("id") if isinstance(klass, dict) else None
    return class_id if isinstance(class_id, int) else None


def outcomes_of(outbox: Outbox, source: str) -> list[RowOutcome]:
    """What became of the swipes of a file."""
    return [
        RowOutcome(swipe.line, swipe.key, OUTCOMES[state], words)
        for swipe, state, words in outbox.states(source)
    ]
