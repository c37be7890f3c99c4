"""Loads as `campus sync --select 'key:"datasets/records"'` does: discovery, then the load, by Dagster."""

import os
import time
from pathlib import Path

from pydantic import SecretStr

from benchmarks.datasets.source import DATASET, Job, Loaded, base_url
from loading.datasets.tables import planned_tables
from pipelines.definitions import load_definitions
from pipelines.lake.opening import lake_of
from pipelines.nights.sync import load, new_sync_id
from pipelines.resources import open_runtime
from pipelines.runs.instance import open_instance
from pipelines.settings.options import DatasetOptions, Options
from pipelines.settings.settings import Settings
from warehouse.publish.fill import build_raw
from warehouse.publish.publish import FILE


def prepare(job: Job) -> None:
    """Make a new installation: Dagster's databases and the lake's empty tables."""
    settings = _settings(job)
    with open_instance(settings), open_runtime(settings) as runtime:
        load_definitions(settings, runtime)


def to_lake(job: Job) -> Loaded:
    """Load into the lake: segments side by side, decoded strictly, balanced, one ACID commit each."""
    settings = _settings(job)
    phases = _sync(settings)
    files = f"{settings.lake_root}/datasets.{DATASET}/_school_id=*/*/*.parquet"
    return Loaded(relation=f"read_parquet('{files}')", phases=phases)


def to_table(job: Job) -> Loaded:
    """Load into the lake, and from there into the DuckDB file for analysts."""
    settings = _settings(job)
    phases = _sync(settings)
    started = time.monotonic()
    lake = lake_of(settings)
    path = settings.home / FILE
    build_raw(lake, [], path, defined=planned_tables(lake))
    return Loaded(str(path), f"datasets.{DATASET}", phases | {"table": time.monotonic() - started})


def _settings(job: Job) -> Settings:
    os.environ["DAGSTER_HOME"] = f"{job.folder}/dagster"
    return Settings(
        home=Path(job.folder),
        base_url=base_url(),
        client_id=os.environ["CAMPUS_CLIENT_ID"],
        client_secret=SecretStr(os.environ["CAMPUS_CLIENT_SECRET"]),
        options=Options(datasets=DatasetOptions(include=(DATASET,), segments_at_a_time=job.in_flight)),
    )


def _sync(settings: Settings) -> dict[str, float]:
    """Run the jobs; return the seconds of each. The first includes the start-up before it."""
    phases = {}
    started = time.monotonic()
    with open_instance(settings) as instance, open_runtime(settings) as runtime:
        definitions = load_definitions(settings, runtime)
        for end in load(runtime, definitions, instance, new_sync_id(), selection='key:"datasets/records"'):
            assert end.problem is None, end.problem
            phases[end.job] = time.monotonic() - started
            started = time.monotonic()
    return phases
