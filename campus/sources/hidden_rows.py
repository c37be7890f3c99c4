"""Rows that a list hides unless they are asked for: archived ones, which a platform may leave out by default.

Whether it does is not shown, nor, for some resources, which value of the filter asks for them. So the values
that are likely are tried with one small question each, and what is held and not listed is asked for by its
id. An archived row is no deletion: it loads as it is sent, and is alive.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from campus.contracts.fields import fields
from campus.decoding.nested import page_of
from campus.decoding.page import Drift, Key, Page, row_key, row_keys
from campus.fetch.answer import Answer, fetch
from campus.fetch.emptiness import believed
from campus.http.errors import Forbidden, NotFound, Refused, Transient, UnexpectedAnswer
from campus.paging import V1_NAMES, V3_NAMES
from campus.plan.units import Unit, id_batches
from campus.registry.spec import HiddenRows, ResourceSpec
from campus.sources.gathered import Gathered
from campus.sources.source import ReadUnit, SourceContext

HIDDEN = "hidden_by_default"
STATUS = "status"
REJECTIONS = (Refused, Forbidden, NotFound, UnexpectedAnswer)


def with_hidden_rows(source: HiddenRows, context: SourceContext, read: ReadUnit) -> ReadUnit:
    """Read the rows of a unit, with those that its list leaves out by default.

    Raises CampusError where such rows are there and cannot be read: without them the list is not whole."""

    async def read_with_hidden(unit: Unit) -> Gathered:
        gathered = await read(unit)
        await _add_filtered(source, context, read, unit, gathered)
        await _add_missing(context, read, unit, gathered)
        return gathered

    return read_with_hidden


async def _add_filtered(
    source: HiddenRows, context: SourceContext, read: ReadUnit, unit: Unit, gathered: Gathered
) -> None:
    """Add what each filter shows."""
    spec, capabilities = context.spec, context.client.capabilities
    for name, value in _filters(source, context):
        filtered = replace(unit, params={**unit.params, name: value})
        try:
            more = await _shows_more(context, filtered, gathered, value)
        except (*REJECTIONS, Transient) as error:
            # A platform may break on a value that only we thought of.
            if isinstance(error, Transient) and not has_open_status(spec):
                raise
            capabilities.reject(spec.path, name, value)
            continue
        if more:
            _take(gathered, await read(filtered), spec, Drift(HIDDEN, name, value))


async def _add_missing(context: SourceContext, read: ReadUnit, unit: Unit, gathered: Gathered) -> None:
    """Add the rows that the lake holds and the list lacks, requested by their ids."""
    spec = context.spec
    if spec.id_filter is None:
        return
    missing = context.query.known - {key[0] for key in _keys(gathered, spec) if key}
    for batch in id_batches(sorted(missing)):
        named = {spec.id_filter: ",".join(map(str, batch))}
        try:
            shown = await read(replace(unit, params={**unit.params, **named}))
        except REJECTIONS:
            return
        _take(gathered, shown, spec, Drift(HIDDEN, spec.id_filter), only=set(batch))


def has_open_status(spec: ResourceSpec) -> bool:
    """Whether the values of a resource's status are not shown."""
    return any(f.name == STATUS and f.enum and not f.known_values for f in fields(spec.contract))


def _filters(source: HiddenRows, context: SourceContext) -> list[tuple[str, str]]:
    """The parameters that may show more: those of the specification, or likely ones, those that rows of the
    same enum carry and those that the settings name."""
    client, spec = context.client, context.spec
    filters = list(source.filters)
    if has_open_status(spec):
        statuses = (*context.query.statuses, *client.config.archived_statuses)
        filters += [(STATUS, value) for value in statuses]
    return [each for each in dict.fromkeys(filters) if not client.capabilities.rejects(spec.path, *each)]


async def _shows_more(context: SourceContext, filtered: Unit, gathered: Gathered, value: str) -> bool:
    """Whether a filter shows rows that the list without it lacks, as far as one row and the platform's count
    tell; where they do not, the list has to be read.

    Raises Transient where a value of the specification gets no answer."""
    client, spec = context.client, context.spec
    names, size = V1_NAMES if spec.is_v1 else V3_NAMES, 1
    has_pages = not client.capabilities.rejects(spec.path, names.page)

    async def ask(before: int) -> Answer[Page[Any]]:
        nonlocal size
        size = 1 + before
        return await fetch(
            client,
            filtered.path,
            {**filtered.params, **({names.page: "1", names.per_page: str(size)} if has_pages else {})},
            school_id=context.query.school_id,
            scope=spec.scopes,
            decode=partial(page_of, spec, keep_id_numbers=client.config.keep_id_numbers),
            tally=context.tally,
        )

    answer = await believed(
        client.capabilities,
        ask,
        lambda answer: not answer.value.rows and not answer.value.bad,
        grave=lambda _: False,
    )
    page, pagination = answer.value, answer.pagination
    shown, listed = row_keys(page.rows, spec.primary_key), _keys(gathered, spec)
    if not listed.issuperset(shown) or page.bad:
        return True
    if not shown or len(shown) > size:
        # Nothing, or all at once.
        return False
    if pagination and pagination.total_count is not None:
        return pagination.total_count > len(listed)
    return str(getattr(page.rows[0], STATUS, "")) != value


def _keys(gathered: Gathered, spec: ResourceSpec) -> set[Key | None]:
    return {*row_keys(gathered.rows, spec.primary_key)}


def _take(
    gathered: Gathered, found: Gathered, spec: ResourceSpec, drift: Drift, only: Iterable[int] | None = None
) -> None:
    """Take over the rows that are new, or those of them with these ids."""
    known = _keys(gathered, spec)

    def is_new(key: Key | None) -> bool:
        return key not in known and (only is None or (key is not None and key[0] in only))

    new = [i for i, row in enumerate(found.rows) if is_new(row_key(row, spec.primary_key))]
    bad = [one for one in found.bad if is_new(one.key)]
    gathered.rows += [found.rows[i] for i in new]
    gathered.extras += [found.extras[i] for i in new]
    gathered.trashed += [False] * len(new)
    gathered.bad += bad
    gathered.complete = gathered.complete and found.complete
    if gathered.total is not None:
        gathered.total += len(new) + len(bad)
    if new or bad:
        gathered.drift[drift] += len(new) + len(bad)
