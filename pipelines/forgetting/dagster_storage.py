"""Takes persons and schools out of Dagster's own records: runs, events and ticks, in SQLite or Postgres."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import dagster as dg
import sqlalchemy as sa

from assets.partitions import PARTITIONS
from loading.partition_keys import school_of
from pipelines.forgetting.files import files_below
from pipelines.instance import POSTGRES_URL
from warehouse.forgetting.search import Finding, Search, Searched
from warehouse.identifiers import quoted

Row = TypeVar("Row")

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
    for path in files_below(home, linked=True):
        if path.suffix in SQLITE:
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
            for rowid, new in _cleaned(search, _likely(connection, table, column, search.needles)):
                changed += 1
                if apply:
                    with connection:
                        connection.execute(
                            f"UPDATE {quoted(table)} SET {quoted(column)} = ? WHERE rowid = ?", (new, rowid)
                        )
        if apply:
            # Also without a change: Dagster's own deletions leave text in free pages.
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return changed


def _cleaned(search: Search, rows: Iterable[tuple[Row, str]]) -> Iterator[tuple[Row, str]]:
    """The rows whose text says anything of the persons, each with the text that stays."""
    for row, text in rows:
        new = search.cleaned_json(text)
        if new != text:
            yield row, new


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
        query = (
            f"SELECT rowid, {quoted(column)} FROM {quoted(table)} "
            f"WHERE instr({quoted(column)}, ?) OR instr(lower({quoted(column)}), lower(?))"
        )
        found.update(
            (rowid, text)
            for rowid, text in connection.execute(query, (needle, needle))
            if isinstance(text, str)
        )
    return sorted(found.items())


def _forget_in_postgres(url: str, search: Search, *, apply: bool) -> int:
    changed = 0
    engine = sa.create_engine(url)
    try:
        with engine.begin() as connection:
            for table, column, kind in _postgres_columns(connection):
                if kind not in ("text", "character varying"):
                    continue
                update = sa.text(
                    f"UPDATE {quoted(table)} SET {quoted(column)} = :new WHERE ctid = CAST(:ctid AS tid)"
                )
                likely = _likely_in_postgres(connection, table, column, search.needles)
                for ctid, new in _cleaned(search, likely):
                    changed += 1
                    if apply:
                        connection.execute(update, {"new": new, "ctid": ctid})
        if apply and changed:
            # The old versions of rows are readable in the files until then.
            with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                connection.execute(sa.text("VACUUM FULL"))
    finally:
        engine.dispose()
    return changed


def search_in_postgres(search: Search, searched: Searched) -> None:
    """Search all texts of the Postgres in which Dagster keeps its records, where there is one.

    Raises sqlalchemy's errors."""
    url = os.environ.get(POSTGRES_URL)
    if not url:
        return
    engine = sa.create_engine(url)
    try:
        with engine.connect() as connection:
            columns = _postgres_columns(connection)
            searched.tables += len({table for table, *_ in columns})
            for table, column, kind in columns:
                place = f"{table}.{column}"
                if kind == "bytea":
                    query = f"SELECT {quoted(column)} FROM {quoted(table)} WHERE {quoted(column)} IS NOT NULL"
                    contents: Iterable[bytes] = connection.scalars(sa.text(query))
                    kinds = {
                        found
                        for content in contents
                        for _, found in search.in_content(bytes(content), "", searched)
                    }
                else:
                    likely = _likely_in_postgres(connection, table, column, search.needles)
                    kinds = {found for _, text in likely for found in search.in_stored(text)}
                searched.findings += [Finding("Dagster's Postgres", place, found) for found in sorted(kinds)]
    finally:
        engine.dispose()


def _postgres_columns(connection: sa.Connection) -> list[tuple[str, str, str]]:
    """Table, column and type of all columns that may have words."""
    rows = connection.execute(
        sa.text(
            "SELECT table_name, column_name, data_type FROM information_schema.columns "
            "JOIN information_schema.tables USING (table_schema, table_name) "
            "WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' "
            "AND data_type IN ('text', 'character varying', 'character', 'json', 'jsonb', 'xml', 'ARRAY', "
            "'bytea') ORDER BY table_name, column_name"
        )
    )
    return [(str(table), str(column), str(kind)) for table, column, kind in rows]


def _likely_in_postgres(
    connection: sa.Connection, table: str, column: str, needles: Iterable[str]
) -> list[tuple[str, str]]:
    """Row and text where a column is likely to say anything of the persons."""
    found: dict[str, str] = {}
    for needle in needles:
        query = (
            f"SELECT place, text FROM (SELECT ctid::text AS place, CAST({quoted(column)} AS text) AS text "
            f"FROM {quoted(table)}) AS texts WHERE position(:needle IN text) > 0 "
            f"OR position(lower(:needle) IN lower(text)) > 0"
        )
        rows = connection.execute(sa.text(query), {"needle": needle})
        found.update((str(row), str(text)) for row, text in rows)
    return sorted(found.items())


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
