"""The file that analysts open: filled from the lake in private, then moved into place as a whole."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from deltalake import DeltaTable

from warehouse.files import flush
from warehouse.identifiers import quoted
from warehouse.lake.delta import Lake
from warehouse.lake.log_tables import LOAD_LOG, LOGS, SEMESTER_CALENDARS, Log
from warehouse.lake.sql import connect, create_table, view
from warehouse.lake.tables import BOOKKEEPING, EXTRA, SCHOOL_ID, TIMESTAMP, Column, Stored, Table, comments
from warehouse.load.load_log import now
from warehouse.publish.defined_tables import by_name, fill, show

FILE = "campus.duckdb"

CHECK_RESULTS = Log(
    name="check_results",
    comment="Checks of the models, as of this file",
    label_zh="检查结果",
    columns=(
        Column("name", pa.string(), "Name of the check", label_zh="名称"),
        Column("model", pa.string(), "Model or table that it checks", label_zh="模型"),
        Column("status", pa.string(), "pass, warn, fail or error", label_zh="状态"),
        Column("failures", pa.int64(), "Rows that break it", label_zh="违例行数", unit="rows"),
        Column("message", pa.string(), "What it found", label_zh="说明"),
        Column("checked_at", TIMESTAMP, "When it ran", label_zh="考勤日期"),
    ),
)
PUBLICATION = Log(
    name="publication",
    comment="What this file is: one row",
    label_zh="发布信息",
    columns=(
        Column(
            "generation",
            pa.string(),
            "Name of the published file, as below generations/",
            label_zh="文件版本",
        ),
        Column("published_at", TIMESTAMP, "When it was published", label_zh="发布时间"),
        Column(
            "models_version",
            pa.string(),
            "The models that it was built by, a name for their state",
            label_zh="模型版本",
        ),
    ),
)


#: A slice that a sync tried more than once shows its last attempt.
LAST_ATTEMPTS = "SELECT unnest(max_by(held, finished_at)) FROM held GROUP BY sync_id, resource, slice"


@dataclass(frozen=True)
class Generation:
    """A published file that is kept; `name` is the time of its publication."""

    name: str
    path: Path


def build_raw(
    lake: Lake,
    tables: Sequence[Table],
    path: Path,
    memory_mb: int = 512,
    *,
    defined: Sequence[Table] = (),
    calendars: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Make a new DuckDB file at `path` with the schemas `raw`, `datasets`, `reports` and `quality`; one that
    is there is replaced. `defined` are the definitions of all datasets and reports, the newest first;
    `calendars` the rows of `quality.semester_calendars`.

    All tables are read as of one moment at the start; one without rows has its columns all the same. A crash
    leaves a file that nobody reads and the next build replaces.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    for old in (path, path.with_name(path.name + ".wal")):
        old.unlink(missing_ok=True)
    stored: tuple[Stored, ...] = (*tables, *LOGS)
    snapshots = {table.name: lake.open(table) for table in stored}
    shown = [show(lake, definitions) for definitions in by_name(defined)]
    with closing(connect(path, memory_mb=memory_mb, scratch=path.parent / "spill")) as con:
        # A table has no order, and to keep the files' one would leave it to one thread: twice the time.
        con.execute("SET preserve_insertion_order = false")
        for schema in ("raw", "datasets", "reports", "quality"):
            con.execute(f"CREATE SCHEMA {schema}")
        for table in tables:
            _fill_raw(con, lake, table, snapshots[table.name])
        for one in shown:
            fill(con, lake, one)
        for log in LOGS:
            _fill_log(con, lake, log, snapshots[log.name])
        con.register("held_calendars", pa.Table.from_pylist(list(calendars), SEMESTER_CALENDARS.lake_schema))
        log = SEMESTER_CALENDARS
        create_table(con, f"quality.{log.name}", "FROM held_calendars", log.comment, comments(log.columns))
        # To be filled as the file goes on: when its checks have run, and when it is published.
        for log in (CHECK_RESULTS, PUBLICATION):
            view(con, "held", [], log.lake_schema)
            create_table(con, f"quality.{log.name}", "FROM held", log.comment, comments(log.columns))


def record_checks(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Add results of checks to a file not yet published; columns of CHECK_RESULTS left out are null."""
    checked = [{"checked_at": now(), **row} for row in rows]
    with closing(duckdb.connect(str(path))) as con:
        con.register("checked", pa.Table.from_pylist(checked, schema=CHECK_RESULTS.lake_schema))
        con.execute("INSERT INTO quality.check_results FROM checked")


def publish(path: Path, home: Path, keep: int = 3, *, models_version: str | None = None) -> Generation:
    """Move the finished file to `home`/campus.duckdb and keep it, with the last ones, below generations/.

    `path` must be on the same file system as `home`. Whoever has the old file open keeps its content; whoever
    opens it after the move sees the new one. A crash leaves the one or the other, whole.
    """
    # A publication that died half-way may have left it read-only.
    path.chmod(0o644)
    folder = home / "generations"
    folder.mkdir(parents=True, exist_ok=True)
    published_at = now()
    name = published_at.strftime("%Y%m%dT%H%M%S.%f")
    with closing(duckdb.connect(str(path))) as con:
        con.execute("DELETE FROM quality.publication")
        con.execute("INSERT INTO quality.publication VALUES (?, ?, ?)", [name, published_at, models_version])
        con.execute("CHECKPOINT")
    path.chmod(0o444)
    flush(path)
    generation = Generation(name, folder / f"{name}.duckdb")
    os.link(path, generation.path)
    path.replace(home / FILE)
    flush(folder)
    flush(home)
    for old in generations(home)[max(keep, 1) :]:
        old.path.unlink()
    return generation


def generations(home: Path) -> list[Generation]:
    """The files that are kept, latest first."""
    paths = (home / "generations").glob("*.duckdb")
    return [Generation(path.stem, path) for path in sorted(paths, reverse=True)]


def _fill_raw(con: duckdb.DuckDBPyConnection, lake: Lake, table: Table, snapshot: DeltaTable) -> None:
    columns = (*table.columns, SCHOOL_ID, *BOOKKEEPING)
    schema = pa.schema([pa.field(column.name, column.type) for column in columns])
    view(con, "held", lake.files_of(table, snapshot), schema, hive=True)
    query = f"SELECT * REPLACE (CAST({EXTRA} AS JSON) AS {EXTRA}) FROM held"
    create_table(con, f"raw.{quoted(table.name)}", query, table.comment, comments(columns))


def _fill_log(con: duckdb.DuckDBPyConnection, lake: Lake, log: Log, snapshot: DeltaTable) -> None:
    view(con, "held", lake.files_of(log, snapshot), log.lake_schema, hive=True)
    query = LAST_ATTEMPTS if log == LOAD_LOG else "FROM held"
    create_table(con, f"quality.{log.name}", query, log.comment, comments(log.columns))
