"""GET /api/v1/schools: the schools of a client."""

from simulator.http.platform import Platform
from simulator.http.resource import Resource
from simulator.http.routing import Route
from simulator.messages import Request, Response, json_response
from simulator.school.rows import KEYS
from simulator.store.store import Collection


def list_schools(platform: Platform, request: Request) -> Response:
    """The schools that this client may read; the list is not paged."""
    rows = [row for row in platform.store.rows("schools", 0) if row.deleted_at is None]
    return json_response(
        platform.wire.rows("schools", (r for r in rows if r.key in platform.tokens.school_ids))
    )


RESOURCES = (
    Resource(
        "schools",
        Collection(KEYS["schools"], lambda store, _: store.seed.schools),
        routes=(Route("GET", "/api/v1/schools", list_schools, needs_school=False, parameters=frozenset()),),
    ),
)
