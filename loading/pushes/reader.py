"""Targeted reads: the rows of one resource of a school that pushes name, merged into its slices."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from campus.decoding.nested import SPLITTERS, family
from campus.plan.modes import MODES
from campus.plan.units import SliceQuery
from campus.registry import RESOURCES, SEMESTERS, ResourceSpec
from campus.sources.slice import NamedRows
from loading.load_school import load_school, rows_of_parents, rows_with_ids, with_lake_ids
from loading.slices.commit import Loaded, unit_values, units_by_row
from loading.slices.load_slice import SliceJob, slice_of_query
from loading.slices.loader import Loader
from loading.tables import TABLES, read_rows
from warehouse.lake.delta import Lake
from warehouse.lake.tables import Slice
from warehouse.load.slice_reading import RequestedRows

PEOPLE = "reflections"
#: The parts of composite keys that may name the class or item of a request.
NAMED_IN_KEYS: Mapping[str, tuple[str, ...]] = {
    "class_members": ("class_id", "klass_id"),
    "assessments": ("class_id", "klass_id", "scope_id"),
    "assessment_items": ("class_id", "klass_id"),
    "scores": ("item_id",),
    "grades": ("class_id", "klass_id"),
}
#: A semester (None: the slice is of the whole school), and the id that a request names: of the row, or of its
#: class or item. None: no request shows the row.
Target = tuple[int | None, int] | None
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
        targets: Ids by semester.
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


def resolver(lake: Lake, spec: ResourceSpec, school_id: int) -> Callable[[Any], Target]:
    """Return a function that finds the target of a pushed key."""
    if spec.sliced_by == "school":
        by_id = bool(spec.id_filter) or spec.name == PEOPLE
        return lambda key: (None, unit_id) if by_id and (unit_id := row_id(key)) is not None else None
    above_of = _above(lake, spec, school_id)
    semester_of = _semesters(lake, "assessment_items" if spec.name == "scores" else "classes", school_id)
    current = current_semester(lake, school_id)

    def resolve(key: Any) -> Target:
        unit_id = _named(spec, key)
        if unit_id is None:
            named = row_id(key)
            unit_id = named if spec.id_filter or named is None else above_of.get(named)
        # A class that the lake does not have yet is of the current semester.
        return None if unit_id is None else (semester_of.get(unit_id, current), unit_id)

    return resolve


def current_semester(lake: Lake, school_id: int) -> int | None:
    """The semester that the platform marks as current, else the last. None: the lake has none."""
    rows = _rows(lake, SEMESTERS, school_id, ["id", "is_current", "start_at"])
    ranked = sorted(rows, key=lambda row: (bool(row["is_current"]), str(row["start_at"])))
    return ranked[-1]["id"] if ranked else None


def stored_ids(lake: Lake, spec: ResourceSpec, school_id: int, *, alive: bool) -> set[int]:
    """The ids of a school's rows in the lake."""
    return {row["id"] for row in _rows(lake, spec, school_id, ["id"], alive=alive)}


def _named(spec: ResourceSpec, key: Any) -> int | None:
    """The class or item that a composite key names."""
    if isinstance(key, dict):
        for name in NAMED_IN_KEYS.get(spec.name, ()):
            if isinstance(key.get(name), int):
                return int(key[name])
    return None


def row_id(key: Any) -> int | None:
    """The id that a pushed key is or has. None: it has none."""
    value = key.get("id") if isinstance(key, dict) else key
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _above(lake: Lake, spec: ResourceSpec, school_id: int) -> Mapping[int, int]:
    """The class or item that a request for each stored row names."""
    if spec.id_filter or "id" not in spec.primary_key:
        return {}
    unit = spec.unit_column or ""
    rows = {row["id"]: row[unit] for row in _rows(lake, spec, school_id, ["id", unit])}
    if spec.unit_via is None:
        return rows
    via = units_by_row(lake, spec, Slice.of(_school_id=school_id))
    return {row: via[between] for row, between in rows.items() if between in via}


def _semesters(lake: Lake, name: str, school_id: int) -> dict[int, int]:
    rows = _rows(lake, RESOURCES[name], school_id, ["id", "_semester_id"])
    return {row["id"]: row["_semester_id"] for row in rows}


def _rows(
    lake: Lake, spec: ResourceSpec, school_id: int, columns: list[str], *, alive: bool = False
) -> list[dict[str, Any]]:
    """Rows of a school, tombstones included unless `alive`."""
    if not lake.holds(TABLES[spec.name]):
        return []
    return read_rows(lake, spec, Slice.of(_school_id=school_id), columns, alive=alive)
