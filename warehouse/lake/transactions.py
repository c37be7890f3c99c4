"""All application transactions of a table at once. deltalake looks up one at a time, and the more there are
the longer a look takes: 6.6 ms among 60,000."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import pyarrow.fs as pa_fs
import pyarrow.parquet as pq

from warehouse.lake.delta import Lake
from warehouse.lake.tables import Stored

LOG = "_delta_log"


def transactions(lake: Lake, table: Stored) -> dict[str, int]:
    """The last version of each application transaction, by its name, as of now.

    Read as Delta's protocol has it: from the last checkpoint, and from each commit since."""
    store = lake.store(table)
    found: dict[str, int] = {}
    checkpoint = _last_checkpoint(store)
    if checkpoint is not None:
        with store.open_input_file(f"{LOG}/{checkpoint:020}.checkpoint.parquet") as file:
            column = pq.read_table(file, columns=["txn"])["txn"].combine_chunks()
        rows: Any = column.drop_null().to_pylist()
        found = {each["appId"]: each["version"] for each in rows}
    for version in count(0 if checkpoint is None else checkpoint + 1):
        try:
            commit = store.open_input_stream(f"{LOG}/{version:020}.json").read()
        except FileNotFoundError:
            return found
        actions = [json.loads(line) for line in commit.splitlines() if line]
        found |= {each["txn"]["appId"]: each["txn"]["version"] for each in actions if "txn" in each}
    raise AssertionError("a log has an end")


def _last_checkpoint(store: pa_fs.PyFileSystem) -> int | None:
    try:
        told = json.loads(store.open_input_stream(f"{LOG}/_last_checkpoint").read())
    except FileNotFoundError:
        return None
    return int(told["version"])
