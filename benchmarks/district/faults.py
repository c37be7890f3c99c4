"""A night that survives its faults: a store that answers 503, a killed worker, no broker and no Postgres.

    .venv/bin/python -m benchmarks.district.faults [--schools 4] [--students 12] [--without]

Two workers on PostgreSQL, RabbitMQ, Redis and an S3 server of moto's; the first three run on this machine
(Debian: `postgresql`, `rabbitmq-server`, `redis-server`). What has only this night's connections cut are the
ways to Postgres and the broker, so that others who use them notice nothing. Each fault falls into a load. In
the end the tables are compared with those of `campus sync` on a disk, and the load log is looked through for
what was read again though it was committed and logged when the worker died. --without: no faults.
"""

import argparse
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import dagster as dg
from sqlalchemy import make_url

from benchmarks.district.night import BIN, Night, digests, environment, lake_in, night, platform_environment
from benchmarks.district.shared import POSTGRES
from pipelines.district.config import RESULT_URL
from pipelines.district.heartbeats import NO_ANSWER
from pipelines.district.trial import Trial
from pipelines.instance import POSTGRES_URL
from pipelines.lake import lake_of
from pipelines.nights.school_night import SCHOOL_NIGHT
from pipelines.settings import load_settings
from simulator.process import RunningSimulator, running
from tests.shared.object_store import BUCKET, ObjectStore, object_store
from tests.shared.wire import Wire, wire
from warehouse.lake.delta import Lake
from warehouse.lake.log_tables import LOAD_LOG
from warehouse.load.log_writer import standing_rows

POSTGRES_PORT, BROKER_PORT, REDIS_PORT = 5432, 5672, 6379
#: Seconds for which each is away, and between the end of one fault and the next.
STORE_AWAY, BROKER_AWAY, POSTGRES_AWAY, PAUSE = 60.0, 20.0, 30.0, 15.0


@dataclass
class Faults:
    """Faults in their order: each begins while a school is loaded, some seconds after the one before.

    `done`: what happened, and when (seconds since the epoch). `held`: what was committed and logged when the
    worker died."""

    pending: list[Callable[[Trial], float]]
    done: list[tuple[str, float]] = field(default_factory=list)
    held: set[tuple[str, str]] = field(default_factory=set)
    _next: float = 0.0

    def __call__(self, district: Trial) -> None:
        """Have the next fault happen, if it is its time."""
        if self.pending and time.monotonic() >= self._next and _loading(district):
            fault = self.pending.pop(0)
            self.done.append((fault.__name__, time.time()))
            self._next = time.monotonic() + fault(district) + PAUSE

    def worker_killed(self, district: Trial) -> float:
        """Kill a worker that is at a school, and its child. It is stopped first, so that it is certain what
        it had committed."""
        name = _loading(district)[0].partition("@")[0]
        worker = next(one for one in district.programs if one.log.stem == name)
        worker.send(signal.SIGSTOP)
        rows = standing_rows(lake_of(load_settings()))
        self.held = {(row["resource"], row["slice"]) for row in rows if row["status"] == "ok"}
        worker.send(signal.SIGKILL)
        return 0.0


@dataclass(frozen=True)
class Services:
    """What a district stands on, as far as it can be taken away."""

    postgres: Wire
    broker: Wire
    store: ObjectStore

    def store_away(self, _: Trial) -> float:
        """The store answers everything with 503."""
        self.store.fail(STORE_AWAY)
        return STORE_AWAY

    def broker_away(self, _: Trial) -> float:
        """Connections to the broker are cut and refused."""
        self.broker.cut(BROKER_AWAY)
        return BROKER_AWAY

    def postgres_away(self, _: Trial) -> float:
        """Connections to Postgres are cut and refused."""
        self.postgres.cut(POSTGRES_AWAY)
        return POSTGRES_AWAY


@contextmanager
def district(home: Path, platform: RunningSimulator, postgres: str) -> Iterator[tuple[str, Services]]:
    """A district of its own, named in the environment; yields its database's address, too."""
    postgres_port = make_url(postgres).port or POSTGRES_PORT
    with wire(postgres_port) as to_postgres, wire(BROKER_PORT) as to_broker, object_store() as store:
        results = f"redis://127.0.0.1:{REDIS_PORT}/0"
        more = store.environment | {RESULT_URL: results, "CAMPUS_LAKE": f"s3://{BUCKET}/lake"}
        ports = to_postgres.port, to_broker.port
        with environment(home, platform, postgres, ports=ports, more=more) as address:
            yield address, Services(to_postgres, to_broker, store)


def asked_again(lake: Lake, faults: Faults) -> list[tuple[str, str]]:
    """What was read after the worker's death though it had been committed and logged before."""
    died = next((at for name, at in faults.done if name == "worker_killed"), None)
    if died is None:
        return []
    columns = ["resource", "slice", "started_at"]
    after = lake.read(LOAD_LOG, columns=columns, alive=False).to_pylist()
    began = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(died + 8 * 3600))
    return sorted(
        {
            (row["resource"], row["slice"])
            for row in after
            if str(row["started_at"]) > began and (row["resource"], row["slice"]) in faults.held
        }
    )


def by_sync(home: Path, platform: RunningSimulator) -> dict[str, str]:
    """The digests of what `campus sync` loads into a home of its own."""
    settings = platform_environment(home, platform)
    subprocess.run([BIN / "campus", "sync"], check=True, env=os.environ | settings, capture_output=True)
    return digests(lake_in(home))


def main() -> None:
    """Have a night with faults, compare and print."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--schools", type=int, default=4)
    arguments.add_argument("--students", type=int, default=12)
    arguments.add_argument("--latency", type=float, default=0.1)
    arguments.add_argument("--without", action="store_true")
    options = arguments.parse_args()
    postgres = os.environ.pop(POSTGRES_URL, POSTGRES)
    late = {"kind": "slow", "seconds": options.latency}
    with (
        tempfile.TemporaryDirectory() as folder,
        running(schools=options.schools, students=options.students, faults=(late,)) as platform,
    ):
        with district(Path(folder) / "night", platform, postgres) as (address, services):
            faults = Faults([])
            if not options.without:
                faults.pending += [services.store_away, faults.worker_killed]
                faults.pending += [services.broker_away, services.postgres_away]
            had = night(address, 2, options.schools, meanwhile=faults, tell=print)
            lake = lake_of(load_settings())
            found, again = digests(lake), asked_again(lake, faults)
        requests = len(platform.log())
        platform.clear_log()
        expected = by_sync(Path(folder) / "sync", platform)
        alone = len(platform.log())
    show(had, faults)
    differ = sorted(name for name in expected | found if expected.get(name) != found.get(name))
    print(f"{len(found)} tables, other than by campus sync on a disk: {differ or 'none'}")
    print(f"{requests} requests; campus sync alone: {alone}")
    print(f"{len(faults.held)} slices committed when the worker died, of these read again: {again or 'none'}")
    if faults.pending:
        raise SystemExit("the night was over before all faults had happened: more schools make it longer")


def show(had: Night, faults: Faults) -> None:
    """What happened when, and how each run ended."""
    begun = min(record.start_time for record in had.runs if record.start_time)
    for name, at in faults.done:
        print(f"{at - begun:7.0f} s  {name.replace('_', ' ')}")
    for record in sorted(had.runs, key=lambda record: record.create_timestamp):
        times = [(at - begun if at else float("nan")) for at in (record.start_time, record.end_time)]
        status = record.dagster_run.status.value
        print(f"{times[0]:7.0f} s  to {times[1]:.0f} s: {record.dagster_run.run_id[:8]} {status}")


def _loading(district: Trial) -> list[str]:
    """The workers that are at a school."""
    with suppress(*NO_ANSWER):
        runs = district.instance.get_runs(
            dg.RunsFilter(job_name=SCHOOL_NIGHT, statuses=[dg.DagsterRunStatus.STARTED])
        )
        beats = district.beats.all()
        return [beats[run.run_id].worker for run in runs if run.run_id in beats]
    return []


if __name__ == "__main__":
    main()
