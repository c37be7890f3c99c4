"""A workbook for each query of the platform's reports, under the headers that the platform gives it."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb

from warehouse.exports.sheets import Column, Language, Sheet, Words, Workbook
from warehouse.exports.workbooks.queries import rows
from warehouse.exports.workbooks.terms import same
from warehouse.sql import listed, literal, quoted
from warehouse.tables import PARAMS, ROW_NUMBER

#: The queries that were read of a school, and whether they were asked for with several parameters.
QUERIES = f"""
    SELECT DISTINCT
        fields.table_name, fields.report, coalesce(queries.label, fields.table_name),
        list_contains(tables.columns, {literal(PARAMS.name)})
    FROM raw.report_fields AS fields
    JOIN (
        SELECT table_name, list(column_name) AS columns FROM duckdb_columns()
        WHERE schema_name = 'reports' GROUP BY table_name
    ) AS tables USING (table_name)
    LEFT JOIN raw.report_queries AS queries
        ON queries._school_id = fields._school_id
        AND queries.report = fields.report AND queries.id = fields.query_id
    WHERE fields._school_id = $school_id AND fields._deleted_at IS NULL
    ORDER BY fields.table_name
"""
#: The column of each field, its kind, and its headers from the topmost down, as of its last reading. A field
#: whose name no column can have is in `_extra` alone.
FIELDS = """
    SELECT
        column_name,
        arg_max(kind, _synced_at) = 'attachment',
        arg_max(
            CASE WHEN len(label_in_path) > 0 THEN label_in_path ELSE [coalesce(label, name)] END, _synced_at
        )
    FROM raw.report_fields
    WHERE _school_id = $school_id AND table_name = {table} AND column_name IS NOT NULL AND _deleted_at IS NULL
    GROUP BY column_name
    ORDER BY arg_max(position, _synced_at) NULLS LAST, column_name
"""
PARAMETERS = Column(Words("Parameters", "参数"))
NUMBER = Column(Words("Row", "行号"))
FILE, LINK = Words("File", "文件"), Words("Link", "链接")


def reports(con: duckdb.DuckDBPyConnection, school_id: int, language: Language) -> tuple[Workbook, ...]:
    """The workbooks of a school's reports, one for each query."""
    return tuple(
        Workbook(
            name=table,
            title=same(label),
            about=Words(
                f"A query of the platform's report {report}, as it was read last.",
                f"平台报表 {report} 的查询结果，为最近一次读取的内容。",
            ),
            sheets=(_sheet(con, school_id, table, label, is_varied=is_varied),),
        )
        for table, report, label, is_varied in rows(con, school_id, QUERIES)
    )


def _sheet(
    con: duckdb.DuckDBPyConnection, school_id: int, table: str, label: str, *, is_varied: bool
) -> Sheet:
    varied = {PARAMS.name: PARAMETERS} if is_varied else {}
    cells = {name: quoted(name) for name in varied}
    columns = dict(varied)
    for name, cell, column in _columns(con, school_id, table):
        cells[name], columns[name] = cell, column
    if not cells:
        cells, columns = {ROW_NUMBER.name: quoted(ROW_NUMBER.name)}, {ROW_NUMBER.name: NUMBER}
    return Sheet(
        name=same(label),
        about=Words("All rows of the report, in its own order.", "报表的全部记录，按报表自身的顺序。"),
        query=f"""
            SELECT {", ".join(f"{cell} AS {quoted(name)}" for name, cell in cells.items())}
            FROM reports.{quoted(table)}
            WHERE _school_id = $school_id
            ORDER BY {listed((*varied, ROW_NUMBER.name))}
        """,
        columns=columns,
    )


def _columns(con: duckdb.DuckDBPyConnection, school_id: int, table: str) -> Iterator[tuple[str, str, Column]]:
    """Name, SQL and look of each column: an attachment has its files' names beside their addresses."""
    for name, is_attachment, path in rows(con, school_id, FIELDS.format(table=literal(table))):
        headers = tuple(same(header) for header in path)
        if is_attachment:
            yield f"{name} name", _of_files(name, "name"), Column(FILE, groups=headers)
            yield (
                name,
                f"coalesce({_of_files(name, 'url')}, {quoted(name)})",
                Column(LINK, "link", groups=headers),
            )
        else:
            yield name, quoted(name), Column(headers[-1], groups=headers[:-1])


def _of_files(column: str, member: str) -> str:
    """A member of an attachment, which is an address, or JSON of a file or of several: theirs by lines. Null
    where it has none."""
    files = f"CASE WHEN json_valid({quoted(column)}) THEN {quoted(column)} END"
    several = f"array_to_string(json_extract_string({files}, '$[*].{member}'), chr(10))"
    return f"coalesce(nullif({several}, ''), json_extract_string({files}, '$.{member}'))"
