"""A slice in its run, and the stage of its rows until their commit, in the shape of the lake's table. The
forgotten are kept out of rows, and of words about rows, on their way to the lake."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Self

import pyarrow as pa

from campus.account import Account, BadRow, Drift
from campus.registry import RESOURCES, ResourceSpec
from loading.connection.runtime import Runtime
from loading.tables import TABLES, lake_table
from warehouse.forgetting.forgotten import Matcher, matcher_of
from warehouse.forgetting.retention import without_expired
from warehouse.forgetting.scrub import rewriter
from warehouse.forgetting.surgery import key_without, raw_without
from warehouse.lake.delta import Lake
from warehouse.lake.parquet import GROUP_BYTES
from warehouse.lake.tables import Slice, Table
from warehouse.load.logs.load_log import now
from warehouse.load.schema_evolution import Evolved, evolve
from warehouse.load.slice_reading import Cause, SliceReading
from warehouse.load.stage import StageWriter

Rewrite = Callable[[pa.RecordBatch], pa.RecordBatch]


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


def rewrite_of(runtime: Runtime, table: Table, school_id: int) -> Rewrite | None:
    """The rewriting of a school's rows before they are staged; None: no rewriting is needed.

    Both steps keep every row, so that a slice still balances with the platform's counts."""
    steps: list[Rewrite] = []
    matcher = matcher_of(runtime.lake, school_id)
    if matcher is not None:
        steps.append(rewriter(table, matcher))
    if runtime.keep_personal is not None:
        expired = without_expired(table, runtime.keep_personal, now())
        steps += [expired] if expired else []
    if not steps:
        return None

    def rewrite(batch: pa.RecordBatch) -> pa.RecordBatch:
        for step in steps:
            batch = step(batch)
        return batch

    return rewrite


def without_forgotten(lake: Lake, table: Table, slice: Slice, reading: SliceReading) -> SliceReading:
    """A reading without forgotten persons in its quarantine, samples and messages."""
    matcher = matcher_of(lake, slice.school_id)
    if matcher is None:
        return reading
    account, drift = reading.account, Counter[Drift]()
    for difference, rows in account.drift.items():
        drift[replace(difference, sample=matcher.cleaned_words(difference.sample))] += rows
    return replace(
        reading,
        account=replace(
            account,
            bad=[_bad(matcher, table, bad) for bad in account.bad],
            drift=drift,
        ),
        failures=tuple(map(matcher.cleaned_words, reading.failures)),
    )


def forgotten_ids(lake: Lake, school_id: int) -> frozenset[int]:
    """The substitute ids of a school's forgotten persons. The platform does not have these ids."""
    matcher = matcher_of(lake, school_id)
    return frozenset() if matcher is None else matcher.substitutes


def _bad(matcher: Matcher, table: Table, bad: BadRow) -> BadRow:
    return replace(
        bad,
        key=None if bad.key is None else tuple(key_without(matcher, table, bad.key)),
        raw=raw_without(matcher, table.name, bad.raw),
        reason=matcher.cleaned_words(bad.reason),
    )
