"""Syncs the base data of one school into the lake, and compares it with bare loops of the same requests.

    .venv/bin/python -m benchmarks.base_data [--students 2000] [--semesters 2] [--runs 3]

Two loops drop the responses: httpx with its defaults, and our own transport. The third is the limit:
aiohttp, with responses that msgspec decodes into dictionaries and lists. Figures are medians of the runs.
Sync and loops alternate, so that a slow spell of the machine affects all. Everything runs on uvloop.
"""

import argparse
import asyncio
import json
import resource
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import aiohttp
import httpx
import msgspec
import uvloop
import yarl

from benchmarks.child import run_child, settings_for
from campus.http.engine import open_engine, read_body
from pipelines.definitions import load_definitions
from pipelines.nights.sync import load as load_lake
from pipelines.nights.sync import new_sync_id
from pipelines.resources import open_runtime
from pipelines.runs.instance import open_instance
from pipelines.settings.settings import load_settings
from simulator.process import RunningSimulator, running
from warehouse.lake.logs.tables import LOAD_LOG

CONCURRENCY = 16
MAX_BYTES = 256 << 20
SCOPES = (
    "school.101 semester.read term.read structure.read reflection.read_basic student.read_basic "
    "teacher.read_basic admin_class.read class.read user.read dataset.read_all"
)

#: Sends one request to a target, and returns the status.
Get = Callable[[str], Awaitable[int]]
#: Opens connections to a base URL, for requests with these headers.
Loop = Callable[[str, Mapping[str, str]], AbstractAsyncContextManager[Get]]


def main() -> None:
    """Measure and print a table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--students", type=int, default=2000)
    arguments.add_argument("--semesters", type=int, default=2)
    arguments.add_argument("--runs", type=int, default=3)
    arguments.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.child:
        print(json.dumps(load()))
        return
    with running(schools=1, students=options.students, semesters=options.semesters) as platform:
        syncs = list[dict[str, Any]]()
        loops: dict[str, list[dict[str, float]]] = {name: [] for name in LOOPS}
        for _ in range(options.runs):
            platform.clear_log()
            with tempfile.TemporaryDirectory() as home:
                sync = run_child("benchmarks.base_data", **settings_for(platform, Path(home)))
            requests = [entry for entry in platform.log() if entry["method"] == "GET"]
            syncs.append(sync | {"repeated": _repeated(requests)})
            for name, loop in LOOPS.items():
                loops[name].append(bare(platform, requests, loop))
    _report(options, syncs, loops)


def load() -> dict[str, Any]:
    """Sync without publication in this process, in a new home; seconds exclude start-up."""
    settings = load_settings()
    with open_instance(settings) as instance, open_runtime(settings) as runtime:
        definitions = load_definitions(settings, runtime)
        started, cpu = time.monotonic(), time.process_time()
        for end in load_lake(runtime, definitions, instance, new_sync_id(), selection='group:"base_data"'):
            assert end.problem is None, end.problem
        seconds, cpu = time.monotonic() - started, time.process_time() - cpu
        log = runtime.lake.read(LOAD_LOG).to_pylist()
    return {
        "seconds": seconds,
        "cpu": cpu,
        "requests": sum(row["requests"] for row in log),
        "rows": sum(row["loaded"] for row in log),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


@asynccontextmanager
async def httpx_alone(base_url: str, headers: Mapping[str, str]) -> AsyncIterator[Get]:
    """A client of httpx with its defaults."""
    async with httpx.AsyncClient(base_url=base_url, headers=headers, timeout=60) as client:

        async def get(target: str) -> int:
            return (await client.get(target)).status_code

        yield get


@asynccontextmanager
async def our_transport(base_url: str, headers: Mapping[str, str]) -> AsyncIterator[Get]:
    """The sync's transport, without retries, rate limit and token."""
    url, all_headers = httpx.URL(base_url), httpx.Headers(headers)
    timeout = httpx.Timeout(60).as_dict()
    engine = open_engine(url)

    async def get(target: str) -> int:
        extensions = {"target": target.encode(), "timeout": timeout}
        request = httpx.Request(
            "GET", url, headers=all_headers, stream=httpx.ByteStream(b""), extensions=extensions
        )
        answer = await engine.handle_async_request(request)
        await read_body(answer, answer.headers, MAX_BYTES)
        return answer.status_code

    yield get
    await engine.aclose()


@asynccontextmanager
async def aiohttp_and_msgspec(base_url: str, headers: Mapping[str, str]) -> AsyncIterator[Get]:
    """The limit: aiohttp, and msgspec as decoder."""
    async with aiohttp.ClientSession(headers=headers) as session:

        async def get(target: str) -> int:
            async with session.get(yarl.URL(base_url + target, encoded=True)) as response:
                msgspec.json.decode(await response.read())
                return response.status

        yield get


LOOPS = {
    "httpx alone": httpx_alone,
    "our transport": our_transport,
    "aiohttp, msgspec": aiohttp_and_msgspec,
}


def bare(platform: RunningSimulator, requests: list[dict[str, Any]], loop: Loop) -> dict[str, float]:
    """Send the same requests in a bare loop; return its seconds and CPU seconds."""
    body = {"grant_type": "client_credentials", "client_id": platform.client_id, "scope": SCOPES}
    reply = httpx.post(
        f"{platform.base_url}/api/v3/oauth/tokens", json={**body, "client_secret": platform.client_secret}
    )
    headers = {"Authorization": f"Bearer {reply.json()['access_token']}", "X-School-Id": "101"}
    waiting = iter(
        [
            (f"{quote(entry['path'])}?{urlencode(entry['query'], safe=',')}", entry["status"])
            for entry in requests
        ]
    )

    async def send_all() -> None:
        async with loop(platform.base_url, headers) as get:

            async def work() -> None:
                for target, status in waiting:
                    received = await get(target)
                    assert received == status, (target, received)

            await asyncio.gather(*(work() for _ in range(CONCURRENCY)))

    started, cpu = time.monotonic(), time.process_time()
    uvloop.run(send_all())
    return {"seconds": time.monotonic() - started, "cpu": time.process_time() - cpu}


def _repeated(requests: list[dict[str, Any]]) -> int:
    """How many requests were sent more than once."""
    counts = Counter(
        (entry["path"], json.dumps(entry["query"], sort_keys=True), entry["school"]) for entry in requests
    )
    return sum(count - 1 for count in counts.values())


def _report(
    options: argparse.Namespace, syncs: list[dict[str, Any]], loops: dict[str, list[dict[str, float]]]
) -> None:
    requests, rows = syncs[0]["requests"], syncs[0]["rows"]
    print(f"{options.students} students, {options.semesters} semesters: {requests} requests, {rows} rows")
    print(
        f"{'median of ' + str(options.runs):18}{'s':>8}{'CPU s':>8}{'requests/s':>12}{'sync / it, CPU':>16}"
    )
    for name, runs in {"sync": syncs, **loops}.items():
        seconds, cpu = (statistics.median(run[column] for run in runs) for column in ("seconds", "cpu"))
        ratio = statistics.median(sync["cpu"] / run["cpu"] for sync, run in zip(syncs, runs, strict=True))
        print(f"{name:18}{seconds:8.1f}{cpu:8.1f}{requests / seconds:12.0f}{ratio:16.2f}")
    print(f"peak memory {max(sync['peak_mb'] for sync in syncs):.0f} MB")
    print(f"requests sent more than once: {max(sync['repeated'] for sync in syncs)}")


if __name__ == "__main__":
    main()
