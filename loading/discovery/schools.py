"""Discovers the schools of the platform, with their semesters, weeks, datasets and reports, and retires
semesters and weeks that are gone."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import timedelta

import pyarrow as pa

from campus.attendance.calendar import combine_sightings, decide
from campus.http.errors import PlatformUnavailable
from campus.plan.units import SliceQuery
from campus.registry import (
    ATTENDANCE,
    BASE_DATA,
    DATASETS,
    REPORT_QUERIES,
    SCHOOLS,
    SEMESTERS,
    V1_DATA,
    V1_SEMESTERS,
    ResourceSpec,
)
from loading import partition_keys
from loading.attendance.weeks import timeline_in
from loading.connection.connected import connected
from loading.connection.runtime import Runtime
from loading.datasets.plans import plan_datasets
from loading.discovery.listing import Listing, list_schools, not_listed, unknown_schools
from loading.load_school import plan_slices
from loading.partition_keys import (
    NO_SCHOOL,
    PATTERNS,
    partition_key,
    semesters_by_school,
    week_key,
    weeks_by_school,
)
from loading.reports.load_results import plan_reports
from loading.semesters import Semesters, contradiction, read_semesters, seen_now, sightings_of
from loading.slices.commit import Loaded, RunResults, empty_slice, in_words
from loading.slices.load_slice import store_rows
from loading.slices.loader import Loader
from loading.tables import TABLES, slice_of
from warehouse.forgetting.forgotten import read as read_forgotten
from warehouse.load.logs.dataset_plans import read_plans
from warehouse.load.logs.load_log import committed, now, schools_loaded
from warehouse.load.logs.week_evidence import record_sightings
from warehouse.load.logs.writer import forget_failures, standing_rows
from warehouse.load.slice_reading import Cause

NO_SCHOOLS = (
    "the platform lists no schools. Nothing is read, and all rows stay. Ask its operator, or set "
    "CAMPUS_SCHOOL_IDS."
)
#: Partition keys by kind and school.
Partitions = Mapping[str, Mapping[int, Sequence[str]]]


@dataclass
class Discovery:
    """A discovery: what it starts from, and the contents of schools as it finds them."""

    loader: Loader
    existing: Partitions
    #: By kind and school. A school that is not discovered has none.
    partitions: dict[str, dict[int, list[str]]] = field(
        default_factory=lambda: {kind: {} for kind in PATTERNS}
    )
    #: Schools that were never loaded and that the platform does not list.
    ghosts: list[int] = field(default_factory=list)

    @property
    def run(self) -> RunResults:
        """The loaded slices, and messages."""
        return self.loader.run

    def existing_of(self, kind: str, school_id: int) -> Sequence[str]:
        """The existing partitions of a school."""
        return self.existing[kind].get(school_id, ())


@dataclass(frozen=True)
class PartitionChanges:
    """The partition keys of a kind to add and to remove."""

    added: list[str]
    removed: list[str]


def partition_changes(discovery: Discovery) -> dict[str, PartitionChanges]:
    """The changes of partitions by kind. Schools that were not discovered keep their partitions."""
    changes = {kind: PartitionChanges([], []) for kind in PATTERNS}
    ghosts: dict[int, list[str]] = {school_id: [] for school_id in discovery.ghosts}
    for kind, partitions in discovery.partitions.items():
        for school_id, keys in (ghosts | partitions).items():
            existing = discovery.existing_of(kind, school_id)
            changes[kind].added.extend(key for key in keys if key not in existing)
            changes[kind].removed.extend(sorted(set(existing).difference(keys)))
    return changes


async def discover(runtime: Runtime, cause: Cause, existing: Partitions) -> Discovery:
    """Load the schools, their semesters and the metadata of their datasets and reports. Plan the partitions,
    and retire rows that are gone from the platform."""
    scopes = [SCHOOLS.scopes, SEMESTERS.scopes, V1_SEMESTERS.scopes]
    if runtime.datasets.selection.include:
        scopes.append(DATASETS.scopes)
    if runtime.reports:
        scopes.append(REPORT_QUERIES.scopes)
    async with connected(runtime, scopes) as client:
        discovery = Discovery(
            Loader(runtime, client, cause, committed(runtime.lake, cause.sync_id)), existing
        )
        run = discovery.run
        listing = await list_schools(client, runtime)
        _report_listing_problems(listing, runtime, run)
        _remove_ghosts(runtime, listing, discovery)
        names = {plan.dataset: plan.table for plan in read_plans(runtime.lake)}
        school_ids = _without_forgotten(runtime, runtime.school_ids or listing.ids, run)
        try:
            # Without a list, any school may exist.
            unknown = await unknown_schools(client, runtime, listing, school_ids) if listing.ids else []
        except PlatformUnavailable as halt:
            run.halts.append(halt)
            unknown = []
        run.problems += [not_listed(unknown, listing)] if unknown else []
        for school_id in (school_id for school_id in school_ids if school_id not in unknown):
            if client.health.down:
                break
            try:
                await _discover_school(discovery, school_id, listing.rows, names)
            except PlatformUnavailable as halt:
                run.halts.append(halt)
    failed = [loaded for loaded in run.loaded if loaded.status == "failed" and not _is_refused_v1(loaded)]
    run.problems += [in_words(failed)] if failed else []
    return discovery


async def _discover_school(
    discovery: Discovery, school_id: int, listed: pa.Table, names: dict[str, str]
) -> None:
    """Discover one school. A PlatformUnavailable ends the discovery and keeps the results before it.

    Args:
        names: The table of each dataset name in any school. The school's new names are added."""
    loader, partitions = discovery.loader, discovery.partitions
    await _load_school(loader, school_id, listed)
    semesters = discover_semesters(discovery, school_id)
    record_week_sightings(loader, semesters)
    plan_weeks(discovery, semesters)
    # The credentials may not cover datasets.
    if loader.runtime.datasets.selection.include:
        segments = await plan_datasets(loader, school_id, names)
        names |= {plan.dataset: plan.table for plan in read_plans(loader.runtime.lake, school_id)}
    else:
        segments = []
    partitions[partition_keys.DATASET_SEGMENTS][school_id] = segments
    present = discovery.existing_of(partition_keys.REPORT_RESULTS, school_id)
    partitions[partition_keys.REPORT_RESULTS][school_id] = await plan_reports(loader, school_id, present)


def _without_forgotten(runtime: Runtime, school_ids: Iterable[int], run: RunResults) -> list[int]:
    """The schools without forgotten schools. A forgotten school in the settings is a problem: the operator
    may mean either."""
    forgotten = read_forgotten(runtime.lake).schools
    left = []
    for school_id in school_ids:
        if school_id not in forgotten:
            left.append(school_id)
        elif runtime.school_ids:
            run.problems.append(
                f"school {school_id} was forgotten, and CAMPUS_SCHOOL_IDS or --school names it: take it out, "
                f"or run `campus forget --school {school_id} --allow` to load it again"
            )
        else:
            run.notes.append(f"school {school_id} was forgotten and is not loaded")
    return left


def _report_listing_problems(listing: Listing, runtime: Runtime, run: RunResults) -> None:
    """Report problems of the list of schools. Where the settings name schools, the list is not needed."""
    run.halts += [listing.halt] if listing.halt else []
    run.problems += [f"a row of the schools list: {reason}" for reason in listing.bad]
    if runtime.school_ids or listing.halt:
        return
    if listing.problem:
        run.problems.append(
            f"the list of schools cannot be read: {listing.problem} Or set CAMPUS_SCHOOL_IDS."
        )
    elif not listing.rows.num_rows and not listing.bad:
        # A platform that has lost its schools may answer everything without rows.
        run.halts.append(PlatformUnavailable(NO_SCHOOLS))


def _remove_ghosts(runtime: Runtime, listing: Listing, discovery: Discovery) -> None:
    """Remove the failures and partitions of schools that were never loaded, that the platform does not list
    and that no setting names any more: an id was mistyped."""
    if not listing.ids:
        return
    tried = {row["_school_id"] for row in standing_rows(runtime.lake)}
    expected = {NO_SCHOOL, *listing.ids, *(runtime.school_ids or ()), *schools_loaded(runtime.lake)}
    existing = {school_id for by_school in discovery.existing.values() for school_id in by_school}
    discovery.ghosts = sorted((tried | existing) - expected)
    if discovery.ghosts:
        forget_failures(runtime.lake, discovery.ghosts)
        discovery.run.notes += [
            f"school {school_id} was never loaded, and the platform does not list it: its failures and "
            f"partitions are removed"
            for school_id in discovery.ghosts
        ]


async def _load_school(loader: Loader, school_id: int, listed: pa.Table) -> None:
    """Load a school and its semesters of both interfaces."""
    loaded = [
        result
        for spec in (SEMESTERS, V1_SEMESTERS)
        for result in await plan_slices(loader, SliceQuery(school_id), [spec], again=False).load(loader)
    ]
    if any(result.status != "failed" for result in loaded):
        # A school that does not respond may not exist. A school that responds gets a row, if only an id.
        loaded += _store_school(loader, school_id, listed)
    loader.run.notes += [
        f"school {school_id}: {result.message}" for result in loaded if _is_refused_v1(result)
    ]
    loader.run.loaded += loaded


def _store_school(loader: Loader, school_id: int, listed: pa.Table) -> list[Loaded]:
    """Store the listed row of a school. An unlisted school keeps its stored row, or gets a row of its id."""
    slice = slice_of(SCHOOLS, school_id)
    rows = [row for row in listed.to_pylist() if row["id"] == school_id]
    if not rows and loader.runtime.lake.read(TABLES["schools"], slice, ["id"]).num_rows:
        return []
    rows = rows or [{"id": school_id, "_trashed": False}]
    return [store_rows(loader.context(SCHOOLS, slice), pa.Table.from_pylist(rows, schema=listed.schema))]


def _is_refused_v1(loaded: Loaded) -> bool:
    """Whether the platform refuses v1's semesters. Base data does not need them; the load of v1 fails."""
    return loaded.refused and loaded.spec is V1_SEMESTERS


def discover_semesters(discovery: Discovery, school_id: int) -> Semesters:
    """Find the semesters of a school, as the lake has them, and retire semesters that are gone."""
    loader = discovery.loader
    semesters = read_semesters(loader.runtime.lake, school_id, loader.runtime.attendance.semester_pairs)
    loader.run.problems += semesters.unclear
    loader.run.notes += filter(None, [semesters.of_v1_alone])
    for kind, specs, present, rows in (
        (partition_keys.SCHOOL_SEMESTERS, BASE_DATA, semesters.ids_of_v3, semesters.v3),
        (partition_keys.V1_SEMESTERS, V1_DATA, semesters.ids_of_v1, semesters.v1),
    ):
        of_semester = [spec for spec in specs if spec.sliced_by == "semester"]
        existing = semesters_by_school(discovery.existing_of(kind, school_id)).get(school_id, [])
        left = [
            gone
            for gone in sorted(set(existing).difference(present))
            if not _retire(loader, of_semester, {row["id"] for row in rows}, school_id, gone)
        ]
        keys = [partition_key(school_id, semester_id) for semester_id in (*present, *left)]
        discovery.partitions[kind][school_id] = keys
    return semesters


def _retire(
    loader: Loader,
    specs: Sequence[ResourceSpec],
    ever: Collection[int],
    school_id: int,
    semester_id: int,
    week: int | None = None,
) -> bool:
    """Empty the slices of a semester or week that is gone. Where the guard stops this, the partition stays
    until a person has looked.

    Args:
        ever: All semesters that the interface has or had. If it has any, other ids belong to no semester.

    Returns whether all of them are empty."""
    is_sure = bool(ever) and semester_id not in ever
    slices = {spec: slice_of(spec, school_id, semester_id, week) for spec in specs}
    retired = [empty_slice(loader.context(spec, slice), is_sure=is_sure) for spec, slice in slices.items()]
    loader.run.loaded += retired
    return all(result.status != "failed" for result in retired)


def record_week_sightings(loader: Loader, semesters: Semesters) -> None:
    """Record where current_week shows that teaching weeks begin, and note a changed rule of weeks."""
    lake, setting = loader.runtime.lake, loader.runtime.attendance.weeks_begin
    school_id = semesters.school_id
    before = sightings_of(lake, school_id)
    sightings = {sighting.semester_id: sighting for sighting in before}
    for latest in seen_now(semesters, now() + timedelta(seconds=loader.client.clock_skew or 0)):
        sightings[latest.semester_id] = combine_sightings(sightings.get(latest.semester_id), latest)
    after = list(sightings.values())
    if after != before:
        record_sightings(lake, school_id, [asdict(sighting) for sighting in after])
    was, is_now = decide(setting, before), decide(setting, after)
    if is_now.contradicts:
        loader.run.notes.append(f"school {school_id}: {contradiction(is_now)}")
    elif was.rule != is_now.rule:
        loader.run.notes.append(
            f"school {school_id}: teaching weeks begin by the rule {is_now.rule!r}, as the platform's "
            f"current_week shows; they were counted by {was.rule!r}. Attendance is filed by its new weeks."
        )


def plan_weeks(discovery: Discovery, semesters: Semesters) -> None:
    """Plan the teaching weeks of all semesters, including future ones, and retire weeks that are gone."""
    loader, kind, school_id = discovery.loader, partition_keys.ATTENDANCE_WEEKS, semesters.school_id
    timeline = timeline_in(loader.runtime.lake, semesters, loader.runtime.attendance)
    ever = {row["id"] for row in timeline.semesters.v1}
    existing = weeks_by_school(discovery.existing_of(kind, school_id)).get(school_id, {})
    left = [
        (semester_id, week)
        for semester_id, weeks in existing.items()
        for week in weeks
        if (semester_id, week) not in timeline.weeks
        and not _retire(loader, ATTENDANCE, ever, school_id, semester_id, week)
    ]
    keys = [week_key(school_id, *week) for week in (*timeline.weeks, *left)]
    discovery.partitions[kind][school_id] = keys
