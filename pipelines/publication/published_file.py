"""Whether the published file can be read by this version."""

from warehouse.publish.build import of_another_version
from warehouse.published.shards import Published


def why_unreadable(published: Published) -> str | None:
    """Why nothing can be made of the published file, and what to do. None: it can be read."""
    if not published.exists():
        return f"{published} is not there yet: run `campus sync`"
    return of_another_version(published)
