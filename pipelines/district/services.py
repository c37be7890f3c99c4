"""The services of a district, and whether they answer: Postgres, the broker, and the result backend."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from socket import create_connection
from typing import Any
from urllib.parse import urlsplit

from amqp.exceptions import AMQPError
from kombu.connection import Connection
from kombu.exceptions import KombuError
from redis import Redis, RedisError
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from pipelines.settings.environment import BROKER_URL, POSTGRES_URL, RESULT_URL
from pipelines.settings.settings import Settings
from pipelines.shared.addresses import without_secrets
from pipelines.shared.database import engine_of

#: Seconds to wait for an answer.
PATIENCE = 5
#: The errors of a server that is away or refuses us, and of an invalid address.
SERVICE_ERRORS = (SQLAlchemyError, AMQPError, KombuError, RedisError, OSError, ValueError)


@dataclass(frozen=True)
class Service:
    """A service of a district."""

    name: str
    #: The environment variable with its address.
    variable: str
    #: The port of an address without a port.
    port: int
    needed: bool
    #: What to install, and an example of the address.
    example: str
    #: Connects to an address; raises one of SERVICE_ERRORS.
    connect: Callable[[str], None]

    def problem(self, address: str) -> str | None:
        """Why the service does not answer, without its address; None: the service answers."""
        try:
            self.connect(address)
        except SERVICE_ERRORS as error:
            name = self.variable
            message = str(getattr(error, "orig", None) or error).replace(address, name)
            reason = " ".join(without_secrets(message, address).split())
            if self._is_open(address):
                return (
                    f"{name} names a server that answers, but not as expected ({reason}): correct the "
                    f"address, user and password in {name}, or end another program that has taken the port."
                )
            return f"{name} names a server that does not answer ({reason}): start it, or mend {name}."
        return None

    def _is_open(self, address: str) -> bool:
        """Whether any program listens at an address."""
        try:
            parts = urlsplit(address)
            if parts.hostname is None:
                return False
            create_connection((parts.hostname, parts.port or self.port), PATIENCE).close()
        except (OSError, ValueError):
            return False
        return True


def service_problems(settings: Settings) -> list[str]:
    """A sentence for each service to install, start or set before workers can run."""
    problems = []
    for service, address in services(settings):
        if address is not None:
            problems.append(service.problem(address))
        elif service.needed:
            problems.append(f"{service.variable} is not set: it names a {service.example}.")
    return [problem for problem in problems if problem]


def services(settings: Settings) -> list[tuple[Service, str | None]]:
    """The services, and their addresses in the settings; None: not set."""
    configured = [
        (
            Service(
                "Postgres",
                POSTGRES_URL,
                5432,
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
                5672,
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
                6379,
                False,
                "Redis (Debian: apt install redis-server), as redis://HOST:6379/0",
                _redis,
            ),
            settings.result_url,
        ),
    ]
    return [
        (service, os.environ.get(service.variable) if secret is None else secret.get_secret_value())
        for service, secret in configured
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
