"""Measures the cost of a night after ten deletions in a dataset, compared with the first night.

    python -m benchmarks.datasets.deletions [--rows 1000000] [--deleted 10]

Requests and bytes are those of the segments in quality.load_log; they exclude discovery and planning.
"""

import argparse
import os
import random
import tempfile
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from benchmarks.datasets.source import DATASET, SCHOOL_ID
from pipelines.definitions import load_definitions
from pipelines.lake.opening import lake_of
from pipelines.nights.sync import load, new_sync_id
from pipelines.resources import open_runtime
from pipelines.runs.instance import open_instance
from pipelines.settings.options import DatasetOptions, Options
from pipelines.settings.settings import Settings
from simulator.process import RunningSimulator, running
from warehouse.lake.logs.tables import LOAD_LOG

SEED = 31
# Ids a segment: as campus.yaml has it, and such that a million rows are ten segments.
WIDTHS = (250_000, 100_000)


@dataclass(frozen=True)
class Night:
    """The cost of a night, by the load log."""

    requests: int
    bytes: int
    rows: int
    vanished: int


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--deleted", type=int, default=10)
    options = parser.parse_args()
    print(f"{'':44}{'requests':>10}{'rows':>12}{'MB':>9}{'% of bytes':>12}")
    for width in WIDTHS:
        with running(schools=1, dataset_rows=options.rows, log=False) as platform:
            _nights(platform, width, options.rows, options.deleted)


def _nights(platform: RunningSimulator, width: int, rows: int, deleted: int) -> None:
    """The nights of one home: the first, one without changes, and one for each place of the deletions."""
    drawn = random.Random(SEED)
    places = {
        "anywhere": drawn.sample(range(1, rows // 2), deleted // 2)
        + drawn.sample(range(rows // 2, rows), deleted - deleted // 2),
        "one after the other": range(rows // 3, rows // 3 + deleted),
        "evenly": range(rows // deleted // 2, rows, rows // deleted),
    }
    with tempfile.TemporaryDirectory() as folder:
        settings = _settings(platform, folder, width)
        first = _night(settings)
        _report(f"segments of {width:,}: first night", first, first)
        _report("  nothing changed", _night(settings), first)
        for place, ids in places.items():
            for number in ids:
                platform.destroy(f"datasets/{DATASET}", number, parent=SCHOOL_ID)
            night = _night(settings)
            assert night.vanished == deleted, night
            _report(f"  {deleted} deleted {place}", night, first)


def _report(name: str, night: Night, first: Night) -> None:
    share = night.bytes / first.bytes
    print(
        f"{name:44}{night.requests:>10,}{night.rows:>12,}{night.bytes / 1e6:>9.2f}{share:>12.2%}", flush=True
    )


def _settings(platform: RunningSimulator, folder: str, width: int) -> Settings:
    os.environ["DAGSTER_HOME"] = f"{folder}/dagster"
    return Settings(
        home=Path(folder),
        base_url=platform.base_url,
        client_id=platform.client_id,
        client_secret=SecretStr(platform.client_secret),
        options=Options(datasets=DatasetOptions(include=(DATASET,), segment_rows=width)),
    )


def _night(settings: Settings) -> Night:
    """Run a sync of the datasets; its cost by the load log."""
    sync_id = new_sync_id()
    with open_instance(settings) as instance, open_runtime(settings) as runtime:
        definitions = load_definitions(settings, runtime)
        for end in load(runtime, definitions, instance, sync_id, selection='key:"datasets/records"'):
            assert end.problem is None, end.problem
    log = lake_of(settings).read(LOAD_LOG).to_pylist()
    mine = [row for row in log if row["sync_id"] == sync_id and row["resource"] == f"datasets.{DATASET}"]
    names = ("requests", "bytes", "received", "vanished")
    requests, size, received, vanished = (sum(row[name] for row in mine) for name in names)
    return Night(requests, size, received, vanished)


if __name__ == "__main__":
    main()
