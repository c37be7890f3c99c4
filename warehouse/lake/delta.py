"""The lake: one Delta table a resource below a root.

All writes but the commits of slices (`delta_log`) go through delta-rs, to a disk and to S3 alike. On S3 a
commit is a conditional put, so that of two writers of one version one is told to begin again. Data files are
read by DuckDB, polars and pyarrow, from the disk alone: of a lake elsewhere they read copies (`copies`).
"""

from __future__ import annotations

import random
import time
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pa_fs
from deltalake import DeltaTable, Field, Schema
from deltalake.exceptions import CommitFailedError, DeltaError, DeltaProtocolError
from deltalake.fs import DeltaStorageHandler
from obstore.store import ObjectStore

from warehouse.lake import delta_log
from warehouse.lake.copies import Copies
from warehouse.lake.delta_log import Mark
from warehouse.lake.log_batch import LogBatch
from warehouse.lake.log_tables import LOGS, STANDINGS, Log
from warehouse.lake.parquet import read_files, with_rows
from warehouse.lake.table_state import TableState, by_folder
from warehouse.lake.tables import DELETED_AT, Slice, Stored, is_of
from warehouse.stores import PATIENCE, is_remote, storage_options, store_of

#: How often a commit that lost a race is tried again. Four processes on one table need two or three.
ATTEMPTS = 20

#: Of so many files of a table those of a slice are chosen by their folders: deltalake takes 0.4 ms to
#: understand what is asked, and of 10,000 files a quarter of the time.
FEW = 500

#: Commits between two checkpoints, as in Spark and in `delta_commit`; with deltalake's 100 a table took
#: longest to open. Old ones and their versions go with the files that only they name
#: (`compaction.RETENTION`).
_OF_TABLES = {"delta.checkpointInterval": "10", "delta.logRetentionDuration": "interval 7 days"}
#: Nobody goes back to an older version of a log, and none is looked up by what statistics would tell.
_OF_LOGS = {
    "delta.checkpointInterval": "10",
    "delta.logRetentionDuration": "interval 1 days",
    "delta.deletedFileRetentionDuration": "interval 2 days",
    "delta.dataSkippingNumIndexedCols": "0",
}

#: What a table of ours demands of its writers, as deltalake makes it; all but the first are names that it
#: gives with the first property that is set, and nothing makes use of.
_FEATURES = {"timestampNtz", "appendOnly", "invariants", "variantType"}
_APPEND_ONLY = "delta.appendOnly"

Result = TypeVar("Result")


class SchemaConflict(Exception):
    """The lake holds a column under another type than the contract names."""


class Lake:
    """Delta tables below `root`, opened by name, which processes and threads may share.

    `copies`: where files of a root that is no folder are copied to before they are read; `patience`: seconds
    for which such a store is asked again. `batch`: what a run has to say in the logs and has not written yet
    (`log_writer.batched`)."""

    def __init__(self, root: str, copies: Copies | None = None, patience: float = PATIENCE) -> None:
        self.is_remote = is_remote(root)
        self.root = root.rstrip("/") if self.is_remote else str(Path(root).absolute())
        self.copies, self.patience = copies, patience
        self.storage_options = storage_options(self.root, patience)
        self.batch: LogBatch | None = None
        self._returned: defaultdict[str, list[tuple[DeltaTable, Mark | None]]] = defaultdict(list)
        self._table_states: dict[str, TableState] = {}
        #: How many files a table had when all of them were listed last.
        self._files_of_table: defaultdict[str, int] = defaultdict(int)

    def uri(self, table: Stored) -> str:
        return f"{self.root}/{table.folder}"

    def open(self, table: Stored, version: int | None = None) -> DeltaTable:
        """The table as of `version` (default: now), for the caller alone. Raises deltalake's
        TableNotFoundError before `ensure`."""
        if version is not None:
            return DeltaTable(self.uri(table), version=version, storage_options=self.storage_options)
        kept, commit = self._brought_up_to_date(table) or self._opened_anew(table)
        lent = copy(kept)
        weakref.finalize(lent, self._take_back, table, kept, kept.version(), commit)
        return lent

    def reopened(self, table: Stored) -> DeltaTable:
        """The table as of now, opened anew, for the caller alone: one that was open before goes on asking
        for commits that were deleted since."""
        self._returned.pop(table.folder, None)
        self._table_states.pop(table.folder, None)
        return DeltaTable(self.uri(table), storage_options=self.storage_options)

    def _opened_anew(self, table: Stored) -> tuple[DeltaTable, Mark | None]:
        opened = DeltaTable(self.uri(table), storage_options=self.storage_options)
        return opened, self._commit(table, opened.version())

    def _take_back(self, table: Stored, kept: DeltaTable, version: int, commit: Mark | None) -> None:
        """Keep a table that nobody uses any more. `commit`: of the `version` that it was lent at; whoever
        had it may have committed since."""
        if kept.version() != version:
            commit = self._commit(table, kept.version())
        self._returned[table.folder].append((kept, commit))

    def _brought_up_to_date(self, table: Stored) -> tuple[DeltaTable, Mark | None] | None:
        """A table that was open before and nobody uses any more, and its last commit. To open one reads all
        of its files' names, to bring it up to date only what was committed since."""
        while self._returned[table.folder]:
            kept, commit = self._returned[table.folder].pop()
            version = kept.version()
            if commit is None or commit != self._commit(table, version):
                continue
            # Versions follow each other, and to let deltalake look takes 2 ms of CPU.
            if self._commit(table, version + 1) is None:
                return kept, commit
            try:
                kept.update_incremental()
            except DeltaError:
                # What was committed since has been cleaned up: to open it anew says what there is.
                continue
            return kept, self._commit(table, kept.version())
        return None

    def _commit(self, table: Stored, version: int) -> Mark | None:
        """What a table's commit is known by; None: it is not there yet, or not any more."""
        return delta_log.mark(self.objects, table.folder, version)

    def table_state(self, table: Stored) -> TableState:
        """The table as of now, for whoever commits to it. Raises deltalake's TableNotFoundError before
        `ensure`, and DeltaProtocolError where it demands of its writers what we do not know."""
        kept = self._table_states.get(table.folder)
        table_state = kept and kept.followed(self.objects, table.folder)
        if table_state is None:
            table_state = until_committed(lambda: self.table_state_of(table, self.open(table)))
        self._table_states[table.folder] = table_state
        return table_state

    def table_state_of(self, table: Stored, opened: DeltaTable) -> TableState:
        """The same of the newest snapshot, which is open. Raises CommitFailedError where it is not the newest
        any more."""
        _check_features(table, opened)
        version, names = opened.version(), by_folder(relative_files(opened))
        commit = self._commit(table, version)
        transactions = delta_log.transactions(self.objects, table.folder, version)
        if transactions is None:
            # Somebody is further, or commits have expired since the checkpoint that is said to be the last: a
            # new one has all of them.
            opened.create_checkpoint()
            raise CommitFailedError(f"lake table {table.name}: version {version} needed a checkpoint")
        return TableState(version, commit, held_schema(opened), names, transactions)

    def ensure(self, tables: Iterable[Stored]) -> None:
        """Create `tables` and the warehouse's own logs where missing, and add new columns and properties.

        Several processes may do so at once, but before the workers start: a change of schema fails the
        commits under way. Raises SchemaConflict.
        """
        for table in (*tables, *LOGS, STANDINGS):
            until_committed(partial(self._ensure, table))

    def _ensure(self, table: Stored) -> None:
        self.create(table)
        opened = self.open(table)
        new = _new_columns(table, opened)
        if new:
            opened.alter.add_columns(new)
        wanted = properties(table)
        if wanted.items() - opened.metadata().configuration.items():
            self.open(table).alter.set_table_properties(dict(wanted))

    def create(self, table: Stored) -> None:
        """Make the table unless it is there."""
        if not self.holds(table):
            DeltaTable.create(
                self.uri(table),
                table.lake_schema,
                mode="ignore",
                partition_by=list(table.slice_columns),
                name=table.name,
                description=table.comment,
                configuration=properties(table),
                storage_options=self.storage_options,
            )

    @property
    def schools(self) -> frozenset[int] | None:
        """Those of which alone there are rows; None: there are rows of all."""
        return None

    @cached_property
    def objects(self) -> ObjectStore:
        """All that is below the root, whatever it is."""
        return store_of(self.root, self.patience)

    def store(self, table: Stored) -> pa_fs.PyFileSystem:
        """The folder of the table, to read and write files in."""
        return pa_fs.PyFileSystem(DeltaStorageHandler(self.uri(table), self.storage_options))

    def holds(self, table: Stored) -> bool:
        """Whether the table is there: `ensure` has made it."""
        return DeltaTable.is_deltatable(self.uri(table), self.storage_options)

    def version(self, table: Stored) -> int:
        return self.open(table).version()

    def files(self, table: Stored, slice: Slice | None = None, version: int | None = None) -> list[str]:
        """The data files of one version or slice, sorted, as `readable` has them. A glob would count replaced
        ones too."""
        return self.files_of(table, self.open(table, version), slice)

    def files_of(self, table: Stored, opened: DeltaTable, slice: Slice | None = None) -> list[str]:
        """The same for a snapshot that is open already."""
        return self.readable(table, self.names_of(table, opened, slice))

    def names_of(self, table: Stored, opened: DeltaTable, slice: Slice | None = None) -> list[str]:
        """The same files by their names below the table."""
        if slice is None or self._files_of_table[table.folder] > FEW:
            return relative_files(opened, slice)
        names = relative_files(opened)
        self._files_of_table[table.folder] = len(names)
        return [name for name in names if name.startswith(f"{slice.folder}/")]

    def readable(self, table: Stored, names: Sequence[str]) -> list[str]:
        """The paths under which files (named below the table) are read on this machine, in their order; the
        folders that slices have names by are in them. Of a lake elsewhere they are copies, fetched if need
        be: to be read now."""
        if not self.is_remote:
            return [f"{self.uri(table)}/{name}" for name in names]
        if self.copies is None:
            raise ValueError(f"{self.root}: a lake in a store is read with copies of its files")
        return self.copies.fetched(self.objects, [f"{table.folder}/{name}" for name in names])

    def read(
        self,
        table: Stored,
        slice: Slice | None = None,
        columns: Sequence[str] | None = None,
        *,
        alive: bool = True,
    ) -> pa.Table:
        """Rows in memory, for small answers such as a semester's class ids; `alive` leaves tombstones out."""
        is_alive = pc.field(DELETED_AT).is_null() if DELETED_AT in table.lake_schema.names else None
        names = columns if columns is not None else table.lake_schema.names
        return self.scan(table, self.open(table), names, is_alive if alive else None, slice)

    def scan(
        self,
        table: Stored,
        opened: DeltaTable,
        columns: Sequence[str],
        where: pc.Expression | None = None,
        slice: Slice | None = None,
    ) -> pa.Table:
        """Some columns of a snapshot's rows in memory, of the types that the table has for them; a column
        that is not in the lake yet is null. Files are left out whose folders say that no row is asked for.

        Not by deltalake, which takes four times as long for a small table. Raises DeltaError for a file that
        is damaged, and OSError."""
        if self.schools is not None:
            where = is_of(self.schools) if where is None else is_of(self.schools) & where
        schema, partitions = table.lake_schema, opened.metadata().partition_columns
        names = self.names_of(table, opened, slice)
        if where is not None:
            names = with_rows(names, schema, partitions, where)
        try:
            return read_files(self.readable(table, names), schema, partitions, columns, where)
        except pa.ArrowInvalid as error:
            raise DeltaError(f"lake table {table.name} cannot be read: {error}") from error


def properties(table: Stored) -> dict[str, str]:
    """The properties of a table's Delta log."""
    return dict(_OF_LOGS if isinstance(table, Log) else _OF_TABLES)


def held_schema(opened: DeltaTable) -> pa.Schema:
    """All columns of a snapshot, whoever added them, with their metadata."""
    columns: Any = opened.schema()
    return pa.schema(columns)


def until_committed(attempt: Callable[[], Result]) -> Result:
    """Run `attempt`, which opens its tables anew each time, until no other commit is in its way."""
    for _ in range(ATTEMPTS - 1):
        try:
            return attempt()
        except CommitFailedError:
            time.sleep(random.uniform(0.01, 0.1))
    return attempt()


def relative_files(opened: DeltaTable, slice: Slice | None = None) -> list[str]:
    """A snapshot's files below its table, sorted.

    deltalake quotes the root of what it lists (a space becomes %20), so only the part below it is a name.
    """
    root = opened.table_uri.removeprefix("file://").rstrip("/") + "/"
    uris = opened.file_uris(file_pruning_predicate=slice.predicate if slice else None)
    return sorted(uri.removeprefix(root) for uri in uris)


def _check_features(table: Stored, opened: DeltaTable) -> None:
    unknown = {*(opened.protocol().writer_features or ())} - _FEATURES
    if opened.metadata().configuration.get(_APPEND_ONLY) == "true":
        unknown.add(_APPEND_ONLY)
    if unknown:
        raise DeltaProtocolError(
            f"lake table {table.name}: somebody has given it {', '.join(sorted(unknown))}, of which this "
            f"version knows nothing. Nothing was written to it. Copy it to a table without, or restore it."
        )


def _new_columns(table: Stored, opened: DeltaTable) -> list[Field]:
    wanted = Schema.from_arrow(table.lake_schema)
    present = {field.name: field.type for field in opened.schema().fields}
    for field in wanted.fields:
        if field.name in present and present[field.name] != field.type:
            raise SchemaConflict(
                f"lake table {table.name}, column {field.name}: the lake holds {present[field.name]}, "
                f"the contract says {field.type}. Give the column its old type or start a new lake."
            )
    return [field for field in wanted.fields if field.name not in present]
