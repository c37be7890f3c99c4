"""The files of audiences, made of a published campus.duckdb: each table anew, with the columns that they may
see and nothing else, so that the bytes of the others are nowhere in the file."""

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
from warehouse.publish.dbt_project import Build
from warehouse.publish.publish import generation_of, put_generation
from warehouse.published.audiences import GENERATIONS, Audience, audience_files, group_problem
from warehouse.published.problem import problem_of_audiences

#: The tables of `quality` for audiences: none has a row of the platform, a value of it, or what was written
#: there. Who must see the others reads campus.duckdb, or has all of it.
SHARED = (
    "publication",
    "dictionary",
    "check_results",
    "load_log",
    "freshness",
    "reconciliation",
    "semester_calendars",
)
#: Every file of an audience has these, whatever its schemas: what it is, and what it means.
ALWAYS = ("publication", "dictionary")
#: A class of columns that may hold what any other class has.
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
#: How a file says what it is.
ABOUT = "quality.audience"


@dataclass(frozen=True)
class AudienceEnd:
    """What became of the file of an audience."""

    name: str
    #: What is wrong; None: nothing.
    problem: str | None = None
    #: Whether the file was not published, so that an older one, or none, is there.
    failed: bool = False


@dataclass(frozen=True)
class _Table:
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
    """Publish the file of each audience that is not made of `file`, the published one of `home`, as it is now
    defined. `build`: what DuckDB may use. `keep`: generations that stay; those that were defined otherwise go
    at once. Files in the home of audiences that are no more go too. One that fails holds no other up."""
    for audience in audiences:
        yield _published(file, home, audience, build, keep)
    for path in _of_no_audience(home, audiences):
        path.unlink()


def audiences_are_published(file: Path, home: Path, audiences: Sequence[Audience]) -> bool:
    """Whether each audience has a file, made of `file` (the published one of `home`) as the audience is now
    defined, and the last publication had no problem with one."""
    if problem_of_audiences(home) or _of_no_audience(home, audiences):
        return False
    return all(_about(audience.file) == (generation_of(file), audience.definition) for audience in audiences)


def _of_no_audience(home: Path, audiences: Sequence[Audience]) -> set[Path]:
    """The files in the home of audiences that are no more."""
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
        words = f"audience {audience.name}: {audience.file} was not published, and is as it was: {error}"
        return AudienceEnd(audience.name, words, failed=True)
    return AudienceEnd(audience.name, problem)


def _publish(
    file: Path, audience: Audience, build: Build, generation: str, keep: int, *, is_open: bool
) -> None:
    """Make the file of an audience and put it in its place. `is_open`: its group may read it; else the owner
    alone may, as the group that the file has is another one."""
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
        tables = list(_visible(con, audience))
        con.execute("USE audience")
        with transaction(con):
            for schema in sorted({table.schema for table in tables} | {"quality"}):
                con.execute(f"CREATE SCHEMA {quoted(schema)}")
            for table in tables:
                name = relation(f"{table.schema}.{table.name}")
                query = f"SELECT {listed(list(table.columns))} FROM campus.{name} WHERE {table.condition}"
                create_table(con, name, query, table.comment, table.columns)
            _shorten_dictionary(con)
            _describe(con, audience)
        con.execute("CHECKPOINT audience")


def _visible(con: duckdb.DuckDBPyConnection, audience: Audience) -> Iterator[_Table]:
    """The tables of an audience, and views as tables: a view may read what is not there."""
    columns: dict[tuple[str, str], list[tuple[str, str, str | None]]] = {}
    for schema, table, column, comment, privacy in con.execute(COLUMNS).fetchall():
        columns.setdefault((schema, table), []).append((column, comment or "", privacy))
    for schema, table, comment in con.execute(RELATIONS).fetchall():
        if not _is_for(audience, schema, table):
            continue
        # What quality has for audiences tells of loads, and its columns have no class.
        held = columns[schema, table]
        seen = {
            column: about
            for column, about, privacy in held
            if schema == "quality" or _may_see(audience, privacy)
        }
        if seen:
            yield _Table(schema, table, comment or "", seen, _condition(audience, held))


def _is_for(audience: Audience, schema: str, table: str) -> bool:
    """Whether a table is in the schemas of an audience."""
    assert audience.schemas is not None
    if schema == "quality":
        return table in ALWAYS or ("quality" in audience.schemas and table in SHARED)
    return schema in audience.schemas


def _may_see(audience: Audience, privacy: str | None) -> bool:
    return not audience.without or not (privacy is None or privacy in {*audience.without, MIXED})


def _condition(audience: Audience, columns: Iterable[tuple[str, str, str | None]]) -> str:
    """SQL for the rows of a table that an audience sees: where guardians are left out, no row is one."""
    if "guardian" not in audience.without:
        return "true"
    guardians = ", ".join(map(literal, GUARDIANS))
    parts = [
        f"coalesce(CAST({quoted(column)} AS VARCHAR), '') NOT IN ({guardians})"
        for column, _, privacy in columns
        if privacy == "kind"
    ]
    return " AND ".join(parts) or "true"


def _shorten_dictionary(con: duckdb.DuckDBPyConnection) -> None:
    """Leave in the dictionary what the file has."""
    con.execute(
        """
        DELETE FROM quality.dictionary AS said WHERE NOT EXISTS (
            FROM duckdb_columns() AS columns
            WHERE columns.database_name = 'audience'
                AND (columns.schema_name, columns.table_name) = (said.schema_name, said.table_name)
                AND columns.column_name = coalesce(said.column_name, columns.column_name)
        )
        """
    )


def _describe(con: duckdb.DuckDBPyConnection, audience: Audience) -> None:
    """Write into a file whose it is."""
    con.execute(f"CREATE OR REPLACE TABLE {ABOUT} (name VARCHAR, definition VARCHAR)")
    con.execute(f"INSERT INTO {ABOUT} VALUES (?, ?)", [audience.name, audience.definition])
    con.execute(f"COMMENT ON TABLE {ABOUT} IS 'The audience of this file, and what the file has'")


def _about(file: Path) -> tuple[Any, Any]:
    """The generation and the definition of the file of an audience; None: there is none that can be read."""
    try:
        with closing(duckdb.connect(str(file), read_only=True)) as con:
            [row] = con.execute(f"SELECT generation, definition FROM quality.publication, {ABOUT}").fetchall()
    except duckdb.Error:
        return None, None
    return row[0], row[1]


def _give(audience: Audience) -> None:
    """Have the group of an audience read its files, those that were published before it could, too."""
    for folder in (audience.folder, audience.folder / GENERATIONS):
        _give_path(folder, audience, 0o750)
    for file in (audience.file, *audience.generations):
        _give_path(file, audience, 0o440)


def _give_path(path: Path, audience: Audience, mode: int) -> None:
    if audience.group is not None:
        os.chown(path, -1, grp.getgrnam(audience.group).gr_gid)
    path.chmod(mode)
