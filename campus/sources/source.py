"""The types that all row sources share. A source reads the rows of a unit, and may wrap another source."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from campus.account import Tally
from campus.http.client import Client
from campus.plan.units import SliceQuery, Unit
from campus.registry import ResourceSpec
from campus.sources.gathered import Gathered

#: Reads the rows of a unit. Raises CampusError.
ReadUnit = Callable[[Unit], Awaitable[Gathered]]


@dataclass(frozen=True)
class SourceContext:
    """The client, resource, slice and counts that all sources of a slice share."""

    client: Client
    spec: ResourceSpec
    query: SliceQuery
    tally: Tally
