"""Reads the platform's list of schools, and finds mistyped schools."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

import pyarrow as pa

from campus.decoding.page import batch_schema
from campus.http.client import Client
from campus.http.errors import CampusError, Forbidden, NotFound, PlatformUnavailable, Refused, Unauthorized
from campus.plan.units import SliceQuery
from campus.registry import SCHOOLS, SEMESTERS, V1_SEMESTERS
from campus.sources.gathered import Collector
from campus.sources.slice import read_slice
from loading.connection.connected import connected
from loading.connection.runtime import Runtime
from loading.tables import values
from warehouse.load.logs.load_log import schools_loaded

#: The schools that a message names at most.
MAX_IDS = 20


@dataclass
class Listing:
    """The answer to GET /api/v1/schools."""

    #: The rows; none where the list cannot be read.
    rows: pa.Table
    #: Why the list cannot be read; None: it can.
    problem: str | None = None
    #: Why nothing at all can be read of the platform.
    halt: PlatformUnavailable | None = None
    #: Why rows of the list cannot be read.
    bad: list[str] = field(default_factory=list)

    @property
    def ids(self) -> list[int]:
        """The ids of the schools."""
        return [int(school_id) for school_id in values(self.rows, "id")]


async def list_schools(client: Client, runtime: Runtime) -> Listing:
    """Read the list of schools. A platform may require a school in the header, and refuse an unknown school:
    the requests name a loaded school, a school of the settings, and no school, in this order."""
    named = runtime.school_ids or ()
    loaded = sorted(schools_loaded(runtime.lake)) if named else []
    headers = dict.fromkeys([*loaded[:1], *named[:1], None])
    listing = Listing(pa.Table.from_batches([], batch_schema(SCHOOLS.contract)))
    for header in headers:
        batches: list[pa.RecordBatch] = []
        collector = Collector(SCHOOLS, "", batches.append)
        try:
            await read_slice(client, SliceQuery(header), [collector])
        except PlatformUnavailable as halt:
            if halt.school_id is None:
                listing.halt = halt
                return listing
            listing.problem = str(halt)
        except CampusError as error:
            listing.problem = str(error)
        else:
            rows = pa.Table.from_batches(batches, batch_schema(SCHOOLS.contract))
            return Listing(rows, bad=[bad.reason for bad in collector.account.bad])
    return listing


async def unknown_schools(
    client: Client, runtime: Runtime, listing: Listing, school_ids: Iterable[int]
) -> list[int]:
    """The schools that the platform does not list, that were never loaded, and that have no semesters.

    Raises PlatformUnavailable where the platform cannot be read further."""
    existing = {*listing.ids, *schools_loaded(runtime.lake)}
    return [
        school_id
        for school_id in school_ids
        if school_id not in existing and not await _has_semesters(client, school_id)
    ]


async def mistyped_schools(
    runtime: Runtime, school_ids: Collection[int], named: Collection[int]
) -> str | None:
    """A message about schools that the platform does not have, or may not have. None: it has all. Writes
    nothing.

    Args:
        named: The schools that the settings name. Without a list, they count as existing."""
    if set(school_ids) <= schools_loaded(runtime.lake):
        return None
    scopes = [SCHOOLS.scopes, SEMESTERS.scopes, V1_SEMESTERS.scopes]
    async with connected(runtime, scopes) as client:
        listing = await list_schools(client, runtime)
        if listing.halt:
            # The load reports it.
            return None
        doubtful = [school_id for school_id in school_ids if listing.ids or school_id not in named]
        try:
            unknown = await unknown_schools(client, runtime, listing, doubtful)
        except PlatformUnavailable:
            return None
    if not unknown:
        return None
    return not_listed(unknown, listing) if listing.ids else _may_be_mistyped(unknown, listing)


def not_listed(unknown: Collection[int], listing: Listing) -> str:
    """A message: the platform does not have these schools, and which schools it has."""
    ids = listing.ids
    rest = f" and {len(ids) - MAX_IDS} more" if len(ids) > MAX_IDS else ""
    return (
        f"there is no school {', '.join(map(str, unknown))}: the platform lists "
        f"{', '.join(map(str, ids[:MAX_IDS]))}{rest}. Mend --school or CAMPUS_SCHOOL_IDS, or ask who issued "
        f"the credentials to open that school to them."
    )


def _may_be_mistyped(schools: Collection[int], listing: Listing) -> str:
    """A message: without a list of schools, these schools may not exist."""
    return (
        f"it is not known whether there is a school {', '.join(map(str, schools))}: the platform shows no "
        f"semesters of it, and its list of schools cannot be read. "
        f"{listing.problem or 'The list is empty.'} "
        f"Mend --school, or name the school in CAMPUS_SCHOOL_IDS if it is there."
    )


async def _has_semesters(client: Client, school_id: int) -> bool:
    """Whether the platform has semesters of a school that it does not list. Other failures count as
    yes: the load reports the failure."""
    for spec in (SEMESTERS, V1_SEMESTERS):
        collector = Collector(spec)
        try:
            await read_slice(client, SliceQuery(school_id), [collector])
        except PlatformUnavailable as halt:
            if halt.school_id is None:
                raise
        except (Forbidden, NotFound, Refused, Unauthorized):
            continue
        except CampusError:
            return True
        else:
            if collector.account.received:
                return True
    return False
