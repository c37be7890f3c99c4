"""Reads the users of a plan again, so that the warehouse shows the users before the next night.

Reads users one by one if that takes fewer requests than a read of all users."""

import asyncio
from collections.abc import Sequence

from campus.registry import RESOURCES, ResourceSpec
from loading.custom_fields import FIELDS, USERS, with_fields_of
from loading.load_school import load_school
from loading.slices.commit import Loaded
from loading.slices.loader import Loader, failures_as_outcomes, staged
from loading.tables import TABLES, slice_of
from warehouse.load.slice_reading import RequestedRows
from writeback.roster.fields import STUDENT, TEACHER
from writeback.roster.people import People
from writeback.roster.plan import Step

#: Further resources with the users of a role. The platform filters neither by user nor by change.
SHOWN_IN = {STUDENT: RESOURCES["students"], TEACHER: RESOURCES["teachers"]}
#: The fixed requests of a read of all users, and the rows of a list that cost the platform about as much as a
#: request for a single user.
FIXED_REQUESTS, ROWS_PER_REQUEST = 10, 100


async def reread_users(loader: Loader, people: People, school_id: int, steps: Sequence[Step]) -> list[Loaded]:
    """Read the users of these steps again, and the other resources with users. Raises
    PlatformUnavailable."""
    loaded = await load_school(loader, school_id, [FIELDS])
    if (
        people.ignores
        or len(steps) > FIXED_REQUESTS + _row_count(loader, USERS, school_id) / ROWS_PER_REQUEST
    ):
        loaded += await load_school(loader, school_id, [USERS])
    else:
        loaded += await _one_by_one(loader, people, school_id, steps)
    roles = {step.role for step in steps}
    for spec in (RESOURCES["reflections"], *(SHOWN_IN[role] for role in SHOWN_IN if role in roles)):
        # Only if the pages are few, or about as many as the changes. Else the next night reads the resource.
        if _row_count(loader, spec, school_id) <= people.client.page_size * (FIXED_REQUESTS + len(steps)):
            loaded += await load_school(loader, school_id, [spec])
    return loaded


def _row_count(loader: Loader, spec: ResourceSpec, school_id: int) -> int:
    """The number of a school's rows in the lake."""
    return loader.runtime.lake.read(TABLES[spec.name], slice_of(spec, school_id), ["id"]).num_rows


async def _one_by_one(loader: Loader, people: People, school_id: int, steps: Sequence[Step]) -> list[Loaded]:
    spec = with_fields_of(loader.runtime, USERS, school_id)
    one_by_one = People(people.client, school_id, people.fields, spec)

    # A missing user counts as deleted only if a step deleted the user.
    deleted = tuple(step.id for step in steps if step.action == "delete" and step.id is not None)
    context, loaded = loader.context(spec, slice_of(spec, school_id)), list[Loaded]()
    with failures_as_outcomes([context], loaded), staged([context]) as slices:
        readings = (one_by_one.gathered(step.outer_id, step.role) for step in steps)
        for gathered in await asyncio.gather(*readings):
            slices[0].collector.add(gathered)
        slices[0].collector.flush()
        loaded += await loader.commit(slices, {spec: RequestedRows("id", deleted)})
    return loaded
