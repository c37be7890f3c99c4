"""Tables of the lake that the warehouse writes about itself."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from warehouse.tables import TIMESTAMP, Column


@dataclass(frozen=True)
class Log:
    """A table of the warehouse's own rows; `slice_columns` are the lake's partition columns."""

    name: str
    comment: str
    columns: tuple[Column, ...]
    slice_columns: tuple[str, ...] = ()

    @property
    def folder(self) -> str:
        """Where the table lies below the lake's root."""
        return self.name

    @property
    def lake_schema(self) -> pa.Schema:
        return pa.schema([pa.field(column.name, column.type) for column in self.columns])


_WHERE = (
    Column("resource", pa.string(), "Table of the lake, named as in raw"),
    Column("_school_id", pa.int64(), "School that was read"),
    Column("slice", pa.string(), "Slice of the table, such as school|semester"),
)
_SEEN = (
    Column("first_seen", TIMESTAMP, "Start of the sync that met it first"),
    Column("last_seen", TIMESTAMP, "Start of the sync that met it last"),
)
#: Status of a slice that was emptied, as what it was of is gone from the platform.
RETIRED = "retired"
#: What the reading side may count, beside rows.
TRAFFIC = ("requests", "pages", "retries", "bytes")

LOAD_LOG = Log(
    name="load_log",
    comment="One row a slice and sync: what was read, and what that changed",
    columns=(
        *_WHERE,
        Column("sync_id", pa.string(), "Cause of the sync: a night, a command or a backfill"),
        Column("run_id", pa.string(), "Run that carried it out"),
        Column("started_at", TIMESTAMP, "When the reading began"),
        Column("finished_at", TIMESTAMP, "When the slice was written down"),
        Column("status", pa.string(), "ok, warning (loaded, but look at the message), failed or retired"),
        Column("message", pa.string(), "What is wrong and what to do; empty where all is well"),
        Column("complete", pa.bool_(), "Whether the reading provably missed nothing"),
        Column("received", pa.int64(), "Rows sent: loaded + quarantined + duplicates"),
        Column("loaded", pa.int64(), "Rows taken over: new + changed + unchanged + returned + deleted"),
        Column("quarantined", pa.int64(), "Rows that break their contract"),
        Column("duplicates", pa.int64(), "Rows beaten by a better one of the same key"),
        Column("new", pa.int64(), "Rows not held before"),
        Column("changed", pa.int64(), "Rows that differ from what was held"),
        Column("unchanged", pa.int64(), "Rows that are the same"),
        Column("returned", pa.int64(), "Tombstones that are alive again"),
        Column("deleted", pa.int64(), "Rows that the platform now shows as deleted"),
        Column("vanished", pa.int64(), "Rows that a complete reading lacks: tombstones now"),
        Column("carried", pa.int64(), "Rows that the reading lacks without proof: kept as they were"),
        Column("server_total", pa.int64(), "The platform's own count, where it gives one"),
        *(Column(name, pa.int64(), f"HTTP {name} that the reading took") for name in TRAFFIC),
        Column("slice_version", pa.int64(), "Commits of the slice so far; 0: nothing was ever written"),
    ),
)
QUARANTINE = Log(
    name="quarantine",
    comment="Rows that break their contract, as the platform sent them",
    columns=(
        *_WHERE,
        Column("key", pa.string(), "Primary key as JSON array; null where unreadable"),
        Column("reason", pa.string(), "Which field breaks which rule"),
        Column("raw", pa.string(), "The row's JSON as sent"),
        Column("unit", pa.string(), "Request or part that it came with"),
        *_SEEN,
        Column("sync_id", pa.string(), "Sync that met it last"),
    ),
    slice_columns=("resource", "slice"),
)
DRIFT = Log(
    name="drift",
    comment="Where the platform departs from the contract without breaking it",
    columns=(
        *_WHERE,
        Column("kind", pa.string(), "unknown_field, absent_field, unknown_value and the like"),
        Column("field", pa.string(), "Field concerned"),
        Column("value", pa.string(), "A sample"),
        Column("rows", pa.int64(), "Rows that show it"),
        *_SEEN,
    ),
    slice_columns=("resource", "slice"),
)
RECONCILIATION = Log(
    name="reconciliation",
    comment="Numbers that the platform states beside those that were read",
    columns=(
        *_WHERE,
        Column("measure", pa.string(), "What is compared, such as server_total"),
        Column("expected", pa.int64(), "The platform's number"),
        Column("actual", pa.int64(), "What was read"),
        Column("agrees", pa.bool_(), "Whether they are equal"),
        Column("seen_at", TIMESTAMP, "Start of the sync"),
    ),
    slice_columns=("resource", "slice"),
)
CHANGES = Log(
    name="changes",
    comment="What changed in scores and grades between syncs; append-only",
    columns=(
        *_WHERE,
        Column(
            "key", pa.string(), "Primary key: the id, or a JSON array of a composite key; null: the slice"
        ),
        Column("op", pa.string(), "loaded (the slice, first), created, updated, deleted or returned"),
        Column("field", pa.string(), "Field that changed; null: the row as a whole"),
        Column("before", pa.string(), "Value before, as text; lists and objects as JSON"),
        Column("after", pa.string(), "Value after, as text"),
        Column("seen_at", TIMESTAMP, "Start of the sync that saw it, as in load_log.started_at"),
        Column("slice_version", pa.int64(), "Version of the slice that shows it first"),
    ),
    slice_columns=("resource", "_school_id"),
)

#: Every table of the lake beside the platform's own.
LOGS = (LOAD_LOG, QUARANTINE, DRIFT, RECONCILIATION, CHANGES)
