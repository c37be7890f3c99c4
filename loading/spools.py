"""Where the rows of one slice wait for their commit, in the shape of the lake's table."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa

from campus.registry import RESOURCES, ResourceSpec
from loading.runtime import Runtime
from loading.tables import TABLES, lake_table
from warehouse.lake.parquet import GROUP_BYTES
from warehouse.lake.spool import Spool
from warehouse.lake.tables import Table
from warehouse.load.schema_evolution import evolve


@dataclass(frozen=True)
class Target:
    """A slice's spool. `write`: takes batches as `campus.decoding.page.to_batch` shapes them."""

    table: Table
    spool: Spool
    write: Callable[[pa.RecordBatch], None]


@contextmanager
def open_target(runtime: Runtime, spec: ResourceSpec, group_bytes: int = GROUP_BYTES) -> Iterator[Target]:
    """A spool for one slice, that holds so much in memory; the lake's table grows by what a school's own
    contract has more."""
    if spec.contract is RESOURCES[spec.name].contract:
        table = TABLES[spec.name]
        with Spool(table, runtime.scratch, group_bytes=group_bytes) as spool:
            yield Target(table, spool, spool.write)
    else:
        evolved = evolve(runtime.lake, lake_table(spec))
        with Spool(evolved.table, runtime.scratch, group_bytes=group_bytes) as spool:
            yield Target(evolved.table, spool, lambda batch: spool.write(evolved.shaped(batch)))
