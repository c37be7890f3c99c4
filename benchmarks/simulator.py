"""Measures how fast the simulator responds, to show that a sync does not wait for it.

Another process serves. This process is a bare HTTP/1.1 client that only counts, because an HTTP library would
be slower than the simulator. Run it as `python -m benchmarks.simulator` on an otherwise idle machine.
"""

import argparse
import asyncio
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import partial
from typing import cast
from urllib.parse import urlsplit

import httpx
import uvloop

from simulator.process import RunningSimulator, running

CONNECTIONS = 16
SCOPES = "school.101 semester.read student.read_all class.read dataset.read_all"
PAGE = 100
GRADE_CLASSES = 20  # per request
SEGMENT = 10_000  # records per request, the maximum


class Connection(asyncio.Protocol):
    """One connection, which sends the next request as soon as the last response is complete."""

    def __init__(self, targets: list[str], head: bytes, done: "asyncio.Future[None]") -> None:
        self._targets, self._head, self._done = targets, head, done
        self._buffer = bytearray()
        self._missing = 0  # bytes of the present body

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's own class, of the same shape
        self._next()

    def connection_lost(self, error: Exception | None) -> None:
        if not self._done.done():
            self._done.set_exception(error or ConnectionError("the simulator closed the connection"))

    def _next(self) -> None:
        if not self._targets:
            self._done.set_result(None)
            self._transport.close()
            return
        self._transport.write(b"GET %s HTTP/1.1\r\n%s\r\n" % (self._targets.pop().encode(), self._head))

    def data_received(self, data: bytes) -> None:
        if self._missing:
            self._missing -= len(data)
        else:
            self._buffer += data
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            head = bytes(self._buffer[:end]).lower()
            if not head.startswith(b"http/1.1 200"):
                self._done.set_exception(RuntimeError(head.decode()))
                return
            length = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
            self._missing = length - (len(self._buffer) - end - 4)
            self._buffer.clear()
        if self._missing == 0:
            self._next()


async def send_all(base_url: str, token: str, targets: Sequence[str]) -> None:
    """Request all targets over a few connections, and drop the responses."""
    address = urlsplit(base_url)
    head = f"Host: {address.netloc}\r\nAuthorization: Bearer {token}\r\nX-School-Id: 101\r\n".encode()
    loop = asyncio.get_running_loop()
    queue = list(reversed(targets))
    done = [loop.create_future() for _ in range(CONNECTIONS)]
    for future in done:
        connect = partial(Connection, queue, head, future)
        await loop.create_connection(connect, address.hostname, address.port)
    await asyncio.gather(*done)


def measure(name: str, simulator: RunningSimulator, token: str, targets: Sequence[str], rows: int) -> None:
    """Time one set of requests and print its line of the table."""
    start = time.perf_counter()
    with closing(uvloop.new_event_loop()) as loop:
        loop.run_until_complete(send_all(simulator.base_url, token, targets))
    seconds = time.perf_counter() - start
    rates = f"{len(targets) / seconds:>12,.0f} {rows / seconds:>12,.0f}"
    print(f"{name:<44} {len(targets):>9,} {rows:>9,} {seconds:>8.2f} {rates}")


def pages(path: str, rows: int) -> Iterable[str]:
    """The pages of a list."""
    mark = "&" if "?" in path else "?"
    return (f"{path}{mark}per_page={PAGE}&page={number}" for number in range(1, -(-rows // PAGE) + 1))


def segments(rows: int) -> list[str]:
    """The requests for all records of the big dataset, as in a full sync by ids."""
    path = f"/v3/uds/datasets/big_scores/records?sort=id&paginated=0&limit={SEGMENT}"
    return [f"{path}&id_egt={first}" for first in range(1, rows + 1, SEGMENT)]


def parents(simulator: RunningSimulator, resource: str) -> list[dict[str, int]]:
    """The live rows of a resource, as keys and parents."""
    return [entry for entry in simulator.rows(resource, 101) if not entry["trashed"]]


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--students", type=int, default=2000)
    arguments.add_argument("--dataset-rows", type=int, default=1_000_000)
    chosen = arguments.parse_args()
    students, records = chosen.students, chosen.dataset_rows
    with running(schools=1, students=students, log=False) as simulator:
        credentials = {"client_id": simulator.client_id, "client_secret": simulator.client_secret}
        body = {"grant_type": "client_credentials", "scope": SCOPES, **credentials}
        token = httpx.post(f"{simulator.base_url}/api/v3/oauth/tokens", json=body).json()["access_token"]
        people = parents(simulator, "students")
        classes = [entry["key"] for entry in parents(simulator, "classes")]
        assessed = {entry["parent"] for entry in parents(simulator, "assessments")}
        items = [entry["key"] for entry in parents(simulator, "assessment_items")]
        grade_ids = [
            ",".join(map(str, classes[i : i + GRADE_CLASSES])) for i in range(0, len(classes), GRADE_CLASSES)
        ]

        assessments = [f"/api/v3/class-assessment/classes/{key}/assessment?expand=items" for key in assessed]
        scores = [f"/api/v3/class-assessment/items/{key}/scores?per_page={PAGE}" for key in items]
        grades = [f"/api/v3/class-assessment/class/grades?paginated=0&class_ids={ids}" for ids in grade_ids]
        small = ["/api/v3/system/semesters"] * 20_000
        listing = list(pages("/api/v3/reflection/students", len(people)))
        score_rows = _count(simulator, token, scores)
        grade_rows = _count(simulator, token, grades)

    with running(schools=1, students=students, dataset_rows=records, log=False) as simulator:
        token = httpx.post(f"{simulator.base_url}/api/v3/oauth/tokens", json=body).json()["access_token"]
        print(f"{'':<44} {'requests':>9} {'rows':>9} {'seconds':>8} {'requests/s':>12} {'rows/s':>12}")
        measure("semesters, again and again", simulator, token, small, 2 * len(small))
        measure("students, pages of 100, 50 times", simulator, token, listing * 50, len(people) * 50)
        measure("assessments with items, made on demand", simulator, token, assessments, len(items))
        measure("scores item by item, made on demand", simulator, token, scores, score_rows)
        measure("scores item by item, again", simulator, token, scores, score_rows)
        measure("grades of 20 classes, made on demand", simulator, token, grades, grade_rows)
        measure("grades of 20 classes, again", simulator, token, grades, grade_rows)
        measure("records of a dataset, 10,000 at a time", simulator, token, segments(records), records)


def _count(simulator: RunningSimulator, token: str, targets: Sequence[str]) -> int:
    headers = {"authorization": f"Bearer {token}", "x-school-id": "101"}
    with httpx.Client(base_url=simulator.base_url, headers=headers) as client:
        return sum(len(client.get(target).json()) for target in targets)


if __name__ == "__main__":
    main()
