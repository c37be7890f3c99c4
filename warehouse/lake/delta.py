"""The lake: a Delta table per resource below a root.

All writes except commits of slices (`delta_log`) go through delta-rs, on a disk and on S3. On S3 a commit is
a conditional put: of two writers of the same version, one has to retry. DuckDB, polars and pyarrow read data
files from the disk only; of a lake in a store they read local copies (`copies`).
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
from warehouse.lake.logs.batch import LogBatch
from warehouse.lake.logs.tables import LOGS, STANDINGS, Log
from warehouse.lake.parquet import prune_files, read_files
from warehouse.lake.table_state import TableState, by_folder
from warehouse.lake.tables import DELETED_AT, SCHOOL_ID, Slice, Stored, school_filter
from warehouse.stores import PATIENCE, is_remote, storage_options, store_of

#: Attempts to commit. Four processes on a table need two or three.
ATTEMPTS = 20

#: Up to this number of files, a slice's files are chosen by their folders in Python; beyond it, deltalake's
#: own filter is faster.
FEW = 500

#: A checkpoint every ten commits, as in Spark and in `delta_commit`: deltalake's default of 100 makes tables
#: slow to open. Old versions go with the files that only they name (`compaction.RETENTION`).
_TABLE_PROPERTIES = {"delta.checkpointInterval": "10", "delta.logRetentionDuration": "interval 7 days"}
#: Nobody reads older versions of a log, or filters a log by statistics.
_LOG_PROPERTIES = {
    "delta.checkpointInterval": "10",
    "delta.logRetentionDuration": "interval 1 days",
    "delta.deletedFileRetentionDuration": "interval 2 days",
    "delta.dataSkippingNumIndexedCols": "0",
}

#: The writer features that deltalake gives to our tables. Only the first is used; deltalake adds the others
#: with the first property that is set.
_FEATURES = {"timestampNtz", "appendOnly", "invariants", "variantType"}
_APPEND_ONLY = "delta.appendOnly"

Result = TypeVar("Result")


class SchemaConflict(Exception):
    """The lake holds a column under another type than the contract names."""


class Lake:
    """Delta tables below `root`, opened by name, which processes and threads may share.

    `copies`: the cache for files of an object store; `patience`: seconds for which a request to the store is
    retried. `batch`: the log rows that a run has not written yet (`load.logs.writer.batched`)."""

    def __init__(self, root: str, copies: Copies | None = None, patience: float = PATIENCE) -> None:
        self.is_remote = is_remote(root)
        self.root = root.rstrip("/") if self.is_remote else str(Path(root).absolute())
        self.copies, self.patience = copies, patience
        self.storage_options = storage_options(self.root, patience)
        self.batch: LogBatch | None = None
        self._returned: defaultdict[str, list[tuple[DeltaTable, Mark | None]]] = defaultdict(list)
        self._table_states: dict[str, TableState] = {}
        #: The number of files of a table when all were last listed.
        self._files_of_table: defaultdict[str, int] = defaultdict(int)

    def uri(self, table: Stored) -> str:
        return f"{self.root}/{table.folder}"

    def open(self, table: Stored, version: int | None = None) -> DeltaTable:
        """The table as of `version` (default: now), for the caller alone. Raises deltalake's
        TableNotFoundError before `ensure`."""
        if version is not None:
            return DeltaTable(self.uri(table), version=version, storage_options=self.storage_options)
        opened, commit = self._brought_up_to_date(table) or self._opened_anew(table)
        lent = copy(opened)
        weakref.finalize(lent, self._take_back, table, opened, opened.version(), commit)
        return lent

    def reopened(self, table: Stored) -> DeltaTable:
        """The table as of now, opened anew, for the caller alone. A table opened earlier would look for
        commits that were deleted since."""
        self._returned.pop(table.folder, None)
        self._table_states.pop(table.folder, None)
        return DeltaTable(self.uri(table), storage_options=self.storage_options)

    def _opened_anew(self, table: Stored) -> tuple[DeltaTable, Mark | None]:
        opened = DeltaTable(self.uri(table), storage_options=self.storage_options)
        return opened, self._commit(table, opened.version())

    def _take_back(self, table: Stored, opened: DeltaTable, version: int, commit: Mark | None) -> None:
        """Pool a table that its user has dropped. `commit`: of the `version` at which it was lent; the user
        may have committed since."""
        if opened.version() != version:
            commit = self._commit(table, opened.version())
        self._returned[table.folder].append((opened, commit))

    def _brought_up_to_date(self, table: Stored) -> tuple[DeltaTable, Mark | None] | None:
        """A pooled table, updated, and its last commit. An update reads only the commits since; opening a
        table reads the names of all of its files."""
        while self._returned[table.folder]:
            opened, commit = self._returned[table.folder].pop()
            version = opened.version()
            if commit is None or commit != self._commit(table, version):
                continue
            # Looking for the next version is far cheaper than deltalake's update.
            if self._commit(table, version + 1) is None:
                return opened, commit
            try:
                opened.update_incremental()
            except DeltaError:
                # Commits since were cleaned up, so the table has to be opened anew.
                continue
            return opened, self._commit(table, opened.version())
        return None

    def _commit(self, table: Stored, version: int) -> Mark | None:
        """The mark of a table's commit; None: it does not exist yet, or was deleted."""
        return delta_log.mark(self.objects, table.folder, version)

    def table_state(self, table: Stored) -> TableState:
        """The state of the table as of now, for a commit.

        Raises deltalake's TableNotFoundError before `ensure`, and DeltaProtocolError if the table requires
        writer features that this version lacks."""
        cached = self._table_states.get(table.folder)
        table_state = cached and cached.followed(self.objects, table.folder)
        if table_state is None:
            table_state = until_committed(lambda: self.table_state_of(table, self.open(table)))
        self._table_states[table.folder] = table_state
        return table_state

    def table_state_of(self, table: Stored, opened: DeltaTable) -> TableState:
        """The same for an open snapshot. Raises CommitFailedError if the snapshot is no longer the newest."""
        _check_features(table, opened)
        version, names = opened.version(), by_folder(relative_files(opened))
        commit = self._commit(table, version)
        transactions = delta_log.transactions(self.objects, table.folder, version)
        if transactions is None:
            # Another process is ahead, or commits after the last checkpoint have expired. A new checkpoint
            # has all transactions.
            opened.create_checkpoint()
            raise CommitFailedError(f"lake table {table.name}: version {version} needed a checkpoint")
        return TableState(version, commit, stored_schema(opened), names, transactions)

    def ensure(self, tables: Iterable[Stored]) -> None:
        """Create missing tables (`tables` and the logs), and add new columns and properties.

        Several processes may do so at once, but before workers start: a change of schema fails commits
        under way. Raises SchemaConflict.
        """
        for table in (*tables, *LOGS, STANDINGS):
            until_committed(partial(self._ensure, table))

    def _ensure(self, table: Stored) -> None:
        self.create(table)
        opened = self.open(table)
        new = _new_columns(table, opened)
        if new:
            opened.alter.add_columns(new)
        if properties(table).items() - opened.metadata().configuration.items():
            self.open(table).alter.set_table_properties(properties(table))

    def create(self, table: Stored) -> None:
        """Create the table unless it exists."""
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
        """The schools to which this view is limited; None: all schools."""
        return None

    @cached_property
    def objects(self) -> ObjectStore:
        """The objects or files below the root."""
        return store_of(self.root, self.patience)

    def store(self, table: Stored) -> pa_fs.PyFileSystem:
        """The table's folder as a file system."""
        return pa_fs.PyFileSystem(DeltaStorageHandler(self.uri(table), self.storage_options))

    def holds(self, table: Stored) -> bool:
        """Whether the table exists."""
        return DeltaTable.is_deltatable(self.uri(table), self.storage_options)

    def version(self, table: Stored) -> int:
        return self.open(table).version()

    def files(self, table: Stored, slice: Slice | None = None, version: int | None = None) -> list[str]:
        """Local paths of a version's or slice's data files, sorted. A glob would find replaced files too."""
        return self.files_of(table, self.open(table, version), slice)

    def files_of(self, table: Stored, opened: DeltaTable, slice: Slice | None = None) -> list[str]:
        """The same for an open snapshot."""
        return self.readable(table, self.names_of(table, opened, slice))

    def names_of(self, table: Stored, opened: DeltaTable, slice: Slice | None = None) -> list[str]:
        """The names of the same files below the table."""
        if slice is None or self._files_of_table[table.folder] > FEW:
            return relative_files(opened, slice)
        names = relative_files(opened)
        self._files_of_table[table.folder] = len(names)
        return [name for name in names if name.startswith(f"{slice.folder}/")]

    def readable(self, table: Stored, names: Sequence[str]) -> list[str]:
        """Local paths of files (named below the table), in the order of `names`, with their slices' folders.

        Files of an object store are copied first, and must be read soon: copies are evicted."""
        if not self.is_remote:
            return [f"{self.uri(table)}/{name}" for name in names]
        if self.copies is None:
            raise ValueError(f"{self.root}: reading a lake in a store needs `copies`")
        return self.copies.fetched(self.objects, [f"{table.folder}/{name}" for name in names])

    def read(
        self,
        table: Stored,
        slice: Slice | None = None,
        columns: Sequence[str] | None = None,
        *,
        alive: bool = True,
    ) -> pa.Table:
        """Read rows into memory, for small results such as a semester's class ids.

        `alive`: without tombstones."""
        is_alive = pc.field(DELETED_AT).is_null() if DELETED_AT in table.lake_schema.names else None
        names = columns if columns is not None else table.lake_schema.names
        return self.scan(table, self.open(table), names, is_alive if alive else None, slice)

    def scan(
        self,
        table: Stored,
        opened: DeltaTable,
        columns: Sequence[str],
        condition: pc.Expression | None = None,
        slice: Slice | None = None,
    ) -> pa.Table:
        """Read columns of a snapshot's rows into memory, with the table's types.

        A column that is not in the lake yet is null. Files whose folders exclude every row are not opened.
        deltalake's own reader takes four times as long for a small table.

        Raises DeltaError for a damaged file, and OSError."""
        schema, partitions = table.lake_schema, opened.metadata().partition_columns
        if self.schools is not None and SCHOOL_ID.name in schema.names:
            in_schools = school_filter(self.schools)
            condition = in_schools if condition is None else in_schools & condition
        names = self.names_of(table, opened, slice)
        if condition is not None:
            names = prune_files(names, schema, partitions, condition)
        try:
            return read_files(self.readable(table, names), schema, partitions, columns, condition)
        except pa.ArrowInvalid as error:
            raise DeltaError(f"lake table {table.name} cannot be read: {error}") from error


def properties(table: Stored) -> dict[str, str]:
    """The Delta properties of a table."""
    return dict(_LOG_PROPERTIES if isinstance(table, Log) else _TABLE_PROPERTIES)


def stored_schema(opened: DeltaTable) -> pa.Schema:
    """All columns of a snapshot in the lake, also those of no contract, with their metadata."""
    columns: Any = opened.schema()
    return pa.schema(columns)


def until_committed(attempt: Callable[[], Result]) -> Result:
    """Retry `attempt` while other commits conflict with it. It must open its tables anew each time."""
    for _ in range(ATTEMPTS - 1):
        try:
            return attempt()
        except CommitFailedError:
            time.sleep(random.uniform(0.01, 0.1))
    return attempt()


def relative_files(opened: DeltaTable, slice: Slice | None = None) -> list[str]:
    """The names of a snapshot's files below its table, sorted.

    deltalake quotes the root in what it lists (a space becomes %20), so only the part below it is usable.
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
            f"lake table {table.name}: another program added {', '.join(sorted(unknown))}, which this "
            f"version does not support. Nothing was written to it. Copy it to a table without, or restore it."
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
