"""The proof of a `campus forget`: searches every file of a home, wherever the settings keep it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import obstore
import pyarrow.compute as pc
from obstore.store import ObjectStore

from pipelines.forgetting.account import UNPROVEN, Account
from pipelines.forgetting.dagster_storage import search_in_postgres
from pipelines.forgetting.files import files_below
from pipelines.runs.instance import dagster_home
from pipelines.settings.settings import Settings
from warehouse.files import workspace
from warehouse.forgetting.forgotten import NAME
from warehouse.forgetting.search import Search, Searched
from warehouse.identifiers import quoted
from warehouse.lake.delta import Lake
from warehouse.lake.tables import SCHOOL_ID, Stored
from warehouse.published.audiences import audience_files

#: Columns that name the school of a row.
SCHOOL_COLUMNS = (SCHOOL_ID.name, "school_id")


def prove(settings: Settings, lake: Lake, search: Search, account: Account) -> None:
    """Search every file and Dagster's Postgres for the persons, and add the result to the account. Raises
    sqlalchemy's errors."""
    searched = Searched()
    for name, path in all_files(settings, lake):
        search.file(path, name, searched)
    search_in_postgres(search, searched)
    account.searched_files += searched.files
    account.searched_tables += searched.tables
    account.searched_bytes += searched.bytes
    account.findings += map(str, searched.findings)
    account.unread += searched.unread


def prove_school(
    settings: Settings, lake: Lake, stored: list[Stored], school_id: int, account: Account
) -> None:
    """Search the lake's tables and every DuckDB file for rows of a school, and add the result to the
    account."""
    account.findings += (f"{table}: rows of the school" for table in tables_with(lake, stored, school_id))
    account.searched_tables += len(stored)
    for name, path in all_files(settings, lake):
        if path.suffix == ".duckdb":
            account.searched_files += 1
            try:
                tables = _tables_of_file(path, school_id)
                if tables:
                    account.findings.append(
                        f"{name}: rows of the school in {len(tables)} tables, such as {tables[0]}"
                    )
            except duckdb.Error as error:
                account.unread.append(f"{name}: {type(error).__name__}")


def tables_with(lake: Lake, stored: list[Stored], school_id: int) -> list[str]:
    """The tables of the lake that have rows of a school."""
    is_of_school = pc.field(SCHOOL_ID.name) == school_id
    return [
        table.name
        for table in stored
        if lake.holds(table)
        and SCHOOL_ID.name in table.lake_schema.names
        and lake.scan(table, lake.open(table), [SCHOOL_ID.name], is_of_school).num_rows
    ]


def all_files(settings: Settings, lake: Lake) -> Iterator[tuple[str, Path]]:
    """Every file of the home and of the places in its settings, with a readable name. Objects of a store are
    copied one by one. The list of the forgotten and open requests are left out."""
    home, shards = settings.home, settings.shards
    left_out = {home / UNPROVEN, Path(lake.root) / NAME}
    for path in files_below(home, linked=True):
        if left_out.isdisjoint((path, *path.parents)):
            yield str(path.relative_to(home)), path
    elsewhere = [dagster_home(settings)]
    elsewhere += [Path(lake.root)] if not lake.is_remote else []
    elsewhere += [Path(shards.root)] if shards is not None and not shards.is_remote else []
    for folder in elsewhere:
        if not folder.is_relative_to(home):
            yield from (
                (str(path), path) for path in files_below(folder, linked=True) if path not in left_out
            )
    for path in audience_files(home, settings.audiences):
        if not path.is_relative_to(home):
            yield str(path), path
    if lake.is_remote:
        yield from _objects(home, lake.root, lake.objects)
    if shards is not None and shards.is_remote:
        yield from _objects(home, shards.root, shards.objects)


def _objects(home: Path, root: str, objects: ObjectStore) -> Iterator[tuple[str, Path]]:
    with workspace(home) as scratch:
        for page in obstore.list(objects):
            for entry in page:
                if entry["path"] != NAME:
                    copy = scratch / entry["path"]
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    with copy.open("wb") as file:
                        file.writelines(obstore.get(objects, entry["path"]))
                    yield f"{root}/{entry['path']}", copy
                    copy.unlink()


def _tables_of_file(file: Path, school_id: int) -> list[str]:
    """The tables of a DuckDB file that have rows of a school."""
    with closing(duckdb.connect(str(file), read_only=True)) as con:
        columns = con.execute(
            "SELECT schema_name, table_name, column_name FROM duckdb_columns() "
            "SEMI JOIN duckdb_tables() USING (schema_name, table_name) WHERE NOT internal "
            "AND column_name IN (?, ?) AND data_type = 'BIGINT'",
            SCHOOL_COLUMNS,
        ).fetchall()
        return [
            f"{schema}.{table}"
            for schema, table, column in columns
            if con.execute(
                f"SELECT 1 FROM {quoted(schema)}.{quoted(table)} WHERE {quoted(column)} = ? LIMIT 1",
                [school_id],
            ).fetchall()
        ]
