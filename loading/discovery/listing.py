"""The platform's list of schools, and the schools that somebody names though the platform has none such."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

import pyarrow as pa

from campus.decoding.page import batch_schema
from campus.http.client import Client
from campus.http.errors import CampusError, Forbidden, NotFound, PlatformUnavailable, Refused, Unauthorized
from campus.plan.units import SliceQuery
from campus.registry import SCHOOLS, SEMESTERS, V1_SEMESTERS
from campus.sources.gathered import Collector
from campus.sources.slice import read
from loading.outage import connected
from loading.runtime import Runtime
from loading.tables import values
from warehouse.load.load_log import schools_loaded

#: A message that lists more schools than this is read by nobody.
MOST_IDS = 20


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
        return [int(each) for each in values(self.rows, "id")]


async def list_schools(client: Client, runtime: Runtime) -> Listing:
    """Read the list of schools. A platform may want a school in the header, and refuses one that it does not
    have: the list is asked for in the name of a loaded school, of a named one, and of none."""
    named = runtime.school_ids or ()
    loaded = sorted(schools_loaded(runtime.lake)) if named else []
    headers = dict.fromkeys([*loaded[:1], *named[:1], None])
    listing = Listing(pa.Table.from_batches([], batch_schema(SCHOOLS.contract)))
    for header in headers:
        batches: list[pa.RecordBatch] = []
        collector = Collector(SCHOOLS, "", batches.append)
        try:
            await read(client, SCHOOLS, SliceQuery(header), collector)
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
    """The schools that the platform does not list, that were never loaded, and of which the platform answers
    nothing.

    Raises PlatformUnavailable where nothing more can be read of the platform."""
    known = {*listing.ids, *schools_loaded(runtime.lake)}
    return [each for each in school_ids if each not in known and not await _has_semesters(client, each)]


async def mistyped_schools(
    runtime: Runtime, school_ids: Collection[int], named: Collection[int]
) -> str | None:
    """Say which of the schools the platform does not have, or of which nobody can tell; None: it has all.
    Nothing is written.

    named: the schools that the settings name. Where the platform gives no list, they are taken to be
    there."""
    if set(school_ids) <= schools_loaded(runtime.lake):
        return None
    scopes = [SCHOOLS.scopes, SEMESTERS.scopes, V1_SEMESTERS.scopes]
    async with connected(runtime, scopes) as client:
        listing = await list_schools(client, runtime)
        if listing.halt:
            # The load says so.
            return None
        doubtful = [each for each in school_ids if listing.ids or each not in named]
        try:
            unknown = await unknown_schools(client, runtime, listing, doubtful)
        except PlatformUnavailable:
            return None
    if not unknown:
        return None
    return not_listed(unknown, listing) if listing.ids else _not_known(unknown, listing)


def not_listed(unknown: Collection[int], listing: Listing) -> str:
    """That the platform does not have these schools, and which it has."""
    ids = listing.ids
    more = f" and {len(ids) - MOST_IDS} more" if len(ids) > MOST_IDS else ""
    return (
        f"there is no school {', '.join(map(str, unknown))}: the platform lists "
        f"{', '.join(map(str, ids[:MOST_IDS]))}{more}. Mend --school or CAMPUS_SCHOOL_IDS, or ask who issued "
        f"the credentials to open that school to them."
    )


def _not_known(schools: Collection[int], listing: Listing) -> str:
    """That nobody can tell whether there are these schools, since the platform gives no list."""
    return (
        f"it is not known whether there is a school {', '.join(map(str, schools))}: the platform shows no "
        f"semesters of it, and its list of schools cannot be read. "
        f"{listing.problem or 'The list is empty.'} "
        f"Mend --school, or name the school in CAMPUS_SCHOOL_IDS if it is there."
    )


async def _has_semesters(client: Client, school_id: int) -> bool:
    """Whether the platform answers for a school that it does not list. A failure that says nothing of the
    school counts as an answer: the load tells of it."""
    for spec in (SEMESTERS, V1_SEMESTERS):
        collector = Collector(spec)
        try:
            await read(client, spec, SliceQuery(school_id), collector)
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
