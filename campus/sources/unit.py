"""The rows of one unit of a slice, through all sources of its resource."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from campus.http.client import Client
from campus.http.events import Tally
from campus.plan.units import SliceQuery, Unit
from campus.registry import ResourceSpec
from campus.registry.spec import DeletedRows, DetailRows, Expansions, HiddenRows, RowSource
from campus.sources.deleted_rows import with_deleted_rows
from campus.sources.detail_rows import with_detail_rows
from campus.sources.expansions import with_expansions
from campus.sources.gathered import Gathered
from campus.sources.hidden_rows import with_hidden_rows
from campus.sources.pages import read_pages
from campus.sources.row_rules import apply_row_rules
from campus.sources.source import ReadUnit, SourceContext

WRAPPERS: Mapping[type[RowSource], Callable[[Any, SourceContext, ReadUnit], ReadUnit]] = {
    DeletedRows: with_deleted_rows,
    Expansions: with_expansions,
    HiddenRows: with_hidden_rows,
    DetailRows: with_detail_rows,
}


async def read_unit(
    client: Client, spec: ResourceSpec, query: SliceQuery, unit: Unit, tally: Tally
) -> Gathered:
    """The rows of one unit, prepared for the lake. Raises CampusError."""
    context = SourceContext(client, spec, query, tally)
    read: ReadUnit = partial(read_pages, context)
    for source in spec.sources:
        read = WRAPPERS[type(source)](source, context, read)
    return apply_row_rules(await read(unit), spec, unit)
