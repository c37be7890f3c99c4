"""Rows that a list leaves out by default, such as archived ones.

The interface does not show whether a platform leaves rows out, nor always which value of a filter shows them.
So each likely value is tried with one small request, and stored rows that the list lacks are requested by id.
An archived row is not deleted: it loads as it is sent, and is alive.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from campus.account import Drift, Key
from campus.contracts.fields import fields
from campus.decoding.nested import page_of
from campus.decoding.page import Page, row_key, row_keys
from campus.fetch.answers import confirmed
from campus.fetch.reader import AnswerRequest, Readings
from campus.http.errors import Forbidden, NotFound, Refused, Transient, UnexpectedAnswer
from campus.http.request import Answer
from campus.paging import V1_NAMES, V3_NAMES
from campus.plan.units import Unit, id_batches
from campus.registry.spec import HiddenRows, ResourceSpec
from campus.sources.gathered import Gathered
from campus.sources.pages import ReadUnit, SourceContext

HIDDEN = "hidden_by_default"
STATUS = "status"
REJECTIONS = (Refused, Forbidden, NotFound, UnexpectedAnswer)


def with_hidden_rows(source: HiddenRows, context: SourceContext, read: ReadUnit) -> ReadUnit:
    """Read the rows of a unit, the rows included that its list leaves out by default.

    Raises CampusError where hidden rows exist and cannot be read: without them the list is incomplete."""

    def read_with_hidden(unit: Unit) -> Readings[Gathered]:
        gathered = yield from read(unit)
        yield from _add_filtered(source, context, read, unit, gathered)
        yield from _add_missing(context, read, unit, gathered)
        return gathered

    return read_with_hidden


def _add_filtered(
    source: HiddenRows, context: SourceContext, read: ReadUnit, unit: Unit, gathered: Gathered
) -> Readings[None]:
    """Add the rows that each filter shows."""
    spec, capabilities = context.spec, context.client.capabilities
    for name, value in _filters(source, context):
        filtered = replace(unit, params={**unit.params, name: value})
        try:
            has_hidden = yield from _shows_hidden(context, filtered, gathered, value)
        except (*REJECTIONS, Transient) as error:
            # A platform may break on a value that the specification does not name.
            if isinstance(error, Transient) and not has_open_status(spec):
                raise
            capabilities.reject(spec.path, name, value)
            continue
        if has_hidden:
            _add_new(gathered, (yield from read(filtered)), spec, Drift(HIDDEN, name, value))


def _add_missing(context: SourceContext, read: ReadUnit, unit: Unit, gathered: Gathered) -> Readings[None]:
    """Add the rows that the lake has and the list lacks, requested by their ids."""
    spec = context.spec
    if spec.id_filter is None:
        return
    missing = context.query.stored_ids - {key[0] for key in _keys(gathered, spec) if key}
    for batch in id_batches(sorted(missing)):
        named = {spec.id_filter: ",".join(map(str, batch))}
        try:
            shown = yield from read(replace(unit, params={**unit.params, **named}))
        except REJECTIONS:
            return
        _add_new(gathered, shown, spec, Drift(HIDDEN, spec.id_filter), only=set(batch))


def has_open_status(spec: ResourceSpec) -> bool:
    """Whether the specification leaves the values of a resource's status open."""
    return any(f.name == STATUS and f.enum and not f.known_values for f in fields(spec.contract))


def _filters(source: HiddenRows, context: SourceContext) -> list[tuple[str, str]]:
    """The filters that may show hidden rows: those of the resource and, where its status is open, one for
    each status of the school's rows and of the settings."""
    client, spec = context.client, context.spec
    filters = list(source.filters)
    if has_open_status(spec):
        statuses = (*context.query.statuses, *client.config.archived_statuses)
        filters += [(STATUS, value) for value in statuses]
    return [pair for pair in dict.fromkeys(filters) if not client.capabilities.rejects(spec.path, *pair)]


def _shows_hidden(context: SourceContext, filtered: Unit, gathered: Gathered, value: str) -> Readings[bool]:
    """Whether a filter may show rows that the list lacks, by one row and the platform's count. Where these do
    not tell, it may."""
    client, spec = context.client, context.spec
    names, size = V1_NAMES if spec.is_v1 else V3_NAMES, 1
    has_pages = not client.capabilities.rejects(spec.path, names.page)

    def ask(repeats: int) -> Readings[Answer[Page[Any]]]:
        nonlocal size
        size = 1 + repeats
        paged = {names.page: "1", names.per_page: str(size)} if has_pages else {}
        answer: Answer[Page[Any]] = yield AnswerRequest(
            filtered.path, {**filtered.params, **paged}, partial(page_of, spec)
        )
        return answer

    answer = yield from confirmed(
        client.capabilities,
        ask,
        lambda answer: not answer.value.rows and not answer.value.bad,
        is_unusual=lambda _: False,
    )
    page, pagination = answer.value, answer.pagination
    shown, listed = row_keys(page.rows, spec.primary_key), _keys(gathered, spec)
    if not listed.issuperset(shown) or page.bad:
        return True
    if not shown or len(shown) > size:
        # No row, or all rows at once.
        return False
    if pagination and pagination.total_count is not None:
        return pagination.total_count > len(listed)
    return str(getattr(page.rows[0], STATUS, "")) != value


def _keys(gathered: Gathered, spec: ResourceSpec) -> set[Key | None]:
    return {*row_keys(gathered.rows, spec.primary_key)}


def _add_new(
    gathered: Gathered, shown: Gathered, spec: ResourceSpec, drift: Drift, only: Iterable[int] | None = None
) -> None:
    """Add the rows that the list lacks. only: the ids to add; None: all."""
    listed = _keys(gathered, spec)

    def is_new(key: Key | None) -> bool:
        return key not in listed and (only is None or (key is not None and key[0] in only))

    new = [i for i, row in enumerate(shown.rows) if is_new(row_key(row, spec.primary_key))]
    bad = [bad_row for bad_row in shown.bad if is_new(bad_row.key)]
    gathered.rows += [shown.rows[i] for i in new]
    gathered.extras += [shown.extras[i] for i in new]
    gathered.trashed += [False] * len(new)
    gathered.bad += bad
    gathered.complete = gathered.complete and shown.complete
    if gathered.total is not None:
        gathered.total += len(new) + len(bad)
    if new or bad:
        gathered.drift[drift] += len(new) + len(bad)
