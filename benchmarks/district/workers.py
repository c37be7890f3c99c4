"""Compares one worker, two workers and `campus sync`, and measures how soon the daemon requests the runs.

    .venv/bin/python -m benchmarks.district.workers [--schools 4] [--latency 0.05]
    .venv/bin/python -m benchmarks.district.workers --submission 50

Needs PostgreSQL and RabbitMQ on this machine (Debian: `postgresql`, `rabbitmq-server`), and the right to make
virtual hosts (rabbitmqctl). DAGSTER_POSTGRES_URL names another PostgreSQL. The platform is a simulator
that delays each response by --latency seconds.
"""

import argparse
import os
import subprocess
import tempfile
from pathlib import Path

from benchmarks.child import settings_for
from benchmarks.district.night import BIN, POSTGRES, Night, digests, environment, lake_in, night
from pipelines.settings.environment import POSTGRES_URL
from simulator.process import RunningSimulator, running


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--schools", type=int, default=4)
    arguments.add_argument("--students", type=int, default=24)
    arguments.add_argument("--latency", type=float, default=0.05)
    arguments.add_argument("--submission", type=int, default=0, metavar="SCHOOLS")
    options = arguments.parse_args()
    postgres = os.environ.pop(POSTGRES_URL, POSTGRES)
    with tempfile.TemporaryDirectory() as folder:
        if options.submission:
            submit(Path(folder), options.submission, postgres)
        else:
            load(Path(folder), options.schools, options.students, options.latency, postgres)


def load(folder: Path, schools: int, students: int, latency: float, postgres: str) -> None:
    """Load with one worker, two, and `campus sync`."""
    late = {"kind": "slow", "seconds": latency}
    with running(schools=schools, students=students, faults=(late,)) as platform:
        nights = {}
        for workers in (1, 2):
            nights[workers] = by_workers(folder / str(workers), platform, workers, schools, postgres)
            print(f"{workers} workers: {nights[workers].seconds:.1f} s for {schools} schools", flush=True)
        print(f"2 workers against one: {nights[1].seconds / nights[2].seconds:.2f} times as fast", flush=True)
        settings = settings_for(platform, folder / "sync")
        subprocess.run([BIN / "campus", "sync"], check=True, env=os.environ | settings, capture_output=True)
    expected = digests(lake_in(folder / "sync"))
    for workers in (1, 2):
        tables = digests(lake_in(folder / str(workers)))
        differ = sorted(name for name in expected | tables if expected.get(name) != tables.get(name))
        print(f"{workers} workers: {len(tables)} tables; different from campus sync: {differ or 'none'}")


def by_workers(home: Path, platform: RunningSimulator, workers: int, schools: int, postgres: str) -> Night:
    """Run a night with `workers` workers, in a new home."""
    with environment(home, platform, postgres) as address:
        return night(address, workers, schools)


def submit(folder: Path, schools: int, postgres: str) -> None:
    """Measure until the daemon has requested each school's run, while one worker loads."""
    with (
        running(schools=schools, students=8, semesters=1) as platform,
        environment(folder, platform, postgres) as address,
    ):
        result = night(address, 1, schools, ends=lambda runs: len(runs) >= schools)
        print(f"{schools} schools' runs requested, {result.submission:.2f} s a school", flush=True)


if __name__ == "__main__":
    main()
