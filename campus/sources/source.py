"""What all row sources share: a source reads the rows of a unit, and may wrap another one."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from campus.http.client import Client
from campus.http.events import Tally
from campus.plan.units import SliceQuery, Unit
from campus.registry import ResourceSpec
from campus.sources.gathered import Gathered

#: Reads the rows of a unit. Raises CampusError.
ReadUnit = Callable[[Unit], Awaitable[Gathered]]


@dataclass(frozen=True)
class SourceContext:
    """What the sources of one slice read with."""

    client: Client
    spec: ResourceSpec
    query: SliceQuery
    tally: Tally
