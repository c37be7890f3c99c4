"""Loads the resources of a school in the order that the interface recommends, and chooses how each slice is
read.

The ids that a resource's requests name are read from the lake, where the resources before it were just
committed."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace

import pyarrow.compute as pc

from campus.account import Account
from campus.decoding.nested import together_with
from campus.http.errors import PlatformUnavailable
from campus.plan.modes import MODES, parents_of
from campus.plan.units import SliceQuery
from campus.registry import RESOURCES, ResourceSpec
from campus.sources.hidden_rows import has_open_status
from loading.connection.runtime import Runtime
from loading.custom_fields import with_fields_of
from loading.forgotten import forgotten_ids
from loading.slices.commit import Loaded, confirm_slice, fail_slice
from loading.slices.load_slice import Loader, slice_of_query
from loading.slices.retained_rows import units_by_row
from loading.slices.skip_unchanged import (
    CLASSES,
    MEMBERS,
    ended_semesters,
    items_to_read,
    may_skip,
    outdated_classes,
    overlap_of,
)
from loading.slices.strategies import (
    Strategy,
    changes_or_whole,
    outdated_rows,
    rows_of_parents,
    whole_slices,
)
from loading.tables import TABLES, slice_of, values
from warehouse.load.logs.load_log import slice_status, slice_statuses
from warehouse.load.logs.write_log import bound_ids
from warehouse.load.slice_reading import RequestedRows

# Two semesters overlap the commits of one with the requests of the other; more would only hold more memory.
SEMESTERS_AT_A_TIME = 2
NOT_REQUESTED = "not asked for, since what it is asked with could not be loaded"


async def load_school(
    loader: Loader, school_id: int, semesters: list[int], selected: Sequence[ResourceSpec]
) -> AsyncIterator[Loaded]:
    """Load resources of one school: those of the school itself, and then those of its semesters.

    The outcome of a slice of the school is reported as it is committed, of a semester's when they all are.

    Raises:
        PlatformUnavailable: The slices that were read meanwhile are committed and reported."""
    runtime = loader.runtime
    query = SliceQuery(
        school_id,
        term_types=runtime.term_types,
        devices=_with_bound(runtime, "devices", school_id, runtime.device_ids),
        cards=_with_bound(runtime, "cards", school_id, runtime.card_ids),
        client_id=runtime.client.client_id,
    )
    of_school = [spec for spec in selected if spec.sliced_by == "school"]
    async for result in _load_in_order(loader, query, of_school):
        yield result
    of_semester = [spec for spec in selected if spec.sliced_by == "semester"]
    skipping_last = sorted(of_semester, key=lambda spec: bool(spec.moves_with))
    today = loader.cause.started_at.date()
    ended = ended_semesters(runtime.lake, school_id, today) if of_semester else ()
    places = asyncio.Semaphore(SEMESTERS_AT_A_TIME)

    halts: list[PlatformUnavailable] = []

    async def load_semester(semester_id: int) -> list[Loaded]:
        loaded: list[Loaded] = []
        async with places:
            try:
                if not halts:
                    skips = semester_id in ended or not runtime.incremental.all_scores
                    order = skipping_last if skips else of_semester
                    of_one = replace(query, semester_id=semester_id)
                    async for result in _load_in_order(loader, of_one, order, skips=skips):
                        loaded.append(result)
            except PlatformUnavailable as halt:
                halts.append(halt)
        return loaded

    for semester in asyncio.as_completed([load_semester(semester_id) for semester_id in semesters]):
        for result in await semester:
            yield result
    if halts:
        raise halts[0]


async def _load_in_order(
    loader: Loader, query: SliceQuery, specs: Sequence[ResourceSpec], *, skips: bool = False
) -> AsyncIterator[Loaded]:
    """Load resources of one school or semester in order.

    Args:
        skips: Rows that are known to be unchanged are not requested."""
    loaded: dict[str, Loaded] = {}
    for spec in specs:
        if spec.name in loaded:
            continue
        group = together_with(spec, specs)
        parent = loaded.get(spec.child_of or "")
        if parent and parent.status == "failed" and parent.outcome is None:
            contexts = [loader.context(member, slice_of_query(member, query)) for member in group]
            results = [fail_slice(context, NOT_REQUESTED) for context in contexts]
        else:
            again = parent is not None and parent.status != "skipped"
            skips_rows = skips and bool(spec.moves_with) and _all_loaded(loaded, *spec.moves_with)
            results = await _load_group(loader, query, group, again=again, skips=skips_rows)
        for result in results:
            loaded[result.spec.name] = result
            yield result
        if spec is MEMBERS and _all_loaded(loaded, CLASSES.name, MEMBERS.name):
            for result in await load_outdated_classes(loader, query):
                yield result


async def _load_group(
    loader: Loader, query: SliceQuery, group: Sequence[ResourceSpec], *, again: bool, skips: bool
) -> list[Loaded]:
    """Load the slices of resources that come together, and choose how they are read.

    Args:
        again: As `Loader.load` has it.
        skips: Reads only the rows whose related rows have changed, where that can be told."""
    assert query.school_id is not None
    first = group[0]
    slices = {
        with_fields_of(loader.runtime, spec, query.school_id): slice_of_query(spec, query) for spec in group
    }
    query = with_lake_ids(loader, first, query)
    contexts = [loader.context(spec, slice) for spec, slice in slices.items()]
    statuses = {
        context.spec.name: loader.slice_status(context.spec.name, context.slice) for context in contexts
    }
    if all(may_skip(context, query, statuses[context.spec.name]) for context in contexts):
        return [confirm_slice(context, Account(), None) for context in contexts]
    strategy: Strategy | None = None
    if skips:
        [context] = contexts
        related = [loader.slice_status(name, context.slice) for name in first.moves_with]
        items = items_to_read(
            context, query, statuses[first.name], related, overlap_of(loader.client, loader.runtime)
        )
        if items is not None:
            if not items.affected and (again or not loader.is_committed(context)):
                return [confirm_slice(context, Account(), None)]
            requested = RequestedRows(first.unit_column or "", items.affected, suffices=True)
            strategy = rows_of_parents(loader.client, query, items.existing, {first: requested})
    if strategy is None:
        read = changes_or_whole if len(slices) == 1 else whole_slices
        strategy = read(loader.client, query)
    return await loader.load(slices, strategy, again=again)


async def load_outdated_classes(loader: Loader, query: SliceQuery) -> list[Loaded]:
    """Read the rows of classes again whose members have changed."""
    slice, lake = slice_of_query(CLASSES, query), loader.runtime.lake
    # The run itself may have read all of them meanwhile.
    status = slice_status(slice_statuses(lake, slice.school_id), CLASSES.name, slice)
    outdated = outdated_classes(lake, query, status, overlap_of(loader.client, loader.runtime))
    if not outdated.ids:
        return []
    if outdated.are_most:
        strategy = whole_slices(loader.client, query, follows=True)
    else:
        strategy = outdated_rows(loader.client, CLASSES, query, outdated.ids)
    return await loader.load({CLASSES: slice}, strategy)


def _all_loaded(loaded: Mapping[str, Loaded], *names: str) -> bool:
    return all(name in loaded and loaded[name].status != "failed" for name in names)


def with_lake_ids(loader: Loader, spec: ResourceSpec, query: SliceQuery) -> SliceQuery:
    """Add to a query what the lake has: the ids that the requests name; for a list that may hide rows, the
    ids of its stored rows, and the statuses that rows of the school have."""
    query = _with_parents(loader, spec, query)
    if not (spec.hidden_filters and has_open_status(spec)):
        return query
    assert query.school_id is not None
    lake = loader.runtime.lake
    statuses: set[str] = set()
    for other in RESOURCES.values():
        if has_open_status(other) and other.sliced_by == "school":
            rows = lake.read(TABLES[other.name], slice_of(other, query.school_id), ["status"], alive=False)
            statuses.update(filter(None, pc.unique(rows["status"]).to_pylist()))
    # Tombstones too: a version that did not ask for hidden rows took them for deleted.
    stored = lake.read(TABLES[spec.name], slice_of(spec, query.school_id), ["id"], alive=False)
    return replace(query, stored_ids=frozenset(values(stored, "id")), statuses=tuple(sorted(statuses)))


def _with_parents(loader: Loader, spec: ResourceSpec, query: SliceQuery) -> SliceQuery:
    """Add the ids that the requests name: those of the semester's classes, of its assessment items, or of
    the school's students; and those of which the slice has rows."""
    parent, mode = parents_of(spec), MODES[spec.mode]
    if parent is None:
        return query
    assert query.school_id is not None
    rows = loader.runtime.lake.read(
        TABLES[parent.name],
        slice_of(parent, query.school_id, query.semester_id),
        ["id", *mode.parents_with],
        alive=not mode.deleted_parents,
    )
    for column, value in mode.parents_with.items():
        rows = rows.filter(pc.field(column) == value)
    # The ids that stand for the forgotten are unknown to the platform.
    forgotten = forgotten_ids(loader.runtime.lake, query.school_id)
    parents = set(values(rows, "id")) - forgotten
    filled = _filled(loader, spec, query) - forgotten
    return replace(query, parents=tuple(sorted(parents)), ids_with_rows=filled)


def _filled(loader: Loader, spec: ResourceSpec, query: SliceQuery) -> frozenset[int]:
    """The classes, items or students of which the slice has rows."""
    if spec.unit_column is None or not MODES[spec.mode].names_parents:
        return frozenset()
    slice, lake = slice_of_query(spec, query), loader.runtime.lake
    rows = lake.read(TABLES[spec.name], slice, [spec.unit_column])
    units = {unit for unit in pc.unique(rows[spec.unit_column]).to_pylist() if unit is not None}
    if spec.unit_via is None:
        return frozenset(units)
    return frozenset(unit for row_id, unit in units_by_row(lake, spec, slice).items() if row_id in units)


def _with_bound(runtime: Runtime, resource: str, school_id: int, named: Sequence[str]) -> tuple[str, ...]:
    """The cards or devices that the settings name, and those that writes have bound."""
    return tuple(dict.fromkeys((*named, *bound_ids(runtime.lake, resource, school_id))))
