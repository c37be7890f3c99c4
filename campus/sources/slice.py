"""Reading one slice of one resource, unit by unit.

Requests that belong together form a unit (an item's scores, a class's assessment). See concurrent_units for
the order of the units, and unit for the requests of each.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from campus.account import Tally
from campus.decoding.definition import UPDATED_AT
from campus.decoding.nested import page_of, taken_apart
from campus.decoding.page import Page
from campus.fetch.answer import fetch
from campus.fetch.emptiness import confirmed, repeated_params
from campus.http.client import Client
from campus.http.errors import NotFound, Refused, UnexpectedAnswer
from campus.paging import V1_NAMES, V3_NAMES
from campus.plan.modes import MODES, units_of
from campus.plan.units import SliceQuery, Unit
from campus.registry import ResourceSpec
from campus.sources.concurrent_units import UnitResult, read_units
from campus.sources.gathered import Collector, Gathered
from campus.sources.row_rules import apply_row_rules, gathered_of
from campus.sources.unit import source_of


async def read(client: Client, spec: ResourceSpec, query: SliceQuery, collector: Collector) -> None:
    """Read one slice of a resource into the collector.

    Raises CampusError where nothing of the slice can be read. The account has the units that fail."""
    tally = collector.account.tally
    units, source = await units_of(client, spec, query, tally), source_of(client, spec, query, tally)

    async def read_rows(unit: Unit) -> UnitResult:
        try:
            gathered = apply_row_rules(await source(unit), spec, unit)
        except NotFound:
            if unit.if_absent is None:
                raise
            gathered = Gathered([spec.contract(**unit.if_absent)], [None], [False], total=None)
        if unit.since is not None:
            collector.account.older += _count_older(gathered, unit.since)
        return UnitResult(partial(collector.add, gathered), gathered.has_no_living_rows)

    await read_units(client, units, read_rows, [collector])


async def read_together(client: Client, query: SliceQuery, main: Collector, *others: Collector) -> None:
    """Read resources whose rows share one answer (see decoding.nested), by the requests of `main`.

    A class without an assessment or a student without a transcript (404, null, or an empty answer) is normal,
    and gives no row."""
    spec, tally = main.spec, main.account.tally
    collectors = [main, *others]
    page_name = (V1_NAMES if spec.is_v1 else V3_NAMES).page

    async def read_answer(unit: Unit) -> UnitResult:
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
                unit.empty_is_unusual or any(_counts_rows(collector.spec, pages) for collector in collectors)
            ),
            varies=(spec.path, page_name),
        )

        def add() -> None:
            for collector in collectors:
                page = pages[collector.spec.name]
                collector.add(apply_row_rules(gathered_of(page), collector.spec, unit))

        return UnitResult(add, _lacks_rows(pages))

    units = await units_of(client, spec, query, tally)
    await read_units(client, units, read_answer, collectors)


def _lacks_rows(pages: Mapping[str, Page[Any]]) -> bool:
    """Whether some resource has no row in an answer that several resources share."""
    return any(not page.rows and not page.bad for page in pages.values())


def _counts_rows(spec: ResourceSpec, pages: Mapping[str, Page[Any]]) -> bool:
    """Whether a resource's rows count rows of another resource in the same answer."""
    return spec.counts is not None and any(getattr(row, spec.counts) for row in pages[spec.name].rows)


def _count_older(gathered: Gathered, since: datetime) -> int:
    """Count the rows that were updated before `since`, or have no date."""
    updates = (getattr(row, UPDATED_AT, None) for row in gathered.rows)
    return sum(updated_at is None or updated_at < since for updated_at in updates)


async def count(client: Client, spec: ResourceSpec, query: SliceQuery, tally: Tally) -> int | None:
    """The platform's own count of the living rows of a slice; None: it sends none, or refuses the request.

    Raises CampusError."""
    total = 0
    for unit in MODES[spec.mode].requests(spec, replace(query, since=None)):
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
