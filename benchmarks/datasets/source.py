"""The requests of the contenders: a token, ranges of ids, and the pages of a range.

It runs in the project's environment and in dlt's, so it needs only httpx.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import httpx

SCHOOL_ID = 101
DATASET = "big_scores"
RECORDS = f"/v3/uds/datasets/{DATASET}/records"
PAGE = 10_000  # the greatest limit
RANGE = 100_000  # ids that one thread reads before it takes the next ones


@dataclass(frozen=True)
class Job:
    """A load of the rows up to `last_id` into `folder`, with `in_flight` requests at a time."""

    last_id: int
    in_flight: int
    folder: str

    def ranges(self) -> list[tuple[int, int]]:
        """Ranges of ids, first and last, that cover the job."""
        starts = range(1, self.last_id + 1, RANGE)
        return [(start, min(start + RANGE - 1, self.last_id)) for start in starts]


@dataclass(frozen=True)
class Loaded:
    """The loaded rows: a relation of a DuckDB database; the floor has none.

    `phases`: the seconds of each phase of a load."""

    database: str = ":memory:"
    relation: str | None = None
    phases: dict[str, float] = field(default_factory=dict)


def base_url() -> str:
    """The platform's address."""
    return os.environ["CAMPUS_BASE_URL"]


def headers() -> dict[str, str]:
    """The headers of every request, with a new token."""
    body = {
        "grant_type": "client_credentials",
        "client_id": os.environ["CAMPUS_CLIENT_ID"],
        "client_secret": os.environ["CAMPUS_CLIENT_SECRET"],
        "scope": f"school.{SCHOOL_ID} dataset.read_all",
    }
    reply = httpx.post(f"{base_url()}/api/v3/oauth/tokens", json=body).raise_for_status()
    return {"Authorization": f"Bearer {reply.json()['access_token']}", "X-School-Id": str(SCHOOL_ID)}


def connect(with_headers: dict[str, str]) -> httpx.Client:
    """A client for one thread: threads with a shared pool would wait for each other."""
    return httpx.Client(base_url=base_url(), headers=with_headers, timeout=60)


def pages(client: httpx.Client, first: int, last: int) -> Iterator[bytes]:
    """The bodies of a range, by the specification's procedure for a full sync."""
    while first <= last:
        span = {"id_egt": first, "id_elt": last}
        body = (
            client.get(RECORDS, params={**span, "sort": "id", "paginated": 0, "limit": PAGE})
            .raise_for_status()
            .content
        )
        if body == b"[]":
            return
        yield body
        first = _last_id(body) + 1


def _last_id(body: bytes) -> int:
    """The id of the last row, from the text, so that the floor need not decode pages."""
    match = re.compile(rb'\{"id":(\d+)').match(body, body.rindex(b'{"id":'))
    assert match, body[-400:]
    return int(match[1])
