"""Puts the row sources of a resource together."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from campus.account import Tally
from campus.http.client import Client
from campus.plan.units import SliceQuery
from campus.registry import ResourceSpec
from campus.registry.spec import DeletedRows, DetailRows, Expansions, HiddenRows, RowSource
from campus.sources.deleted_rows import with_deleted_rows
from campus.sources.detail_rows import with_detail_rows
from campus.sources.expansions import with_expansions
from campus.sources.hidden_rows import with_hidden_rows
from campus.sources.pages import read_pages
from campus.sources.source import ReadUnit, SourceContext

WRAPPERS: Mapping[type[RowSource], Callable[[Any, SourceContext, ReadUnit], ReadUnit]] = {
    DeletedRows: with_deleted_rows,
    Expansions: with_expansions,
    HiddenRows: with_hidden_rows,
    DetailRows: with_detail_rows,
}


def source_of(client: Client, spec: ResourceSpec, query: SliceQuery, tally: Tally) -> ReadUnit:
    """The sources of a resource, one around the other, for the units of one slice."""
    context = SourceContext(client, spec, query, tally)
    read: ReadUnit = partial(read_pages, context)
    for source in spec.sources:
        read = WRAPPERS[type(source)](source, context, read)
    return read
