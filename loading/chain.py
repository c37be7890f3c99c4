"""The chain of a school's resources, in the order that the interface recommends.

What one is asked with is read back from the lake, where those before it were just committed."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace

import pyarrow.compute as pc

from campus.decoding.nested import together_with
from campus.http.errors import Halt
from campus.plan.modes import MODES, parents_of
from campus.plan.units import SliceQuery
from campus.registry import RESOURCES, ResourceSpec
from campus.sources.hidden_rows import has_open_status
from loading.commit import Loaded
from loading.custom_fields import with_fields_of
from loading.forgotten import forgotten_ids
from loading.moved import CLASSES, MEMBERS, semesters_over
from loading.runtime import Runtime
from loading.slice_loader import Loader
from loading.tables import TABLES, slice_of, values
from loading.writes.bindings import CARDS, DEVICES, Kind, bound_here

# Chains of two semesters overlap one's commits with the other's requests; more would only hold more memory.
SEMESTERS_AT_A_TIME = 2


async def load_school(
    loader: Loader, school_id: int, semesters: list[int], selected: Sequence[ResourceSpec]
) -> AsyncIterator[Loaded]:
    """Load resources of one school: those of the school itself, and then those of its semesters.

    The outcome of a slice of the school is reported as it is committed, of a semester's when they all are.
    Raises Halt once what was read beside is committed and reported."""
    runtime = loader.runtime
    query = SliceQuery(
        school_id,
        term_types=runtime.term_types,
        devices=_with_ours(runtime, DEVICES, school_id, runtime.device_ids),
        cards=_with_ours(runtime, CARDS, school_id, runtime.card_ids),
        client_id=runtime.client.client_id,
    )
    async for one in _load_chain(loader, query, [spec for spec in selected if spec.sliced_by == "school"]):
        yield one
    of_semester = [spec for spec in selected if spec.sliced_by == "semester"]
    told_first = sorted(of_semester, key=lambda spec: bool(spec.moves_with))
    ended = semesters_over(runtime.lake, school_id, loader.cause.started_at.date()) if of_semester else ()
    places = asyncio.Semaphore(SEMESTERS_AT_A_TIME)

    halts: list[Halt] = []

    async def in_turn(semester_id: int) -> list[Loaded]:
        loaded: list[Loaded] = []
        async with places:
            try:
                if not halts:
                    here = replace(query, semester_id=semester_id)
                    by_moves = semester_id in ended or not runtime.incremental.all_scores
                    order = told_first if by_moves else of_semester
                    async for one in _load_chain(loader, here, order, by_moves=by_moves):
                        loaded.append(one)
            except Halt as halt:
                halts.append(halt)
        return loaded

    for chain in asyncio.as_completed([in_turn(semester_id) for semester_id in semesters]):
        for one in await chain:
            yield one
    if halts:
        raise halts[0]


async def _load_chain(
    loader: Loader, query: SliceQuery, specs: Sequence[ResourceSpec], *, by_moves: bool = False
) -> AsyncIterator[Loaded]:
    """Load resources of one school or semester in order; what a resource is asked with is read back from the
    lake. `by_moves`: what has not moved need not be asked for, as of a semester that is over."""
    loaded: dict[str, Loaded] = {}
    for spec in specs:
        if spec.name in loaded:
            continue
        group = together_with(spec, specs)
        parent = loaded.get(spec.child_of or "")
        if parent and parent.status == "failed" and parent.outcome is None:
            results = [loader.not_asked(one, query) for one in group]
        else:
            again = parent is not None and parent.status != "skipped"
            assert query.school_id is not None
            asked = tuple(with_fields_of(loader.runtime, one, query.school_id) for one in group)
            known = with_known(loader, spec, query)
            told = [loaded[name].status for name in spec.moves_with if name in loaded]
            if all(loader.may_rest(one, query) for one in group):
                results = [loader.leave(one, query) for one in group]
            elif by_moves and told and len(told) == len(spec.moves_with) and "failed" not in told:
                results = await loader.load_moved(spec, known, again=again)
            else:
                results = await loader.load(asked, known, again=again)
        for one in results:
            loaded[one.spec.name] = one
            yield one
        if spec is MEMBERS and _all_loaded(loaded, CLASSES, MEMBERS):
            for one in await loader.load_outdated_classes(query):
                yield one


def _all_loaded(loaded: Mapping[str, Loaded], *specs: ResourceSpec) -> bool:
    return all(spec.name in loaded and loaded[spec.name].status != "failed" for spec in specs)


def with_known(loader: Loader, spec: ResourceSpec, query: SliceQuery) -> SliceQuery:
    """Add what the lake knows of a resource's questions: the ids that they name; and of a list that may hide
    rows, which are held, and the statuses that those of the school have."""
    query = _with_parents(loader, spec, query)
    if not (spec.hidden_filters and has_open_status(spec)):
        return query
    assert query.school_id is not None
    lake = loader.runtime.lake
    statuses: set[str] = set()
    for one in RESOURCES.values():
        if has_open_status(one) and one.sliced_by == "school":
            rows = lake.read(TABLES[one.name], slice_of(one, query.school_id), ["status"], alive=False)
            statuses.update(filter(None, pc.unique(rows["status"]).to_pylist()))
    # Tombstones too: a version that did not ask for hidden rows took them for deleted.
    held = lake.read(TABLES[spec.name], slice_of(spec, query.school_id), ["id"], alive=False)
    return replace(query, known=frozenset(values(held, "id")), statuses=tuple(sorted(statuses)))


def _with_parents(loader: Loader, spec: ResourceSpec, query: SliceQuery) -> SliceQuery:
    """Add the ids that the requests name: those of the semester's classes, of its assessment items, or of
    the school's students; and those of which rows are held."""
    parent, mode = parents_of(spec), MODES[spec.asked]
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
    # Whoever was forgotten has an id here that the platform does not know.
    forgotten = forgotten_ids(loader.runtime.lake, query.school_id)
    parents = set(values(rows, "id")) - forgotten
    return replace(query, parents=tuple(sorted(parents)), filled=_filled(loader, spec, query) - forgotten)


def _filled(loader: Loader, spec: ResourceSpec, query: SliceQuery) -> frozenset[int]:
    """The classes, items or students of which the slice holds rows."""
    if spec.unit_column is None or not MODES[spec.asked].names_parents:
        return frozenset()
    assert query.school_id is not None
    slice = slice_of(spec, query.school_id, query.semester_id)
    lake = loader.runtime.lake
    held = lake.read(TABLES[spec.name], slice, [spec.unit_column])
    units = {one for one in pc.unique(held[spec.unit_column]).to_pylist() if one is not None}
    if spec.unit_via is None:
        return frozenset(units)
    via = RESOURCES[spec.unit_via]
    rows = lake.read(TABLES[via.name], slice, ["id", via.unit_column or ""], alive=False)
    pairs = zip(values(rows, "id"), values(rows, via.unit_column or ""), strict=True)
    return frozenset(unit for row, unit in pairs if row in units)


def _with_ours(runtime: Runtime, kind: Kind, school_id: int, named: Sequence[str]) -> tuple[str, ...]:
    """The cards or devices that the settings name, and those that were bound by us."""
    return tuple(dict.fromkeys((*named, *bound_here(runtime.lake, kind, school_id))))
