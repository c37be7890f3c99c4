"""Rows that lack a list in the collection, and have it where each is requested alone."""

from dataclasses import replace
from typing import Any

from campus.contracts.fields import column_names
from campus.decoding.page import Drift
from campus.fetch.collection import together
from campus.http.errors import CampusError, Forbidden, NotFound, Refused
from campus.plan.units import Unit
from campus.registry.spec import DetailRows
from campus.sources.gathered import Gathered
from campus.sources.pages import read_pages
from campus.sources.row_rules import keep_only, leave_out
from campus.sources.source import ReadUnit, SourceContext


def with_detail_rows(source: DetailRows, context: SourceContext, read: ReadUnit) -> ReadUnit:
    """Read the rows of a unit, and each again alone that lacks its list.

    One that the platform does not show alone stays as listed; one that fails is noted as failed."""
    spec = replace(context.spec, shape="object", sources=())
    alone = replace(context, spec=spec)

    async def read_row(row: Any, extra: str | None) -> Gathered:
        try:
            details = await read_pages(alone, Unit(f"{spec.path}/{row.id}", spec.params))
        except (NotFound, Refused, Forbidden):
            details = Gathered()
        except CampusError as error:
            return Gathered(failed={row.id: str(error)})
        leave_out(details, [i for i, shown in enumerate(details.rows) if shown.id in (None, row.id)], "id")
        if not details.rows and not details.bad:
            details = Gathered([row], [extra], [False])
            details.drift[Drift("not_shown", source.list)] += 1
        for shown in details.rows:
            for name in column_names(spec.contract):
                if getattr(shown, name) is None:
                    setattr(shown, name, getattr(row, name))
        return details

    async def read_with_details(unit: Unit) -> Gathered:
        gathered = await read(unit)
        lacking = _take_lacking(gathered, source.list)

        async def add(row: Any, extra: str | None) -> None:
            details = await read_row(row, extra)
            gathered.extend(details)
            gathered.failed.update(details.failed)
            gathered.complete = gathered.complete and details.complete
            if not details.complete:
                gathered.note = "; ".join(filter(None, (gathered.note, details.note)))

        await together(add(row, extra) for row, extra in lacking)
        if gathered.total is not None:
            gathered.total -= len(gathered.failed)
        return gathered

    return read_with_details


def _take_lacking(gathered: Gathered, field: str) -> list[tuple[Any, str | None]]:
    """Take out the rows that lack a list, with their extras. Where no row has anything in it, an empty list
    counts as lacking."""
    is_filled = any(getattr(row, field) for row in gathered.rows)
    whole = [i for i, row in enumerate(gathered.rows) if is_filled and getattr(row, field) is not None]
    rows = list(zip(gathered.rows, gathered.extras, strict=True))
    lacking = [rows[i] for i in sorted({*range(len(rows))}.difference(whole))]
    keep_only(gathered, whole)
    return lacking
