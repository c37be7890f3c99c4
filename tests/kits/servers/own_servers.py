"""A RabbitMQ and a Redis of the tests' own, which they may kill. They need no rights and no running server,
only that Debian's `rabbitmq-server` and `redis-server` are installed."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.kits.waiting import until_listening

HERE = "127.0.0.1"


@dataclass
class Server:
    """A program with a port. `command` and `environment`: how it is started."""

    command: list[str]
    environment: dict[str, str]
    port: int
    process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self.process = subprocess.Popen(
            self.command,
            env=os.environ | self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        until_listening(self.port, self.process)

    def stop(self) -> None:
        """Kill it and what it has started, as a machine's crash would."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


@contextmanager
def rabbitmq() -> Iterator[tuple[Server, str]]:
    """A RabbitMQ and its address; the test is skipped where it is not installed."""
    # What is in the path asks for another user, and takes the machine's configuration.
    installed = [*Path("/usr/lib/rabbitmq/lib").glob("*/sbin/rabbitmq-server")]
    program = str(installed[-1]) if installed else shutil.which("rabbitmq-server")
    if program is None:
        pytest.skip("RabbitMQ is not installed on this machine")
    with tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as name:
        folder, (port, other) = Path(name), _free_ports(2)
        (folder / "plugins").write_text("[].")
        (folder / "own.conf").write_text(f"listeners.tcp.1 = {HERE}:{port}\n")
        environment = {
            "HOME": name,
            "RABBITMQ_NODENAME": f"campus{port}@localhost",
            "RABBITMQ_NODE_PORT": str(port),
            "RABBITMQ_NODE_IP_ADDRESS": HERE,
            "RABBITMQ_DIST_PORT": str(other),
            "RABBITMQ_MNESIA_BASE": str(folder / "data"),
            "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_CONFIG_FILE": str(folder / "own.conf"),
            "RABBITMQ_CONFIG_FILES": str(folder / "more"),
            "RABBITMQ_ADVANCED_CONFIG_FILE": str(folder / "advanced.config"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
        }
        with _running(Server([program], environment, port)) as server:
            yield server, f"amqp://guest:guest@{HERE}:{port}//"


@contextmanager
def redis() -> Iterator[str]:
    """The address of a Redis that keeps nothing; the test is skipped where it is not installed."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("Redis is not installed on this machine")
    [port] = _free_ports(1)
    command = [program, "--port", str(port), "--bind", HERE, "--save", "", "--dir", tempfile.gettempdir()]
    with _running(Server(command, {}, port)):
        yield f"redis://{HERE}:{port}/0"


@contextmanager
def _running(server: Server) -> Iterator[Server]:
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _free_ports(number: int) -> list[int]:
    sockets = [socket.create_server((HERE, 0)) for _ in range(number)]
    ports: list[int] = [listener.getsockname()[1] for listener in sockets]
    for listener in sockets:
        listener.close()
    return ports
