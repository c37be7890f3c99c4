"""Removes persons and schools from Dagster's own records: runs, events and ticks, in SQLite or Postgres."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import dagster as dg
import sqlalchemy as sa

from assets.shared.partitions import PARTITIONS, PUBLISHED_SCHOOLS
from loading.partition_keys import school_of
from pipelines.forgetting.files import files_below
from pipelines.runs.partition_selection import PARTITION_TAGS, RANGE_END, SCHOOLS_TAG
from pipelines.settings.environment import POSTGRES_URL
from warehouse.forgetting.search import Finding, Search, Searched
from warehouse.identifiers import quoted

Row = TypeVar("Row")

#: Seconds to wait for a daemon that writes.
PATIENCE = 60.0
SQLITE = (".db", ".sqlite")


def forget_in_dagster(home: Path, search: Search, *, apply: bool) -> int:
    """Remove persons from all of Dagster's storage, and return the changed rows. `home`: DAGSTER_HOME.

    Raises sqlite3.Error, sqlalchemy's errors."""
    changed = 0
    for path in files_below(home, linked=True):
        if path.suffix in SQLITE:
            changed += forget_in_sqlite(path, search, apply=apply)
    if url := os.environ.get(POSTGRES_URL):
        changed += _forget_in_postgres(url, search, apply=apply)
    return changed


def forget_in_sqlite(path: Path, search: Search, *, apply: bool) -> int:
    """Remove persons from every text of a SQLite file and from its free pages. Returns the changed rows."""
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
            # Even without a change: Dagster's own deletions leave text in free pages.
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return changed


def _cleaned(search: Search, rows: Iterable[tuple[Row, str]]) -> Iterator[tuple[Row, str]]:
    """The rows whose text is about the persons, with the text that stays."""
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
    """The rows, with their text, of a column that contains a needle."""
    texts: dict[int, str] = {}
    for needle in needles:
        query = (
            f"SELECT rowid, {quoted(column)} FROM {quoted(table)} "
            f"WHERE instr({quoted(column)}, ?) OR instr(lower({quoted(column)}), lower(?))"
        )
        texts.update(
            (rowid, text)
            for rowid, text in connection.execute(query, (needle, needle))
            if isinstance(text, str)
        )
    return sorted(texts.items())


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
            # Until a full vacuum the files keep the old versions of rows.
            with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                connection.execute(sa.text("VACUUM FULL"))
    finally:
        engine.dispose()
    return changed


def search_in_postgres(search: Search, searched: Searched) -> None:
    """Search all texts of Dagster's Postgres, if there is one.

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
                    matches = {
                        match
                        for content in contents
                        for _, match in search.in_content(bytes(content), "", searched)
                    }
                else:
                    likely = _likely_in_postgres(connection, table, column, search.needles)
                    matches = {match for _, text in likely for match in search.in_stored(text)}
                searched.findings += [
                    Finding("Dagster's Postgres", place, match) for match in sorted(matches)
                ]
    finally:
        engine.dispose()


def _postgres_columns(connection: sa.Connection) -> list[tuple[str, str, str]]:
    """Table, column and type of all columns that may have text."""
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
    """The rows, with their text, of a column that contains a needle."""
    texts: dict[str, str] = {}
    for needle in needles:
        query = (
            f"SELECT place, text FROM (SELECT ctid::text AS place, CAST({quoted(column)} AS text) AS text "
            f"FROM {quoted(table)}) AS texts WHERE position(:needle IN text) > 0 "
            f"OR position(lower(:needle) IN lower(text)) > 0"
        )
        rows = connection.execute(sa.text(query), {"needle": needle})
        texts.update((str(row), str(text)) for row, text in rows)
    return sorted(texts.items())


def forget_school_in_dagster(instance: dg.DagsterInstance, school_id: int, *, apply: bool) -> tuple[int, int]:
    """Delete a school's partitions, and the runs of this school alone. Returns the count of each."""
    partitions = 0
    for definition in (*PARTITIONS, PUBLISHED_SCHOOLS):
        name = definition.name or ""
        for key in instance.get_dynamic_partitions(name):
            if school_of(key) == school_id:
                partitions += 1
                if apply:
                    instance.delete_dynamic_partition(name, key)
    runs = [run.run_id for run in instance.get_runs() if _is_only_of(run, school_id)]
    if apply:
        for run_id in runs:
            instance.delete_run(run_id)
    return partitions, len(runs)


def _is_only_of(run: dg.DagsterRun, school_id: int) -> bool:
    """Whether a run was about this school alone."""
    schools = run.tags.get(SCHOOLS_TAG)
    if schools is not None:
        return schools.replace(" ", "").split(",") == [str(school_id)]
    keys = [run.tags[tag] for tag in (*PARTITION_TAGS, RANGE_END) if tag in run.tags]
    return bool(keys) and all(school_of(key) == school_id for key in keys)
