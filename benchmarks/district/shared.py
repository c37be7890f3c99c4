"""Measures what workers share in Postgres: the rate limit of a platform, and one token for each client.

    .venv/bin/python -m benchmarks.district.shared [--workers 1 3 12 20 60] [--seconds 60]
    .venv/bin/python -m benchmarks.district.shared --one-token

Each worker is a process that sends requests as fast as it may, for its own school, to a simulator that
accepts 100 requests a second. The workers share the rate in Postgres, share nothing, or send through an nginx
that knows the rate (Debian: `nginx-light`). The first seconds, in which the limit is found, are shown apart.
The PostgreSQL is the benchmark's own (Debian: `postgresql`); a relay delays its answers.
"""

import argparse
import asyncio
import multiprocessing
import os
import resource
import shutil
import socket
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from multiprocessing.synchronize import Barrier
from pathlib import Path
from urllib.parse import urlsplit

from sqlalchemy import make_url

from benchmarks.district.relay import delayed
from campus.http.client import Client
from campus.http.config import ClientConfig
from campus.http.errors import CampusError
from campus.registry.v3 import SEMESTERS
from pipelines.settings.environment import POSTGRES_URL
from pipelines.shared.workers import workers as shared_by_workers
from simulator.process import RunningSimulator, running
from tests.kits.servers.postgres import postgres

FIRST_SCHOOL = 101
LIMIT = 100
#: The rate that nginx is told, below the limit.
AGREED = 95
#: Seconds until the limit is found.
FIRST_SECONDS = 15
SCOPES = [SEMESTERS.scopes]
NGINX = """
daemon off; pid {folder}/pid; error_log {folder}/error.log;
worker_processes 1; events {{ worker_connections 4096; }}
http {{
    access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    limit_req_zone $server_name zone=platform:1m rate={rate}r/s;
    upstream platform {{ server {platform}; keepalive 64; }}
    server {{
        listen 127.0.0.1:{port}; server_name platform;
        location / {{
            limit_req zone=platform burst=4000;
            proxy_pass http://platform; proxy_http_version 1.1; proxy_set_header Connection "";
        }}
    }}
}}
"""


def worker(base_url: str, number: int, workers: int, seconds: float, one_token: bool, begin: Barrier) -> None:
    """Send requests for `seconds`, for the school of this number."""

    async def send_all() -> None:
        credentials = ("demo-client", "demo-secret")
        config = ClientConfig(
            base_url,
            *credentials,
            one_token=one_token,
            school_ids=tuple(range(FIRST_SCHOOL, FIRST_SCHOOL + workers)),
            shared=shared_by_workers(os.environ[POSTGRES_URL], base_url, *credentials),
        )
        await asyncio.to_thread(begin.wait)
        ends = time.monotonic() + seconds

        async def send_requests(client: Client) -> None:
            while time.monotonic() < ends:
                # Without sharing, each new token ends the other worker's: the benchmark counts these.
                with suppress(CampusError):
                    await client.get(
                        SEMESTERS.path, {}, school_id=FIRST_SCHOOL + number, scope=SEMESTERS.scopes
                    ).decoded(bytes)

        async with Client(config, SCOPES) as client:
            await asyncio.gather(*(send_requests(client) for _ in range(config.concurrency)))

    asyncio.run(send_all())


def together(
    platform: RunningSimulator, address: str, workers: int, seconds: float, one_token: bool
) -> tuple[list[tuple[Counter[tuple[int, int]], float]], float]:
    """Run workers at once: the responses by status and school, with their seconds, of the first seconds and
    later, and the CPU seconds of the workers."""
    context = multiprocessing.get_context("fork")
    begin = context.Barrier(workers + 1)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    processes = [
        context.Process(target=worker, args=(address, number, workers, seconds, one_token, begin))
        for number in range(workers)
    ]
    for process in processes:
        process.start()
    begin.wait()
    began = time.monotonic()
    time.sleep(min(FIRST_SECONDS, seconds / 2))
    first, counted = _responses(platform), time.monotonic()
    for process in processes:
        process.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if any(process.exitcode for process in processes):
        raise SystemExit("a worker failed")
    later = (_responses(platform), time.monotonic() - counted)
    return [(first, counted - began), later], cpu


@contextmanager
def paced_by_nginx(platform: RunningSimulator) -> Iterator[str]:
    """The address of an nginx that delays requests to the agreed rate."""
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
        configuration = Path(folder) / "nginx.conf"
        upstream = urlsplit(platform.base_url).netloc
        configuration.write_text(
            NGINX.format(folder=folder, rate=AGREED, platform=upstream, port=port), encoding="utf-8"
        )
        free.close()
        nginx = subprocess.Popen(["nginx", "-c", configuration, "-p", folder])
        try:
            time.sleep(1)
            yield f"http://127.0.0.1:{port}"
        finally:
            nginx.terminate()
            nginx.wait()


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--workers", type=int, nargs="+", default=[1, 3, 12, 20, 60])
    arguments.add_argument("--delays", type=float, nargs="+", default=[0.0, 0.02], metavar="SECONDS")
    arguments.add_argument("--paces", nargs="+", choices=PACES, default=PACES)
    arguments.add_argument("--seconds", type=float, default=60.0)
    arguments.add_argument("--one-token", action="store_true")
    options = arguments.parse_args()
    with postgres() as server:
        if options.one_token:
            one_token(server.url, options.seconds)
        else:
            paces(options, server.url)


def paces(options: argparse.Namespace, url: str) -> None:
    """Print a row for each pace, number of workers and delay of the database."""
    print(f"{'pace':<10}{'workers':>8}{'database':>10}{'first':>16}{'later':>16}{'fair':>8}{'CPU s':>8}")
    for pace in options.paces:
        for workers in options.workers:
            for delay in options.delays if pace == "postgres" else [0.0]:
                measure(pace, workers, delay, url, options.seconds)


def measure(pace: str, workers: int, delay: float, address: str, seconds: float) -> None:
    """Print one row: responses a second and the share of refusals, at first and later; the fewest responses
    of a school as a share of the most."""
    os.environ.pop(POSTGRES_URL, None)
    url = make_url(address)
    with (
        running(schools=workers, students=8, semesters=1, rate_limit=LIMIT) as platform,
        delayed(url.port or 5432, delay) if pace == "postgres" else nullcontext(0) as port,
        paced_by_nginx(platform) if pace == "nginx" else nullcontext(platform.base_url) as platform_address,
    ):
        if pace == "postgres":
            os.environ[POSTGRES_URL] = url.set(port=port).render_as_string(hide_password=False)
        counts, cpu = together(platform, platform_address, workers, seconds, False)
    cells = []
    for count, length in counts:
        accepted = sum(number for (status, _), number in count.items() if status == 200)
        refused = sum(number for (status, _), number in count.items() if status == 429)
        cells.append(f"{accepted / length:.1f} {refused / max(1, accepted + refused):.1%}")
    later = [number for (status, _), number in counts[1][0].items() if status == 200]
    fair = min(later) / max(later) if len(later) == workers else 0.0
    print(
        f"{pace:<10}{workers:8}{1000 * delay:7.0f} ms{cells[0]:>16}{cells[1]:>16}{fair:8.2f}{cpu:8.1f}",
        flush=True,
    )


def one_token(url: str, seconds: float) -> None:
    """Print the refusals (401) of two workers of a platform that keeps one token for each client."""
    for shared in (False, True):
        os.environ.pop(POSTGRES_URL, None)
        if shared:
            os.environ[POSTGRES_URL] = url
        with running(schools=2, students=8, one_token=True) as platform:
            counts, _ = together(platform, platform.base_url, 2, seconds, True)
        statuses = Counter[int]()
        for count, _ in counts:
            for (status, _), number in count.items():
                statuses[status] += number
        name = "shared" if shared else "not shared"
        print(f"{name:<12}{statuses[200]:8,} responses {statuses[401]:8,} refused")


def _responses(platform: RunningSimulator) -> Counter[tuple[int, int]]:
    """The responses since the last call, by status and school."""
    entries = platform.log()
    platform.clear_log()
    return Counter((entry["status"], entry["school"]) for entry in entries if entry["school"])


#: How workers keep to a rate.
PACES = ["postgres", "nginx", "none"] if shutil.which("nginx") else ["postgres", "none"]

if __name__ == "__main__":
    main()
