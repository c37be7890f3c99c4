"""The pace and the tokens that a district's workers share, a `campus.http.config.SharedState`."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache, partial

import msgspec
from sqlalchemy import Connection, text

from campus.http.config import SharedState, SharedToken, TokenLock
from campus.http.events import Event
from pipelines.shared.database import Database, load_content, store_content
from pipelines.shared.pace import SharedPace
from pipelines.shared.rate_table import RateTable
from pipelines.shared.sealing import Seal, Unreadable

#: Seconds between two attempts to take a lock.
RETRY_SECONDS = 0.05
#: Seconds after which the holder of a lock counts as hanging.
HANGS = 120.0

TRY_LOCK = "SELECT pg_try_advisory_xact_lock(2, hashtext(:name))"


class Workers(SharedState):
    """This process among the workers that use a platform with the same credentials."""

    def __init__(self, url: str, base_url: str, client_id: str, client_secret: str) -> None:
        self._database = Database(url)
        self._pace = SharedPace(RateTable(self._database, f"rate {base_url}"), uuid.uuid4().hex)
        super().__init__(self._pace)
        self._seal = Seal(base_url, client_id, client_secret)

    async def join(self, notify: Callable[[Event], None]) -> None:
        """Report this process to the other workers, and read the rate."""
        self._database.notify = notify
        await self._pace.exchange()

    @asynccontextmanager
    async def lock_token(self, name: str) -> AsyncIterator[TokenLock]:
        """Wait for the lock of the token of this name. Without the database, there is no lock."""
        connection = await self._locked(name)
        if connection is None:
            yield TokenLock()
            return
        try:
            sealed = await self._database.call(lambda: load_content(connection, name))
            token = self._token(name, sealed)
            yield DatabaseTokenLock(self._database, connection, self._seal, name, token)
            await self._database.call(connection.commit)
        finally:
            await asyncio.shield(self._database.close(connection))

    async def _locked(self, name: str) -> Connection | None:
        """A connection with the lock; None: the database is away, or the holder hangs.

        Whoever waits has no connection: the database has few."""
        until = time.monotonic() + HANGS
        while time.monotonic() < until and (connection := await self._database.begin()) is not None:
            take = partial(connection.scalar, text(TRY_LOCK), {"name": name})
            is_taken: bool | None = False
            try:
                is_taken = await self._database.call(take)
            finally:
                if not is_taken:
                    await asyncio.shield(self._database.close(connection))
            if is_taken:
                return connection
            await asyncio.sleep(RETRY_SECONDS)
        return None

    def _token(self, name: str, sealed: bytes | None) -> SharedToken | None:
        try:
            content = None if sealed is None else self._seal.open(name, sealed)
            return None if content is None else msgspec.json.decode(content, type=SharedToken)
        except (Unreadable, msgspec.DecodeError):
            # A token of other credentials, or of another version.
            return None


class DatabaseTokenLock(TokenLock):
    """The lock of a token. The database connection holds it."""

    def __init__(
        self, database: Database, connection: Connection, seal: Seal, name: str, token: SharedToken | None
    ) -> None:
        self.token = token
        self._database, self._connection, self._seal, self._name = database, connection, seal, name

    async def store(self, token: SharedToken) -> None:
        """Store the token, encrypted, for the other workers."""
        sealed = self._seal.close(self._name, msgspec.json.encode(token))
        await self._database.call(lambda: store_content(self._connection, self._name, sealed))


@cache
def workers(url: str, base_url: str, client_id: str, client_secret: str) -> Workers:
    """The shared state of a platform, the same for all clients of this process."""
    return Workers(url, base_url, client_id, client_secret)
