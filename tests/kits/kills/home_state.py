"""What a home holds: its rows as digests, and what an interrupted run has left in it."""

import re
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import duckdb
from deltalake import DeltaTable

from loading.reports.tables import held_tables
from loading.tables import TABLES
from warehouse.identifiers import quoted
from warehouse.lake.delta import Lake
from warehouse.load.logs.dataset_plans import dataset_tables
from warehouse.maintenance.compaction import maintain
from warehouse.publish.whole_build import MARKER

#: Columns that say when a sync did something, which sync, or what it took: no two syncs say the same.
OF_THE_SYNC = {
    "_synced_at",
    "_month",
    "as_of",
    "checked_at",
    "complete_at",
    "finished_at",
    "first_seen",
    "generation",
    "known_from",
    "known_since",
    "known_to",
    "last_seen",
    "published_at",
    "requests",
    "run_id",
    "seen_at",
    "since",
    "started_at",
    "state",
    "stored_at",
    "sync_id",
    "synced_at",
    "retired_since",
    "unseen",
    "valid_since",
    "version",
    "whole_as_of",
    "whole_at",
}
#: When a sync found a row gone: only that it is counts.
GONE = {"_deleted_at", "deleted_at"}
#: Logs of what was done, not of what is: another attempt is another row. A death after a publication leaves
#: its levels to the next build that has something to do.
OF_ATTEMPTS = {
    "load_log",
    "quality.load_log",
    "quality.contents",
    "maintenance",
    "quality.maintenance",
    "published_levels",
}
#: What a commit replaces is kept before it: a death between the two keeps it twice, and readers take it once.
KEPT_TWICE = {"past_rows", "quality.past_rows"}
#: What Delta's own folder holds, but for what a death has left of it.
DELTA_LOG = re.compile(r"\d{20}\.(json|checkpoint\.parquet)|_last_checkpoint")


def lake_rows(home: Path) -> dict[str, str]:
    """A digest of each table of the lake, tombstones included."""
    with duckdb.connect() as con:
        digests = {}
        for folder in _tables(home):
            files = DeltaTable(str(folder)).file_uris()
            if files and folder.name not in OF_ATTEMPTS:
                con.read_parquet(files, union_by_name=True, hive_partitioning=True).create_view("held")
                digests[folder.name] = _digest(con, "held", folder.name)
                con.execute("DROP VIEW held")
        return digests


def published_rows(home: Path) -> dict[str, str]:
    """A digest of each table of the published file, where there is one."""
    file = home / "campus.duckdb"
    if not file.exists():
        return {}
    with closing(duckdb.connect(str(file), read_only=True)) as con:
        query = "SELECT schema_name, table_name FROM duckdb_tables()"
        names = [f"{schema}.{table}" for schema, table in con.execute(query).fetchall()]
        return {
            name: _digest(con, ".".join(map(quoted, name.split(".", 1))), name)
            for name in sorted(names)
            if name not in OF_ATTEMPTS
        }


def different(digests: dict[str, str], other: dict[str, str]) -> list[str]:
    """The tables that differ."""
    return sorted(name for name in digests.keys() | other.keys() if digests.get(name) != other.get(name))


def left_behind(home: Path, keep: int = 3) -> list[str]:
    """What no version of anything needs, relative to the home."""
    expected = {*_referenced(home), *(home / "generations").glob("*.duckdb")}
    expected |= {home / "build" / "lock", home / "build" / MARKER, home / "writers" / ".lock"}
    expected |= {home / "lake" / "campus.json", home / "lake" / "campus.lake"}
    folders = ("lake", "scratch", "build", "writers", "generations", "exports")
    paths = [path for folder in folders for path in _files(home / folder) if path not in expected]
    paths += home.glob("*.[0-9]*")
    generations = sorted((home / "generations").glob("*.duckdb"))
    return sorted(str(path.relative_to(home)) for path in [*paths, *generations[:-keep]])


def upkeep(home: Path) -> None:
    """What follows each publication, as if a week had passed since."""
    lake = Lake(str(home / "lake"))
    tables = [*TABLES.values(), *dataset_tables(lake), *held_tables(lake)]
    maintain(lake, tables, home / "scratch", timedelta(0))


def _tables(home: Path) -> list[Path]:
    return sorted(log.parent for log in (home / "lake").rglob("_delta_log"))


def _referenced(home: Path) -> Iterator[Path]:
    for folder in _tables(home):
        yield from (path for path in _files(folder / "_delta_log") if DELTA_LOG.fullmatch(path.name))
        root = DeltaTable(str(folder)).table_uri.removeprefix("file://").rstrip("/")
        yield from (
            folder / uri.removeprefix(root).lstrip("/") for uri in DeltaTable(str(folder)).file_uris()
        )


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def _digest(con: duckdb.DuckDBPyConnection, relation: str, name: str) -> str:
    """How many rows there are, and the sum of their hashes: the same in any order."""
    columns = sorted(column for column, *_ in con.execute(f"DESCRIBE {relation}").fetchall())
    gone = [f"{quoted(column)} IS NULL" for column in columns if column in GONE]
    compared = [quoted(column) for column in columns if column not in GONE | OF_THE_SYNC]
    shown = ", ".join([*gone, *compared]) or "1"
    rows = f"SELECT {'DISTINCT' if name in KEPT_TWICE else ''} {shown} FROM {relation}"
    [(count, hashes)] = con.execute(f"SELECT count(*), sum(hash(rows)) FROM ({rows}) AS rows").fetchall()
    return f"{count} rows {hashes}"
