"""What a district stands on, asked whether it is there: Postgres, the broker, and what keeps results."""

import os
from collections.abc import Callable
from typing import Any

from amqp.exceptions import AMQPError
from kombu.connection import Connection
from kombu.exceptions import KombuError
from redis import Redis, RedisError
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from pipelines.district.config import BROKER_URL, RESULT_URL
from pipelines.instance import POSTGRES_URL
from pipelines.settings import Settings
from pipelines.shared.database import engine_of

#: Seconds that an answer may take.
PATIENCE = 5
#: What a server that is away, or refuses us, or an address that is none, is told by.
TROUBLE = (SQLAlchemyError, AMQPError, KombuError, RedisError, OSError, ValueError)


def what_is_missing(settings: Settings) -> list[str]:
    """What is to be installed, started or set before workers can run, a sentence each."""
    asked: list[tuple[str, bool, str, Callable[[str], None]]] = [
        (
            POSTGRES_URL,
            True,
            "PostgreSQL (Debian: apt install postgresql), as postgresql+psycopg2://USER:PASSWORD@HOST/DATABASE",
            _postgres,
        ),
        (
            BROKER_URL,
            True,
            "RabbitMQ (Debian: apt install rabbitmq-server), as amqp://USER:PASSWORD@HOST:5672/VHOST",
            _broker,
        ),
        (RESULT_URL, False, "Redis (Debian: apt install redis-server), as redis://HOST:6379/0", _redis),
    ]
    given = {
        POSTGRES_URL: settings.postgres_url,
        BROKER_URL: settings.broker_url,
        RESULT_URL: settings.result_url,
    }
    found = []
    for name, needed, what, ask in asked:
        secret = given[name]
        address = os.environ.get(name) if secret is None else secret.get_secret_value()
        if address is None:
            if needed:
                found.append(f"{name} is not set: it names a {what}.")
            continue
        try:
            ask(address)
        except TROUBLE as error:
            why = " ".join(str(getattr(error, "orig", None) or error).split()).replace(address, name)
            found.append(f"{name} names a server that does not answer ({why}): start it, or mend {name}.")
    return found


def _postgres(address: str) -> None:
    engine = engine_of(address)
    try:
        with engine.connect() as connection:
            connection.execute(text("SELECT 1"))
    finally:
        engine.dispose()


def _broker(address: str) -> None:
    connect: Any = Connection
    with connect(address, connect_timeout=PATIENCE) as connection:
        connection.ensure_connection(max_retries=1, timeout=PATIENCE)


def _redis(address: str) -> None:
    client: Any = Redis.from_url(address, socket_timeout=PATIENCE, socket_connect_timeout=PATIENCE)
    try:
        client.ping()
    finally:
        client.close()
