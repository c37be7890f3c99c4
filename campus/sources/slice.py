"""Reads one slice of one resource, or of several resources that come in the same responses, unit by unit.

Requests that belong together form a unit (an item's scores, a class's assessment). See `units` for the order
of the units.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from campus.decoding.definition import UPDATED_AT
from campus.decoding.nested import SPLITTERS, family, page_of, taken_apart
from campus.decoding.page import Page
from campus.fetch.answers import confirmed, repeated_params
from campus.fetch.reader import AnswerRequest, Reader, Readings, drive_readings
from campus.http.client import Client
from campus.http.errors import NotFound, Refused, UnexpectedAnswer
from campus.paging import V1_NAMES, V3_NAMES
from campus.plan.modes import MODES, units_of
from campus.plan.units import SliceQuery, Unit, changed_only, id_batches
from campus.registry import RESOURCES, ResourceSpec
from campus.registry.spec import DeletedRows, DetailRows, Expansions, HiddenRows, RowSource
from campus.sources.gathered import Collector, CollectorsSink, Gathered
from campus.sources.hidden_rows import with_hidden_rows
from campus.sources.pages import ReadUnit, SourceContext, read_pages
from campus.sources.row_rules import apply_row_rules, gathered_of, keep_requested
from campus.sources.row_sources import with_deleted_rows, with_detail_rows, with_expansions
from campus.sources.units import read_units

WRAPPERS: Mapping[type[RowSource], Callable[[Any, SourceContext, ReadUnit], ReadUnit]] = {
    DeletedRows: with_deleted_rows,
    Expansions: with_expansions,
    HiddenRows: with_hidden_rows,
    DetailRows: with_detail_rows,
}
CLASS_FILTER = "class_id_in"


@dataclass(frozen=True)
class NamedRows:
    """The rows of a slice that are requested by name."""

    #: ids: these ids. classes: the members of these classes. updates: all that were updated since then.
    by: Literal["ids", "classes", "updates"]
    ids: frozenset[int] = frozenset()


@dataclass(frozen=True)
class PartsOfAnswer:
    """The rows of a unit whose answers hold rows of several resources, by resource."""

    parts: Mapping[str, Gathered]
    #: Some resource has no row.
    is_empty: bool


class SliceSink(CollectorsSink):
    """Takes the rows of a slice, or of several slices that come together: each resource's own collector takes
    its rows. A resource of the answers that is not read has none.

    row_ids: the ids of the rows that came, where it `notes_ids`."""

    def __init__(self, collectors: Sequence[Collector], *, notes_ids: bool = False) -> None:
        self.collectors, self.spec = collectors, collectors[0].spec
        self.by_name = {collector.spec.name: collector for collector in collectors}
        self.row_ids = set[int]()
        self._notes_ids = notes_ids

    def add(self, rows: Gathered | PartsOfAnswer) -> None:
        """Take the rows of a unit."""
        parts = {self.spec.name: rows} if isinstance(rows, Gathered) else rows.parts
        for name, collector in self.by_name.items():
            collector.add(parts[name])
            if self._notes_ids:
                self.row_ids.update(row.id for row in parts[name].rows)

    def flush(self) -> None:
        """Write the rows that wait."""
        for collector in self.collectors:
            collector.flush()


@dataclass(frozen=True)
class SliceSource:
    """How a slice is read: its units, and the rows of each."""

    reader: Reader
    units: Readings[list[Unit]]
    rows_of: Callable[[Unit], Readings[Any]]
    sink: SliceSink


def slice_source(
    client: Client, query: SliceQuery, collectors: Sequence[Collector], named: NamedRows | None = None
) -> SliceSource:
    """The source of a slice, or of several slices that come in the same responses.

    Args:
        collectors: Take the rows, one for each slice. The account of the first counts the requests.
        named: Only these rows are requested; None: those that the query names."""
    spec = collectors[0].spec
    sink = SliceSink(collectors, notes_ids=named is not None and named.by == "updates")
    reader = Reader(client, query.school_id, spec.scopes, collectors[0].account.tally, spec.anonymous)
    main = spec.embedded_in or spec.name
    rows_of: Callable[[Unit], Readings[Any]]
    if main in SPLITTERS:
        spec = sink.by_name[main].spec if main in sink.by_name else RESOURCES[main]
        rows_of = partial(_rows_together, SourceContext(client, spec, query), sink)
    else:
        rows_of = partial(_rows_of_unit, SourceContext(client, spec, query), named)
    return SliceSource(reader, _units_of(client, spec, query, named), rows_of, sink)


async def read_slice(client: Client, query: SliceQuery, collectors: Sequence[Collector]) -> None:
    """Read a slice, or several slices that come in the same responses, into their collectors.

    Raises CampusError where nothing of it can be read. The accounts have the units that fail."""
    source = slice_source(client, query, collectors)
    units = await drive_readings(source.reader, source.units)
    await read_units(source.reader, units, source.rows_of, source.sink)


def _units_of(
    client: Client, spec: ResourceSpec, query: SliceQuery, named: NamedRows | None
) -> Readings[list[Unit]]:
    if named is None:
        return (yield from units_of(client.capabilities, spec, query))
    if named.by == "classes":
        units = yield from units_of(client.capabilities, spec, query)
        if any(unit.ids for unit in units):
            return units
        return [_filtered(units[0], CLASS_FILTER, batch) for batch in id_batches(query.parents)]
    [whole] = MODES[spec.mode].requests(spec, query)
    if named.by == "updates":
        return [replace(changed_only(spec, whole, query.since), empty_is_unusual=False)]
    assert spec.id_filter is not None
    return [
        replace(
            _filtered(whole, spec.id_filter, batch),
            empty_is_unusual=not query.ids_with_rows.isdisjoint(batch),
        )
        for batch in id_batches(sorted(named.ids))
    ]


def _filtered(whole: Unit, parameter: str, batch: Sequence[int]) -> Unit:
    return replace(whole, params={**whole.params, parameter: ",".join(map(str, batch))})


def row_source(context: SourceContext) -> ReadUnit:
    """The sources of a resource, one around the other."""
    read: ReadUnit = partial(read_pages, context)
    for source in context.spec.sources:
        read = WRAPPERS[type(source)](source, context, read)
    return read


def _rows_of_unit(context: SourceContext, named: NamedRows | None, unit: Unit) -> Readings[Gathered]:
    """The rows of a unit that belong to the slice, prepared for the lake."""
    spec = context.spec
    try:
        gathered = yield from row_source(context)(unit)
    except NotFound:
        if unit.if_absent is None:
            raise
        gathered = Gathered([spec.contract(**unit.if_absent)], [None], [False], total=None)
    apply_row_rules(gathered, spec, unit)
    if unit.since is not None and named is None:
        updates = [getattr(row, UPDATED_AT, None) for row in gathered.rows]
        gathered.older = sum(updated_at is None or updated_at < unit.since for updated_at in updates)
    if named is not None and named.by != "updates":
        # A platform that ignores the parameter sends other rows, too.
        column, parameter = ("id", spec.id_filter) if named.by == "ids" else ("class_id", CLASS_FILTER)
        own = [index for index, row in enumerate(gathered.rows) if getattr(row, column) in named.ids]
        keep_requested(gathered, own, parameter or "")
    return gathered


def _rows_together(context: SourceContext, sink: SliceSink, unit: Unit) -> Readings[PartsOfAnswer]:
    """The rows of resources that share one answer (see decoding.nested).

    A class without an assessment or a student without a transcript (404, null, or an empty answer) is normal,
    and gives no row."""
    client, main = context.client, context.spec
    specs = [
        sink.by_name[name].spec if name in sink.by_name else RESOURCES[name] for name in family(main.name)
    ]
    page_name = (V1_NAMES if main.is_v1 else V3_NAMES).page
    decode = partial(taken_apart, name=main.name, keep_id_numbers=client.config.keep_id_numbers)

    def ask(repeats: int) -> Readings[dict[str, Page[Any]]]:
        answer = yield AnswerRequest(unit.path, repeated_params(unit.params, page_name, repeats), decode)
        pages: dict[str, Page[Any]] = answer.value
        return pages

    pages = yield from confirmed(
        client.capabilities,
        ask,
        _lacks_rows,
        is_unusual=lambda pages: unit.empty_is_unusual or any(_counts_rows(spec, pages) for spec in specs),
        varies=(main.path, page_name),
    )
    is_empty = _lacks_rows(pages)
    parts = {spec.name: apply_row_rules(gathered_of(pages[spec.name]), spec, unit) for spec in specs}
    return PartsOfAnswer(parts, is_empty)


def _lacks_rows(pages: Mapping[str, Page[Any]]) -> bool:
    return any(not page.rows and not page.bad for page in pages.values())


def _counts_rows(spec: ResourceSpec, pages: Mapping[str, Page[Any]]) -> bool:
    """Whether a resource's rows count rows of another resource in the same answer."""
    return spec.counts is not None and any(getattr(row, spec.counts) for row in pages[spec.name].rows)


async def count(reader: Reader, spec: ResourceSpec, query: SliceQuery) -> int | None:
    """The platform's own count of the living rows of a slice; None: it sends none, or refuses the request.

    Raises CampusError."""
    total = 0
    for unit in MODES[spec.mode].requests(spec, replace(query, since=None)):
        params: dict[str, str | int] = {**unit.params, V3_NAMES.page: 1, V3_NAMES.per_page: 1}
        try:
            answer = await reader.fetch(unit.path, params, partial(page_of, spec))
        except (Refused, NotFound, UnexpectedAnswer):
            return None
        if answer.pagination is None or answer.pagination.total_count is None:
            return None
        total += answer.pagination.total_count
    return total
