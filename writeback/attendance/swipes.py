"""Reads swipes that were recorded offline from a file into the outbox, and sends them to the platform in
order.

The interface accepts the same swipes again ("the last submission wins"), so each swipe is sent at least once.
The response has one result a record. If the platform refuses a batch, the batch is halved until the refused
records stand alone. A batch at which the platform fails repeatedly is halved, too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from campus.files.headers import moment_of, needs, renamed
from campus.files.table_file import TableFile, TableRow
from campus.http.errors import NotFound, Refused, Transient
from writeback.attendance.marks import Send
from writeback.operations import SEND_SWIPES, Write
from writeback.outcomes import Outcome, RowOutcome
from writeback.store.outbox import Outbox, State, Swipe

FIELDS = ("classroom_id", "rid", "usin", "created_at")
#: Records a request; the interface names no limit.
BATCH = 200
#: Failures in a row after which a run gives up a room. One bad record of a batch causes 8 failures.
HOPELESS = 12
#: Results which mean that the platform has the swipe: the results of a swipe, and the statuses of attendance,
#: since the interface calls both "an attendance result". Its other results are finished and invalid.
RECORDED = frozenset({"success", "exists", "lated", "normal", "absent", "early_left", "absent_from_duty"})
MOMENT = "%Y-%m-%d %H:%M:%S"
OUTCOMES: Mapping[State, Outcome] = {"waiting": "waiting", "sent": "written", "rejected": "refused"}


def plan_swipes(
    table: TableFile, school_id: int, name: str, source: str
) -> tuple[list[Swipe], list[RowOutcome]]:
    """The swipes of a file, and the outcomes of refused and repeated rows.

    Args:
        name: The name of the file, for messages.
        source: Identifies the file in the outbox.

    Raises TableError for unusable columns."""
    rows = renamed(table, FIELDS, name)
    columns = rows[0].cells if rows else dict.fromkeys(FIELDS, "")
    needs(columns, ("classroom_id",), ("rid", "usin"), ("created_at",), name=name)
    swipes: dict[str, Swipe] = {}
    others = []
    for row in rows:
        problem = row.problem or _problem(row.cells)
        if problem:
            others.append(RowOutcome(row.line, "", "refused", problem))
            continue
        swipe = _swipe(row, school_id, source)
        first = swipes.setdefault(swipe.key, swipe)
        if first is not swipe:
            others.append(RowOutcome(row.line, swipe.key, "unchanged", f"line {first.line} is the same"))
    return list(swipes.values()), others


def _problem(cells: Mapping[str, str]) -> str:
    for name in ("classroom_id", "rid"):
        if cells.get(name) and not cells[name].isdecimal():
            return f"{name}: expected a number"
    if not cells["classroom_id"]:
        return "classroom_id is missing"
    if not (cells.get("rid") or cells.get("usin")):
        return "rid or usin is missing"
    if moment_of(cells["created_at"]) is None:
        return "created_at: expected YYYY-MM-DD HH:MM:SS"
    return ""


def _swipe(row: TableRow, school_id: int, source: str) -> Swipe:
    cells = row.cells
    person = "rid" if cells.get("rid") else "usin"
    moment = moment_of(cells["created_at"])
    assert moment is not None
    return Swipe(
        0,
        school_id,
        int(cells["classroom_id"]),
        person,
        cells[person],
        f"{moment:{MOMENT}}",
        source,
        row.line,
    )


@dataclass
class Sent:
    """The result of sending swipes."""

    #: Swipes that the platform accepted or refused.
    ended: list[tuple[Swipe, State, str]] = field(default_factory=list)
    #: Classes that the platform named, with the day.
    classes: set[tuple[int, date]] = field(default_factory=set)
    #: Rooms and days of swipes that the platform accepted without naming a class.
    rooms: set[tuple[int, date]] = field(default_factory=set)
    #: The reason why swipes still wait; empty: no swipe waits.
    trouble: str = ""


async def send_waiting(outbox: Outbox, school_id: int, send: Send, sent: Sent) -> None:
    """Send the waiting swipes of a school, room by room, and by time in each room.

    Results are added to `sent` at once, so that they are there even if an error ends the sending. If the
    platform fails at a room, the other rooms are sent first. Then the batches of the failed room are halved,
    since a single record may be the cause. Raises the errors of `Writer.write` if the platform is
    unavailable."""
    rooms = [_Room(outbox, school_id, room, send, sent) for room in outbox.rooms(school_id)]
    failed = [room for room in rooms if not await room.send_all()]
    for room in failed:
        await room.send_all(halving=True)


@dataclass
class _Room:
    """Sends the waiting swipes of one room. `failures`: the failed requests in a row."""

    outbox: Outbox
    school_id: int
    id: int
    send: Send
    sent: Sent
    failures: int = 0

    async def send_all(self, *, halving: bool = False) -> bool:
        """Send all waiting swipes. Returns whether the platform responded to all. halving: halve a batch that
        fails, and send the batches after it."""
        after: Swipe | None = None
        while batch := self.outbox.waiting(self.school_id, BATCH, self.id, after):
            after = batch[-1]
            answered = await self._send(batch, halving=halving)
            if not answered and (not halving or self.failures >= HOPELESS):
                return False
        return True

    async def _send(self, batch: Sequence[Swipe], *, halving: bool) -> bool:
        write = Write(SEND_SWIPES, self.school_id, self.id, content=[swipe.record for swipe in batch])
        try:
            written = await self.send(write, f"swipes {batch[0].seq} to {batch[-1].seq}")
        except (NotFound, Refused) as error:
            # Not found may mean the room, or one student.
            self.failures = 0
            if len(batch) > 1:
                return await self._halved(batch, halving=halving)
            self._end([(batch[0], "rejected", error.quote or error.message)])
            return True
        except Transient as error:
            self.failures += 1
            self.sent.trouble = self.sent.trouble or str(error)
            if halving and len(batch) > 1 and self.failures < HOPELESS:
                return await self._halved(batch, halving=True)
            return False
        self.failures = 0
        self._took(batch, written.value)
        return True

    async def _halved(self, batch: Sequence[Swipe], *, halving: bool) -> bool:
        half = len(batch) // 2
        answered = await self._send(batch[:half], halving=halving)
        if not answered and (not halving or self.failures >= HOPELESS):
            return False
        return await self._send(batch[half:], halving=halving) and answered

    def _took(self, batch: Sequence[Swipe], value: Any) -> None:
        results = value if isinstance(value, list) else []
        if len(results) != len(batch):
            # The platform accepted the request, but results and records cannot be matched.
            results = [None] * len(batch)
        ended = [(swipe, *_state_of(result)) for swipe, result in zip(batch, results, strict=True)]
        self._end(ended)
        for (swipe, state, _), result in zip(ended, results, strict=True):
            day, class_id = date.fromisoformat(swipe.created_at[:10]), class_of(result)
            if state == "sent" and class_id is None:
                self.sent.rooms.add((self.id, day))
            elif state == "sent" and class_id is not None:
                self.sent.classes.add((class_id, day))

    def _end(self, ended: Sequence[tuple[Swipe, State, str]]) -> None:
        self.outbox.end(ended)
        self.sent.ended += ended


def _state_of(result: Any) -> tuple[State, str]:
    """The state of a swipe by its result, and the platform's message. No status counts as success."""
    if not isinstance(result, dict):
        return "sent", ""
    status = result.get("status")
    words = str(result.get("message") or result.get("title") or status or "")
    return ("sent", words) if status is None or status in RECORDED else ("rejected", words)


def class_of(result: Any) -> int | None:
    """The class that a result names; None: no class."""
    klass = result.get("klass") if isinstance(result, dict) else None
    class_id = klass.get("id") if isinstance(klass, dict) else None
    return class_id if isinstance(class_id, int) else None


def outcomes_of(outbox: Outbox, school_id: int, sent: Sent, source: str) -> list[RowOutcome]:
    """The outcomes of sent and waiting swipes.

    Args:
        source: the file whose swipes are reported by line. Other swipes are named with their file."""
    waiting: list[tuple[Swipe, State, str]] = [
        (swipe, "waiting", "")
        for room in outbox.rooms(school_id)
        for swipe in outbox.waiting(school_id, -1, room)
    ]
    return [
        RowOutcome(swipe.line, swipe.key, OUTCOMES[state], words)
        if swipe.source == source
        else RowOutcome(0, f"{swipe.key} (line {swipe.line} of {swipe.source})", OUTCOMES[state], words)
        for swipe, state, words in [*sent.ended, *waiting]
    ]
