"""Measures the service times that no other benchmark has, on made-up records.

    .venv/bin/python -m benchmarks.large_district.measure tables --slices 2000 20000 100000
    .venv/bin/python -m benchmarks.large_district.measure lake --schools 100 1000
    .venv/bin/python -m benchmarks.large_district.measure standings --schools 500 2000
    .venv/bin/python -m benchmarks.large_district.measure semesters --schools 500 2000
    .venv/bin/python -m benchmarks.large_district.measure commits --processes 1 4 8
    .venv/bin/python -m benchmarks.large_district.measure postgres --runs 200 1000

tables: the first look of a process at a table, and its checkpoint, beside so many slices without files. lake:
the same for all tables of so many schools. standings, semesters: a sensor's readings of so many schools.
commits: processes replace slices of one table. postgres: exchanges of the shared rate, events, Dagster's
queue and its look at partitions, in a server of its own without flushes to the disk (Debian: `postgresql`).
"""

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
from dagster._core.events import StepMaterializationData
from dagster._core.remote_origin import RegisteredCodeLocationOrigin, RemoteJobOrigin, RemoteRepositoryOrigin
from deltalake import write_deltalake
from deltalake.transaction import AddAction
from sqlalchemy import text

from benchmarks.large_district.service_times import WEEKS
from benchmarks.slices import FIRST_SCHOOL, ROWS, START, add, numbered_slices, table
from loading.tables import TABLES
from pipelines.nights.school_night import night_config
from pipelines.runs.instance import POSTGRES
from pipelines.runs.jobs import SCHOOL_NIGHT
from pipelines.runs.partition_selection import current_keys
from pipelines.shared.database import Database
from pipelines.shared.pace import SharedPace
from pipelines.shared.rate_table import RateTable
from tests.kits.servers.postgres import postgres
from warehouse.lake import delta_log
from warehouse.lake.delta import Lake
from warehouse.lake.logs.tables import STANDINGS
from warehouse.lake.tables import Slice, Table, file_schema
from warehouse.load.delta_commit import replace
from warehouse.load.logs.writer import standing_rows

#: Slices of a school with two semesters of attendance: standings of a school.
STANDINGS_A_SCHOOL = 125
#: Delta's time of the made-up files.
WRITTEN = 1_770_000_000_000
#: Commits of a process, in a table that many processes replace slices of.
COMMITS = 40
#: The asset and the partition of stored events.
KEY, FIRST = dg.AssetKey("scores"), "first"
#: Seconds for which processes exchange the shared rate, or store events.
SECONDS = 5.0


def main() -> None:
    """Measure the named parts, and print their figures."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("part", choices=[*PARTS, *CHILDREN])
    arguments.add_argument("--slices", type=int, nargs="+", default=[2000, 20000, 100000])
    arguments.add_argument("--schools", type=int, nargs="+", default=[50, 500, 2000])
    arguments.add_argument("--processes", type=int, nargs="+", default=[1, 2, 4, 8])
    arguments.add_argument("--runs", type=int, nargs="+", default=[200, 2000])
    arguments.add_argument("--child", help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.child:
        print(json.dumps(CHILDREN[options.part](options.child)))
        return
    print(f"load {os.getloadavg()[0]:.1f}", flush=True)
    measure, counts = PARTS[options.part]
    measure(getattr(options, counts))


def measure_tables(counts: list[int]) -> None:
    """Print the first look at a table beside so many slices."""
    for count in counts:
        with tempfile.TemporaryDirectory() as folder:
            fill_table(Lake(folder), count)
            print(f"{count} slices: {_child('tables', folder)}", flush=True)


def fill_table(lake: Lake, count: int) -> None:
    """Make a table of marks with `count` slices, by school, semester and week."""
    _fill(lake, table(logged=False), numbered_slices(count))


def _fill(lake: Lake, table: Table, slices: Iterable[Slice]) -> None:
    """Make a table with these slices in one commit. Its files do not exist."""
    lake.create(table)
    actions, transactions = list[Any](), dict[str, int]()
    for slice_ in slices:
        values: dict[str, str | None] = {name: str(value) for name, value in slice_.values}
        path = f"{slice_.folder}/part-{uuid.uuid4()}.parquet"
        actions.append(AddAction(path, 10_000, values, WRITTEN, True, json.dumps({"numRecords": ROWS})))
        for name in (slice_.counter, f"{slice_.counter}@base", f"{slice_.counter}@cause"):
            transactions[name] = 1
    add(lake, table, actions, transactions)
    lake.open(table).create_checkpoint()


def look_at_table(root: str) -> dict[str, float]:
    """Look at the table for a first commit, as each run does, then write its checkpoint."""
    lake, marks, before = Lake(root), table(logged=False), _memory_mb()
    look = _Watch()
    state = lake.table_state(marks)
    figures = look.figures("look") | {"look_mb": round(_memory_mb() - before, 1)}
    listing = _Watch()
    lake.open(marks).file_uris()
    figures |= listing.figures("list")
    checkpoint = _Watch()
    lake.reopened(marks).create_checkpoint()
    figures |= checkpoint.figures("checkpoint")
    name = f"{root}/{marks.folder}/{delta_log.LOG}/{state.version:020}.checkpoint.parquet"
    return figures | {"checkpoint_mb": round(Path(name).stat().st_size / 1e6, 2)}


def measure_lake(counts: list[int]) -> None:
    """Print one look at each table of a lake of so many schools with two semesters."""
    for count in counts:
        with tempfile.TemporaryDirectory() as folder:
            lake, filled = Lake(folder), 0
            for stored in _loaded_tables():
                slices = list(_slices_of(stored, count))
                _fill(lake, stored, slices)
                filled += len(slices)
            print(f"{count} schools, {filled} slices: {_child('lake', folder)}", flush=True)


def look_at_lake(root: str) -> dict[str, float]:
    """Look at each table, as the run of a school does."""
    lake, before, watch = Lake(root), _memory_mb(), _Watch()
    for stored in _loaded_tables():
        lake.table_state(stored)
    return watch.figures("") | {"mb": round(_memory_mb() - before, 1)}


def _loaded_tables() -> list[Table]:
    return [stored for stored in TABLES.values() if "_partition" not in stored.slice_columns]


def _slices_of(stored: Table, schools: int) -> Iterator[Slice]:
    weeks = range(WEEKS) if "_week" in stored.slice_columns else range(1)
    semesters = range(2) if "_semester_id" in stored.slice_columns else range(1)
    for school, semester, week in product(range(schools), semesters, weeks):
        values = {"_school_id": FIRST_SCHOOL + school, "_semester_id": 2 * school + semester, "_week": week}
        yield Slice.of(**{name: values[name] for name in stored.slice_columns})


def measure_standings(counts: list[int]) -> None:
    """Print one reading of the standings of so many schools."""
    for count in counts:
        with tempfile.TemporaryDirectory() as folder:
            lake = Lake(folder)
            lake.create(STANDINGS)
            names = STANDINGS.lake_schema.names
            for first in range(0, count, 500):
                rows = [
                    {name: value for name, value in _standing(school, number).items() if name in names}
                    for school in range(first, min(first + 500, count))
                    for number in range(STANDINGS_A_SCHOOL)
                ]
                rows_table = pa.Table.from_pylist(rows, schema=STANDINGS.lake_schema)
                write_deltalake(lake.open(STANDINGS), rows_table, mode="append")
            print(f"{count} schools: {_child('standings', folder)}", flush=True)


def look_at_standings(root: str) -> dict[str, float]:
    """Read the standings twice, as a sensor does; the second reading finds the table open."""
    lake, before = Lake(root), _memory_mb()
    first = _Watch()
    rows = standing_rows(lake)
    figures = {"rows": len(rows)} | first.figures("first") | {"mb": round(_memory_mb() - before, 1)}
    del rows
    second = _Watch()
    standing_rows(lake)
    return figures | second.figures("second")


def measure_semesters(counts: list[int]) -> None:
    """Print one look at the current semesters of so many schools, two of each."""
    for count in counts:
        with tempfile.TemporaryDirectory() as folder:
            lake = Lake(folder)
            for name in ("semesters", "v1_semesters"):
                semesters = TABLES[name]
                lake.create(semesters)
                rows = [
                    {"_school_id": FIRST_SCHOOL + school, "id": 2 * school + half, "is_current": half == 1}
                    for school in range(count)
                    for half in range(2)
                ]
                rows_table = pa.Table.from_pylist(rows, schema=semesters.lake_schema)
                write_deltalake(lake.open(semesters), rows_table, mode="append")
            print(f"{count} schools: {_child('semesters', folder)}", flush=True)


def look_at_semesters(root: str) -> dict[str, float]:
    """Find the current semester of each school, as a tick of the sensor of loads does for each load."""
    watch = _Watch()
    current_keys(Lake(root), "semesters")
    return watch.figures("")


def measure_commits(counts: list[int]) -> None:
    """Print the commits a second of so many processes, which replace their own slices of one table."""
    for count in counts:
        with tempfile.TemporaryDirectory() as folder:
            fill_table(Lake(folder), 2000)
            began = time.monotonic()
            children = [_started("commits", f"{folder}|{number}") for number in range(count)]
            figures = [json.loads(child.communicate()[0].splitlines()[-1]) for child in children]
            ends, starts = max(f["ended"] for f in figures), min(f["began"] for f in figures)
            rate = count * COMMITS / (ends - starts)
            cpu = 1000 * sum(f["cpu_s"] for f in figures) / (count * COMMITS)
            print(
                f"{count} processes: {rate:.1f} commits/s, {cpu:.1f} CPU ms each, "
                f"{time.monotonic() - began:.1f} s in all",
                flush=True,
            )


def commit_slices(place: str) -> dict[str, float]:
    """Replace this process's slices, one after the other."""
    root, _, number = place.partition("|")
    lake, marks = Lake(root), table(logged=False)
    rows = pa.Table.from_pylist(
        [{"id": id, "_synced_at": START, "_deleted_at": None} for id in range(ROWS)],
        schema=file_schema(marks),
    )
    lake.table_state(marks)
    began, watch = time.time(), _Watch()
    for turn in range(COMMITS):
        slice_ = Slice.of(_school_id=int(number), _semester_id=21, _week=turn % 4)
        state = lake.table_state(marks)
        replace(lake, marks, slice_, state, rows.to_batches(), {slice_.counter: turn + 1}, {})
    return watch.figures("") | {"began": began, "ended": time.time(), "cpu_s": watch.cpu}


def measure_postgres(counts: list[int]) -> None:
    """Print what exchanges of the shared rate, events, Dagster's queue, and its look at partitions take."""
    with _instance() as (instance, url):
        for processes in (1, 4, 12):
            rate = _together("exchanges", url, processes)
            print(f"{processes} processes exchange the shared rate {rate:.0f} times/s", flush=True)
        for processes in (1, 4):
            rate = _together("events", instance.root_directory, processes)
            print(f"{processes} processes store {rate:.0f} events/s", flush=True)
        queued = 0
        for count in counts:
            while queued < count:
                instance.add_run(_queued_run(queued))
                queued += 1
            watch = _Watch()
            runs = instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.QUEUED]))
            print(f"{len(runs)} queued runs read: {watch.figures('')}", flush=True)
        for nights in (10, 60, 240):
            _add_materializations(instance, 1000, nights)
            watch = _Watch()
            partitions = instance.get_materialized_partitions(KEY)
            print(f"{len(partitions)} partitions after {nights} nights: {watch.figures('')}", flush=True)


def _together(part: str, place: str, processes: int) -> float:
    children = [_started(part, place) for _ in range(processes)]
    figures = [json.loads(child.communicate()[0].splitlines()[-1]) for child in children]
    return float(sum(figure["a_second"] for figure in figures))


def exchange_rates(url: str) -> dict[str, float]:
    """Exchange the shared rate again and again."""
    pace = SharedPace(RateTable(Database(url), "platform"), uuid.uuid4().hex)

    async def exchange() -> float:
        await pace.exchange()
        exchanges, began = 0, time.monotonic()
        while time.monotonic() < began + SECONDS:
            await pace.exchange()
            exchanges += 1
        return exchanges / (time.monotonic() - began)

    return {"a_second": asyncio.run(exchange())}


def store_events(home: str) -> dict[str, float]:
    """Store events one by one; a run stores most of its events together."""
    with dg.DagsterInstance.from_config(home) as instance:
        events, run_id, began = 0, str(uuid.uuid4()), time.monotonic()
        while time.monotonic() < began + SECONDS:
            made = StepMaterializationData(dg.AssetMaterialization(KEY, partition=FIRST), [])
            kind = dg.DagsterEventType.ASSET_MATERIALIZATION.value
            event = dg.DagsterEvent(kind, SCHOOL_NIGHT, event_specific_data=made)
            instance.report_dagster_event(event, run_id=run_id)
            events += 1
        return {"a_second": events / (time.monotonic() - began)}


@contextmanager
def _instance() -> Iterator[tuple[dg.DagsterInstance, str]]:
    with postgres() as server, tempfile.TemporaryDirectory() as home:
        os.environ["DAGSTER_POSTGRES_URL"] = server.url
        config = json.dumps(POSTGRES | {"telemetry": {"enabled": False}})
        (Path(home) / "dagster.yaml").write_text(config)
        with dg.DagsterInstance.from_config(home) as instance:
            yield instance, server.url


def _queued_run(number: int) -> dg.DagsterRun:
    keys = {"base_data": [f"{number}:20"], "v1": [f"{number}:20"]}
    tags = {
        "campus/school": f"{number} School of number {number}",
        "campus/schools": str(number),
        "campus/sync_id": "night-20260302-0200",
        "campus/platform": "platform.example",
        "dagster/run_key": f"{uuid.uuid4()}|{number}",
        "dagster/sensor_name": "loads_after_discovery",
        "campus/launched_by": "the sensor loads_after_discovery",
    }
    return dg.DagsterRun(
        job_name=SCHOOL_NIGHT,
        run_id=str(uuid.uuid4()),
        run_config=night_config(keys),
        status=dg.DagsterRunStatus.QUEUED,
        tags=tags,
        remote_job_origin=RemoteJobOrigin(
            RemoteRepositoryOrigin(RegisteredCodeLocationOrigin("pipelines.definitions"), "all"), SCHOOL_NIGHT
        ),
    )


def _add_materializations(instance: dg.DagsterInstance, schools: int, nights: int) -> None:
    """Bring the materializations of each school's partition to `nights`, as copies of the first event."""
    storage: Any = instance.event_log_storage
    columns = "run_id, event, dagster_event_type, timestamp, step_key, asset_key"
    with storage._connect() as connection:
        first = connection.execute(text("SELECT min(id) FROM event_logs")).scalar_one()
        copies = text("SELECT count(*) FROM event_logs WHERE partition <> :first")
        rows = connection.execute(copies, {"first": FIRST}).scalar_one()
        connection.execute(
            text(
                f"INSERT INTO event_logs ({columns}, partition) SELECT {columns}, number % :schools || '-20' "
                "FROM event_logs, generate_series(:first, :last) AS number WHERE id = :id"
            ),
            {"schools": schools, "first": rows, "last": schools * nights - 1, "id": first},
        )
        connection.execute(text("ANALYZE event_logs"))


def _standing(school: int, number: int) -> dict[str, Any]:
    return {
        "resource": f"table_{number % 40}",
        "_school_id": FIRST_SCHOOL + school,
        "slice": f"{FIRST_SCHOOL + school}:20:{number}",
        "sync_id": "night-20260302-0200",
        "status": "ok",
        "finished_at": START,
        "complete_at": START,
        "whole_at": START,
        "retired": False,
        "state": "0" * 24,
        "followed_at": START,
        "requests": 3,
    }


class _Watch:
    """Seconds and CPU seconds since its making."""

    def __init__(self) -> None:
        self.began, self.cpu_began = time.perf_counter(), time.process_time()

    @property
    def cpu(self) -> float:
        return time.process_time() - self.cpu_began

    def figures(self, name: str) -> dict[str, float]:
        prefix = f"{name}_" if name else ""
        return {f"{prefix}s": round(time.perf_counter() - self.began, 3), f"{prefix}cpu": round(self.cpu, 3)}


def _memory_mb() -> float:
    """The memory of this process now. The peak of getrusage begins with that of the parent."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return round(pages * resource.getpagesize() / 1e6, 1)


def _started(part: str, place: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks.large_district.measure", part, "--child", place]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _child(part: str, place: str) -> Any:
    return json.loads(_started(part, place).communicate()[0].splitlines()[-1])


#: By part: what measures it, and the option with the numbers of the things that it is measured with.
PARTS: dict[str, tuple[Callable[[list[int]], None], str]] = {
    "tables": (measure_tables, "slices"),
    "lake": (measure_lake, "schools"),
    "standings": (measure_standings, "schools"),
    "semesters": (measure_semesters, "schools"),
    "commits": (measure_commits, "processes"),
    "postgres": (measure_postgres, "runs"),
}
CHILDREN: dict[str, Callable[[str], dict[str, float]]] = {
    "tables": look_at_table,
    "lake": look_at_lake,
    "standings": look_at_standings,
    "semesters": look_at_semesters,
    "commits": commit_slices,
    "exchanges": exchange_rates,
    "events": store_events,
}


if __name__ == "__main__":
    main()
