"""Plans the slices of schools in the order that the interface recommends, and how each slice is read.

The plan of a school is a generator: it yields jobs, and receives their outcomes. The ids that a resource's
requests name are read from the lake, where the resources before it were just committed."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import pyarrow.compute as pc

from campus.decoding.nested import together_with
from campus.plan.modes import MODES, parents_of
from campus.plan.units import SliceQuery
from campus.registry import RESOURCES, ResourceSpec
from campus.sources.hidden_rows import has_open_status
from campus.sources.slice import NamedRows
from loading.connection.runtime import Runtime
from loading.custom_fields import with_fields_of
from loading.slices.commit import Loaded, units_by_row
from loading.slices.load_slice import SliceJob, slice_of_query
from loading.slices.loader import Line, Loader, Plan, Requested, load_one_by_one, side_by_side
from loading.slices.skip_unchanged import (
    CLASSES,
    MEMBERS,
    ended_semesters,
    items_to_read,
    may_skip,
    outdated_classes,
    overlap_of,
)
from loading.slices.stage import SliceContext, forgotten_ids
from loading.tables import TABLES, slice_of, values
from warehouse.load.logs.load_log import slice_status, slice_statuses
from warehouse.load.logs.write_log import bound_ids
from warehouse.load.slice_reading import RequestedRows

# Two semesters overlap the commits of one with the requests of the other; more would only hold more memory.
SEMESTERS_AT_A_TIME = 2
NOT_REQUESTED = "not asked for, since what it is asked with could not be loaded"


def plan_schools(loader: Loader, semesters_of: Mapping[int, Sequence[int]]) -> Plan:
    """Plan the chosen resources of schools, one school after the other. A school halts where the platform
    cannot be asked further; the semester beside it goes on as far as it comes.

    Args:
        semesters_of: The semesters of each school."""
    for school_id, semesters in semesters_of.items():
        yield from plan_school(loader, school_id, semesters, loader.resources)
        if loader.client.health.down:
            break


async def load_school(
    loader: Loader, school_id: int, selected: Sequence[ResourceSpec], semester_id: int | None = None
) -> list[Loaded]:
    """Load resources of one school, and of one semester at most, one slice after the other.

    Raises PlatformUnavailable where the platform cannot be asked further."""
    semesters = [] if semester_id is None else [semester_id]
    return await load_one_by_one(loader, plan_school(loader, school_id, semesters, selected))


def plan_school(
    loader: Loader, school_id: int, semesters: Iterable[int], selected: Sequence[ResourceSpec]
) -> Plan:
    """Plan the slices of a school: first those of the school itself, then those of its semesters, two
    semesters at a time."""
    runtime = loader.runtime
    query = SliceQuery(
        school_id,
        term_types=runtime.term_types,
        devices=_with_bound(runtime, "devices", school_id, runtime.device_ids),
        cards=_with_bound(runtime, "cards", school_id, runtime.card_ids),
        client_id=runtime.client.client_id,
    )
    of_school = [spec for spec in selected if spec.sliced_by == "school"]
    if (yield from side_by_side([_plan_in_order(loader, query, of_school)])):
        return
    of_semester = [spec for spec in selected if spec.sliced_by == "semester"]
    skipping_last = sorted(of_semester, key=lambda spec: bool(spec.moves_with))
    today = loader.cause.started_at.date()
    ended = ended_semesters(runtime.lake, school_id, today) if of_semester else ()

    def plan_semester(semester_id: int) -> Line:
        skips = semester_id in ended or not runtime.incremental.all_scores
        of_one = replace(query, semester_id=semester_id)
        return _plan_in_order(loader, of_one, skipping_last if skips else of_semester, skips=skips)

    yield from side_by_side(map(plan_semester, semesters), SEMESTERS_AT_A_TIME)


def _plan_in_order(
    loader: Loader, query: SliceQuery, specs: Sequence[ResourceSpec], *, skips: bool = False
) -> Line:
    """Plan resources of one school or semester in order.

    Args:
        skips: Rows that are known to be unchanged are not requested."""
    loaded: dict[str, Loaded] = {}
    for spec in specs:
        if spec.name in loaded:
            continue
        group = together_with(spec, specs)
        parent = loaded.get(spec.child_of or "")
        if parent and parent.status == "failed" and parent.outcome is None:
            contexts = tuple(loader.context(member, slice_of_query(member, query)) for member in group)
            job = SliceJob(contexts, query, "fail", NOT_REQUESTED)
        else:
            again = parent is not None and parent.status != "skipped"
            skips_rows = skips and bool(spec.moves_with) and _all_loaded(loaded, *spec.moves_with)
            job = plan_slices(loader, query, group, again=again, skips=skips_rows)
        loaded |= {result.spec.name: result for result in (yield job)}
        if spec is MEMBERS and _all_loaded(loaded, CLASSES.name, MEMBERS.name):
            outdated = plan_outdated_classes(loader, query)
            if outdated is not None:
                yield outdated


def plan_slices(
    loader: Loader,
    query: SliceQuery,
    group: Sequence[ResourceSpec],
    *,
    again: bool = True,
    skips: bool = False,
) -> SliceJob:
    """Plan the slices of resources that come together, and choose how they are read.

    Args:
        again: Also loads slices that the run's cause has committed.
        skips: Reads only the rows whose related rows have changed, where that can be told."""
    first = group[0]
    query = with_lake_ids(loader, first, query)
    slices = {spec: slice_of_query(spec, query) for spec in group}
    contexts = tuple(
        loader.context(with_fields_of(loader.runtime, spec, slice.school_id), slice)
        for spec, slice in slices.items()
    )
    statuses = {
        context.spec.name: loader.slice_status(context.spec.name, context.slice) for context in contexts
    }
    if all(may_skip(context, query, statuses[context.spec.name]) for context in contexts):
        return SliceJob(contexts, query, "confirm")
    is_done = not again and all(map(loader.is_committed, contexts))
    if skips:
        [context] = contexts
        related = [loader.slice_status(name, context.slice) for name in first.moves_with]
        items = items_to_read(
            context, query, statuses[first.name], related, overlap_of(loader.client, loader.runtime)
        )
        if items is not None:
            if not items.affected and not is_done:
                return SliceJob(contexts, query, "confirm")
            if not is_done:
                rows = RequestedRows(first.unit_column or "", items.affected, suffices=True)
                return rows_of_parents(contexts, query, items.existing, {first: rows})
    if is_done:
        return SliceJob(contexts, query, "skip")
    return SliceJob(contexts, query, changes_first=len(contexts) == 1)


def rows_of_parents(
    contexts: Sequence[SliceContext],
    query: SliceQuery,
    parents: Collection[int],
    requested: Requested,
    named: NamedRows | None = None,
) -> SliceJob:
    """Read the rows of some classes or items, which the requests name."""
    ids_with_rows = query.ids_with_rows.intersection(parents)
    query = replace(query, parents=tuple(sorted(parents)), ids_with_rows=ids_with_rows)
    return SliceJob(tuple(contexts), query, requested=requested, named=named)


def rows_with_ids(context: SliceContext, query: SliceQuery, ids: Collection[int]) -> SliceJob:
    """Read rows by their ids. A row that is requested and does not come is gone.

    Args:
        query: `ids_with_rows` has the ids whose rows are alive in the lake."""
    named, requested = NamedRows("ids", frozenset(ids)), RequestedRows("id", tuple(sorted(ids)))
    return SliceJob((context,), query, named=named, requested={context.spec: requested})


def plan_outdated_classes(loader: Loader, query: SliceQuery) -> SliceJob | None:
    """Read the rows of classes again whose members have changed. None: there are none."""
    slice, lake = slice_of_query(CLASSES, query), loader.runtime.lake
    # The run itself may have read all of them meanwhile.
    status = slice_status(slice_statuses(lake, slice.school_id), CLASSES.name, slice)
    outdated = outdated_classes(lake, query, status, overlap_of(loader.client, loader.runtime))
    if not outdated.ids:
        return None
    context = loader.context(CLASSES, slice)
    if outdated.are_most:
        return SliceJob((context,), query, follows=True)
    ids = frozenset(outdated.ids)
    job = rows_with_ids(context, replace(query, ids_with_rows=ids), ids)
    requested = {CLASSES: replace(job.requested[CLASSES], suffices=True)}
    # The other rows are unchanged. The list of all rows has these too, where the platform refuses their ids.
    return replace(job, requested=requested, follows=True, or_all=True)


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
