"""The schemas `raw`, `datasets`, `reports` and `quality` of the private file, brought to what the lake holds.

What the file has already stays: each table is written down with a name for its content, and filled anew only
where the lake has another.
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
from warehouse.lake.log_tables import (
    DIFFERENCES,
    DRIFT,
    FRESHNESS,
    LOAD_LOG,
    LOGS,
    MONTH,
    PUSH_MISSES,
    QUARANTINE,
    RECONCILIATION,
    SEMESTER_CALENDARS,
    SLICES,
    Log,
)
from warehouse.lake.of_schools import LakeOfSchools
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
    of_schools,
)
from warehouse.load.load_log import now
from warehouse.publish.defined_tables import Shown, by_name, fill, show
from warehouse.publish.frozen import SEMESTERS, TABLES, FrozenBuild
from warehouse.publish.publish import CHECK_RESULTS, PUBLICATION
from warehouse.published.union import DIVIDED

CONTENTS = Log(
    name="contents",
    comment="What each table of this file was filled from the lake with",
    label_zh="数据表内容版本",
    columns=(
        Column("table_name", pa.string(), "Table, with its schema", label_zh="表"),
        Column("content", pa.string(), "Name of the content, another for other rows", label_zh="内容版本"),
    ),
)

#: A slice that a sync tried more than once shows its last attempt.
LAST_ATTEMPTS = "SELECT unnest(max_by(held, finished_at)) FROM held GROUP BY sync_id, resource, slice"
#: Syncs write these anew. What they say is other only where a column beside the sync and its times is.
SAID_ANEW = (QUARANTINE, DIFFERENCES, DRIFT, RECONCILIATION)
#: A school of which no attendance was loaded for longer is as old as the file says.
RECENT = timedelta(days=40)
#: Commits that change no row.
MAINTENANCE = {"OPTIMIZE", "VACUUM START", "VACUUM END"}
SEMESTERS_SCHEMA = pa.schema([("school_id", pa.int64()), ("semester_id", pa.int64())])
#: What each sync changes, whatever it found: alone no reason to publish.
OF_EVERY_SYNC = frozenset(f"quality.{log.name}" for log in (LOAD_LOG, FRESHNESS))


@dataclass(frozen=True)
class _Source:
    """A table to fill, and how it is made. `content`: what names its content before it is read; None: only
    its rows can tell."""

    name: str
    content: str | None
    make: Callable[[duckdb.DuckDBPyConnection], None]


def build_raw(
    lake: Lake,
    tables: Sequence[Table],
    path: Path,
    memory_mb: int = 512,
    *,
    defined: Sequence[Table] = (),
    calendars: Sequence[Mapping[str, Any]] = (),
    push_misses: Sequence[Mapping[str, Any]] = (),
    freshness: Sequence[Mapping[str, Any]] = (),
    carried: Path | None = None,
) -> set[str]:
    """Make a new DuckDB file at `path` with the schemas `raw`, `datasets`, `reports` and `quality`; one that
    is there is replaced. `defined` are the definitions of all datasets and reports, the newest first;
    `calendars`, `push_misses` and `freshness` the rows of those tables of `quality`. `carried`: a file to go
    on from, of which all stays that the lake still holds so.

    Returns the tables (`schema.table`) whose content is not that of `carried`. All are read as of one moment
    at the start; one without rows has its columns all the same. A crash leaves a file that nobody reads and
    the next build replaces.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    for old in (path, path.with_name(path.name + ".wal")):
        old.unlink(missing_ok=True)
    if carried is not None:
        shutil.copyfile(carried, path)
    sources = _sources(lake, tables, defined, calendars, push_misses, freshness)
    with closing(connect(path, memory_mb=memory_mb, scratch=path.parent / "spill")) as con:
        # A table has no order, and to keep the files' one would leave it to one thread: twice the time.
        con.execute("SET preserve_insertion_order = false")
        if carried is None:
            with transaction(con):
                _begin(con)
        return _fill(con, sources)


def build_frozen(
    lake: Lake,
    tables: Sequence[Table],
    semesters: Collection[tuple[int, int]],
    file: FrozenBuild,
    memory_mb: int = 512,
) -> set[str]:
    """Bring the raw tables of a frozen file to what `lake` holds, which has nothing but closed semesters of
    the tables that are divided. `semesters`: these, as the models have them. Returns the tables whose content
    is another; where none is, nothing is written."""
    sources = _of_frozen(lake, tables, semesters)
    before = contents_of(file.published) if file.published else {}
    if before == {source.name: source.content for source in sources}:
        return set()
    path = file.begin()
    with closing(connect(path, memory_mb=memory_mb, scratch=path.parent / "spill")) as con:
        con.execute("SET preserve_insertion_order = false")
        if file.published is None:
            with transaction(con):
                _begin(con, (CONTENTS, SLICES))
                con.execute(f"CREATE TABLE {DIVIDED} (name VARCHAR, state VARCHAR)")
        changed = _fill(con, sources)
    # Other semesters may narrow what the models read to other rows.
    return set(TABLES) if f"quality.{SEMESTERS}" in changed else changed


def frozen_contents(
    lake: Lake, tables: Sequence[Table], semesters: Collection[tuple[int, int]]
) -> dict[str, str]:
    """What `contents_of` has of the raw tables of a frozen file that holds what `lake` does."""
    return {source.name: source.content or "" for source in _of_frozen(lake, tables, semesters)}


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
) -> set[str]:
    """What `build_raw` would return that went on from a file with the contents of `before` (`contents_of`),
    without making one."""
    contents = {}
    with closing(connect(scratch=scratch)) as con:
        con.execute("CREATE SCHEMA quality")
        for source in _sources(lake, tables, defined, calendars, push_misses, freshness):
            if source.content is None:
                source.make(con)
            contents[source.name] = source.content or _named_by_rows(con, source.name)
    return _changed(before, contents)


def contents_of(file: Path) -> dict[str, str]:
    """The name of the content of each table that a file was filled with."""
    with closing(duckdb.connect(str(file), read_only=True)) as con:
        return _contents(con)


def days_of(file: Path) -> dict[int, date]:
    """The platform's day of the last load of attendance that a file knows, by school."""
    with closing(duckdb.connect(str(file), read_only=True)) as con:
        days = con.execute(
            f"SELECT _school_id, arg_max(platform_day, started_at) FROM quality.{LOAD_LOG.name} "
            "WHERE platform_day IS NOT NULL GROUP BY ALL"
        ).fetchall()
    return dict(days)


def days_have_moved(lake: Lake, days: Mapping[int, date]) -> bool:
    """Whether attendance was loaded on other days of the platform than a file knows (`days_of`): what was not
    due then may be due by now, though no row has changed."""
    columns = ["_school_id", "started_at", "platform_day"]
    since = (now() - RECENT).strftime("%Y-%m")
    recent = ~pc.field("platform_day").is_null() & (pc.field(MONTH) >= since)
    told = lake.scan(LOAD_LOG, lake.open(LOAD_LOG), columns, recent)
    latest = {row["_school_id"]: row["platform_day"] for row in told.sort_by("started_at").to_pylist()}
    return bool(latest.items() - days.items())


def _sources(
    lake: Lake,
    tables: Sequence[Table],
    defined: Sequence[Table],
    calendars: Sequence[Mapping[str, Any]],
    push_misses: Sequence[Mapping[str, Any]],
    freshness: Sequence[Mapping[str, Any]],
) -> list[_Source]:
    given = [
        _of_rows(SEMESTER_CALENDARS, calendars),
        _of_rows(PUSH_MISSES, push_misses),
        _of_rows(FRESHNESS, freshness),
    ]
    return [*_of_lake(lake, tables), *_of_definitions(lake, defined), *given]


def _of_frozen(lake: Lake, tables: Sequence[Table], semesters: Collection[tuple[int, int]]) -> list[_Source]:
    divided = [_of_table(lake, table) for table in tables if f"raw.{table.name}" in TABLES]
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
    of_the_platform = any(not name.startswith("quality.") for name in changed)
    return changed | ({f"quality.{SLICES.name}"} if of_the_platform else set())


def _begin(
    con: duckdb.DuckDBPyConnection, logs: Sequence[Log] = (CONTENTS, SLICES, CHECK_RESULTS, PUBLICATION)
) -> None:
    """The schemas, and the tables that are filled as the file goes on: when its tables are filled, when its
    checks have run, and when it is published."""
    for schema in ("raw", "datasets", "reports", "quality"):
        con.execute(f"CREATE SCHEMA {schema}")
    for log in logs:
        view(con, "held", [], log.lake_schema)
        create_table(con, f"quality.{log.name}", "FROM held", log.comment, comments(log.columns))


def _fill(con: duckdb.DuckDBPyConnection, sources: Sequence[_Source]) -> set[str]:
    before = _contents(con)
    contents: dict[str, str] = {}
    for source in sources:
        held = before.get(source.name)
        if held is None or held != source.content:
            with transaction(con):
                con.execute(f"DROP TABLE IF EXISTS {relation(source.name)}")
                source.make(con)
        contents[source.name] = source.content or _named_by_rows(con, source.name)
    for name in before.keys() - contents.keys():
        con.execute(f"DROP TABLE IF EXISTS {relation(name)}")
        con.execute("DELETE FROM quality.slices WHERE resource = ?", [name.removeprefix("raw.")])
    rows = [{"table_name": name, "content": content} for name, content in contents.items()]
    con.register("contents", pa.Table.from_pylist(rows, schema=CONTENTS.lake_schema))
    con.execute("DELETE FROM quality.contents")
    con.execute("INSERT INTO quality.contents FROM contents")
    return _changed(before, contents)


def _named_by_rows(con: duckdb.DuckDBPyConnection, name: str) -> str:
    """A name for what a table of SAID_ANEW says, whichever sync said it."""
    log = next(log for log in LOGS if f"quality.{log.name}" == name)
    lasting = [column.name for column in log.columns if column.type != TIMESTAMP and column.name != "sync_id"]
    query = f"SELECT count(*), sum(hash(row({listed(lasting)}))) FROM {relation(name)}"
    return _digest(con.execute(query).fetchall())


def _of_lake(lake: Lake, tables: Sequence[Table]) -> list[_Source]:
    found = [_of_table(lake, table) for table in tables]
    for log in LOGS:
        snapshot = lake.open(log)
        version = None if _is_named_by_rows(lake, log) else _version(lake, log, snapshot)
        found.append(_Source(f"quality.{log.name}", version, partial(_fill_log, lake, log, snapshot)))
    return found


def _of_table(lake: Lake, table: Table) -> _Source:
    snapshot = lake.open(table)
    content = _version(lake, table, snapshot)
    return _Source(f"raw.{table.name}", content, partial(_fill_raw, lake, table, snapshot))


def _is_named_by_rows(lake: Lake, log: Log) -> bool:
    """Whether nothing but its rows names what a log says; of what every sync adds to, nobody asks."""
    is_divided = SCHOOL_ID.name in log.slice_columns or log == LOAD_LOG
    return log in SAID_ANEW or (isinstance(lake, LakeOfSchools) and not is_divided)


def _of_definitions(lake: Lake, defined: Sequence[Table]) -> list[_Source]:
    found = []
    for definitions in by_name(defined):
        shown = show(lake, definitions)
        content = _version(lake, shown.table, shown.snapshot)
        found.append(_Source(shown.table.name, content, partial(_fill_defined, lake, shown)))
    return found


def _of_rows(log: Log, rows: Sequence[Mapping[str, Any]]) -> _Source:
    def make(con: duckdb.DuckDBPyConnection) -> None:
        con.register("given", pa.Table.from_pylist(list(rows), schema=log.lake_schema))
        create_table(con, f"quality.{log.name}", "FROM given", log.comment, comments(log.columns))

    return _Source(f"quality.{log.name}", _digest((log, rows)), make)


def _version(lake: Lake, table: Table | Log, snapshot: DeltaTable | None) -> str:
    """A name for a table of the lake as it is: its commits, its columns and what is said of them. Commits to
    other schools' rows are none of a shard's."""
    state: object = None
    if snapshot is not None and isinstance(lake, LakeOfSchools):
        state = lake.state_of(table, snapshot)
    elif snapshot is not None:
        state = (snapshot.metadata().id, _last_change(snapshot))
    return _digest((state, table.comment, table.columns))


def _last_change(snapshot: DeltaTable) -> int:
    """The version of the last commit that is not maintenance, as far as the last ones tell."""
    told = snapshot.history(10)
    return next(
        (entry["version"] for entry in told if entry["operation"] not in MAINTENANCE), snapshot.version()
    )


def _digest(state: object) -> str:
    return hashlib.sha256(repr(state).encode()).hexdigest()[:16]


def _fill_raw(lake: Lake, table: Table, snapshot: DeltaTable, con: duckdb.DuckDBPyConnection) -> None:
    columns = (*table.columns, SCHOOL_ID, *BOOKKEEPING)
    schema = pa.schema([pa.field(column.name, column.type) for column in columns])
    view(con, "held", lake.files_of(table, snapshot), schema, hive=True)
    query = f"SELECT * REPLACE (CAST({EXTRA} AS JSON) AS {EXTRA}) FROM held"
    create_table(con, relation(f"raw.{table.name}"), query, table.comment, comments(columns))
    _count_slices(lake, table, snapshot, con)


def _fill_defined(lake: Lake, shown: Shown, con: duckdb.DuckDBPyConnection) -> None:
    fill(lake, shown, con)
    if shown.snapshot is not None:
        _count_slices(lake, shown.table, shown.snapshot, con)


def _count_slices(lake: Lake, table: Table, snapshot: DeltaTable, con: duckdb.DuckDBPyConnection) -> None:
    """Write down how many rows each slice of a table has; its slices are known by their folders."""
    schema = pa.schema([table.lake_schema.field(name) for name in (*table.slice_columns, DELETED_AT)])
    view(con, "held", lake.files_of(table, snapshot), schema, hive=True)
    con.execute("DELETE FROM quality.slices WHERE resource = ?", [table.name])
    con.execute(f"""
        INSERT INTO quality.slices
        SELECT
            {literal(table.name)},
            {SCHOOL_ID.name},
            concat_ws('{SEPARATOR}', {listed(table.slice_columns)}),
            count(*) FILTER ({DELETED_AT} IS NULL),
            count({DELETED_AT})
        FROM held
        GROUP BY {listed(table.slice_columns)}
    """)


def _fill_log(lake: Lake, log: Log, snapshot: DeltaTable, con: duckdb.DuckDBPyConnection) -> None:
    view(con, "of_all", lake.files_of(log, snapshot), log.row_schema, hive=True)
    mine = "true" if lake.schools is None else of_schools(lake.schools)
    show_query(con, "held", f"FROM of_all WHERE {mine}")
    query = LAST_ATTEMPTS if log == LOAD_LOG else "FROM held"
    create_table(con, f"quality.{log.name}", query, log.comment, comments(log.columns))
