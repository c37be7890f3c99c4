"""Reading one slice of one resource: which units it is made of, and what their answers make together.

Requests that belong together form a unit (an item's scores, a class's assessment); see side_by_side for how
units are read, and unit for what is asked of each.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from campus.decoding.definition import UPDATED_AT
from campus.decoding.nested import page_of, taken_apart
from campus.decoding.page import Page
from campus.fetch.answer import fetch
from campus.fetch.emptiness import confirmed, repeated_params
from campus.http.client import Client
from campus.http.errors import NotFound, Refused, UnexpectedAnswer
from campus.http.events import Tally
from campus.paging import V1_NAMES, V3_NAMES
from campus.plan.modes import MODES, units_of
from campus.plan.units import SliceQuery, Unit
from campus.registry import ResourceSpec
from campus.sources.gathered import Collector, Gathered
from campus.sources.row_rules import apply_row_rules, gathered_of
from campus.sources.side_by_side import UnitResult, read_all
from campus.sources.unit import read_unit


async def read(client: Client, spec: ResourceSpec, query: SliceQuery, collector: Collector) -> None:
    """Read one slice of a resource into the collector.

    Raises CampusError where nothing of the slice can be read; what fails in part is in the account."""
    units = await units_of(client, spec, query, collector.account.tally)

    async def read_one(unit: Unit) -> UnitResult:
        try:
            gathered = await read_unit(client, spec, query, unit, collector.account.tally)
        except NotFound:
            if unit.if_absent is None:
                raise
            gathered = Gathered([spec.contract(**unit.if_absent)], [None], [False], total=None)
        if unit.since is not None:
            collector.account.older += _older(gathered, unit.since)
        return UnitResult(partial(collector.add, gathered), all(gathered.trashed) and not gathered.bad)

    await read_all(client, units, read_one, [collector])


async def read_together(client: Client, query: SliceQuery, main: Collector, *others: Collector) -> None:
    """Read resources whose rows come in one answer (see decoding.nested), which is asked for as `main` is.

    A class without an assessment, a student without a transcript (404, null, or an empty answer) is normal
    and gives no row."""
    spec, tally = main.spec, main.account.tally
    collectors = [main, *others]

    page_name = (V1_NAMES if spec.is_v1 else V3_NAMES).page

    async def read_one(unit: Unit) -> UnitResult:
        async def ask(repeats: int) -> dict[str, Page[Any]]:
            answer = await fetch(
                client,
                unit.path,
                repeated_params(unit.params, page_name, repeats),
                school_id=query.school_id,
                scope=spec.scopes,
                decode=partial(taken_apart, name=spec.name, keep_id_numbers=client.config.keep_id_numbers),
                tally=tally,
            )
            return answer.value

        pages = await confirmed(
            client.capabilities,
            ask,
            _lacks_rows,
            is_unusual=lambda pages: (
                unit.empty_is_unusual or any(_counts_rows(one.spec, pages) for one in collectors)
            ),
            varies=(spec.path, page_name),
        )

        def take() -> None:
            for collector in collectors:
                page = pages[collector.spec.name]
                collector.add(apply_row_rules(gathered_of(page), collector.spec, unit))

        return UnitResult(take, _lacks_rows(pages))

    units = await units_of(client, spec, query, tally)
    await read_all(client, units, read_one, collectors)


def _lacks_rows(pages: Mapping[str, Page[Any]]) -> bool:
    """Whether a resource has no row in an answer that holds several."""
    return any(not page.rows and not page.bad for page in pages.values())


def _counts_rows(spec: ResourceSpec, pages: Mapping[str, Page[Any]]) -> bool:
    """Whether a resource's rows say that others come inside their answer."""
    return spec.counts is not None and any(getattr(row, spec.counts) for row in pages[spec.name].rows)


def _older(gathered: Gathered, since: datetime) -> int:
    """How many rows were updated before, or do not say when."""
    updates = (getattr(row, UPDATED_AT, None) for row in gathered.rows)
    return sum(updated_at is None or updated_at < since for updated_at in updates)


async def count(client: Client, spec: ResourceSpec, query: SliceQuery, tally: Tally) -> int | None:
    """How many rows of a slice the platform has that are alive, by its own count; None: it does not say.

    Raises CampusError, but for what is refused as it stands: that says nothing."""
    total = 0
    for unit in MODES[spec.asked].requests(spec, replace(query, since=None)):
        try:
            answer = await fetch(
                client,
                unit.path,
                {**unit.params, V3_NAMES.page: 1, V3_NAMES.per_page: 1},
                school_id=query.school_id,
                scope=spec.scopes,
                decode=partial(page_of, spec),
                tally=tally,
            )
        except (Refused, NotFound, UnexpectedAnswer):
            return None
        if answer.pagination is None or answer.pagination.total_count is None:
            return None
        total += answer.pagination.total_count
    return total
