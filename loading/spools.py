"""Where the rows of one slice wait for their commit, in the shape of the lake's table."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa

from campus.registry import RESOURCES, ResourceSpec
from loading.forgotten import rewrite_of
from loading.runtime import Runtime
from loading.tables import TABLES, lake_table
from warehouse.lake.parquet import GROUP_BYTES
from warehouse.lake.tables import Table
from warehouse.load.schema_evolution import evolve
from warehouse.load.stage import StageWriter


@dataclass(frozen=True)
class Target:
    """A slice's spool. `write`: takes batches as `campus.decoding.page.to_batch` shapes them."""

    table: Table
    spool: StageWriter
    write: Callable[[pa.RecordBatch], None]


@contextmanager
def open_target(
    runtime: Runtime,
    spec: ResourceSpec,
    school_id: int,
    synced_at: datetime,
    group_bytes: int = GROUP_BYTES,
) -> Iterator[Target]:
    """A spool for one slice of a school, that holds so much in memory; the lake's table grows by what a
    school's own contract has more. `synced_at`: start of the sync."""
    if spec.contract is RESOURCES[spec.name].contract:
        table = TABLES[spec.name]
        rewrite = rewrite_of(runtime, table, school_id)
        with StageWriter(
            table, runtime.scratch, synced_at=synced_at, group_bytes=group_bytes, rewrite=rewrite
        ) as spool:
            yield Target(table, spool, spool.write)
    else:
        evolved = evolve(runtime.lake, lake_table(spec))
        rewrite = rewrite_of(runtime, evolved.table, school_id)
        with StageWriter(
            evolved.table, runtime.scratch, synced_at=synced_at, group_bytes=group_bytes, rewrite=rewrite
        ) as spool:
            yield Target(evolved.table, spool, lambda batch: spool.write(evolved.shaped(batch)))
