"""Workbooks of the platform's reports: one for each query, with the platform's headers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import duckdb

from exports.library.words import texts, untranslated
from exports.spreadsheet.sheets import Column, Language, Sheet, Workbook
from warehouse.identifiers import PARAMS, ROW_NUMBER, listed, literal, quoted

#: The loaded queries of a school, and whether they were requested with several parameters.
QUERIES = f"""
    SELECT DISTINCT
        fields.table_name, fields.report, coalesce(queries.label, fields.table_name),
        list_contains(tables.columns, {literal(PARAMS)})
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
#: The requested combinations of parameters of a query, with the columns of their results.
COMBINATIONS = """
    SELECT params, list(DISTINCT column_name ORDER BY column_name)
    FROM raw.report_fields
    WHERE _school_id = $school_id AND table_name = {table} AND column_name IS NOT NULL AND _deleted_at IS NULL
    GROUP BY params
    ORDER BY params
"""
#: The column of each field, its kind, and its headers from the top down, by the last load. A field whose name
#: cannot be a column is only in `_extra`.
FIELDS = """
    SELECT
        column_name,
        arg_max(kind, _synced_at) = 'attachment',
        arg_max(
            CASE WHEN len(label_in_path) > 0 THEN label_in_path ELSE [coalesce(label, name)] END, _synced_at
        )
    FROM raw.report_fields
    WHERE _school_id = $school_id AND table_name = {table} AND column_name IS NOT NULL AND _deleted_at IS NULL
        AND {condition}
    GROUP BY column_name
    ORDER BY arg_max(position, _synced_at) NULLS LAST, column_name
"""
TEXTS = texts("spreadsheet")
PARAMETERS, NUMBER = Column(TEXTS["parameters"]), Column(TEXTS["row_number"])


def reports(con: duckdb.DuckDBPyConnection, school_id: int, language: Language) -> tuple[Workbook, ...]:
    """The workbooks of a school's reports, one for each query."""
    queries = con.execute(QUERIES, {"school_id": school_id}).fetchall()
    return tuple(ReportQuery(con, school_id, *query).workbook() for query in queries)


@dataclass(frozen=True)
class ReportQuery:
    """A loaded query of a school."""

    con: duckdb.DuckDBPyConnection
    school_id: int
    table: str
    report: str
    label: str
    #: Was requested with several combinations of parameters.
    is_varied: bool

    def workbook(self) -> Workbook:
        """The workbook of the query."""
        about = TEXTS["report"].format(self.report)
        return Workbook(name=self.table, title=untranslated(self.label), about=about, sheets=self._sheets())

    def _rows(self, query: str, condition: str = "true") -> list[tuple[Any, ...]]:
        query = query.format(table=literal(self.table), condition=condition)
        return self.con.execute(query, {"school_id": self.school_id}).fetchall()

    def _sheets(self) -> tuple[Sheet, ...]:
        """One sheet for all combinations of parameters, or a sheet for each if their columns differ, as in
        pivots."""
        combinations = self._rows(COMBINATIONS) if self.is_varied else []
        if len({tuple(columns) for _, columns in combinations}) < 2:
            return (self._sheet(self.label, {PARAMS: PARAMETERS} if self.is_varied else {}),)
        return tuple(self._sheet(params, {}, params) for params, _ in combinations)

    def _sheet(self, name: str, varied: Mapping[str, Column], params: str | None = None) -> Sheet:
        """A sheet with the rows of the query, or of one combination. `varied`: the first columns."""
        cells = {column: quoted(column) for column in varied}
        columns = dict(varied)
        for column_name, cell, column in self._columns(params):
            cells[column_name], columns[column_name] = cell, column
        if not cells:
            cells, columns = {ROW_NUMBER: quoted(ROW_NUMBER)}, {ROW_NUMBER: NUMBER}
        return Sheet(
            name=untranslated(name),
            about=TEXTS["all_rows"],
            query=f"""
            SELECT {", ".join(f"{cell} AS {quoted(column)}" for column, cell in cells.items())}
            FROM reports.{quoted(self.table)}
            WHERE _school_id = $school_id AND {_combination(PARAMS, params)}
            ORDER BY {listed((*varied, ROW_NUMBER))}
            """,
            columns=columns,
        )

    def _columns(self, params: str | None) -> Iterator[tuple[str, str, Column]]:
        """Name, SQL and format of each column. An attachment has two columns: names and addresses of
        files."""
        for name, is_attachment, path in self._rows(FIELDS, _combination("params", params)):
            headers = tuple(untranslated(header) for header in path)
            if is_attachment:
                yield f"{name} name", _of_files(name, "name"), Column(TEXTS["file"], groups=headers)
                link = f"coalesce({_of_files(name, 'url')}, {quoted(name)})"
                yield name, link, Column(TEXTS["link"], "link", groups=headers)
            else:
                yield name, quoted(name), Column(headers[-1], groups=headers[:-1])


def _combination(column: str, params: str | None) -> str:
    """SQL for the rows of a combination. None: of all combinations."""
    return "true" if params is None else f"{quoted(column)} = {literal(params)}"


def _of_files(column: str, member: str) -> str:
    """SQL for a member of an attachment: an address, or JSON of one or several files, whose members become
    lines. Null where the attachment lacks it."""
    files = f"CASE WHEN json_valid({quoted(column)}) THEN {quoted(column)} END"
    several = f"array_to_string(json_extract_string({files}, '$[*].{member}'), chr(10))"
    return f"coalesce(nullif({several}, ''), json_extract_string({files}, '$.{member}'))"
