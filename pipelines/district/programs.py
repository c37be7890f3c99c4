"""The command lines of a district's programs: Dagster's daemon and webserver, and Celery workers."""

import sys
from pathlib import Path

from pipelines.district.queues import BUILD, LOAD

DEFINITIONS = ("-m", "pipelines.definitions")
#: The default queues of a worker.
QUEUES = (LOAD, BUILD)


def daemon(log_level: str = "info") -> list[str]:
    """The command of the single daemon, which starts nights, queues runs and retries runs of dead workers."""
    # Each minute the daemon starts new code servers, and the old servers warn about it.
    quiet = ("--code-server-log-level", "error")
    return [_program("dagster-daemon"), "run", *DEFINITIONS, "--log-level", log_level, *quiet]


def webserver(host: str, port: int, allow_launch: bool) -> list[str]:
    """The command of the UI behind its guard. `allow_launch`: may start and delete runs; else read-only."""
    return [sys.executable, *webserver_arguments(host, port, allow_launch)]


def webserver_arguments(host: str, port: int, allow_launch: bool) -> list[str]:
    """The arguments of Python for the webserver."""
    mode = "--allow-launch" if allow_launch else "--read-only"
    return ["-m", "pipelines.ui.webserver", "--host", host, "--port", str(port), mode]


def webserver_check(port: int) -> list[str]:
    """The command that fails unless the webserver of this machine answers on the port within ten seconds."""
    code = (
        "import http.client, sys; "
        f"connection = http.client.HTTPConnection('127.0.0.1', {port}, timeout=10); "
        "connection.request('GET', '/server_info'); "
        "sys.exit(connection.getresponse().status != 200)"
    )
    return ["python", "-c", code]


def worker(name: str, queues: tuple[str, ...] = QUEUES) -> list[str]:
    """The command of a worker, which executes one run at a time. `name`: unique on this machine."""
    return [
        _program("celery"),
        *("-A", "pipelines.district.worker", "worker"),
        *("-Q", ",".join(queues), "-n", f"{name}@%h", "--loglevel", "WARNING"),
        # Workers need no messages from each other.
        *("--without-gossip", "--without-mingle"),
    ]


def _program(name: str) -> str:
    return str(Path(sys.executable).parent / name)
