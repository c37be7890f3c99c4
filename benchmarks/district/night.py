"""Runs a night with workers, and describes it afterwards."""

import hashlib
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import dagster as dg
from sqlalchemy import create_engine, make_url, text

from benchmarks.child import settings_for
from campus.registry.v1 import ATTENDANCE_SESSIONS
from loading.custom_fields import users_table
from loading.datasets.tables import planned_tables
from loading.tables import TABLES
from pipelines.district.heartbeats import NO_ANSWER
from pipelines.district.trial import Trial, trial
from pipelines.nights.run_state import runs_under_way
from pipelines.runs.instance import open_instance
from pipelines.runs.jobs import DISCOVERY, SCHOOL_NIGHT
from pipelines.runs.partition_selection import SCHOOL_TAG
from pipelines.settings.environment import BROKER_URL, POSTGRES_URL
from pipelines.settings.settings import load_settings
from simulator.process import RunningSimulator
from warehouse.lake.delta import Lake

BIN = Path(sys.executable).parent
POSTGRES = "postgresql+psycopg2://127.0.0.1:5432/postgres"
#: Columns that differ between loads: the time of reading, also used for deletions without a time, and the
#: statistics of a session, which only one of two routes shows. A run that goes on may take the other route.
DIFFERENT = {"_synced_at", "_deleted_at", *ATTENDANCE_SESSIONS.filled_later}
PATIENCE = 1800.0


@dataclass(frozen=True)
class Night:
    """The runs of the schools; times are seconds since the epoch."""

    runs: list[dg.RunRecord]

    @property
    def seconds(self) -> float:
        """From the beginning of the first run to the end of the last."""
        starts = [record.start_time for record in self.runs if record.start_time]
        return max(record.end_time or 0 for record in self.runs) - min(starts)

    @property
    def all_loaded(self) -> bool:
        """Whether each school was loaded in the end, by any of its runs."""
        loaded = {
            record.dagster_run.tags[SCHOOL_TAG] for record in self.runs if record.dagster_run.is_success
        }
        return loaded == {record.dagster_run.tags[SCHOOL_TAG] for record in self.runs}

    @property
    def submission(self) -> float:
        """Seconds a school from the first request to the last, while other sensors tick."""
        made = sorted(record.create_timestamp.timestamp() for record in self.runs)
        return (made[-1] - made[0]) / max(1, len(made) - 1)


@contextmanager
def environment(
    home: Path,
    platform: RunningSimulator,
    postgres: str = POSTGRES,
    *,
    extra: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[str]:
    """Make a database and a virtual host, and set the environment; yields the database's address.
    extra: further settings."""
    name = f"campus_{uuid.uuid4().hex[:12]}"
    address = make_url(postgres).set(database=name).render_as_string(hide_password=False)
    _sql(postgres, f"CREATE DATABASE {name}")
    _rabbitmq("add_vhost", name)
    _rabbitmq("set_permissions", "--vhost", name, "guest", ".*", ".*", ".*")
    broker = f"amqp://guest:guest@127.0.0.1:5672/{name}"
    try:
        with settings_of_a_district(home, platform, address, broker, extra):
            yield address
    finally:
        _rabbitmq("delete_vhost", name)
        _sql(postgres, f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def settings_of_a_district(
    home: Path, platform: RunningSimulator, postgres: str, broker: str, extra: Mapping[str, str]
) -> Iterator[None]:
    """Set the environment of a district. postgres, broker: addresses; extra: further settings."""
    before = dict(os.environ)
    os.environ |= settings_for(platform, home) | {POSTGRES_URL: postgres, BROKER_URL: broker, **extra}
    try:
        yield
    finally:
        os.environ.clear()
        os.environ |= before


def night(
    address: str,
    workers: int,
    schools: int,
    *,
    ends: Callable[[list[dg.RunRecord]], bool] | None = None,
    meanwhile: Callable[[Trial], None] = lambda _: None,
    report: Callable[[str], None] = lambda _: None,
) -> Night:
    """Discover with a daemon, and load with `workers` workers.

    ends: whether the night is over, by its runs; default: all have ended. meanwhile: called each second."""
    settings = load_settings()
    with (
        open_instance(settings) as instance,
        trial(settings.home, workers, None, instance, address, report) as running,
    ):
        launch = [BIN / "dagster", "job", "launch", "-m", "pipelines.definitions", "-j", DISCOVERY]
        subprocess.run(launch, check=True, stdout=subprocess.DEVNULL)
        until = time.monotonic() + PATIENCE
        while True:
            running.look()
            meanwhile(running)
            with suppress(*NO_ANSWER):
                goes_on = any(run.job_name == SCHOOL_NIGHT for run in runs_under_way(instance))
                runs = list(instance.get_run_records(dg.RunsFilter(job_name=SCHOOL_NIGHT)))
                ended = len(runs) >= schools and all(record.dagster_run.is_finished for record in runs)
                if ends(runs) if ends else ended and not goes_on:
                    return Night(runs)
            if time.monotonic() > until:
                raise SystemExit("the night does not end: see the folder `district` of its home")
            time.sleep(1)


def lake_in(home: Path) -> Lake:
    """The default lake of a home."""
    return Lake(str(home / "lake"))


def digests(lake: Lake) -> dict[str, str]:
    """A digest of each table of a lake."""
    tables = [*(TABLES | {"v1_users": users_table(lake)}).values(), *planned_tables(lake)]
    return {
        table.name: hashlib.sha256(
            "\n".join(
                sorted(
                    str(
                        [value is None if name in DIFFERENT else value for name, value in sorted(row.items())]
                    )
                    for row in lake.read(table, alive=False).to_pylist()
                )
            ).encode()
        ).hexdigest()
        for table in tables
        if lake.holds(table)
    }


def _sql(address: str, statement: str) -> None:
    engine = create_engine(make_url(address), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(statement))
    engine.dispose()


def _rabbitmq(*arguments: str) -> None:
    subprocess.run(["rabbitmqctl", "--quiet", *arguments], check=True, capture_output=True)
