"""Each stage of this sync alone, one after the other on the same pages: what bounds it, and by how much.

    python -m benchmarks.datasets.stages [--rows 250000] [--rounds 3]

One segment in one process, as a lane of the sync reads it; nothing overlaps here, unlike in a sync.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import TypeVar

import uvloop

from assets.dataset_tables import Asked, ask_dataset, segment_slice
from benchmarks.datasets.source import DATASET, PAGE, RECORDS, SCHOOL_ID
from campus.client import Client
from campus.config import ClientConfig
from campus.datasets.columnar import decode_records
from campus.datasets.definition import parse_definition
from campus.datasets.selection import Selection
from campus.decode import raw_rows
from campus.resources import DATASETS
from simulator.process import running
from warehouse.evolve import evolve
from warehouse.lake import Lake
from warehouse.reading import Reading
from warehouse.slices import Guard, commit
from warehouse.spool import Spool

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
        uvloop.run(_fetch(config, options.rows))  # the simulator keeps what it made
        rounds = [stages(config, options.rows) for _ in range(options.rounds)]
    print(f"{options.rows:,} rows, medians of {options.rounds}")
    print(f"{'':20}{'s':>8}{'CPU s':>8}{'rows/s':>12}")
    for stage in rounds[0]:
        seconds, cpu = (median(took[stage][figure] for took in rounds) for figure in (0, 1))
        print(f"{stage:20}{seconds:>8.2f}{cpu:>8.2f}{options.rows / seconds:>12,.0f}")


def stages(config: ClientConfig, rows: int) -> dict[str, Took]:
    """What each stage took."""
    took: dict[str, Took] = {}

    def timed(stage: str, work: Callable[[], T]) -> T:
        started, cpu = time.monotonic(), time.process_time()
        result = work()
        took[stage] = time.monotonic() - started, time.process_time() - cpu
        return result

    asked, bodies = timed("fetch", lambda: uvloop.run(_fetch(config, rows)))
    pages = timed("check", lambda: [raw_rows(body) for body in bodies])
    contract, key = asked.source.contract, asked.source.key
    decoded = timed("decode", lambda: [decode_records(page, contract, key) for page in pages])
    assert sum(records.batch.num_rows for records in decoded) == rows
    with tempfile.TemporaryDirectory() as folder:
        scratch, started = Path(folder) / "scratch", datetime.now()
        lake = Lake(f"{folder}/lake")
        lake.ensure([])
        evolved = evolve(lake, asked.table)
        with Spool(evolved.table, scratch, synced_at=started) as spool:

            def write() -> Path:
                for records in decoded:
                    spool.write(evolved.shaped(records.batch))
                return spool.finish()

            file = timed("write", write)
            reading = Reading(
                spool=file,
                received=rows,
                complete=True,
                distinct=True,
                sync_id="benchmark",
                run_id="benchmark",
                started_at=started,
            )
            slice = segment_slice(SCHOOL_ID, 0)
            for stage in ("commit", "commit, unchanged"):
                timed(stage, lambda: commit(lake, evolved.table, slice, reading, Guard(), scratch))
    return took


async def _fetch(config: ClientConfig, rows: int) -> tuple[Asked, list[bytes]]:
    """The dataset as it is asked for, and its pages, one request at a time."""
    async with Client(config, [DATASETS.scopes]) as client:

        async def get(path: str, **params: str | int) -> bytes:
            answer = await client.get(path, params, school_id=SCHOOL_ID, scope=DATASETS.scopes, parse=bytes)
            return answer.value

        definition = parse_definition(await get(RECORDS.removesuffix("/records")))
        asked = ask_dataset(Selection(), SCHOOL_ID, DATASET, RECORDS, definition, {})
        firsts = range(1, rows + 1, PAGE)
        question: dict[str, str | int] = {"id_elt": rows, "sort": "id", "paginated": 0, "limit": PAGE}
        return asked, [await get(RECORDS, id_egt=first, **question) for first in firsts]


if __name__ == "__main__":
    main()
