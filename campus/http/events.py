"""Progress as plain values, for a terminal, Dagster's log and tests alike."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

# The client reports retry, throttled and token; its users report note, drift, plan and progress.
# A sync reports school and step. school: `done` is the school's position, from 1. step: `done` is 0 at the
# step's start, and 1 at its end.
EventKind = Literal["drift", "note", "plan", "progress", "retry", "school", "step", "throttled", "token"]


@dataclass(frozen=True, slots=True)
class Event:
    """One event. Fields that do not apply stay empty or 0."""

    kind: EventKind
    message: str = ""
    resource: str = ""
    slice: str = ""
    rows: int = 0
    done: int = 0
    total: int = 0


Listener = Callable[[Event], None]
