"""Which schools there are, and which semesters, weeks, datasets and reports they have."""

from collections.abc import Iterable

import pyarrow as pa

from campus.http.client import Client
from campus.http.errors import PlatformUnavailable
from campus.plan.units import SliceQuery
from campus.registry import DATASETS, REPORT_QUERIES, SCHOOLS, SEMESTERS, V1_SEMESTERS
from loading.commit import Loaded, in_words
from loading.datasets.plans import plan_datasets
from loading.discovery.found import Found, Known
from loading.discovery.listing import Listing, list_schools, not_listed, unknown_schools
from loading.discovery.semesters import plan_weeks, see_weeks, take_semesters
from loading.load_slice import Loader, store_rows
from loading.outage import connected
from loading.partition_keys import NO_SCHOOL
from loading.reports.plans import plan_reports
from loading.runtime import Cause, Runtime
from loading.strategies import changes_or_whole
from loading.tables import TABLES, slice_of
from warehouse.forgetting.forgotten import read as read_forgotten
from warehouse.load.dataset_plans import read_plans
from warehouse.load.load_log import committed, schools_loaded
from warehouse.load.log_writer import forget_failures, standing_rows


async def discover(runtime: Runtime, cause: Cause, known: Known) -> Found:
    """Load the schools, their semesters and the metadata of their datasets and reports; plan what each of
    them is loaded by; retire what is gone. `known`: the partition keys that there were."""
    found = Found()
    scopes = [SCHOOLS.scopes, SEMESTERS.scopes, V1_SEMESTERS.scopes]
    if runtime.datasets.selection.include:
        scopes.append(DATASETS.scopes)
    if runtime.reports:
        scopes.append(REPORT_QUERIES.scopes)
    async with connected(runtime, scopes) as client:
        loader = Loader(runtime, client, cause, committed(runtime.lake, cause.sync_id))
        listing = await list_schools(client, runtime)
        _note_trouble(listing, runtime, found)
        _take_out_ghosts(runtime, known, listing, found)
        names = {plan.dataset: plan.table for plan in read_plans(runtime.lake)}
        wanted = _without_forgotten(runtime, runtime.school_ids or listing.ids, found)
        try:
            # Without a list nobody can tell.
            unknown = await unknown_schools(client, runtime, listing, wanted) if listing.ids else []
        except PlatformUnavailable as halt:
            found.halts.append(halt)
            unknown = []
        found.problems += [not_listed(unknown, listing)] if unknown else []
        for school_id in (each for each in wanted if each not in unknown):
            if client.health.down:
                break
            try:
                await _discover_all(loader, client, cause, school_id, listing.rows, known, names, found)
            except PlatformUnavailable as halt:
                found.halts.append(halt)
    failed = [one for one in found.loaded if one.status == "failed" and not _is_left_to_its_load(one)]
    found.problems += [in_words(failed)] if failed else []
    return found


def _without_forgotten(runtime: Runtime, school_ids: Iterable[int], found: Found) -> list[int]:
    """The schools without those that were forgotten. That the settings name one is a problem, since either
    is meant."""
    forgotten = read_forgotten(runtime.lake).schools
    wanted = []
    for school_id in school_ids:
        if school_id not in forgotten:
            wanted.append(school_id)
        elif runtime.school_ids:
            found.problems.append(
                f"school {school_id} was forgotten, and CAMPUS_SCHOOL_IDS or --school "
                f"names it: take it out, or run "
                f"`campus forget --school {school_id} --allow` to load it again"
            )
        else:
            found.notes.append(f"school {school_id} was forgotten and is not loaded")
    return wanted


async def _discover_all(
    loader: Loader,
    client: Client,
    cause: Cause,
    school_id: int,
    listed: pa.Table,
    known: Known,
    names: dict[str, str],
    found: Found,
) -> None:
    """Find all that a school has. A PlatformUnavailable keeps what was found before, and ends the search."""
    await _load_school(loader, school_id, listed, found)
    semesters = take_semesters(loader, school_id, known, found)
    see_weeks(loader, semesters, client.clock_skew, found)
    plan_weeks(loader, semesters, known.weeks.get(school_id, []), found)
    await _discover_datasets(loader, client, cause, school_id, names, found)
    planned = await plan_reports(loader, client, cause, school_id, known.results.get(school_id, []))
    found.loaded += planned.loaded
    found.results[school_id] = planned.partitions
    found.problems += planned.problems


def _note_trouble(listing: Listing, runtime: Runtime, found: Found) -> None:
    """Note what is wrong with the list of schools, which is not needed where the settings name schools."""
    found.halts += [listing.halt] if listing.halt else []
    found.problems += [f"a row of the schools list: {reason}" for reason in listing.bad]
    if runtime.school_ids or listing.halt:
        return
    if listing.problem:
        found.problems.append(
            f"the list of schools cannot be read: {listing.problem} Or set CAMPUS_SCHOOL_IDS."
        )
    elif not listing.rows.num_rows and not listing.bad:
        found.problems.append("the platform lists no schools. Ask its operator, or set CAMPUS_SCHOOL_IDS.")


def _take_out_ghosts(runtime: Runtime, known: Known, listing: Listing, found: Found) -> None:
    """Take out the failures and partitions of schools that were never loaded, that the platform does not list
    and that nobody asks for any more: somebody had mistyped an id."""
    if not listing.ids:
        return
    tried = {row["_school_id"] for row in standing_rows(runtime.lake)}
    expected = {NO_SCHOOL, *listing.ids, *(runtime.school_ids or ()), *schools_loaded(runtime.lake)}
    found.ghosts = sorted((tried | known.schools) - expected)
    if found.ghosts:
        forget_failures(runtime.lake, found.ghosts)
        found.notes += [
            f"school {each} was never loaded, and the platform does not list it: what failed of it, and its "
            f"partitions, are taken out"
            for each in found.ghosts
        ]


async def _load_school(loader: Loader, school_id: int, listed: pa.Table, found: Found) -> None:
    """Load a school and its semesters, those of either interface."""
    loaded = [
        one
        for spec in (SEMESTERS, V1_SEMESTERS)
        for one in await loader.load(
            {spec: slice_of(spec, school_id)},
            changes_or_whole(loader.client, SliceQuery(school_id)),
            again=False,
        )
    ]
    if any(one.status != "failed" for one in loaded):
        # A school that does not answer may not exist; one that does has a row, be it only an id.
        loaded += _store_school(loader, school_id, listed)
    found.notes += [f"school {school_id}: {one.message}" for one in loaded if _is_left_to_its_load(one)]
    found.loaded += loaded


def _store_school(loader: Loader, school_id: int, listed: pa.Table) -> list[Loaded]:
    """Store a school as the list has it; one that is not listed keeps its row, or gets its id alone."""
    slice = slice_of(SCHOOLS, school_id)
    rows = [row for row in listed.to_pylist() if row["id"] == school_id]
    if not rows and loader.runtime.lake.read(TABLES["schools"], slice, ["id"]).num_rows:
        return []
    rows = rows or [{"id": school_id, "_trashed": False}]
    return [store_rows(loader.context(SCHOOLS, slice), pa.Table.from_pylist(rows, schema=listed.schema))]


def _is_left_to_its_load(one: Loaded) -> bool:
    """Whether that v1's semesters are refused is for the load of v1 to say: base data does not need them."""
    return one.refused and one.spec is V1_SEMESTERS


async def _discover_datasets(
    loader: Loader, client: Client, cause: Cause, school_id: int, names: dict[str, str], found: Found
) -> None:
    """Load the metadata of a school's datasets and plan their segments. `names`: the tables that datasets of
    this name have had in any school, to which the school's are added.

    Where the settings want none of them, nothing is asked: the credentials may not cover datasets."""
    if not loader.runtime.datasets.selection.include:
        found.segments[school_id] = []
        return
    planned = await plan_datasets(loader, client, loader.runtime, cause, school_id, names)
    names |= {plan.dataset: plan.table for plan in read_plans(loader.runtime.lake, school_id)}
    found.loaded += planned.loaded
    found.segments[school_id] = planned.partitions
    found.notes += [f"school {school_id}, {note}" for note in planned.notes]
    found.problems += planned.problems
