"""Dagster's event log in SQLite, over connections that stay open.

Dagster opens, checkpoints and closes a file for each statement of an event; one open connection a file saves
a fifth of a night's CPU time. Files and their content are Dagster's own, so Dagster's log can read them."""

import os
import sqlite3
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import dagster as dg
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.event import listen
from sqlalchemy.pool import QueuePool

from assets.shared.dagster_private import SqliteEventLogStorage

#: Files that stay open: the index of all runs, and the runs that were used last.
MAX_OPEN = 8
#: Seconds for which a statement waits for another process that writes the same file.
BUSY_SECONDS = 30
#: Deletes the check results of a run, except the latest result of each check.
DELETE_OLD_CHECKS = text("""
    DELETE FROM asset_check_executions AS old WHERE run_id = :run_id AND EXISTS (
        SELECT 1 FROM asset_check_executions AS newer
        WHERE newer.asset_key = old.asset_key AND newer.check_name = old.check_name AND newer.id > old.id
    )
""")


class KeptSqliteEventLog(SqliteEventLogStorage):
    """The `event_log_storage` of dagster.yaml. `base_dir`: DAGSTER_HOME."""

    def __init__(self, base_dir: str, inst_data: Any = None) -> None:
        # By run: the inode of its file, to detect a deleted file, and an engine with one connection.
        self._engines: OrderedDict[str, tuple[int, Engine]] = OrderedDict()
        self._tables = set[str]()
        super().__init__(str(Path(base_dir) / "history" / "runs"), inst_data)

    @classmethod
    def from_config_value(cls, inst_data: Any, config_value: Mapping[str, Any]) -> Self:
        """Make the log from its section of dagster.yaml."""
        return cls(inst_data=inst_data, **config_value)

    def store_event(self, event: dg.EventLogEntry) -> None:
        """Store an event, and touch the run's file: pages of the UI watch that file, while SQLite writes to a
        log beside it until a checkpoint."""
        super().store_event(event)
        os.utime(self.path_for_shard(event.run_id))

    def delete_events(self, run_id: str) -> None:
        """Delete the events of a run, its file, and its replaced check results, which Dagster would keep."""
        super().delete_events(run_id)
        with self.index_connection() as connection:
            connection.execute(DELETE_OLD_CHECKS, {"run_id": run_id})
        with self._db_lock:
            if run_id in self._engines:
                self._engines.pop(run_id)[1].dispose()
            self._initialized_dbs.discard(run_id)
            for file in Path(self._base_dir).glob(f"{run_id}.db*"):
                file.unlink()

    def dispose(self) -> None:
        """Close all files."""
        super().dispose()
        while self._engines:
            self._engines.popitem()[1][1].dispose()

    def _initdb(self, engine: Engine, for_index_shard: bool = False) -> None:
        # Dagster would read all its migrations to learn that there is nothing to do.
        with engine.connect() as connection:
            version = MigrationContext.configure(connection).get_current_revision()
        if version is None:
            super()._initdb(engine, for_index_shard)

    def has_table(self, table_name: str) -> bool:
        """Whether the index has a table, which stays. Dagster opens a connection to look, at each event of a
        check."""
        if table_name not in self._tables and super().has_table(table_name):
            self._tables.add(table_name)
        return table_name in self._tables

    @contextmanager
    def _connect(self, shard: str) -> Iterator[Connection]:
        with self._db_lock, self._engine(shard).begin() as connection:
            yield connection

    def _engine(self, shard: str) -> Engine:
        """The engine for a run's file, or for the index."""
        path = Path(self.path_for_shard(shard))
        inode, engine = self._engines.pop(shard, (0, None))
        if engine and not (path.exists() and path.stat().st_ino == inode):
            # The file was deleted: writes to it would be lost.
            engine.dispose()
            engine = None
            self._initialized_dbs.discard(shard)
        if not engine:
            engine = create_engine(
                self.conn_string_for_shard(shard),
                poolclass=QueuePool,
                pool_size=1,
                connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False},
            )
            listen(engine, "connect", _flush_at_checkpoints)
        if shard not in self._initialized_dbs:
            self._initdb(engine)
            self._initialized_dbs.add(shard)
        self._engines[shard] = path.stat().st_ino, engine
        while len(self._engines) > MAX_OPEN:
            self._engines.popitem(last=False)[1][1].dispose()
        return engine


def _flush_at_checkpoints(connection: sqlite3.Connection, _record: object) -> None:
    """Flush to the disk at checkpoints, not with each commit. A machine that loses power may lose the last
    events; the file stays whole, and the lake itself says what is loaded."""
    connection.execute("PRAGMA synchronous = NORMAL")
