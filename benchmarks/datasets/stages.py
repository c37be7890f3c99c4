"""Measures each stage of this sync alone, one after the other on the same pages.

    python -m benchmarks.datasets.stages [--rows 250000] [--rounds 3]

One segment in one process. Stages do not overlap here, unlike in a sync.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import uvloop

from benchmarks.datasets.source import DATASET, PAGE, RECORDS, SCHOOL_ID
from campus.account import Account
from campus.datasets.selection import Selection
from campus.decoding import columnar
from campus.decoding.columnar import decode_records
from campus.decoding.definition import parse_definition
from campus.http.client import Client
from campus.http.config import ClientConfig
from campus.registry import DATASETS
from loading.datasets.tables import DatasetSpec, dataset_spec, segment_slice
from simulator.process import running
from warehouse.lake.delta import Lake
from warehouse.load.commit import Guard, commit
from warehouse.load.schema_evolution import Evolved, evolve
from warehouse.load.slice_reading import Cause, SliceReading
from warehouse.load.stage import StagedFile, StageWriter

T = TypeVar("T")
Took = tuple[float, float]  # seconds, CPU seconds


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=250_000, help="a segment's")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with running(schools=1, dataset_rows=options.rows, log=False) as platform:
        config = ClientConfig(platform.base_url, platform.client_id, platform.client_secret)
        uvloop.run(_fetch(config, options.rows))  # fills the simulator's cache
        rounds = [stages(config, options.rows) for _ in range(options.rounds)]
    print(f"{options.rows:,} rows, medians of {options.rounds}")
    print(f"{'':22}{'s':>8}{'CPU s':>8}{'rows/s':>12}{'rows/CPU s':>12}")
    for stage in rounds[0]:
        seconds, cpu = (median(took[stage][figure] for took in rounds) for figure in (0, 1))
        print(f"{stage:22}{seconds:>8.2f}{cpu:>8.2f}", end="")
        print(f"{options.rows / seconds:>12,.0f}{options.rows / cpu:>12,.0f}")


def stages(config: ClientConfig, rows: int) -> dict[str, Took]:
    """The seconds and CPU seconds of each stage."""
    took: dict[str, Took] = {}
    dataset, bodies = _timed(took, "fetch", lambda: uvloop.run(_fetch(config, rows)))
    contract, key = dataset.source.contract, dataset.source.key
    _timed(took, "Arrow's reader alone", lambda: [columnar._read(body, contract, "error") for body in bodies])
    pages = _timed(took, "decode and check", lambda: [decode_records(body, contract, key) for body in bodies])
    batches = [records.batch for records in pages]
    assert sum(batch.num_rows for batch in batches) == rows
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake(f"{folder}/lake")
        lake.ensure([])
        load = Load(lake, evolve(lake, dataset.table), Path(folder) / "scratch", rows)
        load.commit(took, batches, "commit, first")
        load.commit(took, batches, "commit, unchanged")
        load.commit(took, [_changed(batch) for batch in batches], "commit, all changed")
    return took


@dataclass(frozen=True)
class Load:
    """A segment that is loaded several times."""

    lake: Lake
    evolved: Evolved
    scratch: Path
    rows: int

    def commit(self, took: dict[str, Took], batches: list[pa.RecordBatch], stage: str) -> None:
        """Write and commit batches; add the time of both stages to `took`."""
        started = datetime.now()
        table = self.evolved.table
        with StageWriter(table, self.scratch, synced_at=started) as spool:

            def write() -> StagedFile:
                for batch in batches:
                    spool.write(self.evolved.shaped(batch))
                return spool.finish()

            file = _timed(took, "write", write)
            account = Account(received=self.rows, server_total=None)
            reading = SliceReading(staged=file, account=account, cause=Cause(stage, stage, started))
            slice = segment_slice(SCHOOL_ID, 0)
            _timed(took, stage, lambda: commit(self.lake, table, slice, reading, Guard(), self.scratch))


def _timed(took: dict[str, Took], stage: str, work: Callable[[], T]) -> T:
    started, cpu = time.monotonic(), time.process_time()
    result = work()
    took[stage] = time.monotonic() - started, time.process_time() - cpu
    return result


def _changed(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with another value in each row."""
    ranks = pc.add(batch.column("rank"), 1)
    return batch.set_column(batch.schema.get_field_index("rank"), "rank", ranks)


async def _fetch(config: ClientConfig, rows: int) -> tuple[DatasetSpec, list[bytes]]:
    """Fetch the dataset's definition and its pages, one request at a time."""
    async with Client(config, [DATASETS.scopes]) as client:

        async def get(path: str, **params: str | int) -> bytes:
            exchange = client.get(path, params, school_id=SCHOOL_ID, scope=DATASETS.scopes)
            return (await exchange.decoded(bytes)).value

        definition = parse_definition(await get(RECORDS.removesuffix("/records")))
        dataset = dataset_spec(Selection(), SCHOOL_ID, DATASET, RECORDS, definition, {})
        firsts = range(1, rows + 1, PAGE)
        parameters: dict[str, str | int] = {"id_elt": rows, "sort": "id", "paginated": 0, "limit": PAGE}
        return dataset, [await get(RECORDS, id_egt=first, **parameters) for first in firsts]


if __name__ == "__main__":
    main()
