"""GET /api/v1/schools: how a client finds out which schools there are for it."""

from simulator.http import Request, Response, json_response
from simulator.platform import Platform
from simulator.routing import Route


def list_schools(platform: Platform, request: Request) -> Response:
    """The schools that this client may read; the list is not paged."""
    rows = [row for row in platform.store.rows("schools", 0) if row.deleted_at is None]
    return json_response(
        platform.wire.rows("schools", (r for r in rows if r.key in platform.tokens.school_ids))
    )


ROUTES = (Route("GET", "/api/v1/schools", list_schools, needs_school=False),)
