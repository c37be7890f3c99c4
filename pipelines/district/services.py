"""What a district stands on, asked whether it is there: Postgres, the broker, and what keeps results."""

import os
from collections.abc import Callable
from dataclasses import dataclass
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
from pipelines.shared.addresses import without_secrets
from pipelines.shared.database import engine_of

#: Seconds that an answer may take.
PATIENCE = 5
#: What a server that is away, or refuses us, or an address that is none, is told by.
TROUBLE = (SQLAlchemyError, AMQPError, KombuError, RedisError, OSError, ValueError)


@dataclass(frozen=True)
class Service:
    """One of them. `variable`: what names its address; `example`: what to install, and how that looks;
    `ask`: whether it answers at this address, else it raises one of TROUBLE."""

    name: str
    variable: str
    needed: bool
    example: str
    ask: Callable[[str], None]

    def why_not(self, address: str) -> str | None:
        """Why it does not answer, without its address; None: it does."""
        try:
            self.ask(address)
        except TROUBLE as error:
            name = self.variable
            words = str(getattr(error, "orig", None) or error).replace(address, name)
            why = " ".join(without_secrets(words, address).split())
            return f"{name} names a server that does not answer ({why}): start it, or mend {name}."
        return None


def what_is_missing(settings: Settings) -> list[str]:
    """What is to be installed, started or set before workers can run, a sentence each."""
    found = []
    for service, address in services(settings):
        if address is not None:
            found.append(service.why_not(address))
        elif service.needed:
            found.append(f"{service.variable} is not set: it names a {service.example}.")
    return [words for words in found if words]


def services(settings: Settings) -> list[tuple[Service, str | None]]:
    """Each of them, and where the settings say that it is; None: nowhere."""
    found = [
        (
            Service(
                "Postgres",
                POSTGRES_URL,
                True,
                "PostgreSQL (Debian: apt install postgresql), as "
                "postgresql+psycopg2://USER:PASSWORD@HOST/DATABASE",
                _postgres,
            ),
            settings.postgres_url,
        ),
        (
            Service(
                "The broker",
                BROKER_URL,
                True,
                "RabbitMQ (Debian: apt install rabbitmq-server), as amqp://USER:PASSWORD@HOST:5672/VHOST",
                _broker,
            ),
            settings.broker_url,
        ),
        (
            Service(
                "What keeps the results of Celery",
                RESULT_URL,
                False,
                "Redis (Debian: apt install redis-server), as redis://HOST:6379/0",
                _redis,
            ),
            settings.result_url,
        ),
    ]
    return [
        (service, os.environ.get(service.variable) if secret is None else secret.get_secret_value())
        for service, secret in found
    ]


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
