"""What the workers of a district share of one platform; see `campus.http.shared.Shared`."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache
from typing import TypeVar

import msgspec
from sqlalchemy import Connection, text
from sqlalchemy.exc import SQLAlchemyError

from campus.http.events import Event
from campus.http.shared import NoTurn, Pace, SharedToken, Turn
from pipelines.instance import POSTGRES_URL
from pipelines.shared.database import Database, held, keep
from pipelines.shared.pace import SharedPace
from pipelines.shared.sealing import Seal, Unreadable

#: Seconds between two tries for a turn, and after which whoever has it is taken to hang.
TRY = 0.05
HANGS = 120.0
T = TypeVar("T")

TAKE_TURN = "SELECT pg_try_advisory_xact_lock(2, hashtext(:name))"


class Workers:
    """One process among those that ask a platform with the same credentials."""

    def __init__(self, url: str, base_url: str, client_id: str, client_secret: str) -> None:
        self._database = Database(url)
        self._pace = SharedPace(self._database, f"platform {base_url}")
        self._seal = Seal(base_url, client_id, client_secret)

    @property
    def pace(self) -> Pace:
        """When requests may be sent."""
        return self._pace

    async def join(self, notify: Callable[[Event], None]) -> None:
        """Learn what the others know."""
        self._database.tell = notify
        await self._pace.exchange(0)

    @asynccontextmanager
    async def turn(self, name: str) -> AsyncIterator[Turn]:
        """Wait for the turn at the token of this name; without the database there is nobody to wait for."""
        connection = await self._database.begin()
        if connection is None:
            yield NoTurn()
            return
        try:
            turn = await self._taken(connection, name)
            yield turn or NoTurn()
            await _quietly(self._database, connection.commit)
        finally:
            await asyncio.shield(asyncio.to_thread(_close, connection))

    async def _taken(self, connection: Connection, name: str) -> "KeptTurn | None":
        until = time.monotonic() + HANGS

        def take() -> bool:
            return bool(connection.execute(text(TAKE_TURN), {"name": name}).scalar())

        while (taken := await _quietly(self._database, take)) is False and time.monotonic() < until:
            await asyncio.sleep(TRY)
        if taken is None:
            return None
        sealed = await _quietly(self._database, lambda: held(connection, name))
        return KeptTurn(self._database, connection, self._seal, name, self._opened(name, sealed))

    def _opened(self, name: str, sealed: bytes | None) -> SharedToken | None:
        try:
            opened = None if sealed is None else self._seal.open(name, sealed)
            return None if opened is None else msgspec.json.decode(opened, type=SharedToken)
        except (Unreadable, msgspec.DecodeError):
            # Of other credentials, or of another version.
            return None


class KeptTurn:
    """The turn at one token, as long as the connection has its lock."""

    def __init__(
        self, database: Database, connection: Connection, seal: Seal, name: str, token: SharedToken | None
    ) -> None:
        self.token = token
        self._database, self._connection, self._seal, self._name = database, connection, seal, name

    async def keep(self, token: SharedToken) -> None:
        """Keep it for the others, sealed."""
        sealed = self._seal.close(self._name, msgspec.json.encode(token))
        await _quietly(self._database, lambda: keep(self._connection, self._name, sealed))


async def _quietly(database: Database, work: Callable[[], T]) -> T | None:
    """Do this in a thread; None: the database has gone away."""
    try:
        return await asyncio.to_thread(work)
    except SQLAlchemyError as error:
        database.lost(error)
        return None


def _close(connection: Connection) -> None:
    try:
        connection.close()
    except SQLAlchemyError:
        # It went away, and its locks with it.
        connection.invalidate()


@cache
def workers(url: str, base_url: str, client_id: str, client_secret: str) -> Workers:
    """Those of this process for a platform, whichever client asks it."""
    return Workers(url, base_url, client_id, client_secret)


def shared_with_workers(base_url: str, client_id: str, client_secret: str) -> Workers | None:
    """What is shared with other workers, in Dagster's Postgres; None: there is none."""
    url = os.environ.get(POSTGRES_URL)
    return workers(url, base_url, client_id, client_secret) if url else None
