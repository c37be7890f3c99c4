"""A virtual host of the tests' own in the RabbitMQ of this machine."""

import shutil
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from amqp.exceptions import NotFound
from kombu.connection import Connection


@contextmanager
def broker() -> Iterator[str]:
    """The address of a new virtual host; the test is skipped where there is no RabbitMQ to make it in."""
    if shutil.which("rabbitmqctl") is None:
        pytest.skip("RabbitMQ is not installed on this machine: workers are left out")
    name = f"campus-{uuid.uuid4().hex[:12]}"
    try:
        _control("add_vhost", name)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"RabbitMQ does not run here, or not for this user: workers are left out ({error})")
    try:
        _control("set_permissions", "--vhost", name, "guest", ".*", ".*", ".*")
        yield f"amqp://guest:guest@127.0.0.1:5672/{name}"
    finally:
        _control("delete_vhost", name)


def waiting(address: str, queue: str) -> int:
    """The messages that wait in a queue and no worker has, by the broker's own protocol: rabbitmqctl starts a
    machine of Erlang each time."""
    with Connection(address) as connection:
        try:
            return int(connection.default_channel.queue_declare(queue, passive=True).message_count)
        except NotFound:
            return 0


def lose(address: str, queue: str) -> None:
    """Have the messages vanish that wait in a queue."""
    with Connection(address) as connection:
        connection.default_channel.queue_purge(queue)


def lose_connections(address: str) -> None:
    """Have the broker end all connections to the virtual host, as it does when it stops."""
    _control("close_all_connections", "--vhost", _virtual_host(address), "a test")


def connections(address: str) -> set[str]:
    """The connections to the virtual host, by the broker's own names for them. One that it has ended counts
    until its client has noticed."""
    lines = map(str.split, _control("list_connections", "--quiet", "pid", "vhost").splitlines())
    return {pid for pid, virtual_host in lines if virtual_host == _virtual_host(address)}


def _virtual_host(address: str) -> str:
    return address.rpartition("/")[2]


def _control(*arguments: str) -> str:
    command = ["rabbitmqctl", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
