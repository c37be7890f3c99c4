"""Targeted reads: what pushes name of one resource of a school, read and merged into its slices."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from campus.decoding.nested import SPLITTERS, family
from campus.http.client import Client
from campus.plan.modes import MODES
from campus.plan.units import SliceQuery
from campus.registry import RESOURCES, ResourceSpec
from campus.sources.gathered import Collector
from campus.sources.named_rows import read_by_classes, read_by_ids, read_updated
from loading.chain import load_school, with_known
from loading.commit import Loaded
from loading.pushes.targets import PEOPLE, current_semester, held_ids
from loading.slice_loader import Loader
from loading.tables import slice_of
from warehouse.lake.tables import Slice
from warehouse.load.slice_reading import RequestedRows

#: How much earlier than the push a row may say that it was updated: clocks differ, and changes are batched.
EARLIER = timedelta(minutes=30)


@dataclass(frozen=True)
class Read:
    """The outcome of a targeted read. `missing`: ids that were named and did not come, though all that was
    asked for did: only the whole slice tells of them."""

    loaded: tuple[Loaded, ...] = ()
    missing: frozenset[int] = frozenset()

    @property
    def problem(self) -> str:
        """Why it failed; empty: it did not."""
        return "; ".join(one.message for one in self.loaded if one.status == "failed")

    @property
    def moved(self) -> int:
        """Rows that changed."""
        return sum(one.outcome.counts.modified for one in self.loaded if one.outcome)


async def read_targets(
    loader: Loader,
    client: Client,
    spec: ResourceSpec,
    school_id: int,
    targets: Mapping[int | None, frozenset[int]],
    sent_at: datetime,
) -> Read:
    """Read what was named, a slice at a time. targets: ids by semester, see `targets.resolver`; sent_at: of
    the first push (the platform's wall clock)."""
    loaded: list[Loaded] = []
    missing: frozenset[int] = frozenset()
    for semester_id, ids in targets.items():
        if spec.sliced_by == "semester" and semester_id is None:
            continue
        query = with_known(loader, spec, SliceQuery(school_id, semester_id))
        if spec.name == PEOPLE:
            one, missing = await _read_people(loader, client, spec, query, ids, sent_at - EARLIER)
            loaded.append(one)
        elif spec.id_filter:
            loaded += await _read_ids(loader, client, spec, query, ids)
        else:
            loaded += await _read_below(loader, client, spec, query, ids)
    return Read(tuple(loaded), missing)


async def read_slice(loader: Loader, spec: ResourceSpec, school_id: int) -> Read:
    """Read the school's slice as a whole, or that of its current semester."""
    semester_id = current_semester(loader.runtime.lake, school_id)
    semesters = [] if semester_id is None else [semester_id]
    return Read(tuple([one async for one in load_school(loader, school_id, semesters, [spec])]))


async def _read_people(
    loader: Loader,
    client: Client,
    spec: ResourceSpec,
    query: SliceQuery,
    ids: frozenset[int],
    since: datetime,
) -> tuple[Loaded, frozenset[int]]:
    """People, whom the platform does not show by their ids: those updated since then."""
    found: set[int] = set()

    async def reading(collectors: Mapping[ResourceSpec, Collector]) -> None:
        found.update(await read_updated(client, spec, query, since, collectors[spec]))

    # Nobody was asked for by name, so that nobody who did not come is gone.
    [loaded] = await loader.load_by(
        reading, _slices(query, spec), again=True, asked={spec: RequestedRows("id", ())}
    )
    return loaded, ids - found if loaded.status != "failed" else frozenset()


async def _read_ids(
    loader: Loader, client: Client, spec: ResourceSpec, query: SliceQuery, ids: frozenset[int]
) -> list[Loaded]:
    """Rows by their ids: one that is asked for and does not come is gone."""
    assert query.school_id is not None
    held = held_ids(loader.runtime.lake, spec, query.school_id, alive=True) & ids
    query = replace(query, known=query.known & ids, filled=frozenset(held))

    async def reading(collectors: Mapping[ResourceSpec, Collector]) -> None:
        await read_by_ids(client, spec, query, sorted(ids), collectors[spec])

    asked = {spec: RequestedRows("id", tuple(sorted(ids)))}
    return await loader.load_by(reading, _slices(query, spec), again=True, asked=asked)


async def _read_below(
    loader: Loader, client: Client, spec: ResourceSpec, query: SliceQuery, ids: frozenset[int]
) -> list[Loaded]:
    """All rows below some classes or items; of assessments with their items, which come with them."""
    query = replace(query, parents=tuple(sorted(ids)), filled=query.filled & ids)
    specs = [RESOURCES[name] for name in family(spec.name)] if spec.name in SPLITTERS else [spec]
    slices = _slices(query, *specs)
    asked = {
        one: RequestedRows(one.unit_column or "", _below(loader, one, slices[one], ids)) for one in specs
    }
    if MODES[spec.asked].decide is None:
        return await loader.load_by(partial(loader.read, query=query), slices, again=True, asked=asked)

    async def reading(collectors: Mapping[ResourceSpec, Collector]) -> None:
        await read_by_classes(client, spec, query, collectors[spec])

    return await loader.load_by(reading, slices, again=True, asked=asked)


def _below(loader: Loader, spec: ResourceSpec, slice: Slice, ids: frozenset[int]) -> tuple[int | str, ...]:
    """What the rows have in their `unit_column` that were asked for with these ids."""
    if spec.unit_via is None:
        return tuple(sorted(ids))
    return loader.via(RESOURCES[spec.unit_via], slice, tuple(sorted(ids)))


def _slices(query: SliceQuery, *specs: ResourceSpec) -> dict[ResourceSpec, Slice]:
    assert query.school_id is not None
    return {spec: slice_of(spec, query.school_id, query.semester_id) for spec in specs}
