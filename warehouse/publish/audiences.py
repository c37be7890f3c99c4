"""Make the files of audiences from a published campus.duckdb.

Each table is written anew with the columns that the audience may see, so that no byte of another column is in
the file."""

from __future__ import annotations

import grp
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from warehouse.files import STORAGE_VERSION, workspace
from warehouse.identifiers import listed, literal, quoted, relation
from warehouse.lake.sql import create_table, transaction
from warehouse.privacy import GUARDIANS
from warehouse.publish.models.dbt_project import Build
from warehouse.publish.publish import generation_of, put_generation
from warehouse.published.audiences import GENERATIONS, Audience, audience_files, group_problem
from warehouse.published.problem import problem_of_audiences

#: The tables of `quality` in every audience's file: what the file is, and what its columns mean.
ALWAYS = ("publication", "dictionary", "relations", "lineage", "metrics")
#: The tables of `quality` for audiences, without rows, values or texts of the platform. Readers who need the
#: other tables read campus.duckdb, or get all of it.
SHARED = (*ALWAYS, "check_results", "load_log", "freshness", "reconciliation", "semester_calendars")
#: Columns of this class may hold values of any other class.
MIXED = "mixed"

RELATIONS = """
    SELECT schema_name, table_name, comment FROM duckdb_tables() WHERE database_name = 'campus'
    UNION ALL
    SELECT schema_name, view_name, comment FROM duckdb_views()
    WHERE database_name = 'campus' AND NOT internal
    ORDER BY ALL
"""
COLUMNS = """
    SELECT columns.schema_name, columns.table_name, columns.column_name, columns.comment, dictionary.privacy
    FROM duckdb_columns() AS columns
    LEFT JOIN campus.quality.dictionary USING (schema_name, table_name, column_name)
    WHERE columns.database_name = 'campus'
    ORDER BY columns.schema_name, columns.table_name, columns.column_index
"""
#: The table that names a file's audience.
ABOUT = "quality.audience"


@dataclass(frozen=True)
class AudienceEnd:
    """The outcome of publishing an audience's file."""

    name: str
    #: What is wrong; None: nothing.
    problem: str | None = None
    #: Whether publishing failed, so that an older file, or none, is in place.
    failed: bool = False


@dataclass(frozen=True)
class VisibleTable:
    """A table or view as an audience may see it."""

    schema: str
    name: str
    comment: str
    #: Comments by column.
    columns: dict[str, str]
    #: SQL for its rows.
    condition: str


def publish_audiences(
    file: Path, home: Path, audiences: Sequence[Audience], build: Build, keep: int = 3
) -> Iterator[AudienceEnd]:
    """Publish each audience's file that is not yet made from `file` by the audience's present definition.

    `file`: the published file of `home`. `build`: DuckDB's limits. `keep`: generations that stay; those of
    another definition are deleted at once, and so are files of audiences that no longer exist. A failure of
    one audience does not stop the others."""
    for audience in audiences:
        yield _published(file, home, audience, build, keep)
    for path in _orphaned_files(home, audiences):
        path.unlink()


def audiences_are_published(file: Path, home: Path, audiences: Sequence[Audience]) -> bool:
    """Whether each audience has a file, made from `file` by the audience's present definition, and the last
    publication had no problem. `file`: the published file of `home`."""
    if problem_of_audiences(home) or _orphaned_files(home, audiences):
        return False
    return all(_about(audience.file) == (generation_of(file), audience.definition) for audience in audiences)


def _orphaned_files(home: Path, audiences: Sequence[Audience]) -> set[Path]:
    """The files in the home whose audience no longer exists."""
    present = (path for audience in audiences for path in (audience.file, *audience.generations))
    return set(audience_files(home, ())).difference(present)


def _published(file: Path, home: Path, audience: Audience, build: Build, keep: int) -> AudienceEnd:
    try:
        problem = group_problem(home, audience)
        generation = generation_of(file)
        if _about(audience.file) != (generation, audience.definition):
            _publish(file, audience, build, generation, keep, is_open=problem is None)
        for old in audience.generations:
            if _about(old)[1] != audience.definition:
                old.unlink()
        if problem is None:
            _give(audience)
    except (OSError, duckdb.Error) as error:
        problem = f"audience {audience.name}: {audience.file} was not published, and is as it was: {error}"
        return AudienceEnd(audience.name, problem, failed=True)
    return AudienceEnd(audience.name, problem)


def _publish(
    file: Path, audience: Audience, build: Build, generation: str, keep: int, *, is_open: bool
) -> None:
    """Make an audience's file and put it in place. `is_open`: its group may read it; else the owner alone
    may, since the file still has another group."""
    for folder in (audience.folder, audience.folder / GENERATIONS):
        folder.mkdir(mode=0o750, parents=True, exist_ok=True)
    with workspace(audience.folder) as scratch:
        unfinished = scratch / audience.file.name
        if audience.schemas is None:
            shutil.copyfile(file, unfinished)
            with closing(duckdb.connect(str(unfinished))) as con:
                _describe(con, audience)
        else:
            _fill(file, unfinished, audience, build, scratch)
        unfinished.chmod(0o400)
        if is_open:
            _give_path(unfinished, audience, 0o440)
        put_generation(unfinished, audience.folder, generation, keep)


def _fill(file: Path, target: Path, audience: Audience, build: Build, scratch: Path) -> None:
    with closing(duckdb.connect(config=dict(build.config(scratch / "spill")))) as con:
        con.execute(f"ATTACH {literal(str(file))} AS campus (READ_ONLY)")
        con.execute(f"ATTACH {literal(str(target))} AS audience (STORAGE_VERSION {literal(STORAGE_VERSION)})")
        tables = list(visible_tables(con, audience))
        con.execute("USE audience")
        with transaction(con):
            for schema in sorted({table.schema for table in tables} | {"quality"}):
                con.execute(f"CREATE SCHEMA {quoted(schema)}")
            for table in tables:
                name = relation(f"{table.schema}.{table.name}")
                query = f"SELECT {listed(list(table.columns))} FROM campus.{name} WHERE {table.condition}"
                create_table(con, name, query, table.comment, table.columns)
            _shorten_account(con)
            _describe(con, audience)
        con.execute("CHECKPOINT audience")


def visible_tables(con: duckdb.DuckDBPyConnection, audience: Audience) -> Iterator[VisibleTable]:
    """The tables of the database `campus` that an audience may see, and views as tables, since a view may
    read a table that is left out."""
    columns: dict[tuple[str, str], list[tuple[str, str, str | None]]] = {}
    for schema, table, column, comment, privacy in con.execute(COLUMNS).fetchall():
        columns.setdefault((schema, table), []).append((column, comment or "", privacy))
    for schema, table, comment in con.execute(RELATIONS).fetchall():
        if not _is_for(audience, schema, table):
            continue
        # The tables of quality for audiences are about loads, and their columns have no class.
        visible = {
            column: about
            for column, about, privacy in columns[schema, table]
            if schema == "quality" or _may_see(audience, privacy)
        }
        if visible:
            yield VisibleTable(
                schema, table, comment or "", visible, _condition(audience, columns[schema, table])
            )


def _is_for(audience: Audience, schema: str, table: str) -> bool:
    """Whether a table is in the schemas of an audience."""
    assert audience.schemas is not None
    if schema == "quality":
        return table in ALWAYS or ("quality" in audience.schemas and table in SHARED)
    return schema in audience.schemas


def _may_see(audience: Audience, privacy: str | None) -> bool:
    return not audience.without or not (privacy is None or privacy in {*audience.without, MIXED})


def _condition(audience: Audience, columns: Iterable[tuple[str, str, str | None]]) -> str:
    """SQL for the rows that an audience sees: without rows of guardians if guardians are left out."""
    if "guardian" not in audience.without:
        return "true"
    guardians = ", ".join(map(literal, GUARDIANS))
    parts = [
        f"coalesce(CAST({quoted(column)} AS VARCHAR), '') NOT IN ({guardians})"
        for column, _, privacy in columns
        if privacy == "kind"
    ]
    return " AND ".join(parts) or "true"


def _shorten_account(con: duckdb.DuckDBPyConnection) -> None:
    """Delete what dictionary, relations and lineage say of tables and columns that the file lacks."""
    con.execute(
        """
        DELETE FROM quality.dictionary AS entry WHERE NOT EXISTS (
            FROM duckdb_columns() AS columns
            WHERE columns.database_name = 'audience'
                AND (columns.schema_name, columns.table_name) = (entry.schema_name, entry.table_name)
                AND columns.column_name = coalesce(entry.column_name, columns.column_name)
        )
        """
    )
    con.execute(
        """
        DELETE FROM quality.lineage AS entry WHERE NOT EXISTS (
            FROM quality.dictionary AS visible
            WHERE (visible.schema_name, visible.table_name, visible.column_name)
                = (entry.schema_name, entry.table_name, entry.column_name)
        )
        """
    )
    con.execute(
        """
        WITH visible AS (
            SELECT schema_name, table_name, list(column_name) AS names
            FROM quality.dictionary WHERE column_name IS NOT NULL GROUP BY ALL
        )
        DELETE FROM quality.relations AS relation WHERE NOT EXISTS (
            FROM visible
            WHERE (schema_name, table_name) = (relation.schema_name, relation.table_name)
                AND list_has_all(names, relation.columns)
        ) OR (referenced_table IS NOT NULL AND NOT EXISTS (
            FROM visible
            WHERE (schema_name, table_name) = (relation.referenced_schema, relation.referenced_table)
                AND list_has_all(names, relation.referenced_columns)
        ))
        """
    )


def _describe(con: duckdb.DuckDBPyConnection, audience: Audience) -> None:
    """Write the audience's name and definition into the file."""
    con.execute(f"CREATE OR REPLACE TABLE {ABOUT} (name VARCHAR, definition VARCHAR)")
    con.execute(f"INSERT INTO {ABOUT} VALUES (?, ?)", [audience.name, audience.definition])
    con.execute(f"COMMENT ON TABLE {ABOUT} IS 'The audience of this file, and what the file has'")


def _about(file: Path) -> tuple[Any, Any]:
    """The generation and the definition in an audience's file; None: no file can be read."""
    try:
        with closing(duckdb.connect(str(file), read_only=True)) as con:
            [row] = con.execute(f"SELECT generation, definition FROM quality.publication, {ABOUT}").fetchall()
    except duckdb.Error:
        return None, None
    return row[0], row[1]


def _give(audience: Audience) -> None:
    """Let the audience's group read all of its files, earlier generations too."""
    for folder in (audience.folder, audience.folder / GENERATIONS):
        _give_path(folder, audience, 0o750)
    for file in (audience.file, *audience.generations):
        _give_path(file, audience, 0o440)


def _give_path(path: Path, audience: Audience, mode: int) -> None:
    if audience.group is not None:
        os.chown(path, -1, grp.getgrnam(audience.group).gr_gid)
    path.chmod(mode)
