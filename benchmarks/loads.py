"""Measures the first load and the merge of one slice with many rows.

    .venv/bin/python -m benchmarks.loads [--rows 100000 3000000] [--runs 3] [--kinds first merged]

Each figure is of one process, from the first batch to the commit; the batches are made before. `first`: rows
in the order of their keys; `shuffled`: in another order; `repeated`: the same rows as the night before;
`merged`: one row of a hundred has changed; `rewritten`: every row has changed. Figures are medians of the
runs, which alternate. Bytes are all bytes that the process wrote to files. CPU seconds are more reliable than
seconds beside other work.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from datetime import timedelta
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.slices import ANYTHING, START, table
from campus.account import Account
from warehouse.lake.delta import Lake
from warehouse.lake.tables import Slice, Table
from warehouse.load.commit import commit
from warehouse.load.slice_reading import Cause, SliceReading
from warehouse.load.stage import StageWriter

#: Rows of a page.
PAGE = 5000
SLICE = Slice.of(_school_id=101, _semester_id=20, _week=1)
KINDS = ("first", "shuffled", "repeated", "merged", "rewritten")
#: The share of the rows that change in a second night.
CHANGED = {"merged": 0.01, "rewritten": 1.0}
FIGURES = ("s", "CPU s", "peak MB", "MB written")


def main() -> None:
    """Measure and print a table."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--rows", type=int, nargs="+", default=[100_000, 3_000_000])
    arguments.add_argument("--runs", type=int, default=3)
    arguments.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    arguments.add_argument("--child", help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.child:
        [rows], [kind] = options.rows, options.kinds
        print(json.dumps(measure(Path(options.child), rows, kind)))
        return
    figures = defaultdict[tuple[int, str], list[list[float]]](list)
    for _, rows, kind in product(range(options.runs), options.rows, options.kinds):
        with tempfile.TemporaryDirectory() as folder:
            if kind not in ("first", "shuffled"):
                _in_child(folder, rows, "first")
            figures[rows, kind].append(_in_child(folder, rows, kind))
    print(f"{'rows':>10} {'kind':10}" + "".join(f"{name:>12}" for name in FIGURES))
    for (rows, kind), runs in figures.items():
        medians = (statistics.median(values) for values in zip(*runs, strict=True))
        print(f"{rows:>10,} {kind:10}" + "".join(f"{value:>12.2f}" for value in medians))


def _in_child(folder: str, rows: int, kind: str) -> list[float]:
    command = [sys.executable, "-m", "benchmarks.loads", "--child", folder, "--rows", str(rows)]
    done = subprocess.run([*command, "--kinds", kind], check=True, stdout=subprocess.PIPE, text=True)
    return list(json.loads(done.stdout))


def measure(folder: Path, rows: int, kind: str) -> list[float]:
    """Seconds, CPU seconds, peak memory and megabytes written of one load of a slice."""
    marks, lake = table(logged=False), Lake(str(folder / "lake"))
    lake.ensure([marks])
    # Made a page at a time, and not measured: a load gets its rows from the platform.
    pages, night = _pages(marks, rows, kind), 1 if kind in ("first", "shuffled") else 2
    seconds = cpu = 0.0
    written, began = _written(), START + timedelta(days=night)
    with StageWriter(marks, folder / "work", synced_at=began) as spool:
        for page in pages:
            started, used = time.perf_counter(), time.process_time()
            spool.write(page)
            seconds, cpu = seconds + time.perf_counter() - started, cpu + time.process_time() - used
        started, used = time.perf_counter(), time.process_time()
        reading = SliceReading(
            staged=spool.finish(),
            account=Account(received=rows, server_total=None),
            cause=Cause(f"night-{night}", f"run-{night}", began),
        )
        outcome = commit(lake, marks, SLICE, reading, ANYTHING, folder / "work")
        seconds, cpu = seconds + time.perf_counter() - started, cpu + time.process_time() - used
    assert outcome.counts.loaded == rows
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [seconds, cpu, peak, (_written() - written) / 1e6]


def _pages(marks: Table, rows: int, kind: str) -> Iterator[pa.RecordBatch]:
    """Pages of rows, with texts that repeat rarely and often, as a platform's do."""
    starts = list(range(0, rows, PAGE))
    if kind == "shuffled":
        np.random.default_rng(0).shuffle(starts)
    for start in starts:
        ids = pa.array(np.arange(start, min(start + PAGE, rows)))
        rng = np.random.default_rng(start)
        texts = {
            f"text_{number}": pc.binary_join_element_wise(  # type: ignore[call-overload]
                f"text {number} of",
                pa.array(rng.integers(0, 10 ** (number % 5 + 1), len(ids))).cast(pa.string()),
                " ",
            )
            for number in range(10)
        }
        is_changed = rng.random(len(ids)) < CHANGED.get(kind, 0)
        columns = {
            "id": ids,
            "class_id": pa.array(rng.integers(0, 500, len(ids))),
            "score": pa.array(rng.integers(0, 100, len(ids)) + is_changed).cast(pa.decimal128(38, 18)),
            **texts,
            "updated_at": pa.repeat(pa.scalar(START, pa.timestamp("us")), len(ids)),
        }
        schema = marks.staging_schema
        arrays = [columns.get(field.name, pa.nulls(len(ids), field.type)) for field in schema]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _written() -> int:
    """The bytes that this process has written, by the kernel's count."""
    counters = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(counters["wchar"])


if __name__ == "__main__":
    main()
