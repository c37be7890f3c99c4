"""A night by workers: what is started for it, and what is known of it afterwards."""

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
from benchmarks.district.shared import POSTGRES
from loading.custom_fields import users_table
from loading.datasets.tables import planned_tables
from loading.tables import TABLES
from pipelines.automation import runs_under_way
from pipelines.definitions import DISCOVERY
from pipelines.district.config import BROKER_URL
from pipelines.district.heartbeats import NO_ANSWER
from pipelines.district.trial import Trial, trial
from pipelines.due import SCHOOL_TAG
from pipelines.instance import POSTGRES_URL, open_instance
from pipelines.nights.school_night import SCHOOL_NIGHT
from pipelines.settings import load_settings
from simulator.process import RunningSimulator
from warehouse.lake.delta import Lake

BIN = Path(sys.executable).parent
#: Differ from load to load: when a row was read, which stands for a deletion without a time, too.
TIMES = {"_synced_at", "_deleted_at"}
PATIENCE = 1800.0


@dataclass(frozen=True)
class Night:
    """The runs of the schools, and what each had to do with time (seconds since the epoch)."""

    runs: list[dg.RunRecord]

    @property
    def seconds(self) -> float:
        """From the beginning of the first run to the end of the last."""
        starts = [record.start_time for record in self.runs if record.start_time]
        return max(record.end_time or 0 for record in self.runs) - min(starts)

    @property
    def all_loaded(self) -> bool:
        """Whether each school was loaded in the end, be it by another run than the first."""
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
    more: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[str]:
    """A database and a virtual host of its own, named in the environment with the rest; yields the
    database's address. more: settings."""
    name = f"campus_{uuid.uuid4().hex[:12]}"
    address = make_url(postgres).set(database=name).render_as_string(hide_password=False)
    _sql(postgres, f"CREATE DATABASE {name}")
    _rabbitmq("add_vhost", name)
    _rabbitmq("set_permissions", "--vhost", name, "guest", ".*", ".*", ".*")
    broker = f"amqp://guest:guest@127.0.0.1:5672/{name}"
    try:
        with settings_of_a_district(home, platform, address, broker, more):
            yield address
    finally:
        _rabbitmq("delete_vhost", name)
        _sql(postgres, f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def settings_of_a_district(
    home: Path, platform: RunningSimulator, postgres: str, broker: str, more: Mapping[str, str]
) -> Iterator[None]:
    """The settings of a district in the environment. postgres, broker: addresses; more: settings."""
    before = dict(os.environ)
    os.environ |= settings_for(platform, home) | {POSTGRES_URL: postgres, BROKER_URL: broker, **more}
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
    tell: Callable[[str], None] = lambda _: None,
) -> Night:
    """Discover by a daemon, and load by so many workers. ends: when it is over, by its runs; else when all
    have ended. meanwhile: is called once a second."""
    settings = load_settings()
    with (
        open_instance(settings) as instance,
        trial(settings.home, workers, None, instance, address, tell) as running,
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
    """The lake of a home, where the settings name no other place."""
    return Lake(str(home / "lake"))


def digests(lake: Lake) -> dict[str, str]:
    """What a lake holds, a digest a table."""
    tables = [*(TABLES | {"v1_users": users_table(lake)}).values(), *planned_tables(lake)]
    return {
        table.name: hashlib.sha256(
            "\n".join(
                sorted(
                    str([value is None if name in TIMES else value for name, value in sorted(row.items())])
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
