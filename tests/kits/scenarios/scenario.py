"""Scenarios as data: a platform, and night after night what changes there, what fails and what is named."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import yaml


class Change(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A change of a row on the platform. A new row is a copy of its neighbour."""

    operation: Literal["insert", "update", "destroy"]
    resource: str
    #: Which of the rows that the platform shows; negative: from the end.
    number: int = 0
    values: Mapping[str, Any] = {}


class Night(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A load, what changes before it, and the faults that end with it.

    `{parent}` in the path of a fault and in a phrase: the parent of the row that changed last."""

    name: str = ""
    changes: Sequence[Change] = ()
    #: Fields of simulator.http.faults.Fault. Each fault has to strike.
    faults: Sequence[Mapping[str, Any]] = ()
    seed: int = 1
    #: All stand in the problems, and no problem has none of them. None: chance decides what fails.
    phrases: Sequence[str] | None = ()
    #: The tables that differ from the platform afterwards. None: chance decides which.
    differing: Sequence[str] | None = ()
    #: Resources of which only changes are read.
    incremental: Sequence[str] = ()
    full: bool = False
    #: Whether the load starts without what earlier loads discovered of the platform.
    forgets_capabilities: bool = False


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A platform and its nights. No row changes twice before a night without problems."""

    name: str
    #: Of `simulator.process.running`.
    options: Mapping[str, Any]
    nights: Sequence[Night]
    #: The platform's date is so many days before the machine's. None: the simulator's own.
    days_ago: int | None = None
    tables: Literal["base data", "datasets", "everything"] = "base data"
    #: Keys of the section `datasets` of campus.yaml.
    datasets: Mapping[str, Any] = {}
    #: Nights of the new home until nothing is left to load.
    first_nights: Sequence[Night] = (Night(),)


def read_scenarios(path: Path) -> list[Scenario]:
    """The scenarios of a YAML file."""
    return msgspec.convert(yaml.safe_load(path.read_text(encoding="utf-8")), list[Scenario])
