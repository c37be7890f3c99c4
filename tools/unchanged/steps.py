"""The kinds of steps that a world consists of. worlds.py lists the worlds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class Campus:
    """A command, as `campus sync --full`."""

    #: What follows `campus`. {home} is the folder of the home; home/plans/*.json is the only such file.
    arguments: str
    #: The exit status. If both versions end with another, the world is no longer what it should be.
    status: int = 0
    stdin: str = ""
    #: Variables of the environment for this command alone.
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Helps:
    """`--help` of `campus`, of every command, and of every command of a group."""


@dataclass(frozen=True)
class Change:
    """A change of a row on the platform, which `simulator/process.py` describes."""

    #: insert, update, delete, restore or destroy.
    operation: str
    resource: str
    school: int = 101
    semester: int | None = None
    #: Which row of the school or semester: its number in the order of the simulator.
    row: int = 0
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class DaysPass:
    """Days that pass on the platform: new lessons take place."""

    days: int


@dataclass(frozen=True)
class WriteFile:
    """A file that somebody puts below the folder of the world."""

    path: str
    text: str


Action = Campus | Helps | Change | DaysPass | WriteFile


@dataclass(frozen=True)
class Step:
    """A stage of a world. After each stage, everything that users see is recorded."""

    title: str
    #: The date and the time at the school. The clock stands still during a command, so that times are equal,
    #: and is a minute later at the next command.
    clock: str
    actions: tuple[Action, ...]
    #: Whether the clock goes on during a command, which a command with two loads needs.
    clock_runs: bool = False

    @property
    def start(self) -> datetime:
        """The time of the first command."""
        return datetime.fromisoformat(self.clock)


@dataclass(frozen=True)
class World:
    """A platform, a home, and what happens to both."""

    name: str
    steps: tuple[Step, ...]
    #: Options of the simulator (simulator/process.py); None: there is no platform.
    platform: Mapping[str, Any] | None = None
    #: campus.yaml of the home.
    settings: str = ""
    #: Variables of the environment besides the home and the platform's address and credentials.
    environment: Mapping[str, str] = field(default_factory=dict)
