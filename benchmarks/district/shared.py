"""What workers share in Postgres: the pace of a platform that throttles, and one token a client.

    .venv/bin/python -m benchmarks.district.shared [--seconds 20] [--postgres URL]

Each worker is a process that asks as fast as it may, for a school of its own. URL: as DAGSTER_POSTGRES_URL;
the default is the PostgreSQL of this machine, which Debian's package `postgresql` has. The simulator counts.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress

from campus.http.client import Client
from campus.http.config import ClientConfig
from campus.http.errors import Unauthorized
from campus.registry.v3 import SEMESTERS
from pipelines.instance import POSTGRES_URL
from pipelines.shared.workers import shared_with_workers
from simulator.process import RunningSimulator, running

FIRST_SCHOOL = 101
LIMIT = 100
POSTGRES = "postgresql+psycopg2://127.0.0.1:5432/postgres"
SCOPES = [SEMESTERS.scopes]


async def worker(base_url: str, school_id: int, schools: int, seconds: float, one_token: bool) -> None:
    """Ask for as long."""
    credentials = ("demo-client", "demo-secret")
    config = ClientConfig(
        base_url,
        *credentials,
        one_token=one_token,
        school_ids=tuple(range(FIRST_SCHOOL, FIRST_SCHOOL + schools)),
        shared=shared_with_workers(base_url, *credentials),
    )
    ends = time.monotonic() + seconds
    async with Client(config, SCOPES) as client:

        async def ask() -> None:
            while time.monotonic() < ends:
                # Where nothing is shared each new token ends the other worker's: that is what is counted.
                with suppress(Unauthorized):
                    await client.get(
                        SEMESTERS.path, {}, school_id=school_id, scope=SEMESTERS.scopes
                    ).response()

        await asyncio.gather(*(ask() for _ in range(config.concurrency)))


def together(platform: RunningSimulator, workers: int, seconds: float, one_token: bool) -> Counter[int]:
    """Run so many workers at once; how often the platform answered with which status."""
    command = [sys.executable, "-m", "benchmarks.district.shared", "--seconds", str(seconds)]
    begun = [
        subprocess.Popen(
            [*command, "--child", platform.base_url, str(FIRST_SCHOOL + number), str(workers)]
            + ["--one-token"] * one_token
        )
        for number in range(workers)
    ]
    if sum(each.wait() for each in begun):
        raise SystemExit("a worker failed")
    return Counter(entry["status"] for entry in platform.log())


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seconds", type=float, default=20.0)
    arguments.add_argument("--postgres", default=os.environ.get(POSTGRES_URL, POSTGRES))
    arguments.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    arguments.add_argument("--one-token", action="store_true", help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.child:
        base_url, school_id, schools = options.child
        asyncio.run(worker(base_url, int(school_id), int(schools), options.seconds, options.one_token))
        return
    print(f"{'platform':<28}{'workers':>8}{'shared':>8}{'answers/s':>11}{'429':>8}{'401':>8}", flush=True)
    for shared in ("no", "yes"):
        os.environ.pop(POSTGRES_URL, None)
        if shared == "yes":
            os.environ[POSTGRES_URL] = options.postgres
        for workers in (1, 2, 3):
            with running(schools=3, students=8, rate_limit=LIMIT) as platform:
                show(f"{LIMIT} requests a second", workers, shared, platform, options.seconds, False)
        with running(schools=2, students=8, one_token=True) as platform:
            show("one token a client", 2, shared, platform, options.seconds / 4, True)


def show(
    name: str, workers: int, shared: str, platform: RunningSimulator, seconds: float, one_token: bool
) -> None:
    """One row of the table."""
    statuses = together(platform, workers, seconds, one_token)
    answers = statuses[200] / seconds
    share = statuses[429] / sum(statuses.values())
    print(f"{name:<28}{workers:8}{shared:>8}{answers:11,.1f}{share:8.1%}{statuses[401]:8}", flush=True)


if __name__ == "__main__":
    main()
