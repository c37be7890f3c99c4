"""Measures the build of each shard of a district, and queries on all shards.

    .venv/bin/python -m benchmarks.district.shards [--schools 48] [--semesters 2] [--per-shard 16]
        [--memory-limit 1500MB] [--freeze] [--build N] [--nights 1] [--open 32] [--home FOLDER]

Schools of 2,000 students are written directly into a lake (benchmarks.marts.lake), with 1.2 million records
of attendance a school and semester: 48 schools and two semesters are 117 million. A worker's run builds each
shard in a separate process, then district.duckdb. The builds are repeated after a night that changes each
school's present semester. Then `campus sql` queries `--open` shards: links to the built files, each read for
some of its schools. `--freeze`: past semesters have separate files. An existing lake in the folder is used.
Needs 5 GB of disk.
"""

import argparse
import os
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import date
from functools import partial
from pathlib import Path

from deltalake import write_deltalake
from msgspec.structs import replace

from benchmarks.datasets.measure import run
from benchmarks.marts.lake import fill
from loading.tables import TABLES
from pipelines.definitions import publication_definitions
from pipelines.lake.opening import lake_of
from pipelines.publication.due_shards import shards_to_build
from pipelines.resources import runtime_without_platform
from pipelines.runs.instance import open_instance
from pipelines.runs.jobs import DISTRICT_JOB, PUBLISH
from pipelines.settings.settings import load_settings
from warehouse.lake.delta import Lake
from warehouse.lake.tables import Slice
from warehouse.load.logs.load_log import now
from warehouse.load.logs.writer import record
from warehouse.published.manifest import Shard
from warehouse.published.shards import Shards, change, read_manifest

CAMPUS = str(Path(sys.executable).with_name("campus"))
QUERIES = {
    "open": "SELECT 1",
    "count all records": "SELECT count(*) FROM core.fct_attendance",
    "one school": "SELECT level, count(*) FROM marts.early_warning WHERE school_id = 7 GROUP BY 1",
    "each school": "SELECT school_id, sum(recorded) FROM marts.attendance_class_week GROUP BY 1",
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--schools", type=int, default=48)
    parser.add_argument("--semesters", type=int, default=2, choices=(1, 2, 3, 4))
    parser.add_argument("--per-shard", type=int, default=16, help="schools")
    parser.add_argument("--memory-limit", help="of DuckDB; default: as in an installation")
    parser.add_argument("--freeze", action="store_true", help="freeze past semesters")
    parser.add_argument(
        "--nights", type=int, default=1, help="number of nights that change the present semester"
    )
    parser.add_argument("--build", type=int, help="number of shards; default: all due ones")
    parser.add_argument("--open", type=int, default=32, help="number of shards to query")
    parser.add_argument("--home", type=Path, help="folder to keep; default: a temporary one")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child is not None:
        run_job(options.child)
        return
    with tempfile.TemporaryDirectory() as scratch:
        home: Path = options.home or Path(scratch)
        os.environ |= {"CAMPUS_HOME": str(home), "DAGSTER_HOME": str(home / "dagster")}
        prepare(home, options.schools, options.semesters)
        configure(home, options.per_shard, options.memory_limit, freeze=options.freeze)
        measure_builds(options.build)
        for _ in range(options.nights):
            change_present(Lake(str(home / "lake")), options.schools)
            measure_builds(options.build)
        if options.open:
            spread(options.open)
            measure_queries()


def prepare(home: Path, schools: int, semesters: int) -> None:
    """Write the lake, with load log rows for its schools."""
    if (home / "lake").exists():
        return
    began, lake = time.monotonic(), Lake(str(home / "lake"))
    fill(lake, schools, semesters)
    load = {
        "sync_id": "benchmark",
        "resource": "attendance_records",
        "status": "ok",
        "complete": True,
        "whole": True,
        "started_at": now(),
        "finished_at": now(),
        "platform_day": date(2026, 6, 30),
    }
    ids = range(1, schools + 1)
    record(
        lake,
        loads=[
            {**load, "_school_id": school_id, "slice": f"{school_id}:{school_id * 10}:18"}
            for school_id in ids
        ],
    )
    size = sum(path.stat().st_size for path in (home / "lake").rglob("*") if path.is_file())
    print(f"{schools} schools written in {time.monotonic() - began:.0f} s: {size / 1e6:,.0f} MB")


def change_present(lake: Lake, schools: int) -> None:
    """Delete a record, a score and a grade in each school's present semester."""
    for name in ("attendance_records", "scores", "grades"):
        table = TABLES[name]
        for school in range(1, schools + 1):
            slice = Slice.of(_school_id=school, _semester_id=school * 10)
            if "_week" in table.slice_columns:
                slice = Slice.of(_school_id=school, _semester_id=school * 10, _week=18)
            rows = lake.read(table, slice, alive=False)
            write_deltalake(lake.open(table), rows.slice(1), mode="overwrite", predicate=slice.predicate)


def configure(
    home: Path, per_shard: int, memory_limit: str | None, *, freeze: bool = False, has_tables: bool = False
) -> None:
    """Write campus.yaml."""
    lines = ["publish:", f"  schools_per_shard: {per_shard}"]
    lines += ["  freeze_after_days: 0"] if freeze else []
    lines += ["  tables: delta"] if has_tables else []
    lines += [f"  memory_limit: {memory_limit}"] if memory_limit else []
    (home / "campus.yaml").write_text("\n".join(lines) + "\n")


def measure_builds(at_most: int | None) -> None:
    """Find the due shards; build each of them, and district.duckdb."""
    settings = load_settings()
    assert settings.shards
    with open_instance(settings) as instance:
        began = time.monotonic()
        due = shards_to_build(settings, lake_of(settings), instance).due
    print(
        f"{len(due)} shards are due, seen in {time.monotonic() - began:.1f} s; load {os.getloadavg()[0]:.1f}"
    )
    print(f"{'':30}{'s':>8}{'CPU s':>8}{'peak MB':>9}{'file MB':>9}{'frozen MB':>11}", flush=True)
    for name in due[:at_most]:
        cells = measured([sys.executable, "-m", "benchmarks.district.shards", "--child", name])
        published = read_manifest(settings.shards).shard(name).published
        assert published
        frozen = f"{published.frozen.bytes / 1e6:11,.0f}" if published.frozen else ""
        print(f"shard {name:24}{cells}{published.bytes / 1e6:9,.0f}{frozen}", flush=True)
    cells = measured([sys.executable, "-m", "benchmarks.district.shards", "--child", ""])
    made = read_manifest(settings.shards).district
    assert made
    print(f"{'district.duckdb':30}{cells}{made.bytes / 1e6:9,.0f}", flush=True)


def spread(number: int) -> None:
    """Make the manifest name `number` shards: links to built files, each with some of their schools."""
    shards = load_settings().shards
    assert shards
    built = [(shard, shard.published) for shard in read_manifest(shards).shards if shard.published]
    named: list[Shard] = []
    for place, (shard, published) in enumerate(built):
        links = min(number // len(built) + (place < number % len(built)), len(shard.schools))
        for link in range(links):
            name, mine = f"{1001 + len(named)}", shard.schools[link::links]
            frozen = published.frozen
            if frozen is not None:
                frozen = replace(frozen, file=_linked(shards, frozen.file, name))
            file = _linked(shards, published.file, name)
            named.append(Shard(name, mine, replace(published, file=file, schools=mine, frozen=frozen)))
    change(shards, partial(replace, shards=tuple(named)), clock=now)


def _linked(shards: Shards, file: str, name: str) -> str:
    """Link a published file as a file of another shard; return its name."""
    link = f"shards/{name}/{Path(file).name}"
    (Path(shards.root) / link).parent.mkdir(parents=True, exist_ok=True)
    os.link(Path(shards.root) / file, Path(shards.root) / link)
    return link


def measure_queries() -> None:
    """Run each query twice by `campus sql` on all shards; the second time files are cached."""
    for label, query in QUERIES.items():
        for _ in range(2):
            print(f"{label:30}{measured([CAMPUS, 'sql', query])}", flush=True)


def measured(command: Sequence[str]) -> str:
    """Run a command; return seconds, CPU seconds and peak memory as columns."""
    before, began = _children_cpu(), time.monotonic()
    _, peak = run(command, os.environ)
    return f"{time.monotonic() - began:8.1f}{_children_cpu() - before:8.1f}{peak:9,.0f}"


def run_job(shard: str) -> None:
    """Run a worker's job for a shard in this process; for district.duckdb if `shard` is empty."""
    settings = load_settings()
    definitions = publication_definitions(settings, runtime_without_platform(settings))
    job = definitions.resolve_job_def(PUBLISH if shard else DISTRICT_JOB)
    with open_instance(settings) as instance:
        job.execute_in_process(instance=instance, partition_key=shard or None)


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
