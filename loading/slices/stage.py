"""A slice in its run, and the stage of its rows until their commit, in the shape of the lake's table."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Self

import pyarrow as pa

from campus.account import Account
from campus.registry import RESOURCES, ResourceSpec
from loading.connection.runtime import Runtime
from loading.forgotten import rewrite_of
from loading.tables import TABLES, lake_table
from warehouse.lake.parquet import GROUP_BYTES
from warehouse.lake.tables import Slice, Table
from warehouse.load.schema_evolution import Evolved, evolve
from warehouse.load.slice_reading import Cause, SliceReading
from warehouse.load.stage import StageWriter


@dataclass(frozen=True)
class SliceContext:
    """A slice of a resource in one run."""

    runtime: Runtime
    cause: Cause
    spec: ResourceSpec
    slice: Slice
    #: The lake's table that stores the rows.
    table: Table

    @classmethod
    def of(cls, runtime: Runtime, cause: Cause, spec: ResourceSpec, slice: Slice) -> Self:
        """A slice of the registry's table."""
        return cls(runtime, cause, spec, slice, TABLES[spec.name])


@dataclass(frozen=True)
class Stage:
    """The staged rows of one slice."""

    #: Its table has the lake's own columns.
    context: SliceContext
    writer: StageWriter
    #: Takes batches as `campus.decoding.page.to_batch` shapes them.
    write: Callable[[pa.RecordBatch], None]

    def reading(self, account: Account) -> SliceReading:
        """The staged rows with their account. Callers add facts by `replace`."""
        return SliceReading(staged=self.writer.finish(), account=account, cause=self.context.cause)


@contextmanager
def open_stage(
    context: SliceContext, *, evolved: Evolved | None = None, group_bytes: int = GROUP_BYTES
) -> Iterator[Stage]:
    """Open the stage of a slice. The staged file lives as long as the `with` block.

    Adds to the lake's table the columns of a school's own contract.

    Args:
        evolved: The lake's table, where the caller has evolved it already.
        group_bytes: Held in memory.
    """
    runtime, spec = context.runtime, context.spec
    if evolved is None and spec.contract is not RESOURCES.get(spec.name, spec).contract:
        evolved = evolve(runtime.lake, lake_table(spec))
    if evolved is not None:
        context = replace(context, table=evolved.table)
    with StageWriter(
        context.table,
        runtime.scratch,
        synced_at=context.cause.started_at,
        group_bytes=group_bytes,
        rewrite=rewrite_of(runtime, context.table, context.slice.school_id),
    ) as writer:
        if evolved is None:
            yield Stage(context, writer, writer.write)
        else:
            shaped = evolved.shaped
            yield Stage(context, writer, lambda batch: writer.write(shaped(batch)))
