"""Requests rows of a slice by their ids, by their classes, or by the time of their last update."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from campus.http.client import Client
from campus.plan.modes import MODES, units_of
from campus.plan.units import SliceQuery, Unit, changed_only, id_batches
from campus.registry import ResourceSpec
from campus.sources.concurrent_units import UnitResult, read_units
from campus.sources.gathered import Collector, Gathered
from campus.sources.row_rules import apply_row_rules, keep_requested
from campus.sources.unit import source_of

CLASS_FILTER = "class_id_in"


async def read_by_ids(
    client: Client, spec: ResourceSpec, query: SliceQuery, ids: Sequence[int], collector: Collector
) -> None:
    """Read the rows with these ids into the collector. `query.ids_with_rows`: the stored ids that are alive.

    Raises CampusError."""
    assert spec.id_filter is not None
    [whole] = MODES[spec.mode].requests(spec, query)
    units = [
        replace(
            _filtered(whole, spec.id_filter, batch),
            empty_is_unusual=not query.ids_with_rows.isdisjoint(batch),
        )
        for batch in id_batches(ids)
    ]
    keep = partial(_keep, "id", frozenset(ids), spec.id_filter)
    await _read_units(client, spec, query, units, collector, keep)


async def read_by_classes(
    client: Client, spec: ResourceSpec, query: SliceQuery, collector: Collector
) -> None:
    """Read the members of the classes `query.parents` into the collector, by whole semester or by class (see
    campus.plan.members). Raises CampusError."""
    units = await units_of(client, spec, query, collector.account.tally)
    if not any(unit.ids for unit in units):
        [whole] = units
        units = [_filtered(whole, CLASS_FILTER, batch) for batch in id_batches(query.parents)]
    keep = partial(_keep, "class_id", frozenset(query.parents), CLASS_FILTER)
    await _read_units(client, spec, query, units, collector, keep)


async def read_updated(
    client: Client, spec: ResourceSpec, query: SliceQuery, since: datetime, collector: Collector
) -> set[int]:
    """Read the rows that were updated since then (the platform's wall clock) into the collector.

    Returns their ids. Raises CampusError."""
    [whole] = MODES[spec.mode].requests(spec, query)
    updated = replace(changed_only(spec, whole, since), empty_is_unusual=False)
    rows: list[Any] = []
    await _read_units(client, spec, query, [updated], collector, lambda gathered: rows.extend(gathered.rows))
    return {row.id for row in rows}


def _filtered(whole: Unit, parameter: str, batch: Sequence[int]) -> Unit:
    return replace(whole, params={**whole.params, parameter: ",".join(map(str, batch))})


def _keep(column: str, values: frozenset[int], parameter: str, gathered: Gathered) -> None:
    """Drop the rows that a platform sends because it ignores the parameter."""
    requested = [index for index, row in enumerate(gathered.rows) if getattr(row, column) in values]
    keep_requested(gathered, requested, parameter)


async def _read_units(
    client: Client,
    spec: ResourceSpec,
    query: SliceQuery,
    units: list[Unit],
    collector: Collector,
    inspect: Callable[[Gathered], Any],
) -> None:
    source = source_of(client, spec, query, collector.account.tally)

    async def read_rows(unit: Unit) -> UnitResult:
        gathered = apply_row_rules(await source(unit), spec, unit)
        inspect(gathered)
        return UnitResult(partial(collector.add, gathered), gathered.has_no_living_rows)

    await read_units(client, units, read_rows, [collector])
