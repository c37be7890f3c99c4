"""The shared rate in Postgres: processes insert reports, and one process at a time adds them to the state."""

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

import msgspec
from sqlalchemy import Connection, text

from pipelines.shared.database import Database
from pipelines.shared.shares import EXCHANGE_SECONDS, GONE_AFTER, Report, SharedRate

#: Inserts a report, and reads the state.
EXCHANGE = """
    WITH reported AS (INSERT INTO campus_reports (name, content) VALUES (:name, :report))
    SELECT extract(epoch FROM clock_timestamp()) AS now,
        (SELECT content FROM campus_shared WHERE name = :name) AS state
"""
BEGIN = "INSERT INTO campus_shared (name, content) VALUES (:name, '') ON CONFLICT DO NOTHING"
#: No row: another process adds the reports, or there is no state yet.
LOCK = "SELECT content FROM campus_shared WHERE name = :name FOR UPDATE SKIP LOCKED"
TAKE = "DELETE FROM campus_reports WHERE name = :name RETURNING content"
STORE = "UPDATE campus_shared SET content = :state WHERE name = :name"


@dataclass(frozen=True)
class Reading:
    """The shared rate as read from the database."""

    rate: SharedRate
    #: The database's clock minus the monotonic clock of this process.
    clock_offset: float


class RateTable:
    """The shared rate of one platform."""

    def __init__(self, database: Database, name: str) -> None:
        self._database, self._name = database, name
        self._exchanging = threading.Lock()

    def is_away(self, now: float) -> bool:
        """Whether the last attempt failed a moment ago. `now`: monotonic seconds."""
        return self._database.is_away(now)

    async def exchange(self, report: Report, *, urgent: bool) -> Reading | None:
        """Report, and read the shared rate; None: the database is away.

        urgent: add the reports even if that was done a moment ago."""

        def run(connection: Connection) -> Reading | None:
            with self._exchanging:
                # The exchange before may have found it away.
                if self.is_away(time.monotonic()):
                    return None
                return self._exchange(connection, msgspec.msgpack.encode(report), urgent=urgent)

        return await self._database.run(run)

    def _exchange(self, connection: Connection, report: bytes, *, urgent: bool) -> Reading:
        began = time.monotonic()
        row = connection.execute(text(EXCHANGE), {"name": self._name, "report": report}).one()
        now = float(row.now)
        clock_offset = now - (began + time.monotonic()) / 2
        rate = _state(row.state, now)
        if urgent or now - rate.added_at >= EXCHANGE_SECONDS:
            rate = self._add_reports(connection, now) or rate
        return Reading(rate, clock_offset)

    def _add_reports(self, connection: Connection, now: float) -> SharedRate | None:
        parameters = {"name": self._name}
        if (locked := connection.execute(text(LOCK), parameters).one_or_none()) is None:
            connection.execute(text(BEGIN), parameters)
            return None
        rate = _state(locked.content, now)
        taken = connection.execute(text(TAKE), parameters).all()
        rate.add(_reports(bytes(row.content) for row in taken), now)
        connection.execute(text(STORE), parameters | {"state": msgspec.msgpack.encode(rate)})
        return rate


def _state(content: bytes | None, now: float) -> SharedRate:
    """The stored state, or the first one where there is none, one of another version, or one of a later time
    than the database's."""
    try:
        rate = msgspec.msgpack.decode(bytes(content or b""), type=SharedRate)
    except msgspec.DecodeError:
        return SharedRate.first(now)
    return rate if rate.added_at < now + GONE_AFTER else SharedRate.first(now)


def _reports(contents: Iterable[bytes]) -> Iterator[Report]:
    """The reports, except those of another version."""
    for content in contents:
        with suppress(msgspec.DecodeError):
            yield msgspec.msgpack.decode(content, type=Report)
