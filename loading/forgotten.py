"""Keeps the forgotten out of rows, and out of words about rows, on their way to the lake."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa

from campus.account import BadRow, Drift
from loading.connection.runtime import Runtime
from warehouse.forgetting.forgotten import Matcher, matcher_of
from warehouse.forgetting.retention import without_expired
from warehouse.forgetting.scrub import rewriter
from warehouse.forgetting.surgery import key_without, raw_without
from warehouse.lake.delta import Lake
from warehouse.lake.tables import Slice, Table
from warehouse.load.logs.load_log import now
from warehouse.load.slice_reading import SliceReading

Rewrite = Callable[[pa.RecordBatch], pa.RecordBatch]


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
