"""The lock of a home's daemon: two daemons would start each night twice."""

import fcntl
import os

from pipelines.runs.instance import dagster_home
from pipelines.settings.settings import Settings

FILE = "daemon.lock"


def lock_daemon(settings: Settings) -> int | None:
    """Lock the home's daemon and return the open lock file; None: another daemon has the lock. The lock lasts
    while any process has the file open, so the daemon's process inherits the file.

    Raises OSError where the file cannot be written."""
    descriptor = os.open(dagster_home(settings) / FILE, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor
