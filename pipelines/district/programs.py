"""The programs of a district, each of them Dagster's or Celery's own."""

import sys
from pathlib import Path

from pipelines.district.queues import BUILD, LOAD

DEFINITIONS = ("-m", "pipelines.definitions")
#: The queues that a worker takes runs of, where nothing else is said.
QUEUES = (LOAD, BUILD)


def daemon(log_level: str = "info") -> list[str]:
    """What starts nights, fills the queue and sees to runs whose worker is gone. There is one."""
    # Code servers warn each minute that the daemon has left them for a new one.
    quiet = ("--code-server-log-level", "error")
    return [_program("dagster-daemon"), "run", *DEFINITIONS, "--log-level", log_level, *quiet]


def webserver(host: str, port: int, allow_launch: bool) -> list[str]:
    """The UI behind its guard. `allow_launch`: whether it may start and delete runs, else it is read-only."""
    return [sys.executable, *webserver_arguments(host, port, allow_launch)]


def webserver_arguments(host: str, port: int, allow_launch: bool) -> list[str]:
    """What Python is given to be the webserver."""
    mode = "--allow-launch" if allow_launch else "--read-only"
    return ["-m", "pipelines.ui.webserver", "--host", host, "--port", str(port), mode]


def worker(name: str, queues: tuple[str, ...] = QUEUES) -> list[str]:
    """What takes one run after the other. name: no other worker of this machine has it."""
    return [
        _program("celery"),
        *("-A", "pipelines.district.worker", "worker"),
        *("-Q", ",".join(queues), "-n", f"{name}@%h", "--loglevel", "WARNING"),
        # What workers tell each other, which ours have no use for.
        *("--without-gossip", "--without-mingle"),
    ]


def _program(name: str) -> str:
    return str(Path(sys.executable).parent / name)
