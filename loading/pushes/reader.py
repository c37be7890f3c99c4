"""Targeted reads: the rows of one resource of a school that pushes name, merged into its slices."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from campus.decoding.nested import SPLITTERS, family
from campus.plan.modes import MODES
from campus.plan.units import SliceQuery
from campus.registry import RESOURCES, ResourceSpec
from campus.sources.slice import NamedRows
from loading.load_school import load_school, rows_of_parents, rows_with_ids, with_lake_ids
from loading.pushes.targets import PEOPLE, current_semester, stored_ids
from loading.slices.commit import Loaded, unit_values
from loading.slices.load_slice import SliceJob, slice_of_query
from loading.slices.loader import Loader
from warehouse.load.slice_reading import RequestedRows

#: A row may be dated so much earlier than its push: clocks differ, and the platform batches changes.
EARLIER = timedelta(minutes=30)


@dataclass(frozen=True)
class Read:
    """The outcome of a targeted read."""

    loaded: tuple[Loaded, ...] = ()
    #: Ids that pushes named and a complete response lacks. Only the whole slice shows what became of them.
    missing: frozenset[int] = frozenset()

    @property
    def problem(self) -> str:
        """Why it failed. Empty: it did not fail."""
        return "; ".join(result.message for result in self.loaded if result.status == "failed")

    @property
    def changed_rows(self) -> int:
        return sum(result.outcome.counts.modified for result in self.loaded if result.outcome)


async def read_targets(
    loader: Loader,
    spec: ResourceSpec,
    school_id: int,
    targets: Mapping[int | None, frozenset[int]],
    sent_at: datetime,
) -> Read:
    """Read the rows that pushes name, one slice after the other.

    Args:
        targets: Ids by semester, see `targets.resolver`.
        sent_at: Of the first push, by the platform's wall clock."""
    loaded: list[Loaded] = []
    missing: frozenset[int] = frozenset()
    for semester_id, ids in targets.items():
        if spec.sliced_by == "semester" and semester_id is None:
            continue
        query = with_lake_ids(loader, spec, SliceQuery(school_id, semester_id))
        if spec.name == PEOPLE:
            result, missing = await _read_people(loader, spec, query, ids, sent_at - EARLIER)
            loaded.append(result)
        elif spec.id_filter:
            loaded += await _read_ids(loader, spec, query, ids)
        else:
            loaded += await _read_below(loader, spec, query, ids)
    return Read(tuple(loaded), missing)


async def read_whole_slice(loader: Loader, spec: ResourceSpec, school_id: int) -> Read:
    """Read a whole slice: of the school, or of its current semester."""
    semester_id = current_semester(loader.runtime.lake, school_id)
    return Read(tuple(await load_school(loader, school_id, [spec], semester_id)))


async def _read_people(
    loader: Loader, spec: ResourceSpec, query: SliceQuery, ids: frozenset[int], since: datetime
) -> tuple[Loaded, frozenset[int]]:
    """Read the people who were updated since then. The platform cannot list people by their ids."""
    # Nobody was requested by name, so that nobody who did not come is gone.
    requested = {spec: RequestedRows("id", ())}
    context = loader.context(spec, slice_of_query(spec, query))
    since_then = replace(query, since=since)
    [loaded] = await SliceJob((context,), since_then, named=NamedRows("updates"), requested=requested).load(
        loader
    )
    return loaded, ids - loaded.row_ids if loaded.status != "failed" else frozenset()


async def _read_ids(
    loader: Loader, spec: ResourceSpec, query: SliceQuery, ids: frozenset[int]
) -> list[Loaded]:
    """Read rows by their ids."""
    assert query.school_id is not None
    alive = stored_ids(loader.runtime.lake, spec, query.school_id, alive=True) & ids
    query = replace(query, stored_ids=query.stored_ids & ids, ids_with_rows=frozenset(alive))
    context = loader.context(spec, slice_of_query(spec, query))
    return await rows_with_ids(context, query, ids).load(loader)


async def _read_below(
    loader: Loader, spec: ResourceSpec, query: SliceQuery, ids: frozenset[int]
) -> list[Loaded]:
    """Read all rows of some classes or items. Assessments come with their items."""
    lake = loader.runtime.lake
    specs = [RESOURCES[name] for name in family(spec.name)] if spec.name in SPLITTERS else [spec]
    contexts = [loader.context(member, slice_of_query(member, query)) for member in specs]
    requested = {
        context.spec: RequestedRows(
            context.spec.unit_column or "",
            unit_values(lake, context.spec, context.slice, tuple(sorted(ids))),
        )
        for context in contexts
    }
    # Where requests of members by class need a decision, they name the classes as a filter.
    named = None if MODES[spec.mode].decide is None else NamedRows("classes", ids)
    return await rows_of_parents(contexts, query, ids, requested, named).load(loader)
