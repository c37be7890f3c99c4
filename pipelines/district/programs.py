"""The programs of a district, each of them Dagster's or Celery's own."""

import sys
from pathlib import Path

from pipelines.district.queues import BUILD, LOAD

DEFINITIONS = ("-m", "pipelines.definitions")
#: The queues that a worker takes runs of, where nothing else is said.
QUEUES = (LOAD, BUILD)


def daemon() -> list[str]:
    """What starts nights, fills the queue and sees to runs whose worker is gone. There is one."""
    return [_program("dagster-daemon"), "run", *DEFINITIONS]


def webserver(host: str, port: int) -> list[str]:
    """The UI."""
    return [_program("dagster-webserver"), *DEFINITIONS, "-h", host, "-p", str(port)]


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
