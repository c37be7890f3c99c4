"""Measures commits of small slices into a table with no or many slices of other schools.

    .venv/bin/python -m benchmarks.slices [--stored 0 2000 20000] [--commits 20] [--runs 3] [--profile]

One commit writes the stored slices into the Delta logs, with the transactions of real commits; their data
files are links to one file. Then processes commit new, replaced and unchanged slices, in a batch as a run
does, and alternate between the numbers of stored slices. The mean includes the commits that write a
checkpoint: every tenth, rarer beside many slices, one or more in a run of 20 of slice_ kind. CPU seconds are
more reliable than seconds beside other work.
"""

import argparse
import cProfile
import json
import os
import pstats
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import CommitProperties, Transaction, write_deltalake
from deltalake.transaction import AddAction

from campus.account import Account
from warehouse.lake.delta import Lake
from warehouse.lake.logs.tables import CHANGES, LOAD_LOG, MONTH, STANDINGS
from warehouse.lake.tables import Column, Slice, Table, file_schema
from warehouse.load.commit import Guard, commit
from warehouse.load.logs.writer import batched
from warehouse.load.slice_reading import Cause, SliceReading
from warehouse.load.stage import StageWriter

#: Slices of a school: the weeks of two semesters.
A_SCHOOL = 40
#: Rows of a slice.
ROWS = 50
FIRST_SCHOOL = 1000
START = datetime(2026, 3, 2, 2)
ANYTHING = Guard(allowed=True)
KINDS = ("new", "replaced", "same")
#: Seconds and CPU seconds of every commit, by kind.
Times = dict[str, list[tuple[float, float]]]


def table(*, logged: bool) -> Table:
    """A table such as scores, whose changes are logged, or attendance."""
    return Table(
        name="marks",
        columns=(
            Column("id", pa.int64(), "Mark"),
            Column("class_id", pa.int64(), "Class"),
            Column("score", pa.decimal128(38, 18), "Points"),
            *(Column(f"text_{number}", pa.string(), "Text") for number in range(10)),
            Column("updated_at", pa.timestamp("us"), "Last update"),
        ),
        primary_key=("id",),
        slice_columns=("_school_id", "_semester_id", "_week"),
        comment="Marks",
        tracks_changes=logged,
    )


def main() -> None:
    """Measure and print a table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--stored", type=int, nargs="+", default=[0, 2000, 20000])
    arguments.add_argument("--commits", type=int, default=20, help="of slice_ kind and run")
    arguments.add_argument("--runs", type=int, default=3)
    arguments.add_argument("--profile", action="store_true", help="profile the replacing commits")
    arguments.add_argument("--child", help=argparse.SUPPRESS)
    arguments.add_argument("--school", type=int, help=argparse.SUPPRESS)
    arguments.add_argument("--logged", action="store_true", help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.child:
        print(json.dumps(measure(Lake(options.child), options)))
        return
    print("Milliseconds of a commit: median, mean, CPU (mean), and the ratios to the first row")
    print(f"{'changes':12}{'stored':>8}" + "".join(f"{kind:>46}" for kind in KINDS))
    for logged in (False, True):
        times_by_count = _of_all(options, logged=logged)
        first = times_by_count[options.stored[0]]
        for stored, times in times_by_count.items():
            cells = "".join(f"{_cell(times[kind], first[kind]):>46}" for kind in KINDS)
            print(f"{'logged' if logged else 'not logged':12}{stored:8}{cells}", flush=True)


def _of_all(options: argparse.Namespace, *, logged: bool) -> dict[int, Times]:
    """The times of all runs, which alternate, by the number of stored slices."""
    times_by_count: dict[int, Times] = {stored: {kind: [] for kind in KINDS} for stored in options.stored}
    with tempfile.TemporaryDirectory() as folder:
        lakes = {stored: Lake(f"{folder}/{stored}/lake") for stored in options.stored}
        for stored, lake in lakes.items():
            fill(lake, table(logged=logged), stored)
        for run, (stored, lake) in product(range(options.runs), lakes.items()):
            for kind, times in _in_child(lake, options, run + 1, logged=logged).items():
                times_by_count[stored][kind] += times
    return times_by_count


def _cell(times: list[tuple[float, float]], first: list[tuple[float, float]]) -> str:
    figures = [_figures(times), _figures(first)]
    ratios = " ".join(f"{mine / other:.2f}" for mine, other in zip(*figures, strict=True))
    return " ".join(f"{figure:.1f}" for figure in figures[0]) + f" ({ratios})"


def _figures(times: list[tuple[float, float]]) -> tuple[float, float, float]:
    seconds, cpu = zip(*times, strict=True)
    return 1000 * statistics.median(seconds), 1000 * statistics.mean(seconds), 1000 * statistics.mean(cpu)


def fill(lake: Lake, table: Table, stored: int) -> None:
    """Give the lake `stored` slices, as if every one had been loaded once."""
    lake.ensure([table])
    slices = list(numbered_slices(stored))
    if not slices:
        return
    _add_files(lake, table, slices)
    if table.tracks_changes:
        add(lake, CHANGES, [], {f"{table.name}/{slice_.counter}": 1 for slice_ in slices})
    for log in (LOAD_LOG, STANDINGS):
        names = log.lake_schema.names
        rows = [
            {name: value for name, value in _log_row(table, slice_).items() if name in names}
            for slice_ in slices
        ]
        write_deltalake(lake.open(log), pa.Table.from_pylist(rows, schema=log.lake_schema), mode="append")
    for log_or_table in (table, CHANGES, LOAD_LOG, STANDINGS):
        lake.open(log_or_table).create_checkpoint()


def numbered_slices(stored: int) -> Iterator[Slice]:
    """So many slices, by school and week."""
    for number in range(stored):
        school, week = divmod(number, A_SCHOOL)
        yield Slice.of(_school_id=FIRST_SCHOOL + school, _semester_id=20, _week=week)


def _add_files(lake: Lake, table: Table, slices: list[Slice]) -> None:
    root = Path(lake.uri(table))
    first = root / "first.parquet"
    pq.write_table(_stored(table), first, compression="zstd")
    size, actions, transactions = first.stat().st_size, [], dict[str, int]()
    for slice_ in slices:
        path = (
            "/".join(f"{name}={value}" for name, value in slice_.values)
            + f"/part-{os.urandom(16).hex()}.parquet"
        )
        (root / path).parent.mkdir(parents=True)
        os.link(first, root / path)
        values: dict[str, str | None] = {name: str(value) for name, value in slice_.values}
        actions.append(
            AddAction(path, size, values, 1_770_000_000_000, True, json.dumps({"numRecords": ROWS}))
        )
        transactions |= {slice_.counter: 1, f"{slice_.counter}@base": 0, f"{slice_.counter}@cause": 7 << 40}
    first.unlink()
    add(lake, table, actions, transactions)


def add(lake: Lake, stored: Any, actions: list[Any], transactions: dict[str, int]) -> None:
    """Add files to a table in one commit, with application transactions."""
    opened = lake.open(stored)
    named = [Transaction(name, version) for name, version in transactions.items()]
    opened.create_write_transaction(
        actions,
        mode="append",
        schema=opened.schema(),
        partition_by=list(stored.slice_columns),
        commit_properties=CommitProperties(app_transactions=named),
    )


def _stored(table: Table) -> pa.Table:
    rows = [{**row, "_synced_at": START, "_deleted_at": None} for row in _rows(0)]
    return pa.Table.from_pylist(rows, schema=file_schema(table))


def _log_row(table: Table, slice: Slice) -> dict[str, Any]:
    return {
        "resource": table.name,
        "_school_id": slice.school_id,
        "slice": str(slice),
        "sync_id": "night-0",
        "run_id": "run-0",
        "status": "ok",
        "message": "",
        "started_at": START,
        "finished_at": START,
        "complete": True,
        "whole": True,
        "complete_at": START,
        "whole_at": START,
        "retired": False,
        "state": "0" * 24,
        MONTH: "2026-03",
    }


def _rows(version: int) -> list[dict[str, Any]]:
    texts = {f"text_{number}": f"text {number} of version {version}" for number in range(10)}
    return [
        {"id": id, "class_id": id % 7, "score": None, **texts, "updated_at": START, "_extra": None}
        for id in range(ROWS)
    ]


def measure(lake: Lake, options: argparse.Namespace) -> Times:
    """Commit a school's slices; return seconds and CPU seconds of every commit, by kind."""
    mine = [
        Slice.of(_school_id=options.school, _semester_id=20, _week=week) for week in range(options.commits)
    ]
    profiler = cProfile.Profile()
    with tempfile.TemporaryDirectory() as folder, batched(lake):

        def load(slices: list[Slice], night: int, version: int) -> list[tuple[float, float]]:
            marks = table(logged=options.logged)
            return [_load(lake, marks, slice_, night, version, Path(folder)) for slice_ in slices]

        # Work that a process does once.
        load([Slice.of(_school_id=options.school, _semester_id=19, _week=1)], 1, 1)
        times = {"new": load(mine, 1, 1)}
        if options.profile:
            profiler.enable()
        times["replaced"] = load(mine, 2, 2)
        profiler.disable()
        # As in a later run, which reads the standings again.
        assert lake.batch
        lake.batch.states.clear()
        times["same"] = load(mine, 3, 2)
    if options.profile:
        pstats.Stats(profiler, stream=sys.stderr).sort_stats("tottime").print_stats(18)
    return times


def _load(
    lake: Lake, table: Table, slice: Slice, night: int, version: int, work: Path
) -> tuple[float, float]:
    with StageWriter(table, work, synced_at=START + timedelta(days=night)) as spool:
        rows = [{**row, "_trashed": False, "_trashed_at": None} for row in _rows(version)]
        spool.write(pa.RecordBatch.from_pylist(rows, schema=table.staging_schema))
        reading = SliceReading(
            staged=spool.finish(),
            account=Account(received=ROWS, server_total=None),
            cause=Cause(f"night-{night}", f"run-{night}", START + timedelta(days=night)),
        )
        started, cpu = time.perf_counter(), time.process_time()
        commit(lake, table, slice, reading, ANYTHING, work)
        return time.perf_counter() - started, time.process_time() - cpu


def _in_child(lake: Lake, options: argparse.Namespace, school: int, *, logged: bool) -> Times:
    command = [sys.executable, "-m", "benchmarks.slices", "--child", lake.root, "--school", str(school)]
    command += ["--commits", str(options.commits)]
    command += ["--logged"] * logged + ["--profile"] * options.profile
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


if __name__ == "__main__":
    main()
