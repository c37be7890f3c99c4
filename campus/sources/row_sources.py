"""Row sources around a plain list: rows that are requested alone for their details, optional expansions, and
deleted rows, which are requested with the living ones and told apart from them."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from campus.account import Drift
from campus.contracts.fields import column_names
from campus.decoding.page import row_key
from campus.fetch.answers import unless_rejected
from campus.fetch.reader import Readings
from campus.http.errors import Forbidden, NotFound, Refused
from campus.plan.modes import TRASHED_TOO
from campus.plan.units import Unit
from campus.registry.spec import DeletedRows, DetailRows, Expansions, ResourceSpec
from campus.sources.gathered import Gathered
from campus.sources.pages import ReadUnit, SourceContext, read_pages, sent_rows
from campus.sources.row_rules import keep_only, keep_requested
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


EXPAND = "expand"


def with_expansions(source: Expansions, context: SourceContext, read: ReadUnit) -> ReadUnit:
    """Read the rows of a unit with all expansions that the platform accepts.

    A platform may reject a relation that it does not know. Then each relation is tried once, and the accepted
    ones stay."""
    path, capabilities = context.spec.path, context.client.capabilities

    def read_expanded(unit: Unit) -> Readings[Gathered]:
        expanded = [name for name in source.optional if not capabilities.rejects(path, EXPAND, name)]
        try:
            gathered = yield from read(_expanding(unit, expanded))
        except (Refused, Forbidden) as error:
            if not expanded:
                raise
            is_lasting = isinstance(error, Refused)
            gathered = yield from read(unit)
            tried, expanded = expanded, []
            for name in tried if len(tried) > 1 else ():
                try:
                    gathered = yield from read(_expanding(unit, [*expanded, name]))
                except (Refused, Forbidden):
                    continue
                expanded.append(name)
            for name in tried:
                if name not in expanded:
                    capabilities.reject(path, EXPAND, name, lasting=is_lasting)
        for name in source.optional:
            if name not in expanded:
                gathered.drift[Drift("refused_parameter", EXPAND, name)] += 1
        _clear_unexpanded(gathered, source.lists, expanded)
        return gathered

    return read_expanded


def _expanding(unit: Unit, names: Sequence[str]) -> Unit:
    return replace(unit, params={**unit.params, EXPAND: ",".join(names)}) if names else unit


def _clear_unexpanded(gathered: Gathered, lists: Sequence[str], expanded: Sequence[str]) -> None:
    """Make empty lists null that were not expanded: a platform may send them empty, whatever they hold."""
    for name in lists:
        if name not in expanded:
            for row in gathered.rows:
                setattr(row, name, getattr(row, name) or None)


# Values of deleted_at that mean "not deleted"; 0 is false, too.
NOT_DELETED = (None, "", "-", "0", 0, "0000-00-00", "0000-00-00 00:00:00")


def with_deleted_rows(_: DeletedRows, context: SourceContext, read: ReadUnit) -> ReadUnit:
    """Read the rows of a unit, the deleted ones included.

    Whether deleted rows show deleted_at is not specified. Where they do not, a second read without
    with_trashed tells which rows are alive. A platform that rejects with_trashed shows living rows alone."""
    spec, capabilities = context.spec, context.client.capabilities

    def read_with_deleted(unit: Unit) -> Readings[Gathered]:
        def read_with(trashed_too: Mapping[str, str]) -> Readings[tuple[bool, Gathered]]:
            rows = yield from read(replace(unit, params={**unit.params, **trashed_too}))
            return bool(trashed_too), rows

        has_deleted, all_rows = yield from unless_rejected(capabilities, spec.path, TRASHED_TOO, read_with)
        if not has_deleted:
            return all_rows
        if not all_rows.rows or "deleted_at" in all_rows.sent:
            all_rows.trashed = [
                _is_deleted(row, extra) for row, extra in zip(all_rows.rows, all_rows.extras, strict=True)
            ]
            return all_rows
        return _joined(spec, all_rows, (yield from read(unit)))

    return read_with_deleted


def _joined(spec: ResourceSpec, all_rows: Gathered, alive: Gathered) -> Gathered:
    """The living rows, and the deleted ones: those that only the list with deleted rows shows."""
    deleted = _deleted_indexes(spec, all_rows, alive)
    return replace(
        alive,
        rows=[*alive.rows, *(all_rows.rows[index] for index in deleted)],
        extras=[*alive.extras, *(all_rows.extras[index] for index in deleted)],
        trashed=[False] * len(alive.rows) + [True] * len(deleted),
        bad=list({bad.raw: bad for bad in (*alive.bad, *all_rows.bad)}.values()),
        total=None if alive.total is None else alive.total + len(deleted),
        complete=alive.complete and all_rows.complete,
        note="; ".join(filter(None, (all_rows.note, alive.note))),
        has_unclear_repeats=alive.has_unclear_repeats or all_rows.has_unclear_repeats,
    )


def _deleted_indexes(spec: ResourceSpec, all_rows: Gathered, alive: Gathered) -> list[int]:
    """The indexes of the rows that the list of living rows lacks. Where several rows share a key, as many of
    them live as that list has: those that equal its rows, else the last ones."""
    living = Counter(row_key(row, spec.primary_key) for row in alive.rows)
    if spec.numbered is None:
        return [i for i, row in enumerate(all_rows.rows) if not living[row_key(row, spec.primary_key)]]
    living_rows, sent = set(sent_rows(alive)), sent_rows(all_rows)
    deleted = []
    for index in sorted(range(len(sent)), key=lambda i: (sent[i] in living_rows, i), reverse=True):
        key = row_key(all_rows.rows[index], spec.primary_key)
        if living[key]:
            living[key] -= 1
        else:
            deleted.append(index)
    return sorted(deleted)


def _is_deleted(row: Any, extra: str | None) -> bool:
    """Whether deleted_at says that a row was deleted, even by a date that cannot be decoded."""
    if row.deleted_at is not None or extra is None or '"deleted_at"' not in extra:
        return row.deleted_at is not None
    sent = json.loads(extra).get("deleted_at")
    return sent not in NOT_DELETED and not (isinstance(sent, str) and sent.strip() in NOT_DELETED)
