"""Writes an extract as a DuckDB file. The file is written beside its place, then moved there."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from exports.extracts.coarse import coarsen, plan_coarse
from exports.extracts.names import blanked, labels_that_name, names_of_people
from exports.extracts.plan import (
    TAKEN,
    ExtractColumn,
    ExtractRefused,
    ExtractRequest,
    ExtractTable,
    condition,
    plan,
)
from exports.extracts.report import ExtractReport, report_on
from exports.library.words import content_of
from exports.source import MEMORY_MB, reader_config
from exports.suppression import FLAG
from warehouse.files import STORAGE_VERSION, flush, put_in_place, workspace
from warehouse.identifiers import listed, literal, quoted, relation
from warehouse.privacy import SMALL_GROUP
from warehouse.published import reading
from warehouse.published.shards import Published
from warehouse.small_groups import few_sql

SUFFIX = ".duckdb"
#: Hexadecimal digits: 80 bits make pseudonyms of ten million people distinct.
PSEUDONYM_DIGITS = 20
#: Of a block of SHA-256.
BLOCK_BYTES = 64


@dataclass(frozen=True)
class Extract:
    """An extract that was written."""

    path: Path
    #: Rows by table.
    rows: dict[str, int]
    #: The number of values that contained the name of a person, and are null.
    blanked: int
    #: What single students are to be found by. None: it was not requested.
    report: ExtractReport | None


def planned(published: Published, request: ExtractRequest, scratch: Path) -> list[ExtractTable]:
    """The tables of an extract, without writing it. Raises ExtractRefused, duckdb.Error."""
    with _opened(published, scratch) as con:
        return _plan(con, request)


def _plan(con: duckdb.DuckDBPyConnection, request: ExtractRequest) -> list[ExtractTable]:
    return plan_coarse(con, request) if request.protection == "strong" else plan(con, request)


def write_extract(
    published: Published,
    request: ExtractRequest,
    path: Path,
    key: bytes,
    key_name: str,
    *,
    replace: bool = False,
    reports: bool = False,
) -> Extract:
    """Write an extract to `path`, readable by its owner alone.

    Args:
        key: The key of the pseudonyms.
        key_name: The name of the key, which the extract states.
        replace: Replaces an existing extract.
        reports: Measures what single students are to be found by.

    Raises ExtractRefused, PublicationBroken, duckdb.Error, OSError."""
    check_extract_path(path, replace=replace)
    with workspace(path.parent) as scratch:
        unfinished = scratch / f"extract{SUFFIX}"
        with _opened(published, scratch / "spill") as con:
            tables = _plan(con, request)
            coarsenings = coarsen(con, tables, request)
            _set_key(con, key)
            con.execute(
                f"ATTACH {literal(str(unfinished))} AS extract (STORAGE_VERSION {literal(STORAGE_VERSION)})"
            )
            names = names_of_people(con)
            rows, count = dict[str, int](), 0
            for table in tables:
                rows[table.name], blank = _copy(con, table, request, names)
                count += blank
            _describe(con, tables, rows, request, key_name)
            report = report_on(con, request.protection, rows, coarsenings) if reports else None
            con.execute("DETACH extract")
        unfinished.chmod(0o600)
        if replace:
            put_in_place(unfinished, path)
        else:
            _put_beside(unfinished, path)
    return Extract(path, rows, count, report)


def check_extract_path(path: Path, *, replace: bool) -> None:
    """Check the path of an extract. Raises ExtractRefused where no extract may be written to `path`."""
    if path.suffix != SUFFIX:
        raise ExtractRefused(f"{path}: an extract is a DuckDB file; name it *{SUFFIX}")
    if path.is_symlink():
        raise ExtractRefused(f"{path} is a link: name the file itself")
    if path.exists() and not replace:
        raise ExtractRefused(TAKEN.format(path))
    if path.exists() and not is_extract(path):
        raise ExtractRefused(f"{path} is not an extract, and is not replaced: name another file")


def is_extract(path: Path) -> bool:
    """Whether a file is an extract."""
    try:
        with closing(duckdb.connect(str(path), read_only=True)) as con:
            con.execute("SELECT key_name FROM about.extract").fetchall()
    except duckdb.Error:
        return False
    return True


def _put_beside(finished: Path, target: Path) -> None:
    """Move a finished file to a free place. Raises ExtractRefused where a file exists meanwhile."""
    taken = TAKEN.format(target)
    flush(finished)
    try:
        os.link(finished, target)
    except FileExistsError as error:
        raise ExtractRefused(taken) from error
    except OSError:
        # A disk without hard links: the process that creates the empty file owns the name.
        try:
            target.touch(mode=0o600, exist_ok=False)
        except FileExistsError as error:
            raise ExtractRefused(taken) from error
        finished.replace(target)
    flush(target.parent)


@contextmanager
def _opened(published: Published, scratch: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the published file with a connection that can write another file."""
    config = reader_config(scratch, 2 * MEMORY_MB) | {"preserve_insertion_order": False}
    if not isinstance(published, Path):
        with reading.opened(published, config) as con:
            yield con
        return
    with closing(duckdb.connect(config=config)) as con:
        con.execute(f"ATTACH {literal(str(published))} AS campus (READ_ONLY)")
        con.execute("USE campus")
        yield con


def _set_key(con: duckdb.DuckDBPyConnection, key: bytes) -> None:
    """Set the two pads of HMAC-SHA-256 (RFC 2104) as variables of the session. No statement contains the key,
    since an error might show the statement."""
    padded = key.ljust(BLOCK_BYTES, b"\0")
    pads = {"inner": bytes(byte ^ 0x36 for byte in padded), "outer": bytes(byte ^ 0x5C for byte in padded)}
    con.execute("CREATE TEMP TABLE pads AS SELECT $inner::BLOB AS inner_pad, $outer::BLOB AS outer_pad", pads)
    con.execute("SET VARIABLE inner_pad = (SELECT inner_pad FROM temp.pads)")
    con.execute("SET VARIABLE outer_pad = (SELECT outer_pad FROM temp.pads)")
    con.execute("DROP TABLE temp.pads")


def _pseudonym_sql(domain: str, value: str) -> str:
    """SQL for the pseudonym of an id, by HMAC-SHA-256. Its first letter keeps spreadsheets from a number."""
    message = f"encode('{domain}:' || CAST({value} AS VARCHAR))"
    inner = f"unhex(sha256(getvariable('inner_pad') || {message}))"
    return f"'{domain[0]}' || sha256(getvariable('outer_pad') || {inner})[:{PSEUDONYM_DIGITS}]"


def _copy(
    con: duckdb.DuckDBPyConnection, table: ExtractTable, request: ExtractRequest, names: set[str]
) -> tuple[int, int]:
    """Copy a table. Returns its number of rows, and the number of values blanked since they name a person."""
    shown = [column for column in table.columns if column.treatment != "dropped"]
    rows_sql = condition(table, request)
    source = f"{table.source} WHERE {rows_sql}"
    naming = {
        column.name: labels_that_name(con, source, column.name, names, is_list=column.is_list)
        for column in shown
        if column.treatment == "screened"
    }
    columns = ", ".join(
        f"{_expression(column, table, naming.get(column.name, []))} AS {quoted(column.name)}"
        for column in shown
    )
    schema = table.name.partition(".")[0]
    con.execute(f"CREATE SCHEMA IF NOT EXISTS extract.{quoted(schema)}")
    # Sorted by the extract's own values: the order of the source would match pseudonyms with a roster.
    con.execute(
        f"CREATE TABLE extract.{relation(table.name)} AS SELECT {columns} FROM ({_rows(table, rows_sql)}) "
        "ORDER BY ALL"
    )
    [(rows,)] = con.execute(f"SELECT count(*) FROM extract.{relation(table.name)}").fetchall()
    return rows, sum(map(len, naming.values()))


def _rows(table: ExtractTable, rows_sql: str) -> str:
    """SQL for a table's rows. Rows with traits get `_fewest`: the size of the smallest group of their cohort
    that shares all traits. Blanking that group alone would show its members."""
    rows = f"FROM {table.source} WHERE {rows_sql}"
    traits = [column.name for column in table.columns if column.treatment == "grouped"]
    if not traits:
        return rows
    names = {column.name for column in table.columns}
    cohort = [name for name in (table.school_column, "cohort_id") if name in names]
    groups = f"SELECT *, count(*) OVER (PARTITION BY {listed([*cohort, *traits])}) AS _sharing {rows}"
    partition = f"PARTITION BY {listed(cohort)}" if cohort else ""
    return f"SELECT *, min(_sharing) OVER ({partition}) AS _fewest FROM ({groups})"


def _expression(column: ExtractColumn, table: ExtractTable, naming: Sequence[str]) -> str:
    """SQL for a column as the extract has it."""
    name = quoted(column.name)
    match column.treatment:
        case "keyed":
            if column.is_list:
                keyed = f"list_transform({name}, lambda member: {_pseudonym_sql(column.privacy, 'member')})"
                # The order of people's ids would show which id is smaller. Paths of things keep their order.
                return keyed if column.privacy == "id" else f"list_sort({keyed})"
            # An empty text is no id.
            empty = f"CASE WHEN {name} = '' THEN '' ELSE " if column.type == "VARCHAR" else ""
            return f"{empty}{_pseudonym_sql(column.privacy, name)}{' END' if empty else ''}"
        case "day":
            return f"CAST(date_trunc('day', {name}) AS {column.type})"
        case "grouped":
            return f"CASE WHEN _fewest >= {SMALL_GROUP} THEN {name} END"
        case "screened" if naming:
            return blanked(column.name, column.is_list, naming)
        case "small groups blank":
            return f"CASE WHEN {_is_large(table)} THEN {name} END"
    return name


def _is_large(table: ExtractTable) -> str:
    """SQL that is true for rows about enough people, or about nobody."""
    counts = [quoted(count) for count in table.of_class("people")]
    parts = [f"NOT {few_sql(counts, SMALL_GROUP)}"] if counts else []
    if FLAG in {column.name for column in table.columns}:
        parts.append(f"NOT {FLAG}")
    return " AND ".join(parts)


def _describe(
    con: duckdb.DuckDBPyConnection,
    tables: Sequence[ExtractTable],
    rows: dict[str, int],
    request: ExtractRequest,
    key_name: str,
) -> None:
    """Add the tables that describe the extract."""
    readme = content_of("readme", Path(__file__).parent)[request.protection]
    con.execute("CREATE SCHEMA extract.about")
    con.execute(
        """
        CREATE TABLE extract.about.extract AS
        SELECT $readme AS readme, now()::TIMESTAMP AS made_at, generation, published_at, models_version,
            $protection AS protection, $key_name AS key_name,
            $schools::BIGINT[] AS schools, $semesters::BIGINT[] AS semesters,
            $smallest::INTEGER AS smallest_group
        FROM quality.publication
        """,
        {
            "readme": readme.format(smallest=SMALL_GROUP),
            "protection": request.protection,
            "key_name": key_name,
            "schools": None if request.hides_schools else list(request.schools) or None,
            "semesters": None if request.hides_schools else list(request.semesters) or None,
            "smallest": SMALL_GROUP,
        },
    )
    columns = [
        {"table_name": table.name, "column_name": column.name}
        | {name: getattr(column, name) for name in ("privacy", "treatment", "reason", "description")}
        for table in tables
        for column in table.columns
    ]
    counts = [{"table_name": name, "rows": count} for name, count in rows.items()]
    for name, entries in (("tables", counts), ("columns", columns)):
        query = "SELECT unnest($entries, recursive := true)"
        con.execute(f"CREATE TABLE extract.about.{name} AS {query}", {"entries": entries})
    con.execute("ALTER TABLE extract.about.tables ALTER rows TYPE BIGINT")
