"""One daemon a home: two of them would start each night twice."""

import fcntl
import os

from pipelines.instance import dagster_home
from pipelines.settings import Settings

FILE = "daemon.lock"


def lock_daemon(settings: Settings) -> int | None:
    """Take the lock of a home's daemon; None: another daemon has it. The lock lasts as long as some process
    has the returned file open, so the daemon's process inherits it.

    Raises OSError where the file cannot be written."""
    descriptor = os.open(dagster_home(settings) / FILE, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor
