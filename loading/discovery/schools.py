"""Discovers the schools of the platform, with their semesters, weeks, datasets and reports."""

from collections.abc import Iterable

import pyarrow as pa

from campus.http.client import Client
from campus.http.errors import PlatformUnavailable
from campus.plan.units import SliceQuery
from campus.registry import DATASETS, REPORT_QUERIES, SCHOOLS, SEMESTERS, V1_SEMESTERS
from loading.connection.connected import connected
from loading.connection.runtime import Runtime
from loading.datasets.plans import plan_datasets
from loading.discovery.listing import Listing, list_schools, not_listed, unknown_schools
from loading.discovery.results import DiscoveryResults, ExistingPartitions
from loading.discovery.semesters import discover_semesters, plan_weeks, record_week_sightings
from loading.load_school import plan_slices
from loading.partition_keys import NO_SCHOOL
from loading.reports.plans import plan_reports
from loading.slices.commit import Loaded, in_words
from loading.slices.load_slice import Loader, store_rows
from loading.tables import TABLES, slice_of
from warehouse.forgetting.forgotten import read as read_forgotten
from warehouse.load.logs.dataset_plans import read_plans
from warehouse.load.logs.load_log import committed, schools_loaded
from warehouse.load.logs.writer import forget_failures, standing_rows
from warehouse.load.slice_reading import Cause

NO_SCHOOLS = (
    "the platform lists no schools. Nothing is read, and all rows stay. Ask its operator, or set "
    "CAMPUS_SCHOOL_IDS."
)


async def discover(runtime: Runtime, cause: Cause, existing: ExistingPartitions) -> DiscoveryResults:
    """Load the schools, their semesters and the metadata of their datasets and reports. Plan the partitions,
    and retire rows that are gone from the platform."""
    results = DiscoveryResults()
    scopes = [SCHOOLS.scopes, SEMESTERS.scopes, V1_SEMESTERS.scopes]
    if runtime.datasets.selection.include:
        scopes.append(DATASETS.scopes)
    if runtime.reports:
        scopes.append(REPORT_QUERIES.scopes)
    async with connected(runtime, scopes) as client:
        loader = Loader(runtime, client, cause, committed(runtime.lake, cause.sync_id))
        listing = await list_schools(client, runtime)
        _report_listing_problems(listing, runtime, results)
        _remove_ghosts(runtime, existing, listing, results)
        names = {plan.dataset: plan.table for plan in read_plans(runtime.lake)}
        wanted = _without_forgotten(runtime, runtime.school_ids or listing.ids, results)
        try:
            # Without a list, any school may exist.
            unknown = await unknown_schools(client, runtime, listing, wanted) if listing.ids else []
        except PlatformUnavailable as halt:
            results.halts.append(halt)
            unknown = []
        results.problems += [not_listed(unknown, listing)] if unknown else []
        for school_id in (school_id for school_id in wanted if school_id not in unknown):
            if client.health.down:
                break
            try:
                await _discover_all(loader, client, cause, school_id, listing.rows, existing, names, results)
            except PlatformUnavailable as halt:
                results.halts.append(halt)
    failed = [loaded for loaded in results.loaded if loaded.status == "failed" and not _is_refused_v1(loaded)]
    results.problems += [in_words(failed)] if failed else []
    return results


def _without_forgotten(runtime: Runtime, school_ids: Iterable[int], results: DiscoveryResults) -> list[int]:
    """The schools without forgotten schools. A forgotten school in the settings is a problem: the operator
    may mean either."""
    forgotten = read_forgotten(runtime.lake).schools
    wanted = []
    for school_id in school_ids:
        if school_id not in forgotten:
            wanted.append(school_id)
        elif runtime.school_ids:
            results.problems.append(
                f"school {school_id} was forgotten, and CAMPUS_SCHOOL_IDS or --school names it: take it out, "
                f"or run `campus forget --school {school_id} --allow` to load it again"
            )
        else:
            results.notes.append(f"school {school_id} was forgotten and is not loaded")
    return wanted


async def _discover_all(
    loader: Loader,
    client: Client,
    cause: Cause,
    school_id: int,
    listed: pa.Table,
    existing: ExistingPartitions,
    names: dict[str, str],
    results: DiscoveryResults,
) -> None:
    """Discover one school. A PlatformUnavailable ends the discovery and keeps the results before it."""
    await _load_school(loader, school_id, listed, results)
    semesters = discover_semesters(loader, school_id, existing, results)
    record_week_sightings(loader, semesters, client.clock_skew, results)
    plan_weeks(loader, semesters, existing.weeks.get(school_id, []), results)
    await _discover_datasets(loader, client, cause, school_id, names, results)
    present = existing.report_results.get(school_id, [])
    planned = await plan_reports(loader, client, cause, school_id, present)
    results.loaded += planned.loaded
    results.report_results[school_id] = planned.partitions
    results.problems += planned.problems


def _report_listing_problems(listing: Listing, runtime: Runtime, results: DiscoveryResults) -> None:
    """Report problems of the list of schools. Where the settings name schools, the list is not needed."""
    results.halts += [listing.halt] if listing.halt else []
    results.problems += [f"a row of the schools list: {reason}" for reason in listing.bad]
    if runtime.school_ids or listing.halt:
        return
    if listing.problem:
        results.problems.append(
            f"the list of schools cannot be read: {listing.problem} Or set CAMPUS_SCHOOL_IDS."
        )
    elif not listing.rows.num_rows and not listing.bad:
        # A platform that has lost its schools may answer everything without rows.
        results.halts.append(PlatformUnavailable(NO_SCHOOLS))


def _remove_ghosts(
    runtime: Runtime, existing: ExistingPartitions, listing: Listing, results: DiscoveryResults
) -> None:
    """Remove the failures and partitions of schools that were never loaded, that the platform does not list
    and that no setting names any more: an id was mistyped."""
    if not listing.ids:
        return
    tried = {row["_school_id"] for row in standing_rows(runtime.lake)}
    expected = {NO_SCHOOL, *listing.ids, *(runtime.school_ids or ()), *schools_loaded(runtime.lake)}
    results.ghosts = sorted((tried | existing.schools) - expected)
    if results.ghosts:
        forget_failures(runtime.lake, results.ghosts)
        results.notes += [
            f"school {school_id} was never loaded, and the platform does not list it: its failures and "
            f"partitions are removed"
            for school_id in results.ghosts
        ]


async def _load_school(loader: Loader, school_id: int, listed: pa.Table, results: DiscoveryResults) -> None:
    """Load a school and its semesters of both interfaces."""
    loaded = [
        result
        for spec in (SEMESTERS, V1_SEMESTERS)
        for result in await loader.load_slice(plan_slices(loader, SliceQuery(school_id), [spec], again=False))
    ]
    if any(result.status != "failed" for result in loaded):
        # A school that does not respond may not exist. A school that responds gets a row, if only an id.
        loaded += _store_school(loader, school_id, listed)
    results.notes += [f"school {school_id}: {result.message}" for result in loaded if _is_refused_v1(result)]
    results.loaded += loaded


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


async def _discover_datasets(
    loader: Loader,
    client: Client,
    cause: Cause,
    school_id: int,
    names: dict[str, str],
    results: DiscoveryResults,
) -> None:
    """Load the metadata of a school's datasets and plan their segments. Requests nothing where the settings
    select no datasets: the credentials may not cover datasets.

    Args:
        names: The table of each dataset name in any school. The school's new names are added."""
    if not loader.runtime.datasets.selection.include:
        results.segments[school_id] = []
        return
    planned = await plan_datasets(loader, client, loader.runtime, cause, school_id, names)
    names |= {plan.dataset: plan.table for plan in read_plans(loader.runtime.lake, school_id)}
    results.loaded += planned.loaded
    results.segments[school_id] = planned.partitions
    results.notes += [f"school {school_id}, {note}" for note in planned.notes]
    results.problems += planned.problems
