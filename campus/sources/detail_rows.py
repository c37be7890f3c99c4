"""Rows that lack a list in the collection, and have it where each is requested alone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from campus.account import Drift
from campus.contracts.fields import column_names
from campus.fetch.reader import Readings
from campus.http.errors import Forbidden, NotFound, Refused
from campus.plan.units import Unit
from campus.registry.spec import DetailRows, ResourceSpec
from campus.sources.gathered import Gathered
from campus.sources.pages import read_pages
from campus.sources.row_rules import keep_only, keep_requested
from campus.sources.source import ReadUnit, SourceContext
from campus.sources.units import UnitReadings


def with_detail_rows(source: DetailRows, context: SourceContext, read: ReadUnit) -> ReadUnit:
    """Read the rows of a unit, and request each row that lacks its list alone.

    A row that the platform does not show alone stays as listed. A row that fails is noted as failed."""
    spec = replace(context.spec, shape="object", sources=())
    row_context = replace(context, spec=spec)

    def read_with_details(unit: Unit) -> Readings[Gathered]:
        gathered = yield from read(unit)
        listed = _take_lacking(gathered, source.list)

        def read_row(unit: Unit) -> Readings[Gathered]:
            row, extra = listed[unit.ids[0]]
            try:
                details = yield from read_pages(row_context, unit)
            except (NotFound, Refused, Forbidden):
                details = Gathered()
            requested = [i for i, shown in enumerate(details.rows) if shown.id in (None, row.id)]
            keep_requested(details, requested, "id")
            if not details.rows and not details.bad:
                details = Gathered([row], [extra], [False], lacks_rows=True)
                details.drift[Drift("not_shown", source.list)] += 1
            for shown in details.rows:
                for name in column_names(spec.contract):
                    if getattr(shown, name) is None:
                        setattr(shown, name, getattr(row, name))
            return details

        units = [Unit(f"{spec.path}/{row_id}", spec.params, ids=(row_id,)) for row_id in listed]
        yield UnitReadings(units, read_row, _Details(spec, gathered))
        return gathered

    return read_with_details


@dataclass(frozen=True)
class _Details:
    """Adds rows that were requested alone to the rows of their list."""

    spec: ResourceSpec
    gathered: Gathered

    def add(self, rows: Gathered) -> None:
        gathered = self.gathered
        gathered.extend(rows)
        if gathered.total is not None:
            gathered.total += 1
        gathered.complete = gathered.complete and rows.complete
        if not rows.complete:
            gathered.note = "; ".join(filter(None, (gathered.note, rows.note)))

    def fail(self, ids: Sequence[int | str], reason: str) -> None:
        self.gathered.failed.update(dict.fromkeys(ids, reason))

    def progress(self, done: int, total: int) -> None:
        """The list itself reports progress."""

    def flush(self) -> None:
        """All rows are added."""


def _take_lacking(gathered: Gathered, field: str) -> dict[int | str, tuple[Any, str | None]]:
    """Take out the rows that lack a list, with their extras, by id. Where the list is empty in all rows, an
    empty list counts as lacking."""
    is_filled = any(getattr(row, field) for row in gathered.rows)
    whole = [i for i, row in enumerate(gathered.rows) if is_filled and getattr(row, field) is not None]
    rows = list(zip(gathered.rows, gathered.extras, strict=True))
    lacking = [rows[i] for i in sorted({*range(len(rows))}.difference(whole))]
    if gathered.total is not None:
        gathered.total -= len(lacking)
    keep_only(gathered, whole)
    return {row.id: (row, extra) for row, extra in lacking}
