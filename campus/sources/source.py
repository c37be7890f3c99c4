"""What all row sources share. A row source reads the rows of a unit, and may stand around another source."""

from collections.abc import Callable
from dataclasses import dataclass

from campus.fetch.reader import Readings
from campus.http.client import Client
from campus.plan.units import SliceQuery, Unit
from campus.registry import ResourceSpec
from campus.sources.gathered import Gathered

#: Reads the rows of a unit.
ReadUnit = Callable[[Unit], Readings[Gathered]]


@dataclass(frozen=True)
class SourceContext:
    """The platform, resource and slice of a source. The client is for settings and capabilities: sources send
    no requests."""

    client: Client
    spec: ResourceSpec
    query: SliceQuery
