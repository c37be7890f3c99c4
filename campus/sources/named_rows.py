"""Rows of a slice that are asked for by name: by their ids, by their class, or by when they were updated."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from campus.http.client import Client
from campus.plan.modes import MODES, units_of
from campus.plan.units import SliceQuery, Unit, changed_only, id_batches
from campus.registry import ResourceSpec
from campus.sources.gathered import Collector, Gathered
from campus.sources.row_rules import leave_out
from campus.sources.side_by_side import UnitResult, read_all
from campus.sources.unit import read_unit

OF_CLASSES = "class_id_in"


async def read_by_ids(
    client: Client, spec: ResourceSpec, query: SliceQuery, ids: Sequence[int], collector: Collector
) -> None:
    """Read the rows with these ids into the collector. `query.filled`: those that are held and alive.

    Raises CampusError."""
    assert spec.id_filter is not None
    [whole] = MODES[spec.asked].requests(spec, query)
    units = [
        replace(_of(whole, spec.id_filter, batch), empty_is_unusual=not query.filled.isdisjoint(batch))
        for batch in id_batches(ids)
    ]
    await _read_units(
        client, spec, query, units, collector, partial(_keep, "id", frozenset(ids), spec.id_filter)
    )


async def read_by_classes(
    client: Client, spec: ResourceSpec, query: SliceQuery, collector: Collector
) -> None:
    """Read the members of the classes `query.parents` into the collector, in whichever way the platform says
    whose they are (see members). Raises CampusError."""
    units = await units_of(client, spec, query, collector.account.tally)
    if not any(unit.ids for unit in units):
        [whole] = units
        units = [_of(whole, OF_CLASSES, batch) for batch in id_batches(query.parents)]
    keep = partial(_keep, "class_id", frozenset(query.parents), OF_CLASSES)
    await _read_units(client, spec, query, units, collector, keep)


async def read_updated(
    client: Client, spec: ResourceSpec, query: SliceQuery, since: datetime, collector: Collector
) -> set[int]:
    """Read the rows that were updated since then (the platform's wall clock) into the collector; their ids.

    Raises CampusError."""
    [whole] = MODES[spec.asked].requests(spec, query)
    recent = replace(changed_only(spec, whole, since), empty_is_unusual=False)
    found: set[int] = set()
    await _read_units(
        client,
        spec,
        query,
        [recent],
        collector,
        lambda gathered: found.update(row.id for row in gathered.rows),
    )
    return found


def _of(whole: Unit, parameter: str, batch: Sequence[int]) -> Unit:
    return replace(whole, params={**whole.params, parameter: ",".join(map(str, batch))})


def _keep(column: str, values: frozenset[int], parameter: str, gathered: Gathered) -> None:
    """Drop the rows that a platform sends because it ignores the parameter."""
    own = [index for index, row in enumerate(gathered.rows) if getattr(row, column) in values]
    leave_out(gathered, own, parameter)


async def _read_units(
    client: Client,
    spec: ResourceSpec,
    query: SliceQuery,
    units: list[Unit],
    collector: Collector,
    look: Callable[[Gathered], Any],
) -> None:
    async def read_one(unit: Unit) -> UnitResult:
        gathered = await read_unit(client, spec, query, unit, collector.account.tally)
        look(gathered)
        return UnitResult(partial(collector.add, gathered), all(gathered.trashed) and not gathered.bad)

    await read_all(client, units, read_one, [collector])
