"""The tables of shared state in Dagster's Postgres. While Postgres is away, loads go on without it."""

import asyncio
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar
from weakref import WeakSet

from sqlalchemy import Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import SQLAlchemyError

from campus.http.events import Event
from pipelines.shared.addresses import without_secrets

T = TypeVar("T")

#: Seconds before the next attempt after Postgres was away.
AWAY = 30.0
#: Seconds to wait for an answer.
PATIENCE = 3
#: Seconds after which connections are cut off, where the server takes statements and answers none.
STALLED = 3 * PATIENCE
#: The application name of these connections, and the logging name of their engine.
APPLICATION = "campus shared"
#: Unlogged: the state can be learned again, and no write waits for the disk.
TABLES = """
    CREATE UNLOGGED TABLE IF NOT EXISTS campus_shared (name text PRIMARY KEY, content bytea NOT NULL);
    CREATE UNLOGGED TABLE IF NOT EXISTS campus_reports (name text NOT NULL, content bytea NOT NULL)
"""
#: The lock under which a table is created.
TABLE_LOCK = 0x63616D707573


class Database:
    """The tables of shared state: `campus_shared` has bytes by name, `campus_reports` reports."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._engine: Engine | None = None
        self._connections, self._connections_lock = WeakSet[Any](), threading.Lock()
        self._away_until = float("-inf")
        self._is_reported = False
        self.notify: Callable[[Event], None] = lambda _: None

    def is_away(self, now: float) -> bool:
        """Whether the last attempt failed a moment ago. `now`: monotonic seconds."""
        return now < self._away_until

    async def run(self, work: Callable[[Connection], T]) -> T | None:
        """Run a function in a transaction; None: the database is away."""
        return await self._attempt(lambda: self._transact(work))

    async def begin(self) -> Connection | None:
        """A connection, which the caller closes; None: the database is away."""
        return await self._attempt(self._connect)

    async def call(self, work: Callable[[], T]) -> T | None:
        """Run a function in a thread; None: the database is away."""
        try:
            return await asyncio.to_thread(self._call_in_time, work)
        except SQLAlchemyError as error:
            self.lost(error)
            return None

    async def close(self, connection: Connection) -> None:
        """Close a connection, which releases its locks."""

        def close() -> None:
            try:
                connection.close()
            except SQLAlchemyError:
                # The database went away, and released the locks.
                connection.invalidate()

        await self.call(close)

    def lost(self, error: SQLAlchemyError) -> None:
        """Make no attempt for a while, and report the error once per outage."""
        self._away_until = time.monotonic() + AWAY
        if not self._is_reported:
            self._is_reported = True
            message = str(getattr(error, "orig", None) or type(error).__name__).strip().partition("\n")[0]
            reason = without_secrets(message, self._url)
            self.notify(
                Event(
                    "note",
                    f"The database that workers share does not answer ({reason}): start Postgres. Until it "
                    "answers, this process uses its last share of the rate, if any, and tokens of its own.",
                )
            )

    async def _attempt(self, work: Callable[[], T]) -> T | None:
        return None if self.is_away(time.monotonic()) else await self.call(work)

    def _call_in_time(self, work: Callable[[], T]) -> T:
        timer = threading.Timer(STALLED, self._cut_off)
        timer.daemon = True
        timer.start()
        try:
            return work()
        finally:
            timer.cancel()

    def _cut_off(self) -> None:
        """Close the sockets under all connections, so that no thread waits for ever in psycopg2."""
        from psycopg2 import InterfaceError

        with self._connections_lock:
            connections = list(self._connections)
        for connection in connections:
            # It may have been closed meanwhile.
            with (
                suppress(InterfaceError, OSError),
                socket.socket(fileno=os.dup(connection.fileno())) as stream,
            ):
                stream.shutdown(socket.SHUT_RDWR)

    def _connect(self) -> Connection:
        if self._engine is None:
            self._engine = engine_of(self._url)
            event.listen(self._engine, "do_connect", self._open)
            with self._engine.begin() as connection:
                make_table(connection, TABLES)
        return self._engine.connect()

    def _open(self, dialect: Any, _record: object, arguments: list[Any], options: dict[str, Any]) -> Any:
        connection = dialect.connect(*arguments, **options)
        with self._connections_lock:
            self._connections.add(connection)
        return connection

    def _transact(self, work: Callable[[Connection], T]) -> T:
        with self._connect() as connection, connection.begin():
            result = work(connection)
        self._is_reported = False
        return result


def load_content(connection: Connection, name: str) -> bytes | None:
    """The content under a name, if any."""
    content = connection.execute(
        text("SELECT content FROM campus_shared WHERE name = :name"), {"name": name}
    ).scalar()
    return None if content is None else bytes(content)


def store_content(connection: Connection, name: str, content: bytes) -> None:
    """Insert or replace the content under a name."""
    connection.execute(
        text(
            "INSERT INTO campus_shared VALUES (:name, :content) "
            "ON CONFLICT (name) DO UPDATE SET content = excluded.content"
        ),
        {"name": name, "content": content},
    )


def make_table(connection: Connection, statement: str, lock: int = TABLE_LOCK) -> None:
    """Create a table if it is missing. `lock`: the advisory lock that keeps out other processes meanwhile."""
    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": lock})
    connection.execute(text(statement))


def engine_with(url: str, statement: str) -> Engine:
    """An engine for a Postgres that may be away, after its table is created."""
    engine = engine_of(url)
    with engine.begin() as connection:
        make_table(connection, statement)
    return engine


def engine_of(url: str) -> Engine:
    """An engine for a Postgres that may be away: no call waits longer than PATIENCE.

    A server that confirms packets and never answers is the exception; `Database` cuts it off."""
    limits = {
        "connect_timeout": PATIENCE,
        "tcp_user_timeout": 1000 * PATIENCE,
        "application_name": APPLICATION,
        "options": f"-c statement_timeout={PATIENCE}s -c lock_timeout={PATIENCE}s",
    }
    return create_engine(
        make_url(url), connect_args=limits, pool_size=1, pool_pre_ping=True, logging_name=APPLICATION
    )
