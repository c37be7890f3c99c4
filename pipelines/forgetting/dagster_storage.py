"""Takes persons and schools out of Dagster's own records: runs, events and ticks, in SQLite or Postgres."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import dagster as dg
import sqlalchemy as sa

from assets.partitions import PARTITIONS
from loading.partition_keys import school_of
from pipelines.instance import POSTGRES_URL
from warehouse.forgetting.search import Search
from warehouse.identifiers import quoted

#: Seconds to wait for a daemon that writes.
PATIENCE = 60.0
SQLITE = (".db", ".sqlite")
#: Tags of runs that say which schools they loaded, and the tags with partitions' keys.
SCHOOLS_TAG, SCHOOL_TAG = "campus/schools", "campus/school"
PARTITION_TAG, FIRST_TAG, LAST_TAG = (
    "dagster/partition",
    "dagster/asset_partition_range_start",
    "dagster/asset_partition_range_end",
)


def forget_in_dagster(home: Path, search: Search, *, apply: bool) -> int:
    """Take persons out of all that Dagster has stored. Rows changed. home: DAGSTER_HOME.

    Raises sqlite3.Error, sqlalchemy's errors."""
    changed = 0
    for path in sorted(home.rglob("*")):
        if path.suffix in SQLITE and path.is_file():
            changed += forget_in_sqlite(path, search, apply=apply)
    if url := os.environ.get(POSTGRES_URL):
        changed += _forget_in_postgres(url, search, apply=apply)
    return changed


def forget_in_sqlite(path: Path, search: Search, *, apply: bool) -> int:
    """Take persons out of every text of a file of SQLite, and out of its free room. Rows changed."""
    changed = 0
    with closing(sqlite3.connect(path, timeout=PATIENCE)) as connection:
        connection.execute("PRAGMA secure_delete = ON")
        for table, column in _text_columns(connection):
            for rowid, text in _likely(connection, table, column, search.needles):
                new = search.cleaned_json(text)
                if new != text:
                    changed += 1
                    if apply:
                        with connection:
                            connection.execute(
                                f"UPDATE {quoted(table)} SET {quoted(column)} = ? WHERE rowid = ?",
                                (new, rowid),
                            )
        if apply:
            # Also without a change: Dagster's own deletions leave text in free pages.
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return changed


def _text_columns(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for table in tables:
        for _, column, kind, *_ in connection.execute(f"PRAGMA table_info({quoted(table)})").fetchall():
            if "CHAR" in kind.upper() or "TEXT" in kind.upper():
                yield table, column


def _likely(
    connection: sqlite3.Connection, table: str, column: str, needles: Iterable[str]
) -> list[tuple[int, str]]:
    found: dict[int, str] = {}
    for needle in needles:
        query = f"SELECT rowid, {quoted(column)} FROM {quoted(table)} WHERE instr({quoted(column)}, ?)"
        found.update(
            (rowid, text) for rowid, text in connection.execute(query, (needle,)) if isinstance(text, str)
        )
    return sorted(found.items())


def _forget_in_postgres(url: str, search: Search, *, apply: bool) -> int:
    changed = 0
    engine = sa.create_engine(url)
    try:
        with engine.begin() as connection:
            columns = connection.execute(
                sa.text(
                    "SELECT table_name, column_name FROM information_schema.columns "
                    "WHERE table_schema = current_schema() AND data_type IN ('text', 'character varying')"
                )
            ).fetchall()
            for table, column in ((str(row[0]), str(row[1])) for row in columns):
                found: dict[str, str] = {}
                for needle in search.needles:
                    query = (
                        f"SELECT ctid::text, {quoted(column)} FROM {quoted(table)} WHERE "
                        f"position(:needle IN {quoted(column)}) > 0"
                    )
                    found.update(
                        (row[0], row[1]) for row in connection.execute(sa.text(query), {"needle": needle})
                    )
                for ctid, text in found.items():
                    new = search.cleaned_json(text)
                    if new != text:
                        changed += 1
                        if apply:
                            connection.execute(
                                sa.text(
                                    f"UPDATE {quoted(table)} SET {quoted(column)} = :new WHERE ctid = "
                                    f"CAST(:ctid AS tid)"
                                ),
                                {"new": new, "ctid": ctid},
                            )
        if apply and changed:
            # The old versions of rows are readable in the files until then.
            with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                connection.execute(sa.text("VACUUM FULL"))
    finally:
        engine.dispose()
    return changed


def forget_school_in_dagster(instance: dg.DagsterInstance, school_id: int, *, apply: bool) -> tuple[int, int]:
    """Delete a school's partitions, and the runs that were about this school alone. How many of each."""
    partitions = 0
    for definition in PARTITIONS:
        name = definition.name or ""
        for key in instance.get_dynamic_partitions(name):
            if school_of(key) == school_id:
                partitions += 1
                if apply:
                    instance.delete_dynamic_partition(name, key)
    runs = [run.run_id for run in instance.get_runs() if _is_of(run, school_id)]
    if apply:
        for run_id in runs:
            instance.delete_run(run_id)
    return partitions, len(runs)


def _is_of(run: dg.DagsterRun, school_id: int) -> bool:
    """Whether a run was about one school alone."""
    of_schools = run.tags.get(SCHOOLS_TAG)
    if of_schools is not None:
        return of_schools.replace(" ", "").split(",") == [str(school_id)]
    keys = [run.tags[tag] for tag in (PARTITION_TAG, FIRST_TAG, LAST_TAG) if tag in run.tags]
    return bool(keys) and all(school_of(key) == school_id for key in keys)
