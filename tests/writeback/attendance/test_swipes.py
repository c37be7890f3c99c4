"""Swipes taken offline: what is sent together, and what one that fails costs the others."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from campus.files.table_file import TableFile, TableRow
from campus.http.errors import CampusError, NotFound, PlatformUnavailable, Refused, Transient
from writeback.attendance.swipes import BATCH, HOPELESS, Sent, outcomes_of, plan_swipes, send_waiting
from writeback.operations import Write
from writeback.send.writer import Written
from writeback.store.outbox import Outbox, Swipe
from writeback.store.store import Store

SCHOOL = 101
#: Says of a record of a room why the platform takes no request with it; None: it does.
Ill = Callable[[int, dict[str, Any]], CampusError | None]


@pytest.fixture
def outbox(tmp_path: Path) -> Iterator[Outbox]:
    with Store(tmp_path) as store:
        yield store.outbox


def swipe(number: int, room: int = 1, source: str = "today") -> Swipe:
    moment = f"2026-11-20 {8 + number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}"
    return Swipe(0, SCHOOL, room, "rid", str(number), moment, source, number)


class Platform:
    """Takes requests, but those with an ill record."""

    def __init__(self, ill: Ill = lambda room, record: None) -> None:
        self.ill = ill
        self.requests: list[tuple[int, list[int]]] = []

    async def send(self, write: Write, row: str) -> Written:
        room = write.id
        assert isinstance(room, int)
        self.requests.append((room, [record["rid"] for record in write.content]))
        errors = filter(None, (self.ill(room, record) for record in write.content))
        if error := next(errors, None):
            raise error
        return Written(200, [{"status": "success"} for _ in write.content])


def send(outbox: Outbox, platform: Platform) -> Sent:
    sent = Sent()
    asyncio.run(send_waiting(outbox, SCHOOL, platform.send, sent))
    return sent


def waiting(outbox: Outbox, room: int = 1) -> list[int]:
    return [int(entry.value) for entry in outbox.waiting(SCHOOL, -1, room)]


def test_batches_are_full_and_of_one_room_each_in_the_order_of_their_moments(outbox: Outbox) -> None:
    outbox.add([swipe(number, room=number % 8) for number in range(4_000)])
    platform = Platform()
    assert len(send(outbox, platform).ended) == 4_000
    assert len(platform.requests) == 8 * 500 / BATCH + 4
    for room in range(8):
        sent = [number for batch_room, batch in platform.requests if batch_room == room for number in batch]
        assert sent == [*range(room, 4_000, 8)]


def test_a_record_at_which_the_platform_fails_waits_and_all_others_are_sent(outbox: Outbox) -> None:
    outbox.add([swipe(number, room) for room in (1, 2) for number in range(500)])
    broken = Transient("status 500 after 5 attempts")
    platform = Platform(lambda room, record: broken if (room, record["rid"]) == (1, 77) else None)
    result = send(outbox, platform)
    assert (waiting(outbox, 1), waiting(outbox, 2)) == ([77], [])
    assert result.trouble == str(broken)
    # The other room did not wait for the halving.
    assert [room for room, _ in platform.requests[:4]] == [1, 2, 2, 2]
    assert len(platform.requests) < 30
    # A later run is as good.
    outbox.add([swipe(number) for number in range(500, 600)])
    send(outbox, platform)
    assert waiting(outbox, 1) == [77]


def test_a_room_where_the_platform_always_fails_is_left_soon(outbox: Outbox) -> None:
    outbox.add([swipe(number, room) for room in (1, 2) for number in range(300)])
    platform = Platform(lambda room, record: Transient("status 500") if room == 1 else None)
    send(outbox, platform)
    assert (len(waiting(outbox, 1)), waiting(outbox, 2)) == (300, [])
    assert len(platform.requests) <= HOPELESS + 3


@pytest.mark.parametrize("error", [NotFound("404", status=404), Refused("422", status=422, quote="no")])
def test_what_is_not_found_may_be_one_student(outbox: Outbox, error: CampusError) -> None:
    outbox.add([swipe(number) for number in range(100)])
    result = send(outbox, Platform(lambda room, record: error if record["rid"] == 60 else None))
    assert [entry.value for entry, state, _ in result.ended if state == "rejected"] == ["60"]
    assert len(result.ended) == 100 and not waiting(outbox)


def test_a_platform_that_is_gone_ends_the_sending_and_all_waits(outbox: Outbox) -> None:
    outbox.add([swipe(number, room) for room in (1, 2) for number in range(300)])

    async def away(write: Write, row: str) -> Written:
        raise PlatformUnavailable("gone", outage=True)

    with pytest.raises(PlatformUnavailable):
        asyncio.run(send_waiting(outbox, SCHOOL, away, Sent()))
    assert len(waiting(outbox, 1)) == len(waiting(outbox, 2)) == 300


def test_what_is_told_is_of_this_handover_and_of_what_waits(outbox: Outbox) -> None:
    refusing = Platform(
        lambda room, record: Refused("no", status=422, quote="no") if record["rid"] == 1 else None
    )
    outbox.add([swipe(1, source="monday"), swipe(2, source="monday")])
    assert [row.outcome for row in outcomes_of(outbox, SCHOOL, send(outbox, refusing), "monday")] == [
        "refused",
        "written",
    ]
    # Monday's rejection is no news on Tuesday; what is handed over again is.
    again = outbox.add([swipe(2, source="tuesday"), swipe(3, source="tuesday")])
    assert [row.value for row in again] == ["2"]
    outcomes = outcomes_of(outbox, SCHOOL, send(outbox, refusing), "tuesday")
    assert [(row.line, row.outcome) for row in outcomes] == [(3, "written")]
    outbox.add([swipe(1, source="wednesday")])
    [told_of] = outcomes_of(outbox, SCHOOL, Sent(), "thursday")
    assert (told_of.line, told_of.outcome) == (0, "waiting")
    assert "(line 1 of wednesday)" in told_of.key


def test_every_row_of_a_file_has_an_outcome() -> None:
    rows = [("1", "5", "2026-11-20 08:00"), ("1", "5", "2026-11-20 08:00:00"), ("1", "", "2026-11-20 08:00")]
    names = ("classroom_id", "rid", "created_at")
    cells = [TableRow(line, dict(zip(names, row, strict=True))) for line, row in enumerate(rows, 2)]
    cells.append(TableRow(5, cells[0].cells, "rid is #N/A"))
    swipes, others = plan_swipes(TableFile(names, tuple(cells)), SCHOOL, "f.csv", "today")
    assert [(planned.line, planned.source) for planned in swipes] == [(2, "today")]
    assert [(planned.line, planned.outcome, planned.words) for planned in others] == [
        (3, "unchanged", "line 2 is the same"),
        (4, "refused", "rid or usin is missing"),
        (5, "refused", "rid is #N/A"),
    ]
