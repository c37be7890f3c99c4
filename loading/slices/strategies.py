"""The strategies for reading a slice: the whole slice, only its changes, or some of its rows."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from campus.decoding.nested import SPLITTERS, family
from campus.http.client import Client
from campus.http.errors import Refused
from campus.plan.units import SliceQuery
from campus.registry import RESOURCES, ResourceSpec
from campus.sources.gathered import Collector
from campus.sources.named_rows import read_by_classes, read_by_ids
from campus.sources.slice import read, read_together
from warehouse.load.slice_reading import RequestedRows

Collectors = Mapping[ResourceSpec, Collector]
#: The rows that are requested of each slice. A resource without an entry: all rows of its slice.
Requested = Mapping[ResourceSpec, RequestedRows]


@dataclass(frozen=True)
class Strategy:
    """The strategy for one slice, or for several slices in the same responses."""

    #: Reads the rows into the collectors of the slices. Raises CampusError.
    fill: Callable[[Collectors], Awaitable[None]]
    requested: Requested = field(default_factory=dict)
    #: As in `SliceReading`.
    follows: bool = False
    #: Reads the changes of this query's slice first. `fill` reads the whole slice if the changes are not
    #: proven complete.
    changes_of: SliceQuery | None = None


def whole_slices(client: Client, query: SliceQuery, *, follows: bool = False) -> Strategy:
    """Reads all rows of the slices."""
    return Strategy(partial(read_slices, client, query), follows=follows)


def changes_or_whole(client: Client, query: SliceQuery) -> Strategy:
    """Reads the changes of one slice, or all its rows if the changes do not suffice."""
    return replace(whole_slices(client, query), changes_of=query)


def rows_of_parents(
    client: Client, query: SliceQuery, parents: Collection[int], requested: Requested
) -> Strategy:
    """Reads the rows of some classes or items.

    Args:
        parents: The classes or items that the requests name."""
    return Strategy(partial(read_slices, client, _of_parents(query, parents)), requested)


def rows_of_classes(
    client: Client, query: SliceQuery, classes: Collection[int], requested: Requested
) -> Strategy:
    """Reads the members of some classes, by the request that shows the class of each member."""
    query = _of_parents(query, classes)

    async def fill(collectors: Collectors) -> None:
        [(spec, collector)] = collectors.items()
        await read_by_classes(client, spec, query, collector)

    return Strategy(fill, requested)


def rows_with_ids(client: Client, spec: ResourceSpec, query: SliceQuery, ids: Collection[int]) -> Strategy:
    """Reads rows by their ids. A row that is requested and does not come is gone.

    Args:
        query: `filled` has the ids whose rows are alive in the lake."""
    by_ids = tuple(sorted(ids))

    async def fill(collectors: Collectors) -> None:
        await read_by_ids(client, spec, query, by_ids, collectors[spec])

    return Strategy(fill, {spec: RequestedRows("id", by_ids)})


def outdated_rows(client: Client, spec: ResourceSpec, query: SliceQuery, ids: Collection[int]) -> Strategy:
    """Reads the rows again that changes of other tables have made doubtful. The other rows are unchanged."""
    by_ids = rows_with_ids(client, spec, replace(query, ids_with_rows=frozenset(ids)), ids)

    async def fill(collectors: Collectors) -> None:
        try:
            await by_ids.fill(collectors)
        except Refused:
            # The list of all rows has them too.
            await read(client, spec, query, collectors[spec])

    requested = {spec: replace(rows, suffices=True) for spec, rows in by_ids.requested.items()}
    return Strategy(fill, requested, follows=True)


def _of_parents(query: SliceQuery, parents: Collection[int]) -> SliceQuery:
    ids_with_rows = query.ids_with_rows.intersection(parents)
    return replace(query, parents=tuple(sorted(parents)), ids_with_rows=ids_with_rows)


async def read_slices(client: Client, query: SliceQuery, collectors: Collectors) -> None:
    """Read the rows that a query names into the collectors of slices that come together.

    Raises CampusError."""
    first, *_ = collectors
    main = first.embedded_in or first.name
    if main in SPLITTERS:
        by_name = {spec.name: collector for spec, collector in collectors.items()}
        all_of_answer = [by_name.get(name) or Collector(RESOURCES[name]) for name in family(main)]
        await read_together(client, query, *all_of_answer)
    else:
        await read(client, first, query, collectors[first])
