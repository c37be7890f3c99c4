"""Fill the schemas `raw`, `datasets`, `reports` and `quality` of the private file from the lake.

A table is filled anew only if its content in the lake has changed: the file records the version of each
table's content.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from warehouse.identifiers import listed, literal, relation
from warehouse.lake.delta import Lake
from warehouse.lake.logs.tables import (
    DIFFERENCES,
    DRIFT,
    FRESHNESS,
    LOAD_LOG,
    LOGS,
    MAINTENANCE_RUNS,
    MONTH,
    PUBLISHED_LEVELS,
    PUSH_MISSES,
    QUARANTINE,
    RECONCILIATION,
    SEMESTER_CALENDARS,
    SLICES,
    Log,
)
from warehouse.lake.school_subset import SchoolSubset
from warehouse.lake.sql import connect, create_table, show_query, transaction, view
from warehouse.lake.tables import (
    BOOKKEEPING,
    DELETED_AT,
    EXTRA,
    SCHOOL_ID,
    SEPARATOR,
    TIMESTAMP,
    Column,
    Table,
    comments,
    school_condition,
)
from warehouse.load.logs.load_log import now
from warehouse.publish.defined_tables import Shown, by_name, fill, show
from warehouse.publish.frozen import SEMESTERS, TABLES, FrozenBuild
from warehouse.publish.models.by_semester import SEMESTER_STATES
from warehouse.publish.publish import CHECK_RESULTS, PUBLICATION
from warehouse.published.union import DIVIDED

#: Of DuckDB, for a build.
MEMORY_MB = 512
CONTENTS = Log(
    name="contents",
    comment="The version of the content of each table that was filled from the lake",
    label_zh="数据表内容版本",
    columns=(
        Column("table_name", pa.string(), "Table, with its schema", label_zh="表"),
        Column("content", pa.string(), "Version of the content; changes with the rows", label_zh="内容版本"),
    ),
)

#: If a sync tried a slice more than once, only the last attempt is shown.
LAST_ATTEMPTS = "SELECT unnest(max_by(stored, finished_at)) FROM stored GROUP BY sync_id, resource, slice"
#: Every sync rewrites these tables. A new sync or new times alone do not change their content.
REWRITTEN = (QUARANTINE, DIFFERENCES, DRIFT, RECONCILIATION)
#: Attendance loads longer ago than this do not count as moved days.
RECENT = timedelta(days=40)
#: Operations of commits that change no row.
MAINTENANCE = {"OPTIMIZE", "VACUUM START", "VACUUM END"}
SEMESTERS_SCHEMA = pa.schema([("school_id", pa.int64()), ("semester_id", pa.int64())])
#: Every sync or publication changes these tables, so their changes alone are no reason to publish.
OF_EVERY_SYNC = frozenset(
    f"quality.{log.name}" for log in (LOAD_LOG, FRESHNESS, PUBLISHED_LEVELS, MAINTENANCE_RUNS)
)


@dataclass(frozen=True)
class _Source:
    """A table to fill."""

    name: str
    #: The version of its content; None: only reading the rows can tell.
    content: str | None
    make: Callable[[duckdb.DuckDBPyConnection], None]


def build_raw(
    lake: Lake,
    tables: Sequence[Table],
    path: Path,
    *,
    defined: Sequence[Table] = (),
    calendars: Sequence[Mapping[str, Any]] = (),
    push_misses: Sequence[Mapping[str, Any]] = (),
    freshness: Sequence[Mapping[str, Any]] = (),
    maintenance: Sequence[Mapping[str, Any]] = (),
    previous: Path | None = None,
) -> set[str]:
    """Make a new DuckDB file at `path` with the schemas `raw`, `datasets`, `reports` and `quality`.

    An existing file is replaced. `defined`: the definitions of all datasets and reports, the newest first.
    `calendars`, `push_misses`, `freshness` and `maintenance`: the rows of those tables of `quality`.
    `previous`: a file to start from, whose unchanged tables stay.

    Returns the tables (`schema.table`) whose content differs from `previous`. All tables are read as of one
    moment at the start; a table without rows still has its columns. A crash leaves a file that nobody reads
    and that the next build replaces.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    for old in (path, path.with_name(path.name + ".wal")):
        old.unlink(missing_ok=True)
    if previous is not None:
        shutil.copyfile(previous, path)
    sources = _sources(lake, tables, defined, calendars, push_misses, freshness, maintenance)
    with closing(connect(path, memory_mb=MEMORY_MB, scratch=path.parent / "spill")) as con:
        # Tables have no order, and preserving that of the files would leave the work to a single thread.
        con.execute("SET preserve_insertion_order = false")
        if previous is None:
            with transaction(con):
                _begin(con)
        return _fill(con, sources)


def build_frozen(
    lake: Lake,
    tables: Sequence[Table],
    semesters: Collection[tuple[int, int]],
    file: FrozenBuild,
) -> set[str]:
    """Bring the raw tables of a frozen file to the state of `lake`.

    `lake`: limited to the closed semesters of the divided tables. `semesters`: these semesters, by the ids
    of the models. Returns the tables whose content changed; if none changed, nothing is written."""
    sources = _frozen_sources(lake, tables, semesters)
    before = contents_of(file.published) if file.published else {}
    if before == {source.name: source.content for source in sources}:
        return set()
    path = file.begin()
    with closing(connect(path, memory_mb=MEMORY_MB, scratch=path.parent / "spill")) as con:
        con.execute("SET preserve_insertion_order = false")
        if file.published is None:
            with transaction(con):
                _begin(con, (CONTENTS, SLICES))
                con.execute(f"CREATE TABLE {DIVIDED} (name VARCHAR, state VARCHAR)")
        changed = _fill(con, sources)
    # The models read the rows of these semesters, so other semesters may mean other rows of any table.
    return set(TABLES) if f"quality.{SEMESTERS}" in changed else changed


def frozen_contents(
    lake: Lake, tables: Sequence[Table], semesters: Collection[tuple[int, int]]
) -> dict[str, str]:
    """The result that `contents_of` would have for a frozen file with the present state of `lake`."""
    return {source.name: source.content or "" for source in _frozen_sources(lake, tables, semesters)}


def differences(
    lake: Lake,
    tables: Sequence[Table],
    before: Mapping[str, str],
    scratch: Path,
    *,
    defined: Sequence[Table] = (),
    calendars: Sequence[Mapping[str, Any]] = (),
    push_misses: Sequence[Mapping[str, Any]] = (),
    freshness: Sequence[Mapping[str, Any]] = (),
    maintenance: Sequence[Mapping[str, Any]] = (),
) -> set[str]:
    """The result that `build_raw` would have for a file with the contents `before` (`contents_of`)."""
    contents = {}
    with closing(connect(scratch=scratch)) as con:
        con.execute("CREATE SCHEMA quality")
        for source in _sources(lake, tables, defined, calendars, push_misses, freshness, maintenance):
            if source.content is None:
                source.make(con)
            contents[source.name] = source.content or _version_by_rows(con, source.name)
    return _changed(before, contents)


def contents_of(file: Path) -> dict[str, str]:
    """The version of the content of each table that a file was filled with."""
    with closing(duckdb.connect(str(file), read_only=True)) as con:
        return _contents(con)


def days_of(file: Path) -> dict[int, date]:
    """By school, the platform's day of the last load of attendance in a file."""
    with closing(duckdb.connect(str(file), read_only=True)) as con:
        days = con.execute(
            f"SELECT _school_id, arg_max(platform_day, started_at) FROM quality.{LOAD_LOG.name} "
            "WHERE platform_day IS NOT NULL GROUP BY ALL"
        ).fetchall()
    return dict(days)


def days_have_moved(lake: Lake, days: Mapping[int, date]) -> bool:
    """Whether attendance was loaded on a later day of the platform than a file has (`days_of`): more
    attendance may be due now, though no row has changed."""
    columns = ["_school_id", "started_at", "platform_day"]
    since = (now() - RECENT).strftime("%Y-%m")
    recent = ~pc.field("platform_day").is_null() & (pc.field(MONTH) >= since)
    loads = lake.scan(LOAD_LOG, lake.open(LOAD_LOG), columns, recent)
    latest = {row["_school_id"]: row["platform_day"] for row in loads.sort_by("started_at").to_pylist()}
    return bool(latest.items() - days.items())


def _sources(
    lake: Lake,
    tables: Sequence[Table],
    defined: Sequence[Table],
    calendars: Sequence[Mapping[str, Any]],
    push_misses: Sequence[Mapping[str, Any]],
    freshness: Sequence[Mapping[str, Any]],
    maintenance: Sequence[Mapping[str, Any]],
) -> list[_Source]:
    given = [
        _rows_source(SEMESTER_CALENDARS, calendars),
        _rows_source(PUSH_MISSES, push_misses),
        _rows_source(FRESHNESS, freshness),
        _rows_source(MAINTENANCE_RUNS, maintenance),
    ]
    return [*_lake_sources(lake, tables), *_defined_sources(lake, defined), *given]


def _frozen_sources(
    lake: Lake, tables: Sequence[Table], semesters: Collection[tuple[int, int]]
) -> list[_Source]:
    divided = [_table_source(lake, table) for table in tables if f"raw.{table.name}" in TABLES]
    rows = [{"school_id": school, "semester_id": semester} for school, semester in sorted(semesters)]

    def make(con: duckdb.DuckDBPyConnection) -> None:
        con.register("given", pa.Table.from_pylist(rows, schema=SEMESTERS_SCHEMA))
        con.execute(f"CREATE TABLE quality.{SEMESTERS} AS FROM given")

    return [*divided, _Source(f"quality.{SEMESTERS}", _digest(rows), make)]


def _contents(con: duckdb.DuckDBPyConnection) -> dict[str, str]:
    return dict(con.execute("SELECT table_name, content FROM quality.contents").fetchall())


def _changed(before: Mapping[str, str], contents: Mapping[str, str]) -> set[str]:
    gone = before.keys() - contents.keys()
    changed = gone | {name for name, content in contents.items() if before.get(name) != content}
    data_changed = any(not name.startswith("quality.") for name in changed)
    return changed | ({f"quality.{SLICES.name}"} if data_changed else set())


def _begin(
    con: duckdb.DuckDBPyConnection,
    logs: Sequence[Log] = (CONTENTS, SLICES, SEMESTER_STATES, CHECK_RESULTS, PUBLICATION),
) -> None:
    """Make the schemas, and the tables that later steps fill: filling, checking and publishing."""
    for schema in ("raw", "datasets", "reports", "quality"):
        con.execute(f"CREATE SCHEMA {schema}")
    for log in logs:
        view(con, "empty", [], log.lake_schema)
        create_table(con, f"quality.{log.name}", "FROM empty", log.comment, comments(log.columns))


def _fill(con: duckdb.DuckDBPyConnection, sources: Sequence[_Source]) -> set[str]:
    before = _contents(con)
    contents: dict[str, str] = {}
    for source in sources:
        if source.name not in before or before[source.name] != source.content:
            with transaction(con):
                con.execute(f"DROP TABLE IF EXISTS {relation(source.name)}")
                source.make(con)
        contents[source.name] = source.content or _version_by_rows(con, source.name)
    for name in before.keys() - contents.keys():
        con.execute(f"DROP TABLE IF EXISTS {relation(name)}")
        con.execute("DELETE FROM quality.slices WHERE resource = ?", [name.removeprefix("raw.")])
    rows = [{"table_name": name, "content": content} for name, content in contents.items()]
    con.register("contents", pa.Table.from_pylist(rows, schema=CONTENTS.lake_schema))
    con.execute("DELETE FROM quality.contents")
    con.execute("INSERT INTO quality.contents FROM contents")
    return _changed(before, contents)


def _version_by_rows(con: duckdb.DuckDBPyConnection, name: str) -> str:
    """A version of the rows of a log, without the sync that wrote them and its times."""
    log = next(log for log in LOGS if f"quality.{log.name}" == name)
    lasting = [column.name for column in log.columns if column.type != TIMESTAMP and column.name != "sync_id"]
    query = f"SELECT count(*), sum(hash(row({listed(lasting)}))) FROM {relation(name)}"
    return _digest(con.execute(query).fetchall())


def _lake_sources(lake: Lake, tables: Sequence[Table]) -> list[_Source]:
    sources = [_table_source(lake, table) for table in tables]
    for log in LOGS:
        snapshot = lake.open(log)
        version = None if _needs_rows(lake, log) else _version(lake, log, snapshot)
        sources.append(_Source(f"quality.{log.name}", version, partial(_fill_log, lake, log, snapshot)))
    return sources


def _table_source(lake: Lake, table: Table) -> _Source:
    snapshot = lake.open(table)
    content = _version(lake, table, snapshot)
    return _Source(f"raw.{table.name}", content, partial(_fill_raw, lake, table, snapshot))


def _needs_rows(lake: Lake, log: Log) -> bool:
    """Whether only the rows can tell if the content of a log has changed.

    LOAD_LOG changes with every sync, so its commits tell."""
    is_divided = SCHOOL_ID.name in log.slice_columns or log == LOAD_LOG
    return log in REWRITTEN or (isinstance(lake, SchoolSubset) and not is_divided)


def _defined_sources(lake: Lake, defined: Sequence[Table]) -> list[_Source]:
    sources = []
    for definitions in by_name(defined):
        shown = show(lake, definitions)
        content = _version(lake, shown.table, shown.snapshot)
        sources.append(_Source(shown.table.name, content, partial(_fill_defined, lake, shown)))
    return sources


def _rows_source(log: Log, rows: Sequence[Mapping[str, Any]]) -> _Source:
    def make(con: duckdb.DuckDBPyConnection) -> None:
        con.register("given", pa.Table.from_pylist(list(rows), schema=log.lake_schema))
        create_table(con, f"quality.{log.name}", "FROM given", log.comment, comments(log.columns))

    return _Source(f"quality.{log.name}", _digest((log, rows)), make)


def _version(lake: Lake, table: Table | Log, snapshot: DeltaTable | None) -> str:
    """The version of a lake table's content: its commits, columns and comments. For a shard, commits to rows
    of other schools do not count."""
    state: object = None
    if snapshot is not None and isinstance(lake, SchoolSubset):
        state = lake.state_of(table, snapshot)
    elif snapshot is not None:
        state = (snapshot.metadata().id, _last_change(snapshot))
    return _digest((state, table.comment, table.columns))


def _last_change(snapshot: DeltaTable) -> int:
    """The version of the last commit that changed rows; if the last ten were maintenance, the last commit."""
    commits = (commit for commit in snapshot.history(10) if commit["operation"] not in MAINTENANCE)
    return next((commit["version"] for commit in commits), snapshot.version())


def _digest(state: object) -> str:
    return hashlib.sha256(repr(state).encode()).hexdigest()[:16]


def _fill_raw(lake: Lake, table: Table, snapshot: DeltaTable, con: duckdb.DuckDBPyConnection) -> None:
    columns = (*table.columns, SCHOOL_ID, *BOOKKEEPING)
    schema = pa.schema([pa.field(column.name, column.type) for column in columns])
    view(con, "stored", lake.files_of(table, snapshot), schema, hive=True)
    query = f"SELECT * REPLACE (CAST({EXTRA} AS JSON) AS {EXTRA}) FROM stored"
    create_table(con, relation(f"raw.{table.name}"), query, table.comment, comments(columns))
    _count_slices(lake, table, snapshot, con)


def _fill_defined(lake: Lake, shown: Shown, con: duckdb.DuckDBPyConnection) -> None:
    fill(lake, shown, con)
    if shown.snapshot is not None:
        _count_slices(lake, shown.table, shown.snapshot, con)


def _count_slices(lake: Lake, table: Table, snapshot: DeltaTable, con: duckdb.DuckDBPyConnection) -> None:
    """Record how many rows each slice of a table has; the folder of a file names its slice."""
    schema = pa.schema([table.lake_schema.field(name) for name in (*table.slice_columns, DELETED_AT)])
    view(con, "stored", lake.files_of(table, snapshot), schema, hive=True)
    con.execute("DELETE FROM quality.slices WHERE resource = ?", [table.name])
    con.execute(f"""
        INSERT INTO quality.slices
        SELECT
            {literal(table.name)},
            {SCHOOL_ID.name},
            concat_ws('{SEPARATOR}', {listed(table.slice_columns)}),
            count(*) FILTER ({DELETED_AT} IS NULL),
            count({DELETED_AT})
        FROM stored
        GROUP BY {listed(table.slice_columns)}
    """)


def _fill_log(lake: Lake, log: Log, snapshot: DeltaTable, con: duckdb.DuckDBPyConnection) -> None:
    view(con, "all_schools", lake.files_of(log, snapshot), log.row_schema, hive=True)
    condition = "true" if lake.schools is None else school_condition(lake.schools)
    show_query(con, "stored", f"FROM all_schools WHERE {condition}")
    query = LAST_ATTEMPTS if log == LOAD_LOG else "FROM stored"
    create_table(con, f"quality.{log.name}", query, log.comment, comments(log.columns))
