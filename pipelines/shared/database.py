"""One table in Dagster's Postgres, and what happens while that is away: the load goes on without it."""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection, Engine, create_engine, make_url, text
from sqlalchemy.exc import SQLAlchemyError

from campus.http.events import Event
from pipelines.shared.addresses import without_secrets

T = TypeVar("T")

#: Seconds after which one that was away is tried again, and for which an answer is waited for.
AWAY = 30.0
PATIENCE = 3
#: What these connections and their engine call themselves.
APPLICATION = "campus shared"
#: Unlogged: all of it can be found out anew, and nothing waits for the disk.
TABLE = "CREATE UNLOGGED TABLE IF NOT EXISTS campus_shared (name text PRIMARY KEY, content bytea NOT NULL)"
#: The one number by which two processes do not make the table at once.
MAKING = 0x63616D707573


class Database:
    """The table `campus_shared`: bytes by name."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._engine: Engine | None = None
        self._away_until = float("-inf")
        self._told = False
        self.tell: Callable[[Event], None] = lambda _: None

    def is_away(self, now: float) -> bool:
        """Whether it did not answer a moment ago. now: monotonic seconds."""
        return now < self._away_until

    async def run(self, work: Callable[[Connection], T]) -> T | None:
        """Do this in a transaction; None: the database is away."""
        if self.is_away(time.monotonic()):
            return None
        try:
            return await asyncio.to_thread(self._done, work)
        except SQLAlchemyError as error:
            self.lost(error)
            return None

    async def begin(self) -> Connection | None:
        """A connection, to be closed by the caller; None: the database is away."""
        if self.is_away(time.monotonic()):
            return None
        try:
            return await asyncio.to_thread(self._connected)
        except SQLAlchemyError as error:
            self.lost(error)
            return None

    def lost(self, error: SQLAlchemyError) -> None:
        """Do without it for a while, and say so once until it is back."""
        self._away_until = time.monotonic() + AWAY
        if not self._told:
            self._told = True
            words = str(getattr(error, "orig", None) or type(error).__name__).strip().partition("\n")[0]
            why = without_secrets(words, self._url)
            self.tell(
                Event(
                    "note",
                    f"The database that workers share does not answer ({why}). Until it does, this process "
                    f"keeps to a pace and to tokens of its own, as if it were alone.",
                )
            )

    def _connected(self) -> Connection:
        if self._engine is None:
            self._engine = engine_of(self._url)
            with self._engine.begin() as connection:
                make_table(connection, TABLE)
        connection = self._engine.connect()
        self._told = False
        return connection

    def _done(self, work: Callable[[Connection], T]) -> T:
        with self._connected() as connection, connection.begin():
            return work(connection)


def held(connection: Connection, name: str) -> bytes | None:
    """The bytes of this name."""
    found = connection.execute(
        text("SELECT content FROM campus_shared WHERE name = :name"), {"name": name}
    ).scalar()
    return None if found is None else bytes(found)


def keep(connection: Connection, name: str, content: bytes) -> None:
    """Put bytes in place of what has this name."""
    connection.execute(
        text(
            "INSERT INTO campus_shared VALUES (:name, :content) "
            "ON CONFLICT (name) DO UPDATE SET content = excluded.content"
        ),
        {"name": name, "content": content},
    )


def make_table(connection: Connection, statement: str, lock: int = MAKING) -> None:
    """Make a table where it is missing. `lock`: the number by which two processes do not do so at once."""
    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": lock})
    connection.execute(text(statement))


def engine_with(url: str, statement: str) -> Engine:
    """What connects to a Postgres that may be away, once it has the table of a statement."""
    engine = engine_of(url)
    with engine.begin() as connection:
        make_table(connection, statement)
    return engine


def engine_of(url: str) -> Engine:
    """What connects to a Postgres that may be away: nothing is waited for longer than PATIENCE."""
    limits = {
        "connect_timeout": PATIENCE,
        "tcp_user_timeout": 1000 * PATIENCE,
        "application_name": APPLICATION,
        "options": f"-c statement_timeout={PATIENCE}s -c lock_timeout={PATIENCE}s",
    }
    return create_engine(make_url(url), connect_args=limits, pool_pre_ping=True, logging_name=APPLICATION)
