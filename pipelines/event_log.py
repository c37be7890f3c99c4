"""Dagster's event log in SQLite, over connections that stay open, and many events at a time.

Dagster opens, checkpoints and closes a file for each statement of an event, and compiles the statement anew.
One connection a file took a night of a small school, 600 events, from 17.2 to 13.5 CPU seconds. What a load
tells of waits a moment to be stored with what follows: a transaction an event was half of what it cost. What
is written, and where, is Dagster's own: either can go on with what the other wrote."""

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import dagster as dg
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import QueuePool

from assets.dagster_private import SqliteEventLogStorage

#: Files that are kept open: the index of all runs, and the runs that were written or read last.
KEPT = 8
#: How long a statement waits for another process that writes the same file.
BUSY_SECONDS = 30
#: Seconds for which an event waits at most. A process that is killed loses what it said since, and no data.
WAIT = 1.0
_Kind = dg.DagsterEventType
#: What comes in great numbers, and may wait. What a run's state follows from does not, nor the end of a step;
#: what waits is stored with it.
MAY_WAIT = {
    None,  # a message
    _Kind.ASSET_CHECK_EVALUATION,
    _Kind.ASSET_CHECK_EVALUATION_PLANNED,
    _Kind.ASSET_MATERIALIZATION,
    _Kind.ASSET_MATERIALIZATION_PLANNED,
    _Kind.LOGS_CAPTURED,
    _Kind.RESOURCE_INIT_STARTED,
    _Kind.RESOURCE_INIT_SUCCESS,
    _Kind.STEP_OUTPUT,
    _Kind.STEP_START,
}
#: What a check found last stays.
FORGET_CHECKS = text("""
    DELETE FROM asset_check_executions AS old WHERE run_id = :run_id AND EXISTS (
        SELECT 1 FROM asset_check_executions AS newer
        WHERE newer.asset_key = old.asset_key AND newer.check_name = old.check_name AND newer.id > old.id
    )
""")


class KeptSqliteEventLog(SqliteEventLogStorage):
    """What dagster.yaml names as `event_log_storage`. `base_dir`: DAGSTER_HOME."""

    def __init__(self, base_dir: str, inst_data: Any = None) -> None:
        # A file's inode, by which it is known again, and the engine with its one connection.
        self._engines: OrderedDict[str, tuple[int, Engine]] = OrderedDict()
        # In the order in which they came, and what stores them when nothing else has.
        self._waiting: list[dg.EventLogEntry] = []
        self._late: threading.Timer | None = None
        # Files in a transaction, which what is done within it shares.
        self._entered: dict[str, Connection] = {}
        super().__init__(str(Path(base_dir) / "history" / "runs"), inst_data)
        self._db_lock: Any = threading.RLock()

    @classmethod
    def from_config_value(cls, inst_data: Any, config_value: Mapping[str, Any]) -> Self:
        """As Dagster makes it of dagster.yaml."""
        return cls(inst_data=inst_data, **config_value)

    def store_event(self, event: dg.EventLogEntry) -> None:
        """Store an event, or have it wait for others. Whoever reads by this log has it either way."""
        kind = event.dagster_event.event_type if event.dagster_event else None
        with self._db_lock:
            self._waiting.append(event)
            if kind not in MAY_WAIT:
                self.flush()
            elif self._late is None:
                self._late = threading.Timer(WAIT, self._flush_late)
                self._late.start()

    def flush(self) -> None:
        """Store what waits, in the order in which it came, in a transaction for each file. Where that fails,
        it goes on waiting for the next attempt."""
        with self._db_lock:
            if self._late is not None:
                self._late.cancel()
                self._late = None
            if not self._waiting:
                return
            events, self._waiting = self._waiting, []
            last: dg.EventLogEntry | None = None
            try:
                with ExitStack() as stack:
                    # The index of all runs is the last to be committed: it tells where a run's file is asked.
                    stack.enter_context(self.index_connection())
                    runs = dict.fromkeys(event.run_id for event in events)
                    for run in runs:
                        stack.enter_context(self.run_connection(run))
                    for event in events:
                        last = event
                        super().store_event(event)
            except (SQLAlchemyError, OSError):
                self._waiting = events
                raise
            except Exception:
                # The fault is in the event, which holds up no other.
                self._waiting = [event for event in events if event is not last]
                raise
            except BaseException:
                # An interruption, of which Dagster has a kind of its own.
                self._waiting = events
                raise
            for run in runs:
                # Wakes the pages that show a run: they watch its file, but what was written lies beside it
                # until a checkpoint.
                os.utime(self.path_for_shard(run))

    def _flush_late(self) -> None:
        # Whoever stores or reads next has the error.
        with suppress(SQLAlchemyError, OSError):
            self.flush()

    def delete_events(self, run_id: str) -> None:
        """Delete the events of a run, the file that held them, and what its checks found where they have been
        run again since, which Dagster would keep for ever."""
        super().delete_events(run_id)
        with self.index_connection() as connection:
            connection.execute(FORGET_CHECKS, {"run_id": run_id})
        with self._db_lock:
            if run_id in self._engines:
                self._engines.pop(run_id)[1].dispose()
            self._initialized_dbs.discard(run_id)
            for file in Path(self._base_dir).glob(f"{run_id}.db*"):
                file.unlink()

    def dispose(self) -> None:
        """Store what waits, and close all files."""
        try:
            self.flush()
        finally:
            super().dispose()
            while self._engines:
                self._engines.popitem()[1][1].dispose()

    def _initdb(self, engine: Engine, for_index_shard: bool = False) -> None:
        # Dagster would read all of its migrations to find that there is nothing to do.
        with engine.connect() as connection:
            version = MigrationContext.configure(connection).get_current_revision()
        if version is None:
            super()._initdb(engine, for_index_shard)

    @contextmanager
    def _connect(self, shard: str) -> Iterator[Connection]:
        with self._db_lock:
            if shard in self._entered:
                yield self._entered[shard]
                return
            if self._waiting:
                self.flush()
            with self._engine(shard).begin() as connection:
                self._entered[shard] = connection
                try:
                    yield connection
                finally:
                    del self._entered[shard]

    def _engine(self, shard: str) -> Engine:
        """The engine of a run's file, or of the index."""
        path = Path(self.path_for_shard(shard))
        inode, engine = self._engines.pop(shard, (0, None))
        if engine and not (path.exists() and path.stat().st_ino == inode):
            # The file was deleted: nobody would read what is written to it.
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
        if shard not in self._initialized_dbs:
            self._initdb(engine)
            self._initialized_dbs.add(shard)
        self._engines[shard] = path.stat().st_ino, engine
        while len(self._engines) > KEPT:
            self._engines.popitem(last=False)[1][1].dispose()
        return engine
