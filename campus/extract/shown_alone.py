"""Rows that lack a list where they are listed, and have it where they are asked for alone."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from campus.contracts.fields import column_names
from campus.decoding.page import Drift
from campus.extract.batches import Collector, Gathered
from campus.extract.requests import Unit, Where
from campus.extract.row_rules import keep_only
from campus.extract.side_by_side import UnitResult, read_all
from campus.extract.unit import read_unit
from campus.http.client import Client
from campus.http.errors import Forbidden, NotFound, Refused
from campus.registry import ResourceSpec


def take_lacking(gathered: Gathered, field: str) -> dict[int, tuple[Any, str | None]]:
    """Take out the rows that lack a list, by id and with their extras. Where no row has anything in it, none
    is believed."""
    whole = any(getattr(row, field) for row in gathered.rows)
    own = [index for index, row in enumerate(gathered.rows) if whole and getattr(row, field) is not None]
    lacking = {
        row.id: (row, extra)
        for row, extra in zip(gathered.rows, gathered.extras, strict=True)
        if not whole or getattr(row, field) is None
    }
    if gathered.total is not None:
        gathered.total -= len(gathered.rows) - len(own)
    keep_only(gathered, own)
    return lacking


async def read_alone(
    client: Client,
    spec: ResourceSpec,
    where: Where,
    listed: Mapping[int, tuple[Any, str | None]],
    collector: Collector,
) -> None:
    """Ask for each of these rows of a list alone. One that the platform does not show so stays as listed."""
    alone = replace(spec, paged=False, single=True)

    async def read_row(unit: Unit) -> UnitResult:
        row, extra = listed[int(unit.ids[0])]
        try:
            found = await read_unit(client, alone, where, unit, collector.account.tally)
        except (NotFound, Refused, Forbidden):
            found = Gathered()
        nothing = not found.rows and not found.bad
        if nothing:
            found = Gathered([row], [extra], [False])
            found.drift[Drift("not_shown", spec.shown_alone or "")] += 1
        for name in column_names(spec.contract):
            for shown in found.rows:
                if getattr(shown, name) is None:
                    setattr(shown, name, getattr(row, name))
        return UnitResult(partial(collector.add, replace(found, total=1)), nothing)

    units = [Unit(f"{spec.path}/{id_}", spec.params, ids=(id_,), belongs={"id": id_}) for id_ in listed]
    await read_all(client, units, read_row, [collector])
