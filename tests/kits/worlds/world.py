"""A warehouse and a made-up platform side by side: synced by the very jobs that the command line runs."""

import atexit
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import dagster as dg
from pydantic import SecretStr

from assets.shared.partitions import SCHOOL_SEMESTERS
from campus.registry import BASE_DATA, RESOURCES, SCHOOLS
from loading.connection.runtime import SYNC_ID_TAG, Runtime
from loading.tables import TABLES
from pipelines.definitions import build_definitions, load_definitions
from pipelines.lake.opening import lake_of, make_ready
from pipelines.nights.sync import JobEnd, build, load
from pipelines.resources import open_runtime
from pipelines.runs.jobs import DISCOVERY
from pipelines.settings.options import DatasetOptions, Options, PlatformOptions
from pipelines.settings.settings import Settings
from simulator.process import RunningSimulator, running
from tests.kits.readings import base_data
from warehouse.lake.delta import Lake
from warehouse.lake.logs.tables import LOAD_LOG, LOGS, Log

# What is loaded and `differences` compares; datasets and the v1 interface have tests of their own.
BASE_ONLY = 'group:"base_data"'
COMPARED = [spec.name for spec in (SCHOOLS, *BASE_DATA)]
# What is kept of what Dagster's runs tell: what was made, and how the run ended.
KEPT = {
    dg.DagsterEventType.ASSET_MATERIALIZATION,
    dg.DagsterEventType.RUN_START,
    dg.DagsterEventType.RUN_SUCCESS,
    dg.DagsterEventType.RUN_FAILURE,
    dg.DagsterEventType.RUN_CANCELED,
}
# Seconds before a request is first sent again, a tenth of what it is for others: the platform is beside us.
BACKOFF = 0.05
# A platform's date soon after the beginning of the last semester: few weeks of attendance to load.
EARLY = date(2025, 3, 7)

Row = dict[str, Any]
Rows = Mapping[Any, Mapping[str, Any]]


@dataclass
class World:
    """A home, the platform that it is synced from, and Dagster's own records."""

    home: Path
    platform: RunningSimulator
    settings: Settings
    instance: dg.DagsterInstance
    numbers: Iterator[int]
    opened: dict[tuple[str, bool], tuple[Runtime, dg.Definitions]] = field(default_factory=dict)

    @property
    def lake(self) -> Lake:
        return lake_of(self.settings)

    def load(
        self,
        sync_id: str | None = None,
        *,
        select: str | None = BASE_ONLY,
        accept_vanished: bool = False,
        full: bool = False,
        **changes: Any,
    ) -> "Load":
        """Discover and load school by school, as `campus sync` does before it publishes. `select`: these
        assets; None: all. `changes` are of the settings."""
        sync_id = sync_id or f"sync-{next(self.numbers)}"
        settings = self.settings.model_copy(update=changes)
        runtime, definitions = self._opened(settings, accept_vanished)
        ends = list(load(runtime, definitions, self.instance, sync_id, selection=select, full=full))
        return Load(sync_id, ends, [row for row in self.log("load_log") if row["sync_id"] == sync_id])

    def discover(self) -> dg.ExecuteInProcessResult:
        """Run the discovery as Dagster would, whatever becomes of it."""
        job = self.opened_as_is()[1].resolve_job_def(DISCOVERY)
        tags = {SYNC_ID_TAG: f"night-{next(self.numbers)}"}
        return job.execute_in_process(instance=self.instance, tags=tags, raise_on_error=False)

    def opened_as_is(self) -> tuple[Runtime, dg.Definitions]:
        """What loads run with by the world's own settings."""
        return self._opened(self.settings, accept_vanished=False)

    def _opened(self, settings: Settings, accept_vanished: bool) -> tuple[Runtime, dg.Definitions]:
        """What loads run with. Made once for the same settings: a third of a small load is to make it."""
        key = (settings.model_dump_json(warnings=False), accept_vanished)
        if key not in self.opened:
            # The platform runs beside, so that there is nothing to end here.
            with open_runtime(settings, accept_vanished=accept_vanished) as runtime:
                runtime = replace(runtime, client=replace(runtime.client, backoff_base=BACKOFF))
                self.opened[key] = runtime, load_definitions(settings, runtime)
        return self.opened[key]

    def publish(self) -> JobEnd:
        """Build and publish from the lake as it is."""
        return build(build_definitions(self.settings), self.instance)

    @property
    def partitions(self) -> list[str]:
        return list(self.instance.get_dynamic_partitions(SCHOOL_SEMESTERS.name or ""))

    def log(self, name: str) -> list[dict[str, Any]]:
        """The rows of one of the warehouse's own tables, those of the load log in the order of their end."""
        table: Log = next(log for log in LOGS if log.name == name)
        rows: list[dict[str, Any]] = self.lake.read(table).to_pylist()
        return sorted(rows, key=lambda row: row["finished_at"]) if table is LOAD_LOG else rows

    def held(self, resource: str, *, alive: bool = True) -> list[dict[str, Any]]:
        """The lake's rows of a resource."""
        return self.lake.read(TABLES[resource], alive=alive).to_pylist()

    def row(self, resource: str, key: int) -> dict[str, Any]:
        """One row of the lake, tombstones too."""
        [row] = [row for row in self.held(resource, alive=False) if row["id"] == key]
        return row

    def versions(self) -> dict[str, int]:
        """The version of each table of the platform's rows: it grows with every commit."""
        return {name: self.lake.version(table) for name, table in TABLES.items()}


@dataclass(frozen=True)
class Load:
    """How the runs of one load ended, and what the load log has on it."""

    sync_id: str
    ends: list[JobEnd]
    log: list[dict[str, Any]]

    @property
    def problems(self) -> list[str]:
        return [end.problem for end in self.ends if end.problem]

    def entry(self, resource: str) -> dict[str, Any]:
        """The load log's row of a resource that was read in one slice."""
        [entry] = [row for row in self.log if row["resource"] == resource]
        return entry

    def total(self, name: str) -> int:
        """One of the counts over all slices."""
        return sum(row[name] or 0 for row in self.log)


def settings_for(home: Path, platform: RunningSimulator, *, datasets: bool = True) -> Settings:
    """Settings that name this platform. Few attempts, since each waits longer than the one before."""
    wanted = DatasetOptions() if datasets else DatasetOptions(include=())
    return Settings(
        home=home,
        base_url=platform.base_url,
        client_id=platform.client_id,
        client_secret=SecretStr(platform.client_secret),
        options=Options(platform=PlatformOptions(max_attempts=4), datasets=wanted),
    )


def publications(definitions: dg.Definitions, instance: dg.DagsterInstance) -> list[str | None]:
    """The keys of the runs that the publication's sensor asks for now."""
    sensor = definitions.resolve_sensor_def("publish_after_loads")
    tick = sensor.evaluate_tick(dg.build_sensor_context(instance=instance))
    return [request.run_key for request in tick.run_requests or []]


@contextmanager
def instance_at(home: Path, *, checks: bool = False) -> Iterator[dg.DagsterInstance]:
    """Dagster's own records, in memory. What a run tells of its steps is not kept, nor what it plans to do,
    nor, unless a test asks for them, what its `checks` found: to write it down takes longer than to load a
    small school."""
    stored_types = KEPT | ({dg.DagsterEventType.ASSET_CHECK_EVALUATION} if checks else set())
    with dg.DagsterInstance.ephemeral(tempdir=str(home)) as instance:
        storage = instance.event_log_storage
        keep = storage.store_event

        def store(event: dg.EventLogEntry) -> None:
            if event.dagster_event_type in stored_types:
                keep(event)

        with patch.object(storage, "store_event", store):
            yield instance


@contextmanager
def world(home: Path, *, datasets: bool = True, checks: bool = False, **options: Any) -> Iterator[World]:
    """A new home beside a new platform; `options` as of simulator.process.running. `datasets`: whether they
    are wanted, since to look for them is half of a discovery; `checks`: whether Dagster keeps what they
    found."""
    small = {"schools": 1, "students": 24, "semesters": 1, "core_subjects": 4}
    with running(**small | options) as platform, instance_at(home, checks=checks) as instance:
        settings = settings_for(home, platform, datasets=datasets)
        give_ready_lake(settings)
        yield World(home, platform, settings, instance, count(1))


def give_ready_lake(settings: Settings) -> None:
    """Give a new home a copy of a lake that is ready and empty: to make its 46 tables anew takes as long as a
    load of a small school."""
    if settings.lake is None and not (settings.home / "lake").exists():
        shutil.copytree(_ready_lake(), settings.home / "lake")


@cache
def _ready_lake() -> Path:
    """The folder of one, made once a process."""
    home = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, home)
    made = Settings(home=home, base_url="http://127.0.0.1:9")
    make_ready(lake_of(made), made)
    return home / "lake"


def differences(
    world: World, resources: Collection[str] = COMPARED, unheeded: Collection[str] = ()
) -> dict[str, str]:
    """By table, in how many rows the lake is not what the platform has, and how the first of them differs.

    unheeded: the parameters that the platform ignores."""
    schools = [int(entry["key"]) for entry in world.platform.rows("schools", 0) if not entry["trashed"]]
    result = {}
    for resource in resources:
        true = [row for school in schools for row in _true_rows(world, resource, school, unheeded)]
        stored = [_without_ours(row) for row in world.held(resource)]
        rows = base_data.by_key(resource, stored), base_data.by_key(resource, true)
        if rows[0] != rows[1]:
            result[resource] = difference(*rows)
    return result


def difference(stored: Rows, true: Rows) -> str:
    """In how many rows, which are by key, a table differs, and how the first of them does."""
    keys = [key for key in {**true, **stored} if stored.get(key) != true.get(key)]
    start = f"{len(keys)} rows, first {keys[0]}"
    stored_row, true_row = stored.get(keys[0]), true.get(keys[0])
    if stored_row is None:
        return f"{start}: missing: {true_row}"
    if true_row is None:
        return f"{start}: not on the platform: {stored_row}"
    names = [name for name in {**true_row, **stored_row} if stored_row.get(name) != true_row.get(name)]
    values = (f"{name} {stored_row.get(name)!r} for {true_row.get(name)!r}" for name in names)
    return f"{start}: {', '.join(values)}"


def _true_rows(world: World, resource: str, school: int, unheeded: Collection[str]) -> Iterator[Row]:
    semesters = [int(entry["key"]) for entry in world.platform.rows("semesters", school)]
    for semester in semesters if RESOURCES[resource].sliced_by == "semester" else [0]:
        for row in base_data.truth(world.platform, resource, semester, unheeded, school=school):
            if not row["_trashed"]:
                yield {name: value for name, value in row.items() if not name.startswith("_trashed")}


def _without_ours(row: Row) -> Row:
    """A stored row without the columns that no platform has."""
    return {name: value for name, value in row.items() if name == "_extra" or not name.startswith("_")}
