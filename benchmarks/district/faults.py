"""Runs a night with faults: a store that responds with 503, a killed worker, no broker and no Postgres.

    .venv/bin/python -m benchmarks.district.faults [--schools 4] [--students 12] [--share 1] [--without]

Two workers use their own PostgreSQL, RabbitMQ, Redis and S3 server, started from the installed programs
(Debian: `postgresql`, `rabbitmq-server`, `redis-server`; moto). The broker and Postgres are killed and
started again. Each fault happens during a load. In the end the tables are compared with those of
`campus sync` on a disk, and the load log is searched for slices that were read again although they were
committed and logged when the worker died. --share: the share of the seconds of each outage; --without: no
faults. Exit status 1: a comparison failed.
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
from threading import Timer

import dagster as dg

from benchmarks.child import settings_for
from benchmarks.district.night import (
    BIN,
    Night,
    digests,
    lake_in,
    night,
    settings_of_a_district,
)
from pipelines.district.heartbeats import NO_ANSWER
from pipelines.district.trial import Trial
from pipelines.lake.opening import lake_of
from pipelines.runs.jobs import SCHOOL_NIGHT
from pipelines.settings.environment import RESULT_URL
from pipelines.settings.settings import load_settings
from simulator.process import RunningSimulator, running
from tests.kits.servers.object_store import BUCKET, ObjectStore, object_store
from tests.kits.servers.own_servers import Server, rabbitmq, redis
from tests.kits.servers.postgres import Postgres, postgres
from warehouse.lake.delta import Lake
from warehouse.lake.logs.tables import LOAD_LOG
from warehouse.load.logs.writer import standing_rows

#: Seconds of each outage, and between the end of a fault and the next fault.
STORE_AWAY, BROKER_AWAY, POSTGRES_AWAY, PAUSE = 60.0, 20.0, 30.0, 15.0
#: Seconds within which a dead worker must be detected, without the time when Postgres is away.
NOTICED = 120.0


@dataclass
class Faults:
    """Faults in their order: each begins during the load of a school, some seconds after the last fault.

    `done`: the time of each fault (seconds since the epoch). `killed`: the run that lost its worker.
    `committed`: the slices that were committed and logged at that time."""

    pending: list[Callable[[Trial], float]]
    pause: float
    done: dict[str, float] = field(default_factory=dict)
    killed: str = ""
    committed: set[tuple[str, str]] = field(default_factory=set)
    _next: float = 0.0

    def __call__(self, district: Trial) -> None:
        """Cause the next fault, if it is due."""
        if self.pending and time.monotonic() >= self._next and _loading(district):
            fault = self.pending.pop(0)
            self.done[fault.__name__] = time.time()
            self._next = time.monotonic() + fault(district) + self.pause

    def worker_killed(self, district: Trial) -> float:
        """Kill a worker that loads a school, and its child. It is stopped first, so that its commits are
        certain."""
        self.killed, name = next(iter(_loading(district).items()))
        worker = next(program for program in district.programs if program.log.stem == name.partition("@")[0])
        worker.send(signal.SIGSTOP)
        rows = standing_rows(lake_of(load_settings()))
        self.committed = {(row["resource"], row["slice"]) for row in rows if row["status"] == "ok"}
        worker.send(signal.SIGKILL)
        return 0.0


@dataclass(frozen=True)
class Services:
    """The servers of a district that may fail. `share`: the share of the seconds of each outage."""

    postgres: Postgres
    broker: Server
    store: ObjectStore
    share: float
    _timers: list[Timer] = field(default_factory=list)

    def store_away(self, _: Trial) -> float:
        """The store responds to every request with 503."""
        self.store.fail(STORE_AWAY * self.share)
        return STORE_AWAY * self.share

    def broker_away(self, _: Trial) -> float:
        """The broker is killed, and started again."""
        return self._away(self.broker, BROKER_AWAY * self.share)

    def postgres_away(self, _: Trial) -> float:
        """Postgres is killed, and started again."""
        return self._away(self.postgres, POSTGRES_AWAY * self.share)

    def _away(self, server: Server | Postgres, seconds: float) -> float:
        server.stop()
        timer = Timer(seconds, server.start)
        timer.start()
        self._timers.append(timer)
        return seconds

    def wait(self) -> None:
        """Wait until all servers run again."""
        for timer in self._timers:
            timer.join()


@contextmanager
def district(home: Path, platform: RunningSimulator, share: float) -> Iterator[Services]:
    """Start a district, and name it in the environment."""
    with postgres() as database, rabbitmq() as (server, broker), redis() as results, object_store() as store:
        extra_settings = store.environment | {RESULT_URL: results, "CAMPUS_LAKE": f"s3://{BUCKET}/lake"}
        services = Services(database, server, store, share)
        with settings_of_a_district(home, platform, database.url, broker, extra_settings):
            try:
                yield services
            finally:
                services.wait()


def read_again(lake: Lake, faults: Faults) -> list[tuple[str, str]]:
    """The slices that were read after the worker's death although they were committed and logged before."""
    died = faults.done.get("worker_killed")
    if died is None:
        return []
    columns = ["resource", "slice", "started_at"]
    after = lake.read(LOAD_LOG, columns=columns, alive=False).to_pylist()
    began = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(died + 8 * 3600))
    return sorted(
        {
            (row["resource"], row["slice"])
            for row in after
            if str(row["started_at"]) > began and (row["resource"], row["slice"]) in faults.committed
        }
    )


def by_sync(home: Path, platform: RunningSimulator) -> dict[str, str]:
    """The digests of the tables that `campus sync` loads into a new home."""
    home.mkdir()
    settings = settings_for(platform, home)
    subprocess.run([BIN / "campus", "sync"], check=True, env=os.environ | settings, capture_output=True)
    return digests(lake_in(home))


def noticed(had: Night, faults: Faults) -> float:
    """Seconds until the run of the killed worker was reported as failed."""
    [end] = [record.end_time for record in had.runs if record.dagster_run.run_id == faults.killed]
    return (end or float("inf")) - faults.done["worker_killed"]


def main() -> None:
    """Run a night with faults, compare and print."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--schools", type=int, default=4)
    arguments.add_argument("--students", type=int, default=12)
    arguments.add_argument("--latency", type=float, default=0.1)
    arguments.add_argument("--share", type=float, default=1.0)
    arguments.add_argument("--without", action="store_true")
    options = arguments.parse_args()
    late = {"kind": "slow", "seconds": options.latency}
    with (
        tempfile.TemporaryDirectory() as folder,
        running(schools=options.schools, students=options.students, faults=(late,)) as platform,
    ):
        with district(Path(folder) / "night", platform, options.share) as services:
            faults = Faults([], PAUSE * options.share)
            if not options.without:
                faults.pending += [services.store_away, faults.worker_killed]
                faults.pending += [services.broker_away, services.postgres_away]
            had = night(services.postgres.url, 2, options.schools, meanwhile=faults, report=print)
            lake = lake_of(load_settings())
            tables, again = digests(lake), read_again(lake, faults)
        requests = len(platform.log())
        platform.clear_log()
        expected = by_sync(Path(folder) / "sync", platform)
        alone = len(platform.log())
    show(had, faults)
    differ = sorted(name for name in expected | tables if expected.get(name) != tables.get(name))
    print(f"{len(tables)} tables; different from campus sync on a disk: {differ or 'none'}")
    print(f"{requests} requests; campus sync alone: {alone}")
    print(f"{len(faults.committed)} slices committed when the worker died; read again: {again or 'none'}")
    late_by = 0.0
    if faults.killed:
        after = noticed(had, faults)
        late_by = after - POSTGRES_AWAY * options.share - NOTICED
        print(f"its run was reported as failed after {after:.0f} s")
    if faults.pending:
        raise SystemExit("the night ended before all faults: use more schools")
    if differ or again or late_by > 0 or not had.all_loaded:
        raise SystemExit("a comparison failed")


def show(had: Night, faults: Faults) -> None:
    """Print the time of each fault, and the end of each run."""
    begun = min(record.start_time for record in had.runs if record.start_time)
    for name, at in faults.done.items():
        print(f"{at - begun:7.0f} s  {name.replace('_', ' ')}")
    for record in sorted(had.runs, key=lambda record: record.create_timestamp):
        times = [(at - begun if at else float("nan")) for at in (record.start_time, record.end_time)]
        status = record.dagster_run.status.value
        print(f"{times[0]:7.0f} s  to {times[1]:.0f} s: {record.dagster_run.run_id[:8]} {status}")


def _loading(district: Trial) -> dict[str, str]:
    """The runs that load a school, with the worker of each."""
    with suppress(*NO_ANSWER):
        runs = district.instance.get_runs(
            dg.RunsFilter(job_name=SCHOOL_NIGHT, statuses=[dg.DagsterRunStatus.STARTED])
        )
        beats = district.beats.all()
        return {run.run_id: beats[run.run_id].worker for run in runs if run.run_id in beats}
    return {}


if __name__ == "__main__":
    main()
